//! The steps of `prove`: fresh seeds, wide models, planted bugs, hostile bytes, a person's random walk, and
//! measurements of real machines. Each step goes on to its end and prints all its findings.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::Command;

use super::{
    Context, Outcome, Step, browser, bundlers, deny, deploy, features, integrations, program, servers,
    wasm_pack,
};
use crate::process::{self, Result};
use crate::repo::NATIVE;
use crate::tools::{Tool, network};
use crate::{bench, book, fuzz, mutants, page, person};

pub(super) const STEPS: [Step; 16] = [
    Step { name: "soak", about: "simulated sessions that nobody has seen yet", first: 1.0, run: soak },
    Step { name: "person", about: "people who click, reload and close at random", first: 5.0, run: person },
    Step { name: "serve", about: "two play through trunk serve", first: 2.0, run: serve },
    Step {
        name: "servers",
        about: "the relay for servers is small, runs in an empty root and its image; systemd and others read its files",
        first: 8.0,
        run: servers,
    },
    Step {
        name: "bundlers",
        about: "the packages for JavaScript under webpack and Next, and fit for npm",
        first: 2.0,
        run: bundlers::check,
    },
    Step { name: "fuzz", about: "hostile bytes for every decoder and state machine", first: 2.5, run: fuzz },
    Step {
        name: "models",
        about: "elections within wider bounds, recovery in more runs",
        first: 4.0,
        run: models,
    },
    Step { name: "figures", about: "medians of real browsers and processes", first: 5.0, run: figures },
    Step {
        name: "features",
        about: "a session with none of its features, and with each alone",
        first: 5.0,
        run: features::check,
    },
    Step { name: "bugs", about: "planted bugs, each of which has to be found", first: 2.5, run: bugs },
    Step {
        name: "integrations",
        about: "the crates for engines build, and pass their tests",
        first: 5.0,
        run: integrations::check,
    },
    Step { name: "benches", about: "the benches compile, beside their peers", first: 3.0, run: benches },
    Step { name: "wasm-pack", about: "wasm-pack runs tests in a browser", first: 5.0, run: wasm_pack::check },
    Step { name: "book", about: "the guide is a book without dead links", first: 1.5, run: book },
    Step { name: "deny", about: "licences and sources of dependencies", first: 4.0, run: deny::check },
    Step {
        name: "advisories",
        about: "what is known to be wrong with them",
        first: 0.2,
        run: deny::advisories,
    },
];

/// Some steps would go on for ever. These are their shares of the given minutes.
const SOAK: f64 = 0.2;
const FUZZ: f64 = 0.15;
const BUGS: f64 = 0.15;
const PERSON: f64 = 0.5;

/// The runs of `soak`, each for a third of its time: the most seeds, and the arguments.
const SOAKS: [(u64, &[&str]); 3] =
    [(1_000_000, &["--scenario", "chaos"]), (10_000, &[]), (10_000, &["--by-host"])];

/// A random first seed. A seed that breaks a promise is printed, so that its run can be repeated.
fn fresh() -> u64 {
    RandomState::new().build_hasher().finish() >> 24
}

/// From this many minutes on, a release build of the simulator is worth while: it is twice as fast, and takes three
/// minutes to compile.
const RELEASE_PAYS_FROM: f64 = 30.0;

/// The simulator, as a release build when that is worth while for the given minutes.
fn simulator(context: &Context<'_>) -> Result<Command> {
    if context.minutes < RELEASE_PAYS_FROM {
        return Ok(Command::new(program::as_tested(context.repo, "samovar-sim", "sim")?));
    }
    let mut run = context.repo.cargo("run");
    run.args(["--release", "--locked", "--package", "samovar-sim", "--"]);
    Ok(run)
}

