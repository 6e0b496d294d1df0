//! The command line.

use std::fmt::Write as _;
use std::ops::Range;

use clap::{Args, Parser, Subcommand};
use samovar_sim::{Plan, SCENARIOS, Scenario, Shape};

/// The simulator: a world of peers, paths and a relay in virtual time.
///
/// It exits with 0 when all promises held, with 1 when one was broken, and with 2 when the command line is wrong.
#[derive(Parser)]
#[command(name = "samovar-sim", after_long_help = scenarios(), arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run many seeds of one scenario or of all, on all cores
    Soak(Soak),
    /// Run one seed and print everything that happens
    Replay {
        #[command(flatten)]
        one: One,
        /// Leave out the faults that a violation does not need
        #[arg(long)]
        shrunk: bool,
    },
    /// Print the faults of a seed that a violation needs, and its last moments
    Shrink(One),
    /// Measure how long a session stands still when its host goes
    Recovery(Table),
    /// Measure how long objects of the host stand still when paths come and go
    Paths(Table),
}

#[derive(Args)]
pub(crate) struct Way {
    /// The host and its backups carry packets between two other members
    #[arg(long)]
    by_host: bool,
}

/// One seed of one scenario.
#[derive(Args)]
pub(crate) struct One {
    seed: u64,
    /// The name of the scenario; `samovar-sim --help` lists all
    #[arg(long, value_parser = scenario, default_value = "chaos", value_name = "NAME")]
    scenario: &'static Scenario,
    #[command(flatten)]
    way: Way,
}

#[derive(Args)]
pub(crate) struct Soak {
    /// The seeds from A to B, B excluded
    #[arg(long, value_parser = range, value_name = "A..B")]
    pub(crate) seeds: Range<u64>,
    /// Run only this scenario; `samovar-sim --help` lists all
    #[arg(long, value_parser = scenario, value_name = "NAME")]
    pub(crate) scenario: Option<&'static Scenario>,
    /// Stop after this many minutes
    #[arg(long)]
    pub(crate) minutes: Option<f64>,
    /// Print the summary as JSON
    #[arg(long, conflicts_with = "hashes")]
    pub(crate) json: bool,
    /// Print for each scenario a number that only changes when its runs do
    #[arg(long)]
    pub(crate) hashes: bool,
    #[command(flatten)]
    pub(crate) way: Way,
}

#[derive(Args)]
pub(crate) struct Table {
    /// Runs for each row of the table
    #[arg(long, default_value_t = 300)]
    pub(crate) runs: u64,
    #[command(flatten)]
    pub(crate) way: Way,
}

impl Way {
    pub(crate) const fn shape(&self) -> Shape {
        if self.by_host { Shape::ByHost } else { Shape::Mesh }
    }
}

impl One {
    pub(crate) fn plan(&self) -> Plan {
        self.scenario.plan_in(self.way.shape(), self.seed)
    }
}

fn scenarios() -> String {
    let mut text = "Scenarios:\n".to_owned();
    for scenario in SCENARIOS {
        let _ = writeln!(text, "  {:<32} {}", scenario.name, scenario.about);
    }
    text
}

fn scenario(name: &str) -> Result<&'static Scenario, String> {
    Scenario::named(name)
        .ok_or_else(|| "there is no such scenario; `samovar-sim --help` lists all".to_owned())
}

fn range(text: &str) -> Result<Range<u64>, &'static str> {
    let bounds = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    bounds.filter(|range| !range.is_empty()).ok_or("seeds are A..B, with A below B")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn parsed(line: &str) -> Result<Command, String> {
        let words = std::iter::once("samovar-sim").chain(line.split_whitespace());
        Arguments::try_parse_from(words).map(|arguments| arguments.command).map_err(|error| error.to_string())
    }

    #[test]
    fn command_line_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn soak_command_is_parsed_with_all_its_flags() {
        let line = "soak --seeds 5..25 --scenario chaos --minutes 1.5 --json --by-host";
        let Ok(Command::Soak(soak)) = parsed(line) else { panic!("not a soak") };
        assert_eq!((soak.seeds, soak.way.shape()), (5..25, Shape::ByHost));
        assert_eq!((soak.scenario.unwrap().name, soak.minutes, soak.json), ("chaos", Some(1.5), true));
    }

    #[test]
    fn errors_name_the_wrong_argument() {
        for (line, named) in [
            ("soak", "--seeds"),
            ("soak --seeds 5", "A..B"),
            ("soak --seeds 9..3", "below"),
            ("soak --seeds 1..2 --scenario tea", "tea"),
            ("replay 5 --scenario", "NAME"),
            ("replay x --scenario chaos", "x"),
            ("brew", "brew"),
        ] {
            let Err(what) = parsed(line) else { panic!("{line} was accepted") };
            assert!(what.contains(named), "{line}: {what}");
        }
    }
}
