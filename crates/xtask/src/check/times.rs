//! The time of each step when it last passed here, to announce it in the next run.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::repo::Repo;

/// The times of one target directory. They only inform people, so an unreadable or unwritable file counts as empty.
pub(super) struct Times {
    file: PathBuf,
    seconds: BTreeMap<String, f64>,
}

impl Times {
    /// Reads the times that earlier runs noted.
    pub(super) fn read(repo: &Repo) -> Self {
        let file = repo.target.join("xtask").join("times.txt");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let entry = |line: &str| {
            let (name, seconds) = line.split_once(' ')?;
            Some((name.to_owned(), seconds.parse().ok()?))
        };
        Self { file, seconds: text.lines().filter_map(entry).collect() }
    }

    /// The time of the step when it last passed.
    pub(super) fn of(&self, step: &str) -> Option<Duration> {
        self.seconds.get(step).and_then(|&seconds| Duration::try_from_secs_f64(seconds).ok())
    }

    /// Notes that the step has passed in this time.
    pub(super) fn note(&mut self, step: &str, time: Duration) {
        self.seconds.insert(step.to_owned(), time.as_secs_f64());
        let lines: String =
            self.seconds.iter().map(|(name, seconds)| format!("{name} {seconds:.1}\n")).collect();
        if let Some(directory) = self.file.parent() {
            let _ = fs::create_dir_all(directory);
        }
        let _ = fs::write(&self.file, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_from_run_to_run() {
        let root = std::env::temp_dir().join(format!("samovar-xtask-times-{}", std::process::id()));
        let repo = Repo { root: root.clone(), target: root.join("target"), packages: Vec::new() };
        let mut times = Times::read(&repo);
        assert_eq!(times.of("fmt"), None);
        times.note("fmt", Duration::from_millis(1_500));
        times.note("docs", Duration::from_secs(9));
        fs::write(&times.file, fs::read_to_string(&times.file).unwrap() + "broken\nworse -1\n").unwrap();
        let times = Times::read(&repo);
        assert_eq!(times.of("fmt"), Some(Duration::from_millis(1_500)));
        assert_eq!((times.of("broken"), times.of("worse")), (None, None));
        fs::remove_dir_all(&root).unwrap();
    }
}
