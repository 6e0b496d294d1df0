//! `paths` prints a Markdown table of how long the host's objects stand still when paths come and go.

use std::process::ExitCode;

use samovar_sim::{SCENARIOS, Shape};

use crate::workers::{Job, work};

/// Measures all rows and prints them. Violations go to the standard error output.
pub(crate) fn measure(runs: u64, shape: Shape) -> ExitCode {
    println!(
        "| what happens | scenario | holes | p50 ms | p99 ms | max ms | sent by the relay | violations |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut is_sound = true;
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.starts_with("hole-")) {
        let jobs: Vec<_> = (0..runs).map(|seed| Job { scenario, seed, shape }).collect();
        let mut summary = work(&jobs, || false, |_, _| {});
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| summary.standstills.percentile(share));
        let [direct, relayed] = summary.sent;
        let share = 100.0 * relayed as f64 / (direct + relayed).max(1) as f64;
        let (holes, broken) = (summary.standstills.len(), summary.failures.len());
        print!("| {} | `{}` | {holes} | {p50:.0} | {p99:.0} | {max:.0} ", scenario.about, scenario.name);
        println!("| {share:.2} % | {broken} |");
        for failure in &summary.failures {
            let (seed, violation) = (failure.seed, &failure.violation);
            eprintln!("{} seed {seed}: {}: {}", scenario.name, violation.promise.name(), violation.what);
        }
        is_sound &= summary.failures.is_empty();
    }
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
