//! The command line, parsed by hand: a few commands and flags need no library.

use crate::check::{self, Tier};
use crate::mutants::{self, Order};
use crate::person;
use crate::process::{Failure, Result};

/// The text of `cargo xtask help`.
pub(crate) const HELP: &str = "\
Usage: cargo xtask COMMAND

  play [--port N] [--open]   build the page and the relay, serve them on 127.0.0.1 (port 8080 unless told)
  test [--only STEP]... [--keep-going]
                             run every check; --list names the steps
  prove [--minutes M] [--only STEP]...
                             look for what no check has seen: fresh seeds, wide models, planted bugs, hostile bytes,
                             people at random; M minutes (10 unless told) and what has to be built
  person [--seed N] [--minutes M]
                             people who click, reload and close at random, on three pages (seed 1, 5 minutes)
  fuzz [TARGET] [--seconds N]
                             fuzz every decoder and state machine, or one, for N seconds each (60 unless told)
  bench [NAME]... [--json] [--seeds N] [--messages N] [--peer PART]
                             measure Samovar beside its peers (docs/benchmarks.md); `bench micro` runs criterion
  mutants [NAME]... [--seeds N] | --check | --list
                             plant bugs and see what finds them (docs/recovery.md); fails when one survives
  size                       print the page's download size after Brotli; fails above the budget
  tools                      fetch the build tools, print the line that puts them on PATH
  help                       this text
";

/// How long `prove` runs unless `--minutes` says otherwise.
const MINUTES: f64 = 10.0;
/// How long `person` does.
const PERSON_MINUTES: f64 = 5.0;
/// The port that `play` serves on unless `--port` names another.
const DEFAULT_PORT: u16 = 8080;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Task {
    /// Print the usage.
    Help,
    /// Build and serve the game.
    Play {
        /// TCP port on 127.0.0.1.
        port: u16,
        /// Whether a browser is to be opened.
        open: bool,
    },
    /// Internal: wait for the relay of `play` and say where it is.
    Announce {
        /// TCP port on 127.0.0.1.
        port: u16,
        /// Process id of the relay; waiting ends when it is gone.
        relay: u32,
        /// Whether a browser is to be opened.
        open: bool,
    },
    /// Run the checks of a tier, or only the named ones.
    Check {
        /// Which checks.
        tier: Tier,
        /// What of them.
        order: check::Order,
    },
    /// Print the names of the checks of a tier.
    ListSteps(Tier),
    /// A random walk of what people do.
    Person(person::Order),
    /// Fuzz decoders and state machines.
    Fuzz {
        /// One target; `None` means all.
        target: Option<String>,
        /// How long each is fuzzed.
        seconds: u32,
    },
    /// Measure Samovar beside its peers.
    Bench {
        /// Arguments of the runner.
        arguments: Vec<String>,
    },
    /// Plant bugs and look for them.
    Mutants {
        /// What to do with them.
        order: Order,
    },
    /// Measure the page.
    Size,
    /// Fetch the tools.
    Tools,
}

/// Reads the arguments that follow `cargo xtask`.
///
/// # Errors
/// Names the argument that is unknown or lacks its value.
pub(crate) fn parse(arguments: &[String]) -> Result<Task> {
    let mut rest = arguments.iter().map(String::as_str);
    let task = match rest.next() {
        None | Some("help" | "--help" | "-h") => return Ok(Task::Help),
        Some("play") => parse_play(&mut rest)?,
        Some("announce") => parse_announce(&mut rest)?,
        Some("test") => parse_check(Tier::Test, &mut rest)?,
        Some("prove") => parse_check(Tier::Prove { minutes: MINUTES }, &mut rest)?,
        Some("person") => parse_person(&mut rest)?,
        Some("fuzz") => parse_fuzz(&mut rest)?,
        // The runner knows its own arguments; it is built when it is asked for, and not before.
        Some("bench") => Task::Bench { arguments: rest.by_ref().map(str::to_owned).collect() },
        Some("mutants") => parse_mutants(&mut rest)?,
        Some("size") => Task::Size,
        Some("tools") => Task::Tools,
        Some(other) => return Err(Failure::new(format!("unknown command {other:?}\n\n{HELP}"))),
    };
    match rest.next() {
        None => Ok(task),
        Some(extra) => Err(Failure::new(format!("unexpected argument {extra:?}\n\n{HELP}"))),
    }
}

