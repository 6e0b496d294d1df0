//! `fuzz`: hostile bytes for every decoder and state machine, guided by coverage.
//!
//! The project's own toolchain builds the program in `fuzz/`: the compiler's coverage counters, which libFuzzer
//! reads, do not need a nightly toolchain. An address sanitizer would, and it would find nothing in code that forbids
//! `unsafe`. A counting allocator checks the bound on memory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;

/// The default time of each target, in seconds.
pub(crate) const SECONDS: u32 = 60;

/// The compiler flags of `cargo fuzz`, without its sanitizer.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// The longest input: more than a packet, and short enough to be useful.
const LENGTH_MAX: u32 = 4_096;

/// The compiler for libFuzzer itself, which is C++.
const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];

/// The reason why the fuzzer cannot be built on this machine; `None` if it can.
pub(crate) fn obstacle() -> Option<&'static str> {
    let is_supported = cfg!(any(target_os = "linux", target_os = "macos"));
    let has_compiler = std::env::var_os("CXX").is_some()
        || COMPILERS.into_iter().any(|compiler| process::find(compiler).is_some());
    match (is_supported, has_compiler) {
        (false, _) => Some("libFuzzer is built on Linux and macOS only"),
        (_, false) => Some("libFuzzer needs a C++ compiler, and none is on PATH"),
        _ => None,
    }
}

/// Runs all targets for this many minutes together, at least a second each.
///
/// # Errors
/// As [`fuzz`].
pub(crate) fn fuzz_for(repo: &Repo, minutes: f64) -> Result<()> {
    let targets = targets(repo)?.len();
    let seconds = minutes * 60.0 * workers(targets) as f64 / targets.max(1) as f64;
    fuzz(repo, None, (seconds as u32).max(1))
}

/// The number of targets that run at once: as many as there are processors.
fn workers(targets: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(targets)
}

/// Runs one target, or all of them, each for this many seconds and as many at once as there are processors.
///
/// # Errors
/// The fuzzer cannot be built, no target has this name, or a target fails: its input is kept and named.
pub(crate) fn fuzz(repo: &Repo, target: Option<&str>, seconds: u32) -> Result<()> {
    if let Some(obstacle) = obstacle() {
        return Err(Failure::new(obstacle));
    }
    let (program, targets) = (build(repo)?, targets(repo)?);
    let chosen: Vec<_> = targets.iter().filter(|name| target.is_none_or(|only| only == *name)).collect();
    if chosen.is_empty() {
        return Err(Failure::new(format!("no such target; there are {}", targets.join(", "))));
    }
    println!(
        "fuzzing {} for {seconds} s each",
        chosen.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
    );
    let workers = workers(chosen.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let work = || {
            let mut failures = Vec::new();
            while let Some(name) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                failures.extend(run(repo, &program, name, seconds).err());
            }
            failures
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let panicked = |_| vec![Failure::new("a thread that ran the fuzzer panicked")];
        let failures: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(panicked)).collect();
        all_held(failures)
    })
}

/// Joins all failures into one, with the texts of all.
fn all_held(failures: Vec<Failure>) -> Result<()> {
    let texts: Vec<_> = failures.iter().map(ToString::to_string).collect();
    if texts.is_empty() { Ok(()) } else { Err(Failure::new(texts.join("\n\n"))) }
}

/// Compiles the program and returns where it is.
fn build(repo: &Repo) -> Result<PathBuf> {
    let target = repo.target.join("fuzz");
    // `--target` is given explicitly, so that the coverage flags do not apply to build scripts and macros.
    let host = host()?;
    let mut cargo = repo.cargo("build");
    cargo.current_dir(repo.root.join("fuzz")).args(["--locked", "--target", &host]);
    cargo
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", FLAGS.join(" "))
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    process::run(&mut cargo)?;
    Ok(target.join(host).join("debug/samovar-fuzz"))
}

