//! The command line, parsed by hand: a few commands and flags need no library.

use std::fmt::Write as _;
use std::ops::Range;

use samovar_sim::{Plan, SCENARIOS, Scenario, Shape, Toy, shrink};

/// Runs of each row of a table unless told otherwise.
const RUNS: u64 = 300;

const USAGE: &str = "\
Usage: samovar-sim COMMAND

  soak --seeds A..B [--scenario NAME] [--minutes M] [--by-host] [--json | --hashes]
                                 run seeds A to B, B excluded, of one scenario or of all, on all cores; with --hashes
                                 print for each scenario a number that only changes when its runs do
  replay SEED [--scenario NAME] [--by-host] [--shrunk]
                                 run one seed, of chaos unless told otherwise, and print everything that happens
  shrink SEED [--scenario NAME] [--by-host]
                                 leave out the faults that a violation does not need
                                 (`replay --shrunk` tells all that happens then)
  recovery [--runs N] [--by-host]   measure how long a session stands still when its host goes
  paths [--runs N] [--by-host]      measure how long what the host moves stands still when paths come and go

With --by-host the host and its backups carry what two others say to each other.
  help                           this text

Exit code: 0 all promises held, 1 one was broken, 2 the command line is wrong.

Scenarios:
";

/// What the command line asks for.
pub(crate) enum Command {
    Help,
    Soak(Soak),
    Replay(One),
    Shrink(One),
    Recovery { runs: u64, shape: Shape },
    Paths { runs: u64, shape: Shape },
}

/// One seed of one scenario.
pub(crate) struct One {
    pub(crate) scenario: &'static Scenario,
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    /// Whether the faults that a violation does not need are left out.
    pub(crate) is_shrunk: bool,
}

impl One {
    pub(crate) fn plan(&self) -> Plan {
        let plan = self.scenario.plan_in(self.shape, self.seed);
        if self.is_shrunk { shrink(&plan, Toy::new) } else { plan }
    }
}

/// What to soak.
pub(crate) struct Soak {
    pub(crate) seeds: Range<u64>,
    /// `None`: all.
    pub(crate) scenario: Option<&'static Scenario>,
    /// Stop after so long.
    pub(crate) minutes: Option<f64>,
    pub(crate) shape: Shape,
    pub(crate) json: bool,
    /// Whether only the hashes are printed.
    pub(crate) hashes: bool,
}

pub(crate) fn help() -> String {
    let mut text = USAGE.to_owned();
    for scenario in SCENARIOS {
        let _ = writeln!(text, "  {:<32} {}", scenario.name, scenario.about);
    }
    text
}

/// Reads the arguments behind the program's name.
pub(crate) fn parse(arguments: &[String]) -> Result<Command, String> {
    let mut rest = arguments.iter().map(String::as_str);
    match rest.next() {
        None | Some("help" | "--help" | "-h") => Ok(Command::Help),
        Some("soak") => parse_soak(rest).map(Command::Soak),
        Some("replay") => parse_one(rest, false).map(Command::Replay),
        Some("shrink") => parse_one(rest, true).map(Command::Shrink),
        Some("recovery") => parse_table(rest).map(|(runs, shape)| Command::Recovery { runs, shape }),
        Some("paths") => parse_table(rest).map(|(runs, shape)| Command::Paths { runs, shape }),
        Some(other) => Err(format!("there is no command {other:?}")),
    }
}

fn parse_soak<'a>(mut rest: impl Iterator<Item = &'a str>) -> Result<Soak, String> {
    let mut soak =
        Soak { seeds: 0..0, scenario: None, minutes: None, shape: Shape::Mesh, json: false, hashes: false };
    while let Some(flag) = rest.next() {
        match flag {
            "--seeds" => soak.seeds = range(rest.next())?,
            "--scenario" => soak.scenario = Some(scenario(rest.next())?),
            "--minutes" => soak.minutes = Some(number(flag, rest.next())?),
            "--by-host" => soak.shape = Shape::ByHost,
            "--json" => soak.json = true,
            "--hashes" => soak.hashes = true,
            _ => return Err(format!("soak does not know {flag:?}")),
        }
    }
    if soak.seeds.is_empty() { Err("soak needs --seeds A..B, with A below B".to_owned()) } else { Ok(soak) }
}

fn parse_one<'a>(mut rest: impl Iterator<Item = &'a str>, mut is_shrunk: bool) -> Result<One, String> {
    let (mut seed, mut name, mut shape) = (None, scenario(Some("chaos"))?, Shape::Mesh);
    while let Some(argument) = rest.next() {
        match argument {
            "--scenario" => name = scenario(rest.next())?,
            "--by-host" => shape = Shape::ByHost,
            "--shrunk" => is_shrunk = true,
            _ if seed.is_none() => seed = Some(number("SEED", Some(argument))?),
            _ => return Err(format!("unexpected argument {argument:?}")),
        }
    }
    Ok(One { scenario: name, seed: seed.ok_or("a SEED is needed")?, shape, is_shrunk })
}

fn parse_table<'a>(mut rest: impl Iterator<Item = &'a str>) -> Result<(u64, Shape), String> {
    let (mut runs, mut shape) = (RUNS, Shape::Mesh);
    while let Some(flag) = rest.next() {
        match flag {
            "--runs" => runs = number(flag, rest.next())?,
            "--by-host" => shape = Shape::ByHost,
            _ => return Err(format!("recovery and paths do not know {flag:?}")),
        }
    }
    Ok((runs, shape))
}

fn scenario(name: Option<&str>) -> Result<&'static Scenario, String> {
    let name = name.ok_or("--scenario needs a name")?;
    Scenario::named(name).ok_or_else(|| format!("there is no scenario {name:?}"))
}

fn range(text: Option<&str>) -> Result<Range<u64>, String> {
    let bounds = text.and_then(|text| text.split_once("..")).ok_or("--seeds needs A..B")?;
    Ok(number("--seeds", Some(bounds.0))?..number("--seeds", Some(bounds.1))?)
}

fn number<T: std::str::FromStr>(name: &str, text: Option<&str>) -> Result<T, String> {
    let text = text.ok_or_else(|| format!("{name} needs a number"))?;
    text.parse().map_err(|_| format!("{name}: {text:?} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_soak_is_read_with_all_its_flags() {
        let line = "soak --seeds 5..25 --scenario chaos --minutes 1.5 --json";
        let Ok(Command::Soak(soak)) = parsed(line) else { panic!("not a soak") };
        assert_eq!(soak.seeds, 5..25);
        assert_eq!((soak.scenario.unwrap().name, soak.minutes, soak.json), ("chaos", Some(1.5), true));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, named) in [
            ("soak", "--seeds"),
            ("soak --seeds 5", "A..B"),
            ("soak --seeds 9..3", "below"),
            ("soak --seeds 1..2 --scenario tea", "tea"),
            ("replay 5 --scenario", "name"),
            ("replay x --scenario chaos", "x"),
            ("brew", "brew"),
        ] {
            let Err(what) = parsed(line) else { panic!("{line} was accepted") };
            assert!(what.contains(named), "{line}: {what}");
        }
    }
}
