//! `mutants`: bugs that are planted on purpose, one at a time, and the checks that find them (docs/recovery.md).
//!
//! The command changes a copy of the tree below the build directory, never the tree itself. A bug counts as found when
//! the simulator breaks a promise that the sound program keeps in that scenario, or when the named test fails. A bug
//! that no check finds shows an unguarded rule: the command fails.

mod list;
mod pattern;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::clock::Stopwatch;
use crate::files;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;
use list::{Finder, Mutant, all};
use tree::{Place, Tree};

/// Seeds within which the simulator has to find a bug.
pub(crate) const SEEDS: u64 = 1_000;
/// The number of seeds with which the sound program is checked in a scenario; more if only a later seed finds a bug.
const SOUND_SEEDS: u64 = 100;
/// The file with the last result of each bug, below the root. A line is a name and a text.
const FOUND: &str = "crates/xtask/src/mutants/found.txt";

/// A command about the planted bugs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Look for each bug, or for the named ones, within this many seeds.
    Find {
        /// Names; empty means all.
        only: Vec<String>,
        /// Seeds per bug.
        seeds: u64,
    },
    /// See that each bug can still be planted.
    Check,
    /// Print the bugs as a table.
    List,
}

/// The result of the search for a planted bug.
enum Outcome {
    Found(String),
    Survived(String),
}

/// Carries out an order.
///
/// # Errors
/// A bug can no longer be planted or does not compile, or one survives.
pub(crate) fn mutants(repo: &Repo, order: &Order) -> Result<()> {
    match order {
        Order::Find { only, seeds } => find(repo, only, *seeds),
        Order::Check => check(repo),
        Order::List => list(repo),
    }
}

/// Checks that the pattern of each planted bug fits exactly one place, and that its test exists.
///
/// # Errors
/// Names the bugs that fail this check.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let tests = tests(repo)?;
    let wrong = all().flat_map(|mutant| {
        let lost = Place::of(repo, mutant).err().map(|failure| failure.to_string());
        lost.into_iter().chain(without_test(mutant, &tests))
    });
    let wrong: Vec<_> = wrong.collect();
    if wrong.is_empty() {
        println!("All {} planted bugs can be planted.", all().count());
        return Ok(());
    }
    Err(Failure::new(format!("\n  {}", wrong.join("\n  "))))
}

/// The names of all functions in the crates, the relay and the tests.
fn tests(repo: &Repo) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for directory in ["crates", "relay", "tests"] {
        for file in files::below(&repo.root.join(directory))? {
            if file.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&file).explain(file.display())?;
                let lines = source.lines().map(str::trim_start);
                let declared =
                    lines.filter_map(|line| line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn "));
                names.extend(
                    declared.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.to_owned()),
                );
            }
        }
    }
    Ok(names)
}

/// Returns an error's text when a bug's test does not exist. Cargo would succeed without a test of that name.
fn without_test(mutant: &Mutant, tests: &BTreeSet<String>) -> Option<String> {
    let (Finder::Model(arguments) | Finder::Test(arguments)) = mutant.finder else { return None };
    let name = name_of(arguments).rsplit("::").next().unwrap_or_default();
    (!tests.iter().any(|test| test.contains(name)))
        .then(|| format!("{}: there is no test {name}", mutant.name))
}

fn list(repo: &Repo) -> Result<()> {
    let found = read_found(&repo.root)?;
    println!("| planted bug | what is wrong then | promise | looked for by | found |");
    println!("|---|---|---|---|---|");
    for Mutant { name, breaks, guards, finder, .. } in all() {
        let result = found.get(*name).map_or("was not run", String::as_str);
        println!("| `{name}` | {breaks} | {guards:?} | {} | {result} |", shown(*finder));
    }
    Ok(())
}

fn shown(finder: Finder) -> String {
    match finder {
        Finder::Sim(scenario) => format!("simulator, `{scenario}`"),
        Finder::Model(arguments) => format!("model `{}`", name_of(arguments)),
        Finder::Test(arguments) => format!("test `{}`", name_of(arguments)),
    }
}