/// Checks that the fuzzer compiles and passes clippy.
///
/// # Errors
/// It does not compile, or clippy warns.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let mut clippy = repo.cargo("clippy");
    clippy.current_dir(repo.root.join("fuzz")).arg("--target-dir").arg(repo.target.join("fuzz"));
    process::run(clippy.args(["--locked", "--", "-D", "warnings"]))
}

/// The machine's own target triple.
fn host() -> Result<String> {
    let version = process::read(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("rustc does not say what machine this is"))
}

/// The names that the program knows, from its own list.
fn targets(repo: &Repo) -> Result<Vec<String>> {
    let file = repo.root.join("fuzz/src/targets.rs");
    let source = std::fs::read_to_string(&file).explain(file.display())?;
    Ok(named(&source))
}

fn named(source: &str) -> Vec<String> {
    let first = |line: &str| line.trim().strip_prefix("(\"")?.split('"').next().map(str::to_owned);
    source.lines().filter_map(first).collect()
}

/// Runs one target. Keeps interesting inputs below the build directory, so that the next run begins where this one
/// ended.
fn run(repo: &Repo, program: &Path, target: &str, seconds: u32) -> Result<()> {
    let place = |folder: &str| repo.target.join("fuzz").join(folder);
    let (corpus, failures, log) =
        (place("corpus").join(target), place("failures"), place("logs").join(target));
    for directory in [&corpus, &failures, &place("logs")] {
        std::fs::create_dir_all(directory).explain(directory.display())?;
    }
    let output = File::create(&log).explain(log.display())?;
    let mut fuzzer = Command::new(program);
    fuzzer.arg(&corpus).current_dir(&repo.root).env("SAMOVAR_FUZZ", target);
    fuzzer.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={LENGTH_MAX}"));
    // Lets inputs grow sooner than by default: a script of calls is worth little while it is short.
    fuzzer.args(["-timeout=10", "-len_control=20", "-print_final_stats=1"]);
    fuzzer.arg(format!("-artifact_prefix={}/{target}-", failures.display()));
    fuzzer.stderr(output.try_clone().explain(log.display())?).stdout(output);
    let result = process::run(&mut fuzzer);
    let said = String::from_utf8_lossy(&std::fs::read(&log).explain(log.display())?).into_owned();
    if let Err(failure) = result {
        let program = program.display();
        return Err(failure.during(&format!(
            "{}\n{target} failed; SAMOVAR_FUZZ={target} {program} INPUT replays it",
            end(&said)
        )));
    }
    println!("{target:9} held: {}", summary(&said));
    Ok(())
}

/// The part of a log from the panic on, or its last lines when there is none.
fn end(log: &str) -> String {
    let lines: Vec<_> = log.lines().filter(|line| !line.starts_with(['#', '"', '\t'])).collect();
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    lines[panic.unwrap_or(lines.len().saturating_sub(20))..].join("\n")
}

/// The number of inputs and the code that they reached: libFuzzer's last line of status.
fn summary(log: &str) -> &str {
    log.lines().rev().find(|line| line.contains("DONE")).map_or("no status", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_begins_at_the_panic() {
        let log = "INFO: x\n#12\tDONE   cov: 3\nthread panicked at y:\n#7\twhy\nbecause\n\"\\001\" # Uses: 1";
        assert_eq!(end(log), "thread panicked at y:\nbecause");
        assert_eq!(summary(log), "#12\tDONE   cov: 3");
    }

    #[test]
    fn every_failure_is_reported() {
        assert!(all_held(Vec::new()).is_ok());
        let told = all_held(vec![Failure::new("link"), Failure::new("wire")]).unwrap_err().to_string();
        assert_eq!(told, "link\n\nwire");
    }

    #[test]
    fn the_targets_are_read_from_the_program_itself() {
        let targets = targets(&Repo::locate().unwrap()).unwrap();
        assert!(targets.len() > 8 && targets.iter().any(|name| name == "session"), "{targets:?}");
        assert_eq!(named("x\n    (\"a\", B, c::d),\n(\"e\", F, g),"), ["a", "e"]);
    }
}
