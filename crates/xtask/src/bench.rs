//! `bench`: runs the workloads of `bench/`, a separate workspace with its own target directory, or the relay's load.

use std::path::PathBuf;

use crate::process::{self, Result};
use crate::repo::Repo;

/// The name that stands for the micro-benchmarks, which criterion runs.
const MICRO: &str = "micro";

/// The name that stands for the relay under load, which is a bench of the relay's own.
const RELAY: &str = "relay";

/// Builds the benches in release and runs them. The arguments are passed on unchanged.
///
/// # Errors
/// The benches do not compile, or the runner does not know an argument.
pub(crate) fn bench(repo: &Repo, arguments: &[String]) -> Result<()> {
    if let [first, rest @ ..] = arguments
        && first == RELAY
    {
        let mut command = repo.cargo("bench");
        // The relay as it is built for servers.
        command.args([
            "--quiet",
            "--profile",
            "server",
            "--package",
            "samovar-relay",
            "--bench",
            "load",
            "--",
        ]);
        return process::run(command.args(rest));
    }
    let manifest = manifest(repo);
    // A directory beside the game's own builds: the libraries that are compared share no dependency with the game.
    let target = repo.target.join("bench");
    let (subcommand, rest) = match arguments {
        [first, rest @ ..] if first == MICRO => ("bench", rest),
        _ => ("run", arguments),
    };
    let mut command = repo.cargo(subcommand);
    // Not `--locked`: when the game's dependencies change, the benches' lock file may stay behind. The libraries that
    // are compared are pinned.
    command.arg("--quiet").arg("--manifest-path").arg(manifest);
    command.arg("--target-dir").arg(target);
    match subcommand {
        "bench" => command.args(["--bench", MICRO]),
        _ => command.args(["--release", "--bin", "samovar-bench"]),
    };
    process::run(command.arg("--").args(rest))
}

/// Checks that the benches compile and pass clippy.
///
/// # Errors
/// They do not compile, or clippy warns.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let mut clippy = repo.cargo("clippy");
    clippy.arg("--manifest-path").arg(manifest(repo)).arg("--target-dir").arg(repo.target.join("bench"));
    process::run(clippy.args(["--all-targets", "--", "-D", "warnings"]))
}

/// Checks the format of the benches.
///
/// # Errors
/// The formatter would change a file.
pub(crate) fn check_format(repo: &Repo) -> Result<()> {
    process::run(repo.cargo("fmt").arg("--manifest-path").arg(manifest(repo)).arg("--check"))
}

fn manifest(repo: &Repo) -> PathBuf {
    repo.root.join("bench").join("Cargo.toml")
}