fn name_of(arguments: &[&'static str]) -> &'static str {
    arguments.last().copied().unwrap_or_default()
}

fn find(repo: &Repo, only: &[String], seeds: u64) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| all().all(|mutant| mutant.name != **name)) {
        return Err(Failure::new(format!("there is no planted bug {unknown:?}; `--list` names them")));
    }
    let chosen = all().filter(|mutant| only.is_empty() || only.iter().any(|name| name == mutant.name));
    find_of(&Tree::copy(repo, true)?, repo, &chosen.collect::<Vec<_>>(), seeds, || false)
}

/// Looks for planted bugs, one after another, until the minutes are over, but for at least one. `start` chooses the
/// first bug.
///
/// # Errors
/// As [`mutants`].
pub(crate) fn find_for(repo: &Repo, start: u64, minutes: f64) -> Result<()> {
    let mut bugs: Vec<_> = all().collect();
    let first = usize::try_from(start).unwrap_or(0) % bugs.len();
    bugs.rotate_left(first);
    let watch = Stopwatch::start();
    find_of(&Tree::copy(repo, false)?, repo, &bugs, SEEDS, || watch.elapsed().as_secs_f64() > minutes * 60.0)
}

/// Looks for the chosen bugs, until `is_over` returns `true`.
fn find_of(
    tree: &Tree,
    repo: &Repo,
    chosen: &[&Mutant],
    seeds: u64,
    is_over: impl Fn() -> bool,
) -> Result<()> {
    check(repo)?;
    let mut sound = Sound { program: tree.directory.join("sound"), keeps: BTreeMap::new() };
    if chosen.iter().any(|mutant| matches!(mutant.finder, Finder::Sim(_))) {
        let simulator = tree.build_simulator()?;
        fs::copy(&simulator, &sound.program).explain(sound.program.display())?;
    }
    let (mut survivors, mut looked) = (Vec::new(), 0);
    for mutant in chosen {
        if looked > 0 && is_over() {
            break;
        }
        looked += 1;
        let place = tree.place(mutant)?;
        tree.plant(mutant, &place)?;
        let mut simulate = |runs| simulate(tree, &mut sound, runs, seeds);
        let outcome = match mutant.finder {
            Finder::Sim(scenario) => simulate(Runs { scenario }),
            Finder::Model(arguments) => test(tree, arguments, "narrow"),
            Finder::Test(arguments) => test(tree, arguments, "quick"),
        };
        tree.restore(repo, &place)?;
        match outcome {
            Ok(Outcome::Found(text)) => {
                println!("{:<32} {text}", mutant.name);
                note_found(&repo.root, mutant, &text)?;
            }
            Ok(Outcome::Survived(text)) => {
                println!("{:<32} {text}", mutant.name);
                survivors.push(mutant.name);
                note_found(&repo.root, mutant, &text)?;
            }
            // Goes on, so that a bug that does not compile hides no other.
            Err(failure) => {
                println!("{}", failure.during(mutant.name));
                survivors.push(mutant.name);
            }
        }
    }
    println!("{looked} planted bugs, {} survived", survivors.len());
    if survivors.is_empty() { Ok(()) } else { Err(Failure::new(survivors.join(", "))) }
}

/// Runs of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Runs {
    scenario: &'static str,
}

impl Runs {
    fn shown(self) -> String {
        format!("`{}`", self.scenario)
    }
}

/// The simulator without a planted bug.
struct Sound {
    program: PathBuf,
    /// The runs in which it kept its promises, each with the number of seeds.
    keeps: BTreeMap<Runs, u64>,
}

impl Sound {
    /// Checks that the sound simulator keeps its promises in these runs. A promise that breaks without the bug proves
    /// nothing about the bug.
    fn keeps_its_promises(&mut self, runs: Runs, seeds: u64) -> Result<()> {
        if self.keeps.get(&runs).is_some_and(|&seen| seen >= seeds) {
            return Ok(());
        }
        if let Some(broken) = first_violation(&self.program, runs, seeds)? {
            let broken = broken.shown(runs);
            return Err(Failure::new(format!(
                "the program breaks a promise without a planted bug: {broken}"
            )));
        }
        self.keeps.insert(runs, seeds);
        Ok(())
    }
}

/// Runs the changed simulator until it breaks a promise. The sound simulator must keep all promises in the same
/// scenario, up to the same seed.
fn simulate(tree: &Tree, sound: &mut Sound, runs: Runs, seeds: u64) -> Result<Outcome> {
    let simulator = tree.build_simulator()?;
    let Some(broken) = first_violation(&simulator, runs, seeds)? else {
        return Ok(Outcome::Survived(format!("not found in {seeds} seeds of {}", runs.shown())));
    };
    sound.keeps_its_promises(runs, SOUND_SEEDS.max(broken.seed + 1))?;
    Ok(Outcome::Found(broken.shown(runs)))
}

