//! The command line.

use clap::Parser;

use crate::dist::Server;
use crate::{fuzz, mutants};

/// The developer's commands
#[derive(Debug, PartialEq, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
pub(crate) enum Task {
    /// Build the page and the relay, and serve them on 127.0.0.1
    Play {
        #[arg(long, default_value_t = 8080)]
        port: u16,
        /// Open a browser
        #[arg(long)]
        open: bool,
    },
    /// Wait for the relay of `play`, whose process this is, and say where it is
    #[command(hide = true)]
    Announce { port: u16, relay: u32, open: Option<String> },
    /// Run every check that a change needs
    Test {
        /// Run only this step; may be given again
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
        /// Run the other steps when one has failed
        #[arg(long)]
        keep_going: bool,
        /// Print the names of the steps
        #[arg(long)]
        list: bool,
    },
    /// Look for what no check has seen: fresh seeds, wide models, planted bugs, hostile bytes, people at random
    Prove {
        /// How long the steps run together, without what has to be built for them
        #[arg(long, default_value = "10", value_parser = minutes)]
        minutes: f64,
        /// Leave out steps, and name them, so that all ends within so many minutes, builds included
        #[arg(long, value_name = "MINUTES", value_parser = minutes)]
        within: Option<f64>,
        /// Run only this step; may be given again
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
        /// Print the names of the steps
        #[arg(long)]
        list: bool,
    },
    /// Let people click, reload and close at random, on three pages
    Person {
        /// Chooses every action
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, default_value = "5", value_parser = minutes)]
        minutes: f64,
    },
    /// Take the moving picture of the README from the running page
    Picture,
    /// Fuzz every decoder and state machine, or one
    Fuzz {
        target: Option<String>,
        /// How long each is fuzzed
        #[arg(long, default_value_t = fuzz::SECONDS)]
        seconds: u32,
    },
    /// Measure Samovar beside its peers (docs/benchmarks.md)
    #[command(disable_help_flag = true)]
    Bench {
        /// `micro` for criterion's, `relay` for the relay under load, else names or beginnings of them; `--help` behind
        /// either lists what it takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Plant bugs and see what finds them (docs/recovery.md); fails when one survives
    Mutants {
        /// All unless told
        names: Vec<String>,
        /// Seeds of the simulator for each
        #[arg(long, default_value_t = mutants::SEEDS)]
        seeds: u64,
        /// See that each can still be planted
        #[arg(long, conflicts_with_all = ["names", "list"])]
        check: bool,
        /// Print them as a table
        #[arg(long, conflicts_with = "names")]
        list: bool,
    },
    /// Print the page's download size after Brotli; fails above the budget
    Size,
    /// Make the guide a book of pages, in target/book; print.html there is all of it on one page
    Book,
    /// Build the package for JavaScript, in packages/js/dist; needs node and npm
    Js,
    /// Packs the packages for npm into `target/npm`, with a relay for this machine.
    Npm,
    /// Build the relay's program for servers, static and with the page inside, in target/dist, with checksums and a list
    /// of its parts
    Dist {
        /// The kind of server; may be given again; all unless told
        #[arg(long, value_name = "KIND", value_parser = server)]
        server: Vec<Server>,
    },
    /// Fetch the build tools, and print the line that puts them on PATH
    Tools,
}

fn server(text: &str) -> Result<Server, &'static str> {
    Server::parse(text).ok_or("the kinds are amd64 and arm64")
}

fn minutes(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|minutes| *minutes > 0.0 && *minutes < 10_080.0);
    number.ok_or("minutes are a number above 0 and below 10080")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn parsed(line: &str) -> Result<Task, String> {
        let words = ["cargo xtask"].into_iter().chain(line.split_whitespace());
        Task::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Task::command().debug_assert();
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (line, named) in [
            ("play --port", "--port"),
            ("play --port 70000", "70000"),
            ("play --fast", "--fast"),
            ("test --only", "--only"),
            ("test --minutes 3", "--minutes"),
            ("prove --minutes -1", "-1"),
            ("prove --minutes NaN", "NaN"),
            ("prove --within 0", "--within"),
            ("person --seed tea", "tea"),
            ("size all", "all"),
            ("fuzz --seconds", "--seconds"),
            ("fuzz link relay", "relay"),
            ("mutants --check a", "--check"),
            ("dist --server vax", "vax"),
            ("dance", "dance"),
        ] {
            let message = parsed(line).unwrap_err();
            assert!(message.contains(named), "{line}: {message}");
        }
    }

    #[test]
    fn flags_stand_before_and_behind_names() {
        let link = || Task::Fuzz { target: Some("link".to_owned()), seconds: 5 };
        assert_eq!(parsed("fuzz link --seconds 5").unwrap(), link());
        assert_eq!(parsed("fuzz --seconds=5 link").unwrap(), link());
        let only = vec!["fmt".to_owned(), "layers".to_owned()];
        let fast = Task::Test { only, keep_going: false, list: false };
        assert_eq!(parsed("test --only fmt --only=layers").unwrap(), fast);
        let names = vec!["a".to_owned(), "b".to_owned()];
        let two = Task::Mutants { names, seeds: 5, check: false, list: false };
        assert_eq!(parsed("mutants a --seeds=5 b").unwrap(), two);
    }

    #[test]
    fn bench_passes_its_arguments_on_unchanged() {
        for line in ["relay --games 4", "--json w_smooth", "--help", ""] {
            let arguments = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(parsed(&format!("bench {line}")).unwrap(), Task::Bench { arguments });
        }
    }
}
