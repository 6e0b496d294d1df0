//! The command line of the runner.

/// What is to be run and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Names of benches, or beginnings of names; empty means all.
    pub names: Vec<String>,
    /// Runs of each workload, each with its own seed.
    pub seeds: u64,
    /// Messages of each reliable bench.
    pub messages: u64,
    /// Lines of JSON instead of tables.
    pub is_json: bool,
    /// Only subjects whose name contains this; Samovar itself is always run.
    pub peer: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { names: Vec::new(), seeds: 10, messages: 20_000, is_json: false, peer: None }
    }
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// Says which argument is wrong.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--json" => options.is_json = true,
                "--seeds" => options.seeds = count(&value()?)?,
                "--messages" => options.messages = count(&value()?)?,
                "--peer" => options.peer = Some(value()?),
                name if !name.starts_with('-') => options.names.push(name.to_owned()),
                _ => return Err(format!("unknown option {argument}")),
            }
        }
        Ok(options)
    }

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

fn count(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| format!("{text:?} is no positive number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn names_and_options_mix() {
        let options = parsed("w_smooth --seeds 3 --json reliable").unwrap();
        assert_eq!((options.seeds, options.is_json), (3, true));
        assert!(options.wants("w_smooth") && options.wants("reliable_dense") && !options.wants("rest"));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (line, named) in [("--seeds", "--seeds"), ("--seeds 0", "\"0\""), ("--fast", "--fast")] {
            assert!(parsed(line).unwrap_err().contains(named));
        }
    }
}