/// A promise that a run broke.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    seed: u64,
    promise: String,
}

impl Violation {
    fn shown(&self, runs: Runs) -> String {
        format!("{} seed {}: {}", runs.shown(), self.seed, self.promise)
    }
}

/// Runs seeds until a promise is broken, and returns the seed and the promise. With several workers the seed need not
/// be the lowest one.
fn first_violation(program: &Path, runs: Runs, seeds: u64) -> Result<Option<Violation>> {
    let mut command = Command::new(program);
    command.args(["soak", "--seeds", &format!("0..{seeds}"), "--scenario", runs.scenario]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().explain(process::shown(&command))?;
    let lines = child.stderr.take().map(|pipe| BufReader::new(pipe).lines());
    for line in lines.into_iter().flatten().map_while(std::result::Result::ok) {
        let Some(broken) = violation(runs.scenario, &line) else { continue };
        // Ignores the error of a simulator that has ended by itself meanwhile.
        let _ = child.kill();
        child.wait().explain(process::shown(&command))?;
        return Ok(Some(broken));
    }
    if !child.wait().explain(process::shown(&command))?.success() {
        return Err(Failure::new(format!("`{}` says nothing and fails", process::shown(&command))));
    }
    Ok(None)
}

/// Reads a broken promise in the simulator's notation, like `chaos seed 7: one-host`.
fn violation(scenario: &str, line: &str) -> Option<Violation> {
    let (seed, promise) = line.strip_prefix(scenario)?.strip_prefix(" seed ")?.split_once(": ")?;
    Some(Violation { seed: seed.parse().ok()?, promise: promise.to_owned() })
}

fn test(tree: &Tree, arguments: &[&'static str], model: &str) -> Result<Outcome> {
    let name = name_of(arguments);
    // A build that fails is an error here, because a bug that does not compile is not found.
    process::run(tree.cargo("test").args(["--quiet", "--no-run"]).args(&arguments[..arguments.len() - 1]))?;
    let code = process::code(tree.cargo("test").args(arguments).env("SAMOVAR_MODEL", model));
    Ok(match code {
        Some(0) => Outcome::Survived(format!("`{name}` passes")),
        _ => Outcome::Found(format!("`{name}` fails")),
    })
}

fn read_found(root: &Path) -> Result<BTreeMap<String, String>> {
    let path = root.join(FOUND);
    let text = if path.exists() { fs::read_to_string(&path).explain(path.display())? } else { String::new() };
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    Ok(lines.map(|(name, result)| (name.to_owned(), result.to_owned())).collect())
}

/// Writes down the result of a bug, beside the last results of the others.
fn note_found(root: &Path, mutant: &Mutant, result: &str) -> Result<()> {
    let mut found = read_found(root)?;
    found.insert(mutant.name.to_owned(), result.to_owned());
    found.retain(|name, _| all().any(|mutant| mutant.name == name));
    let lines: String = found.iter().map(|(name, result)| format!("{name}: {result}\n")).collect();
    let path: PathBuf = root.join(FOUND);
    fs::write(&path, lines).explain(path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_bug_has_its_own_name_and_changes_something() {
        for (index, mutant) in all().enumerate() {
            assert!(all().take(index).all(|former| former.name != mutant.name), "{}", mutant.name);
            assert_ne!(mutant.text, mutant.instead, "{}", mutant.name);
        }
        let is_test = |mutant: &&Mutant| matches!(mutant.finder, Finder::Test(_));
        assert!(all().filter(|mutant| !is_test(mutant)).count() >= 25, "models and the simulator find many");
    }

    #[test]
    fn every_planted_bug_can_be_planted() {
        check(&Repo::locate().unwrap()).unwrap();
    }

    #[test]
    fn a_violation_is_read_from_its_line() {
        let told = Violation { seed: 7, promise: "one-host".to_owned() };
        assert_eq!(violation("chaos", "chaos seed 7: one-host"), Some(told));
        assert_eq!(violation("chaos", "thread panicked at seed 7: one-host"), None);
        assert_eq!(violation("host", "host-crash seed 7: one-host"), None);
    }
}
