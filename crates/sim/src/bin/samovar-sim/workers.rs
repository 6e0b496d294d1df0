//! Runs on all cores, of which each has worlds of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use samovar_sim::{Figures, Outcome, Plan, Promise, Summary, Toy, Trace, Violation, run};
use samovar_wire::{Duration, Time};

/// One run to do.
pub(crate) struct Job {
    pub(crate) scenario: &'static str,
    pub(crate) seed: u64,
    pub(crate) plan: fn(&Self) -> Plan,
}

/// Does jobs until there are none, or `is_over` says so, and calls `done` after each.
pub(crate) fn work(
    jobs: &[Job],
    is_over: impl Fn() -> bool + Sync,
    done: impl Fn(&Job, &Outcome) + Sync,
) -> Summary {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Summary::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Summary::default();
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if is_over() {
                        break;
                    }
                    let outcome = attempt(&(job.plan)(job));
                    own.add(job.scenario, job.seed, &outcome);
                    done(job, &outcome);
                }
                if let Ok(mut total) = total.lock() {
                    total.merge(own);
                }
            });
        }
    });
    total.into_inner().unwrap_or_default()
}

/// Runs a plan; a panic is a broken promise like any other.
pub(crate) fn attempt(plan: &Plan) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| run(plan.clone(), Toy::new(), false))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let what = text.unwrap_or_default();
        Outcome {
            violation: Some(Violation { promise: Promise::Panic, at: Time::ZERO, what }),
            simulated: Duration::ZERO,
            recoveries: Vec::new(),
            figures: Figures::default(),
            trace: Trace::default(),
        }
    })
}
