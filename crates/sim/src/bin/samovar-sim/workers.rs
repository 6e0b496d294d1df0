//! Runs on all cores, of which each has worlds of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use samovar_sim::{Figures, Outcome, Plan, Promise, Scenario, Summary, Topology, Toy, Trace, Violation, run};
use samovar_wire::{Duration, Time};

/// One run to do.
pub(crate) struct Job {
    pub(crate) scenario: &'static Scenario,
    pub(crate) seed: u64,
    pub(crate) topology: Topology,
}

impl Job {
    pub(crate) fn plan(&self) -> Plan {
        self.scenario.plan_in(self.topology, self.seed)
    }
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
                    let outcome = attempt(job.plan());
                    own.add(job.scenario.name, job.seed, &outcome);
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
fn attempt(plan: Plan) -> Outcome {
    caught(|| run(plan, Toy::new(), false))
}

fn caught(run: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let what = text.unwrap_or_default();
        Outcome {
            violation: Some(Violation { promise: Promise::Panic, at: Time::ZERO, what }),
            simulated: Duration::ZERO,
            recoveries: Vec::new(),
            standstills: Vec::new(),
            figures: Figures::default(),
            trace: Trace::default(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_broken_promise() {
        let outcome = caught(|| panic!("the tea is cold"));
        let violation = outcome.violation.unwrap();
        assert_eq!((violation.promise, violation.what.as_str()), (Promise::Panic, "the tea is cold"));
    }

    #[test]
    fn jobs_are_done_once_each_and_summed_up() {
        let scenario = Scenario::named("hand-over").unwrap();
        let jobs: Vec<_> = (0..3).map(|seed| Job { scenario, seed, topology: Topology::Mesh }).collect();
        let summary = work(&jobs, || false, |_, _| {});
        assert_eq!(summary.runs, 3);
        assert!(summary.faults["hand-over"] >= 3);
    }
}
