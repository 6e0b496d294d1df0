//! The command line of the runner.

use clap::Parser;

/// Measures Samovar beside its peers
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "cargo xtask bench")]
pub struct Options {
    /// Names of benches, or beginnings of names; all unless told
    pub names: Vec<String>,
    /// Runs of each workload, each with its own seed
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Messages of each reliable bench
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub messages: u64,
    /// Print lines of JSON
    #[arg(long)]
    pub json: bool,
    /// Only peers with this in their names; Samovar is always run
    #[arg(long, value_name = "PART")]
    pub peer: Option<String>,
}

impl Options {
    /// Whether a bench was asked for.
    #[must_use]
    pub fn wants(&self, bench: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| bench.starts_with(name.as_str()))
    }

    /// Whether a subject takes part.
    #[must_use]
    pub fn includes(&self, subject: &str) -> bool {
        let is_asked_for = |part: &String| subject.contains(part.as_str());
        subject.starts_with("samovar") || self.peer.as_ref().is_none_or(is_asked_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Options::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_options_may_be_mixed() {
        let options = parsed("w_smooth --seeds 3 --json reliable").unwrap();
        assert_eq!((options.seeds, options.json), (3, true));
        assert!(options.wants("w_smooth") && options.wants("reliable_dense") && !options.wants("rest"));
    }

    #[test]
    fn errors_name_the_wrong_argument() {
        for (line, named) in [("--seeds", "--seeds"), ("--seeds 0", "0"), ("--fast", "--fast")] {
            assert!(parsed(line).unwrap_err().contains(named));
        }
    }
}
