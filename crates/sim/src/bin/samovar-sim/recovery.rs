//! `recovery`: how long a session stands still when its host goes, under the conditions of the issue: 60 ms round trip,
//! 10 ms of jitter, 5 % loss, 60 frames and updates a second.

use std::process::ExitCode;

use samovar_sim::{Fault, Plan, Topology, Weather, Who};
use samovar_wire::Duration;

use crate::workers::{Job, work};

/// One row of the table.
struct Row {
    name: &'static str,
    plan: fn(&Job) -> Plan,
}

const ROWS: [Row; 6] = [
    Row {
        name: "crash, sockets close",
        plan: |job| row(job, 5, Fault::Crash { who: Who::Host, back: None }),
    },
    Row { name: "silent death", plan: |job| row(job, 5, Fault::Death { who: Who::Host, back: None }) },
    Row {
        name: "silent death, 16 members",
        plan: |job| row(job, 16, Fault::Death { who: Who::Host, back: None }),
    },
    Row {
        name: "14 of 16 die silently at once",
        plan: |job| row(job, 16, Fault::Death { who: Who::AllBut(2), back: None }),
    },
    Row { name: "the host hands over", plan: |job| row(job, 5, Fault::HandOver) },
    Row { name: "the host leaves", plan: |job| row(job, 5, Fault::Leave(Who::Host)) },
];

/// Measures all rows and prints them as a table.
pub(crate) fn measure(runs: u64, topology: Topology) -> ExitCode {
    println!("| what happens | runs | recovered | p50 ms | p99 ms | max ms | violations |");
    println!("|---|---|---|---|---|---|---|");
    let mut is_sound = true;
    for Row { name, plan } in ROWS {
        let jobs: Vec<_> = (0..runs).map(|seed| Job { scenario: name, seed, topology, plan }).collect();
        let mut summary = work(&jobs, || false, |_, _| {});
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| summary.recoveries.percentile(share));
        let (recovered, broken) = (summary.recoveries.len(), summary.failures.len());
        println!("| {name} | {runs} | {recovered} | {p50:.0} | {p99:.0} | {max:.0} | {broken} |");
        is_sound &= summary.failures.is_empty();
    }
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(job: &Job, players: usize, fault: Fault) -> Plan {
    let mut plan = Plan::calm(job.seed, players);
    (plan.frame_rate, plan.update_rate) = (60, 60);
    plan.rules.topology = job.topology;
    let weather = Weather::of(Duration::from_millis(60), Duration::from_millis(10), 0.05);
    (plan.direct, plan.relay) = (weather, weather);
    // At any moment of a frame, and of every timer.
    plan.strike(2_000 + job.seed * 7 % 500, fault);
    plan.lasts = Duration::from_millis(8_000);
    plan
}
