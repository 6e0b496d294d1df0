//! `recovery` prints a Markdown table of how long a session stands still when its host goes.

use std::process::ExitCode;

use samovar_sim::{SCENARIOS, Shape, Spans, Trouble, directplay};

use crate::workers::{Job, work};

/// Measures all rows and prints them. Violations go to the standard error output.
pub(crate) fn measure(runs: u64, shape: Shape) -> ExitCode {
    println!(
        "| what happens | scenario | runs | recovered | p50 ms | p99 ms | max ms | gap p50 | gap p99 | violations |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut is_sound = true;
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.starts_with("recovery-")) {
        let jobs: Vec<_> = (0..runs).map(|seed| Job { scenario, seed, shape }).collect();
        let mut summary = work(&jobs, || false, |_, _| {});
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| summary.recoveries.percentile(share));
        let [gap, worst_gap] = [0.5, 0.99].map(|share| summary.gaps.percentile(share));
        let (recovered, broken) = (summary.recoveries.len(), summary.failures.len());
        let (about, name) = (scenario.about, scenario.name);
        print!("| {about} | `{name}` | {runs} | {recovered} | {p50:.0} | {p99:.0} | {max:.0} ");
        println!("| {gap:.0} | {worst_gap:.0} | {broken} |");
        for failure in &summary.failures {
            eprintln!(
                "{name} seed {}: {}: {}",
                failure.seed,
                failure.violation.promise.name(),
                failure.violation.what
            );
        }
        is_sound &= summary.failures.is_empty();
    }
    if shape == Shape::Mesh {
        compare(runs);
    }
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures sessions by DirectPlay 4's rules and prints their rows. A violation in these rows is a run with two hosts
/// at once.
fn compare(runs: u64) {
    let rows = [
        ("the host dies silently", 5, Trouble::HostDies),
        ("the host of 16 dies silently", 16, Trouble::HostDies),
        ("14 of 16 die silently at once", 16, Trouble::AllBut(2)),
        ("the host and another of 5 are cut off for 3 s", 5, Trouble::Partition),
    ];
    for (about, players, trouble) in rows {
        let (mut recoveries, mut splits) = (Spans::default(), 0);
        for fate in (0..runs).map(|seed| directplay(seed, players, trouble)) {
            fate.recovery.into_iter().for_each(|span| recoveries.add(span));
            splits += u64::from(fate.has_split);
        }
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| recoveries.percentile(share));
        let recovered = recoveries.len();
        println!(
            "| {about} | DirectPlay 4 | {runs} | {recovered} | {p50:.0} | {p99:.0} | {max:.0} | | | {splits} |"
        );
    }
}
