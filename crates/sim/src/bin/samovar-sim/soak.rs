//! `soak` runs many seeds, and prints one summary and a chart of each of the first violations.

use std::process::ExitCode;

use samovar_sim::{SCENARIOS, Scenario};

use crate::arguments::Soak;
use crate::clock::{Stopwatch, core_seconds};
use crate::workers::{Job, work};

/// The most violations that get a chart; the others are only listed.
const PICTURES_MAX: usize = 3;

pub(crate) fn soak(order: &Soak) -> ExitCode {
    let scenarios =
        SCENARIOS.iter().filter(|s| order.scenario.map_or(s.is_soaked, |only| only.name == s.name));
    let scenarios: Vec<_> = scenarios.collect();
    let shape = order.way.shape();
    // All scenarios run with one seed before the next seed, so a soak that ends early has run each equally often.
    let jobs: Vec<_> = order
        .seeds
        .clone()
        .flat_map(|seed| scenarios.iter().map(move |scenario| Job { scenario, seed, shape }))
        .collect();
    let watch = Stopwatch::start();
    let is_over = || order.minutes.is_some_and(|minutes| watch.elapsed().as_secs_f64() > minutes * 60.0);
    let mut summary = work(&jobs, is_over, |job, outcome| {
        if let Some(violation) = &outcome.violation
            && !order.json
        {
            eprintln!("{} seed {}: {}", job.scenario.name, job.seed, violation.promise.name());
        }
    });
    for (scenario, [exits, most]) in summary.evictions() {
        let last = order.seeds.end - 1;
        eprintln!("{scenario} seed {last}: {exits:.1} exits an hour up to here, at most {most}");
    }
    if order.hashes {
        summary.hashes.iter().for_each(|(scenario, hash)| println!("{scenario:<34} {hash:016x}"));
    } else if order.json {
        println!("{}", summary.json());
    } else {
        let core_hours = core_seconds(watch) / 3_600.0;
        print!("{summary}");
        println!("simulated hours per core-hour {:.0}", summary.simulated_hours() / core_hours.max(1e-9));
        for failure in summary.failures.iter().take(PICTURES_MAX) {
            println!("\nreplay {failure}");
            if let Some(scenario) = Scenario::named(failure.scenario) {
                crate::print_failure(&scenario.plan_in(shape, failure.seed));
            }
        }
    }
    if summary.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
