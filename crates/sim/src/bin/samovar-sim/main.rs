//! The simulator's program: it soaks many seeds, replays one, or shrinks one.

mod arguments;
mod clock;
mod paths;
mod recovery;
mod soak;
mod workers;

use std::process::ExitCode;

use arguments::{Arguments, Command, Table};
use clap::Parser as _;
use samovar_sim::{Plan, Toy, chart, run, shrink};
use samovar_wire::Duration;

/// The time before a violation that a chart shows.
const LAST_MOMENTS: Duration = Duration::from_millis(4_000);

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Soak(order) => soak::soak(&order),
        Command::Replay { one, shrunk: false } => replay(one.plan()),
        Command::Replay { one, shrunk: true } => replay(shrink(&one.plan(), Toy::new)),
        Command::Shrink(one) => show_shrunk(&shrink(&one.plan(), Toy::new)),
        Command::Recovery(Table { runs, way }) => recovery::measure(runs, way.shape()),
        Command::Paths(Table { runs, way }) => paths::measure(runs, way.shape()),
    }
}

/// Runs a seed and prints everything that happens.
fn replay(plan: Plan) -> ExitCode {
    println!("{plan:#?}");
    let outcome = run(plan, Toy::new(), true);
    for entry in outcome.trace.entries() {
        println!("{entry}");
    }
    println!("trace {:016x}", outcome.trace.hash());
    let Some(violation) = outcome.violation else { return ExitCode::SUCCESS };
    println!("{}: {}", violation.promise.name(), violation.what);
    ExitCode::FAILURE
}

/// Shows a shrunk plan: its last moments, and the faults that break the promise.
fn show_shrunk(plan: &Plan) -> ExitCode {
    let is_broken = print_failure(plan);
    println!("faults that are needed: {}", plan.faults.len());
    for (at, fault) in &plan.faults {
        println!("  {:9.3} s  {fault:?}", at.as_micros() as f64 / 1e6);
    }
    if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs a plan again with a full trace and prints its last moments. Returns whether a promise is broken.
fn print_failure(plan: &Plan) -> bool {
    let outcome = run(plan.clone(), Toy::new(), true);
    let Some(violation) = outcome.violation else {
        println!("no promise is broken");
        return false;
    };
    println!("{}", chart(&outcome.trace, violation.at, LAST_MOMENTS));
    println!("{}: {}", violation.promise.name(), violation.what);
    true
}
