//! Runs jobs on all cores, one thread for each core.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use samovar_sim::{Outcome, Plan, Scenario, Shape, Summary, Toy, run};

/// A seed of one scenario that is to be run.
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

/// Runs jobs until none is left or `is_over` returns true, and calls `done` after each.
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
    fn each_job_runs_once_and_counts_in_the_summary() {
        let scenario = Scenario::named("hand-over").unwrap();
        let jobs: Vec<_> = (0..3).map(|seed| Job { scenario, seed, shape: Shape::Mesh }).collect();
        let summary = work(&jobs, || false, |_, _| {});
        assert_eq!(summary.runs, 3);
        assert!(summary.faults["hand-over"] >= 3);
    }
}