fn soak(context: &Context<'_>) -> Result<Outcome> {
    let (first, minutes) = (fresh(), context.minutes * SOAK / SOAKS.len() as f64);
    let mut failures = Vec::new();
    for (count, what) in SOAKS {
        let (seeds, minutes) = (format!("{first}..{}", first + count), minutes.to_string());
        let mut soak = simulator(context)?;
        let soaked = process::run(soak.args(["soak", "--seeds", &seeds, "--minutes", &minutes]).args(what));
        failures.extend(soaked.err());
    }
    failures.into_iter().next().map_or(Ok(Outcome::Done), Err)
}

fn servers(context: &Context<'_>) -> Result<Outcome> {
    let outcome = servers::check(context)?;
    if matches!(outcome, Outcome::Done) {
        deploy::check(context)?;
    }
    Ok(outcome)
}

fn models(context: &Context<'_>) -> Result<Outcome> {
    // Repeats all runs whose figures the documents have. Virtual time makes the figures the same on every machine.
    let mut figures = context.repo.cargo("test");
    if context.minutes >= RELEASE_PAYS_FROM {
        figures.arg("--release");
    }
    figures.args(NATIVE).args(["--locked", "--test", "sim", "--", "paths::", "recovery::"]);
    process::run(figures.env("SAMOVAR_MODEL", "narrow"))?;
    let mut test = context.repo.cargo("test");
    test.args(NATIVE).args(["--locked", "--test", "election", "--", "--nocapture"]);
    process::run(test.env("SAMOVAR_MODEL", "narrow"))?;
    Ok(Outcome::Done)
}

fn fuzz(context: &Context<'_>) -> Result<Outcome> {
    if let Some(obstacle) = fuzz::obstacle() {
        return Ok(Outcome::Skipped(obstacle));
    }
    fuzz::fuzz_for(context.repo, context.minutes * FUZZ)?;
    Ok(Outcome::Done)
}

fn book(context: &Context<'_>) -> Result<Outcome> {
    book::build(context.repo, &context.toolbox)?;
    Ok(Outcome::Done)
}

fn benches(context: &Context<'_>) -> Result<Outcome> {
    bench::check(context.repo)?;
    Ok(Outcome::Done)
}

fn bugs(context: &Context<'_>) -> Result<Outcome> {
    mutants::find_for(context.repo, fresh(), context.minutes * BUGS)?;
    Ok(Outcome::Done)
}

fn figures(context: &Context<'_>) -> Result<Outcome> {
    network::ensure()?;
    browser::end_to_end(context.repo, &context.toolbox, &["figures"])?;
    let mut relay = context.repo.cargo("test");
    // The same selection of packages as everywhere, so that nothing is compiled again.
    relay.args(NATIVE).args(["--locked", "--test", "relay", "--", "--test-threads=1"]);
    relay.args(["--show-output", "attack::", "bounds::", "herd::", "limits::", "siege::"]);
    process::run(relay.env("SAMOVAR_FIGURES", "1"))?;
    Ok(Outcome::Done)
}

fn serve(context: &Context<'_>) -> Result<Outcome> {
    network::ensure()?;
    let path = context.toolbox.path_with(&[Tool::Trunk, Tool::WasmBindgen, Tool::WasmOpt])?;
    let trunk = ("SAMOVAR_TRUNK", page::program("trunk", &path).into());
    let stage = browser::Stage::build(context.repo, &context.toolbox)?;
    let variables = stage.variables().into_iter().chain([trunk, ("PATH", path)]);
    browser::run(context.repo, &["serve"], &variables.collect::<Vec<_>>())?;
    Ok(Outcome::Done)
}

fn person(context: &Context<'_>) -> Result<Outcome> {
    network::ensure()?;
    let order = person::Order { seed: fresh(), minutes: context.minutes * PERSON };
    person::walk(context.repo, &context.toolbox, order)?;
    // Checks that the moving picture of the README can be taken.
    browser::end_to_end(context.repo, &context.toolbox, &["picture"])?;
    Ok(Outcome::Done)
}
