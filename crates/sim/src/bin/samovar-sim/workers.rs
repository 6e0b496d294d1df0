//! Runs jobs on all cores. Each core has worlds of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use samovar_sim::{Outcome, Plan, Scenario, Shape, Summary, Toy, run};

/// One run to do.
pub(crate) struct Job {
    pub(crate) scenario: &'static Scenario,
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
}

impl Job {
    pub(crate) fn plan(&self) -> Plan {
        self.scenario.plan_in(self.shape, self.seed)
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
                    let outcome = run(job.plan(), Toy::new(), false);
                    own.add(job.scenario.name, job.seed, job.shape, &outcome);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_done_once_each_and_summed_up() {
        let scenario = Scenario::named("hand-over").unwrap();
        let jobs: Vec<_> = (0..3).map(|seed| Job { scenario, seed, shape: Shape::Mesh }).collect();
        let summary = work(&jobs, || false, |_, _| {});
        assert_eq!(summary.runs, 3);
        assert!(summary.faults["hand-over"] >= 3);
    }
}
