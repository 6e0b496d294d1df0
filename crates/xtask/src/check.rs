//! `test` and `prove`: the two tiers of the project's checks. Each tier has a fixed order: `test` runs the cheapest
//! first, `prove` what people meet first.
//!
//! `test` has the checks for every change: they give the same answer on the same tree. `prove` searches for unknown
//! bugs, with fresh seeds and for a given time; it does not stop at a failure.

mod adopter;
mod binaries;
pub(crate) mod browser;
mod bundlers;
mod commands;
mod deny;
mod deploy;
mod features;
mod integrations;
mod layers;
mod links;
mod names;
mod package;
mod program;
mod prove;
mod rooms;
mod sandbox;
mod sections;
mod servers;
mod test;
mod times;
mod wasm_pack;
mod words;

use std::time::Duration;

use crate::clock::Stopwatch;
use crate::process::{Failure, Result};
use crate::repo::Repo;
use crate::tools::Toolbox;
use times::Times;

/// A tier of checks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tier {
    /// The checks for every change.
    Test,
    /// The search for unknown bugs.
    Prove {
        /// The minutes that all steps may take together, without the builds for them.
        minutes: f64,
    },
}

/// A request to run a tier.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Order {
    /// Names of steps; empty means all.
    pub(crate) only: Vec<String>,
    /// Whether the run goes on after a failed step.
    pub(crate) keep_going: bool,
    /// The minutes in which the whole run has to end, builds included. A step that would probably end later is left
    /// out, and named.
    pub(crate) within: Option<f64>,
}

/// The context of a step.
struct Context<'a> {
    repo: &'a Repo,
    toolbox: Toolbox<'a>,
    /// The minutes that all steps of `prove` may take together.
    minutes: f64,
}

/// The end of a step that did not fail.
enum Outcome {
    Done,
    /// The step was skipped for this reason: this machine lacks something that the step needs.
    Skipped(&'static str),
}

/// One check.
struct Step {
    name: &'static str,
    about: &'static str,
    /// Minutes that the step takes on two cores when everything has to be fetched and compiled; measured.
    first: f64,
    run: fn(&Context<'_>) -> Result<Outcome>,
}

impl Step {
    /// The minutes that the step will probably take, and how that is known.
    fn minutes(&self, times: &Times) -> (f64, &'static str) {
        times.of(self.name).map_or((self.first, "first time"), |last| (minutes(last), "last time"))
    }
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}

impl Tier {
    fn steps(self) -> &'static [Step] {
        match self {
            Self::Test => &test::STEPS,
            Self::Prove { .. } => &prove::STEPS,
        }
    }

    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Prove { .. } => "prove",
        }
    }

    const fn minutes(self) -> f64 {
        match self {
            Self::Test => 0.0,
            Self::Prove { minutes } => minutes,
        }
    }
}

/// Prints the names of the steps.
pub(crate) fn list(tier: Tier) {
    for step in tier.steps() {
        println!("{:12} {}", step.name, step.about);
    }
}

/// Runs all steps, or only the named ones, in the order of the list.
///
/// # Errors
/// The first failure, with its exit code; or a name that no step has.
pub(crate) fn run(repo: &Repo, tier: Tier, order: &Order) -> Result<()> {
    let steps = chosen(tier, &order.only)?;
    let context = Context { repo, toolbox: Toolbox::new(repo)?, minutes: tier.minutes() };
    announce(&steps, &Times::read(repo));
    let total = Stopwatch::start();
    let (mut lines, mut first_failure) = (Vec::new(), None);
    for step in &steps {
        let (needs, _) = step.minutes(&Times::read(repo));
        let left = order.within.map(|within| (within - minutes(total.elapsed())).max(0.0));
        if let Some(left) = left.filter(|left| *left < needs) {
            let line = format!("{:12} left out: it takes {needs:.1} min, and {left:.1} are left", step.name);
            println!("\n== {line}");
            lines.push(line);
            continue;
        }
        println!("\n== {}: {}", step.name, step.about);
        let watch = Stopwatch::start();
        let line = match (step.run)(&context) {
            Ok(Outcome::Done) => {
                // Reads the file again, because the step may have noted the times of its own parts.
                Times::read(repo).note(step.name, watch.elapsed());
                format!("{:12} passed in {watch}", step.name)
            }
            Ok(Outcome::Skipped(why)) => format!("{:12} skipped: {why}", step.name),
            Err(failure) => {
                let line = format!("{:12} FAILED after {watch}: {failure}", step.name);
                first_failure.get_or_insert(failure.during(&format!("step {} failed", step.name)));
                line
            }
        };
        println!("== {line}");
        lines.push(line);
        if first_failure.is_some() && !order.keep_going {
            break;
        }
    }
    println!("\n{} took {total}.\n  {}", tier.name(), lines.join("\n  "));
    first_failure.map_or(Ok(()), Err)
}

fn chosen(tier: Tier, only: &[String]) -> Result<Vec<&'static Step>> {
    let steps = tier.steps();
    if let Some(unknown) = only.iter().find(|name| steps.iter().all(|step| step.name != name.as_str())) {
        let tier = tier.name();
        return Err(Failure::new(format!(
            "there is no step {unknown:?}; `cargo xtask {tier} --list` names them"
        )));
    }
    let is_wanted = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    Ok(steps.iter().filter(is_wanted).collect())
}

/// Prints beforehand how long each step will take.
fn announce(steps: &[&Step], times: &Times) {
    println!("What takes how long, by the last run here or, for a first one, on two cores:");
    let mut total = 0.0;
    for step in steps {
        let (minutes, from) = step.minutes(times);
        total += minutes;
        println!("  {:12} {minutes:5.1} min {from:10}  {}", step.name, step.about);
    }
    println!("  {:12} {total:5.1} min", "together");
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIERS: [Tier; 2] = [Tier::Test, Tier::Prove { minutes: 1.0 }];

    #[test]
    fn every_step_has_its_own_name() {
        let steps: Vec<_> = TIERS.into_iter().flat_map(Tier::steps).collect();
        for (index, step) in steps.iter().enumerate() {
            assert!(steps[..index].iter().all(|former| former.name != step.name), "{}", step.name);
        }
    }

    #[test]
    fn a_step_for_which_no_time_is_left_does_not_run() {
        let root = std::env::temp_dir().join(format!("samovar-xtask-within-{}", std::process::id()));
        let repo = Repo { root: root.join("nothing"), target: root.join("target"), packages: Vec::new() };
        let order = |within| Order { only: vec!["fmt".to_owned()], keep_going: false, within };
        // There is no tree in which it could pass.
        run(&repo, Tier::Test, &order(None)).unwrap_err();
        run(&repo, Tier::Test, &order(Some(1.0))).unwrap_err();
        run(&repo, Tier::Test, &order(Some(0.01))).unwrap();
        let mut times = Times::read(&repo);
        times.note("fmt", Duration::from_mins(2));
        run(&repo, Tier::Test, &order(Some(1.0))).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn an_unknown_step_runs_nothing() {
        let repo = Repo { root: ".".into(), target: ".".into(), packages: Vec::new() };
        for tier in TIERS {
            let order =
                Order { only: vec!["fmt".to_owned(), "fnt".to_owned()], keep_going: false, within: None };
            let failure = run(&repo, tier, &order).unwrap_err();
            assert!(failure.to_string().contains("there is no step"), "{failure}");
        }
    }
}