fn parse_play<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Result<Task> {
    let (mut port, mut open) = (DEFAULT_PORT, false);
    while let Some(flag) = rest.next() {
        match flag.split_once('=') {
            Some(("--port", value)) => port = number("--port", Some(value))?,
            None if flag == "--port" => port = number("--port", rest.next())?,
            None if flag == "--open" => open = true,
            _ => return Err(Failure::new(format!("play does not know {flag:?}\n\n{HELP}"))),
        }
    }
    Ok(Task::Play { port, open })
}

fn parse_announce<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Result<Task> {
    Ok(Task::Announce {
        port: number("the port", rest.next())?,
        relay: number("the process id", rest.next())?,
        open: rest.next() == Some("open"),
    })
}

fn parse_check<'a>(mut tier: Tier, rest: &mut impl Iterator<Item = &'a str>) -> Result<Task> {
    // What looks for the unknown does not stop at the first thing it finds.
    let mut order = check::Order { only: Vec::new(), keep_going: tier != Tier::Test };
    while let Some(argument) = rest.next() {
        let (flag, value) =
            argument.split_once('=').map_or((argument, None), |(flag, value)| (flag, Some(value)));
        match (flag, &mut tier) {
            ("--list", _) => return Ok(Task::ListSteps(tier)),
            ("--only", _) => {
                let step = value
                    .or_else(|| rest.next())
                    .ok_or_else(|| Failure::new("--only needs the name of a step (--list)"))?;
                order.only.push(step.to_owned());
            }
            ("--keep-going", Tier::Test) => order.keep_going = true,
            ("--minutes", Tier::Prove { minutes }) => {
                *minutes = positive(flag, value.or_else(|| rest.next()))?
            }
            _ => {
                let tier = tier.name();
                return Err(Failure::new(format!("{tier} does not know {argument:?}\n\n{HELP}")));
            }
        }
    }
    Ok(Task::Check { tier, order })
}

fn parse_person<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Result<Task> {
    let mut order = person::Order { seed: 1, minutes: PERSON_MINUTES };
    while let Some(argument) = rest.next() {
        let (flag, value) =
            argument.split_once('=').map_or((argument, None), |(flag, value)| (flag, Some(value)));
        match flag {
            "--seed" => order.seed = number(flag, value.or_else(|| rest.next()))?,
            "--minutes" => order.minutes = positive(flag, value.or_else(|| rest.next()))?,
            _ => return Err(Failure::new(format!("person does not know {argument:?}\n\n{HELP}"))),
        }
    }
    Ok(Task::Person(order))
}

fn parse_fuzz<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Result<Task> {
    let (mut target, mut seconds) = (None, crate::fuzz::SECONDS);
    while let Some(argument) = rest.next() {
        match argument.split_once('=') {
            Some(("--seconds", value)) => seconds = number("--seconds", Some(value))?,
            None if argument == "--seconds" => seconds = number("--seconds", rest.next())?,
            None if !argument.starts_with('-') && target.is_none() => target = Some(argument.to_owned()),
            _ => return Err(Failure::new(format!("fuzz does not know {argument:?}\n\n{HELP}"))),
        }
    }
    Ok(Task::Fuzz { target, seconds })
}

fn parse_mutants<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Result<Task> {
    let (mut only, mut seeds) = (Vec::new(), mutants::SEEDS);
    while let Some(argument) = rest.next() {
        match argument.split_once('=') {
            None if argument == "--check" => return Ok(Task::Mutants { order: Order::Check }),
            None if argument == "--list" => return Ok(Task::Mutants { order: Order::List }),
            Some(("--seeds", value)) => seeds = number("--seeds", Some(value))?,
            None if argument == "--seeds" => seeds = number("--seeds", rest.next())?,
            None if !argument.starts_with('-') => only.push(argument.to_owned()),
            _ => return Err(Failure::new(format!("mutants does not know {argument:?}\n\n{HELP}"))),
        }
    }
    Ok(Task::Mutants { order: Order::Find { only, seeds } })
}

