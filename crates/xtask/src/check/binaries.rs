//! Compiled tests, run side by side: `cargo test` runs one binary after the other, and most of them leave a processor
//! idle.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::times::Times;
use crate::clock::Stopwatch;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;

/// A compiled test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binary {
    /// The package's directory and the target, as in `wire/packets`.
    pub(super) name: String,
    program: PathBuf,
    /// The package's directory; tests run there.
    directory: PathBuf,
}

impl Binary {
    /// Compiles the tests that this call of `cargo test` would run.
    ///
    /// # Errors
    /// The build fails, or no line of Cargo's output is a test.
    pub(super) fn build(test: &mut Command) -> Result<Vec<Self>> {
        let said = process::read(test.args(["--no-run", "--message-format=json-render-diagnostics"]))?;
        let binaries: Vec<_> = said.lines().filter_map(Self::from_message).collect();
        if binaries.is_empty() {
            return Err(Failure::new(format!("`{}` names no test", process::shown(test))));
        }
        Ok(binaries)
    }

    fn from_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        // Skips programs that tests only start: Cargo lists them, too.
        let program = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
        let directory = Path::new(message["manifest_path"].as_str()?).parent()?;
        let package = directory.file_name()?.to_str()?;
        let name = format!("{package}/{}", message["target"]["name"].as_str()?);
        Some(Self { name, program: program.into(), directory: directory.into() })
    }

    /// The command that runs the tests.
    pub(super) fn command(&self) -> Command {
        self.under(None)
    }

    /// The command that runs the tests. A `runner` is a program that runs tests for another machine.
    pub(super) fn under(&self, runner: Option<&Path>) -> Command {
        let mut command = Command::new(runner.unwrap_or(&self.program));
        if runner.is_some() {
            command.arg(&self.program);
        }
        command.current_dir(&self.directory);
        command
    }
}

/// A command, and the name under which its time is kept.
pub(super) struct Job {
    pub(super) name: String,
    pub(super) command: Command,
}

/// Runs all jobs, two at a time; jobs that are new or took longest the last time start first. Prints each job's
/// output when the job ends, or while it runs when it is the only job. Returns the outputs.
///
/// # Errors
/// Names the jobs that did not succeed, after all jobs have ended.
pub(super) fn run(repo: &Repo, mut jobs: Vec<Job>) -> Result<Vec<String>> {
    let mut times = Times::read(repo);
    jobs.sort_by_key(|job| std::cmp::Reverse(times.of(&job.name).unwrap_or(Duration::MAX)));
    let is_single = jobs.len() == 1;
    let waiting = Mutex::new(VecDeque::from(jobs));
    let ended = Mutex::new(Vec::new());
    let lane = || {
        loop {
            let Some(job) = lock(&waiting).pop_front() else { return };
            let watch = Stopwatch::start();
            let (name, outcome) = (job.name.clone(), to_end(job.command, is_single));
            let took = watch.elapsed();
            let mut ended = lock(&ended);
            let said = outcome.as_ref().map_or("", |(_, said)| said.as_str());
            let mut stdout = io::stdout().lock();
            // Ignores errors, because the reader of this output may be gone.
            if !is_single {
                let _ = write!(stdout, "\n-- {name}\n{said}");
            }
            let _ = writeln!(stdout, "-- {name} ended after {:.1} s", took.as_secs_f64());
            ended.push((name, took, outcome));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(lane);
        lane();
    });
    let (mut said, mut failed) = (Vec::new(), Vec::new());
    for (name, took, outcome) in ended.into_inner().unwrap_or_else(PoisonError::into_inner) {
        match outcome {
            Ok((true, text)) => {
                times.note(&name, took);
                said.push(text);
            }
            Ok((false, _)) => failed.push(name),
            Err(failure) => failed.push(format!("{name} ({failure})")),
        }
    }
    if failed.is_empty() { Ok(said) } else { Err(Failure::new(format!("failed: {}", failed.join(", ")))) }
}

/// Runs a command to its end. Returns whether it succeeded, and its output. With `aloud` also prints each line at
/// once.
fn to_end(mut command: Command, aloud: bool) -> Result<(bool, String)> {
    let name = process::shown(&command);
    let (reader, writer) = io::pipe().explain(&name)?;
    command.stdout(writer.try_clone().explain(&name)?).stderr(writer);
    let mut child = command.spawn().explain(&name)?;
    // Closes the command's ends of the pipe, so that the loop below ends with the child.
    drop(command);
    let mut said = String::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.explain(&name)?;
        said.push_str(&String::from_utf8_lossy(&line));
        said.push('\n');
        if aloud {
            println!("{}", String::from_utf8_lossy(&line));
        }
    }
    let status = child.wait().explain(&name)?;
    Ok((status.success(), said))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(name: &str) -> Repo {
        let root = std::env::temp_dir().join(format!("samovar-xtask-{name}-{}", std::process::id()));
        Repo { target: root.join("target"), root, packages: Vec::new() }
    }

    #[test]
    fn a_test_binary_is_found_in_cargos_output() {
        let line = r#"{"manifest_path": "/r/crates/wire/Cargo.toml", "target": {"name": "packets"},
            "profile": {"test": true}, "executable": "/t/packets-1"}"#
            .replace('\n', "");
        let binary = Binary::from_message(&line).unwrap();
        assert_eq!(binary.name, "wire/packets");
        assert_eq!(process::shown(&binary.under(Some(Path::new("/bin/runner")))), "runner /t/packets-1");
        let program = line.replace("true", "false");
        assert_eq!(Binary::from_message(&program), None);
        assert_eq!(Binary::from_message("warning: not JSON"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_build_without_a_test_is_an_error() {
        let failure = Binary::build(Command::new("sh").args(["-c", "echo '{}'"])).unwrap_err();
        assert!(failure.to_string().contains("names no test"), "{failure}");
    }

    #[cfg(unix)]
    #[test]
    fn all_jobs_are_run_and_the_failed_ones_named() {
        let job = |name: &str, script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            Job { name: name.to_owned(), command }
        };
        let repo = repo("jobs");
        let jobs = vec![job("a", "echo one; echo two >&2"), job("b", "exit 3"), job("c", "exit 4")];
        let failure = run(&repo, jobs).unwrap_err().to_string();
        assert!(failure.contains('b') && failure.contains('c') && !failure.contains("a,"), "{failure}");
        assert_eq!(run(&repo, vec![job("a", "echo one; echo two >&2")]).unwrap(), ["one\ntwo\n"]);
        assert!(Times::read(&repo).of("a").is_some() && Times::read(&repo).of("b").is_none());
        std::fs::remove_dir_all(&repo.root).unwrap();
    }
}
