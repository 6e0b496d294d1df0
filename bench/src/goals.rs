//! Samovar's own goals for these benches. This table is the only place for them in the code.

use crate::report::Row;

/// An upper bound on one of Samovar's figures.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Name of the bench.
    pub bench: &'static str,
    /// Name of the metric.
    pub metric: &'static str,
    /// The figure is to be at most this.
    pub at_most: f64,
}

const fn goal(bench: &'static str, metric: &'static str, at_most: f64) -> Goal {
    Goal { bench, metric, at_most }
}

/// All goals.
pub const GOALS: &[Goal] = &[
    goal("w_smooth", "bytes_per_update", 4.0),
    goal("w_smooth", "owner_cpu_p50", 60.0),
    goal("w_smooth", "owner_allocations_per_tick", 0.0),
    goal("w_smooth", "converge_p50", 50.1),
    goal("w_smooth", "converge_p99", 66.8),
    goal("w_noisy", "bytes_per_update", 5.5),
    goal("w_noisy", "owner_cpu_p50", 60.0),
    goal("w_noisy", "owner_allocations_per_tick", 0.0),
    goal("w_noisy", "converge_p50", 50.1),
    goal("w_noisy", "converge_p99", 66.8),
    goal("w_over_sctp_loss5", "age_p99", 3.0),
    goal("w_over_sctp_loss10", "age_p99", 6.0),
    goal("reliable_dense", "latency_p99", 50.0),
    goal("reliable_dense", "copies_per_message", 3.0),
    goal("reliable_sparse", "latency_p99", 66.0),
    goal("reliable_sparse", "copies_per_message", 3.0),
    goal("rest", "bytes_per_second", 0.0),
    goal("scale", "cpu_ratio", 1.5),
    goal("orders_frames", "total_step_2", 4.0),
    goal("orders_frames", "total_step_4", 8.0),
    goal("orders_frames", "total_step_8", 16.0),
    goal("orders_frames", "total_step_16", 32.0),
    goal("orders_frames", "total_step_32", 64.0),
    goal("orders_frames", "causal_stamp_16", 6.0),
    goal("lockstep_8", "longest_freeze", 150.0),
    goal("lockstep_4", "bytes_per_second", 1_500.0),
    goal("lockstep_4", "packets_per_second", 60.5),
];

/// The goal for a figure, if there is one. Only Samovar has goals.
#[must_use]
pub fn goal_of(row: &Row) -> Option<Goal> {
    let is_ours = row.subject.starts_with("samovar");
    GOALS.iter().find(|goal| is_ours && goal.bench == row.bench && goal.metric == row.metric).copied()
}