/// A time that is longer than none and shorter than a week.
fn positive(what: &str, value: Option<&str>) -> Result<f64> {
    let minutes: f64 = number(what, value)?;
    if minutes > 0.0 && minutes < 10_080.0 {
        return Ok(minutes);
    }
    Err(Failure::new(format!("{what} needs a number of minutes above 0 and below 10080, not {minutes}")))
}

fn number<N: std::str::FromStr>(what: &str, value: Option<&str>) -> Result<N> {
    let value = value.ok_or_else(|| Failure::new(format!("{what} needs a number")))?;
    value.parse().map_err(|_| Failure::new(format!("{what} needs a number, {value:?} is none in range")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn play_takes_port_and_open_in_any_order() {
        assert_eq!(parsed("play").unwrap(), Task::Play { port: 8080, open: false });
        assert_eq!(parsed("play --open --port 9000").unwrap(), Task::Play { port: 9000, open: true });
        assert_eq!(parsed("play --port=9000").unwrap(), Task::Play { port: 9000, open: false });
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (line, named) in [
            ("play --port", "--port"),
            ("play --port 70000", "70000"),
            ("play --fast", "--fast"),
            ("test --only", "--only"),
            ("test --minutes 3", "--minutes"),
            ("prove --minutes -1", "--minutes"),
            ("prove --minutes NaN", "--minutes"),
            ("person --seed tea", "tea"),
            ("size all", "all"),
            ("fuzz --seconds", "--seconds"),
            ("fuzz link relay", "relay"),
            ("dance", "dance"),
        ] {
            let message = parsed(line).unwrap_err().to_string();
            assert!(message.contains(named), "{line}: {message}");
        }
    }

    #[test]
    fn fuzz_takes_a_target_and_seconds_in_any_order() {
        assert_eq!(parsed("fuzz").unwrap(), Task::Fuzz { target: None, seconds: 60 });
        let link = || Task::Fuzz { target: Some("link".to_owned()), seconds: 5 };
        assert_eq!(parsed("fuzz link --seconds 5").unwrap(), link());
        assert_eq!(parsed("fuzz --seconds=5 link").unwrap(), link());
    }

    #[test]
    fn mutants_takes_names_and_seeds_in_any_order() {
        let find = |only: &[&str], seeds| {
            let only = only.iter().map(|&name| name.to_owned()).collect();
            Task::Mutants { order: Order::Find { only, seeds } }
        };
        assert_eq!(parsed("mutants").unwrap(), find(&[], mutants::SEEDS));
        assert_eq!(parsed("mutants a --seeds=5 b").unwrap(), find(&["a", "b"], 5));
        assert_eq!(parsed("mutants --check").unwrap(), Task::Mutants { order: Order::Check });
        assert!(parsed("mutants --fast").unwrap_err().to_string().contains("--fast"));
    }

    #[test]
    fn checks_collect_the_named_steps() {
        let only = vec!["fmt".to_owned(), "layers".to_owned()];
        let order = check::Order { only, keep_going: false };
        let fast = Task::Check { tier: Tier::Test, order: order.clone() };
        assert_eq!(parsed("test --only fmt --only=layers").unwrap(), fast);
        assert_eq!(parsed("test --list").unwrap(), Task::ListSteps(Tier::Test));
        let order = check::Order { keep_going: true, ..order };
        let keeps_going = Task::Check { tier: Tier::Test, order: order.clone() };
        assert_eq!(parsed("test --only fmt --only layers --keep-going").unwrap(), keeps_going);
        let long = Task::Check { tier: Tier::Prove { minutes: 2.5 }, order };
        assert_eq!(parsed("prove --minutes 2.5 --only fmt --only layers").unwrap(), long);
    }

    #[test]
    fn a_walk_takes_a_seed_and_minutes() {
        let walk = |seed, minutes| Task::Person(person::Order { seed, minutes });
        assert_eq!(parsed("person").unwrap(), walk(1, PERSON_MINUTES));
        assert_eq!(parsed("person --minutes=0.5 --seed 7").unwrap(), walk(7, 0.5));
    }
}
