//! Checks the commands in the documents: each program understands its arguments, and the packages, tests and examples
//! that they name exist.
//!
//! With `--help` behind its arguments, a program reads them all and does nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;

/// The folders of the documents, below the root.
const DOCUMENTS: [&str; 6] =
    [".", "docs", "crates/samovar/guide", "crates/wire", "crates/wire/protocol", "web"];

/// The beginnings of commands of this project, in text and in code blocks.
const OURS: [&str; 4] = ["cargo ", "samovar-sim ", "samovar-relay ", "target/release/samovar-relay "];

/// The beginnings of other programs' commands. Lines of a code block that begin so are not checked.
const OTHERS: [&str; 5] = ["scp ", "ssh ", "eval ", "wasm-pack ", "openssl "];

/// Checks every command.
///
/// # Errors
/// Lists the commands that their programs do not understand, with the documents that have them.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let mut commands = BTreeSet::new();
    for document in documents(repo)? {
        let text = fs::read_to_string(&document).explain(document.display())?;
        let name = document.strip_prefix(&repo.root).unwrap_or(&document).display().to_string();
        commands.extend(commands_in(&text).into_iter().map(|command| (command, name.clone())));
    }
    let programs = Programs {
        xtask: std::env::current_exe().explain("this program")?,
        sim: program::as_tested(repo, "samovar-sim", "sim")?,
        relay: program::as_tested(repo, "samovar-relay", "relay")?,
    };
    let wrong = commands.iter().filter_map(|(command, document)| {
        let reason = refusal(repo, &programs, command)?;
        Some(format!("{document}: `{command}`: {reason}"))
    });
    let wrong: Vec<_> = wrong.collect();
    if wrong.is_empty() {
        println!("{} commands of the documents are understood.", commands.len());
        return Ok(());
    }
    Err(Failure::new(format!("\n  {}", wrong.join("\n  "))))
}

struct Programs {
    xtask: PathBuf,
    sim: PathBuf,
    relay: PathBuf,
}

pub(super) fn documents(repo: &Repo) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for directory in DOCUMENTS {
        let directory = repo.root.join(directory);
        for entry in fs::read_dir(&directory).explain(directory.display())? {
            let path = entry.explain(directory.display())?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// All commands in the shell's code blocks, and the commands of this project in the text.
fn commands_in(document: &str) -> Vec<String> {
    let (mut commands, mut in_shell, mut in_code) = (Vec::new(), false, false);
    let mut prose = String::new();
    for line in document.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            in_code = !in_code;
            in_shell = in_code && language == "sh";
        } else if in_shell {
            let line = line.split(" #").next().unwrap_or_default();
            let parts = line.split("&&").flat_map(|part| part.split(" & "));
            commands.extend(parts.map(|part| part.trim().trim_end_matches(" &").trim().to_owned()));
        } else if !in_code {
            prose.push_str(line.trim());
            prose.push(' ');
        }
    }
    let spans = prose.split('`').skip(1).step_by(2);
    let is_ours = |span: &&str| OURS.iter().any(|ours| span.starts_with(ours));
    // Leaves out commands with a gap for the reader to fill.
    let is_whole = |span: &&str| !span.contains(['…', '{', '|']);
    commands.extend(spans.filter(is_ours).filter(is_whole).map(str::to_owned));
    commands.retain(|command| !command.is_empty() && !command.starts_with('#'));
    commands
}

/// The reason why a command would not run; `None` when it would.
fn refusal(repo: &Repo, programs: &Programs, command: &str) -> Option<String> {
    if OTHERS.iter().any(|other| command.starts_with(other)) || command == "trunk serve" {
        return None;
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let behind = |word: &str| words.iter().position(|&each| each == word).map(|at| &words[at + 1..]);
    let package = behind("-p").or_else(|| behind("--package")).and_then(<[&str]>::first);
    if let Some(package) = package.filter(|package| repo.package(package).is_none()) {
        return Some(format!("there is no package {package}"));
    }
    match words[..] {
        // Not tried here: it would compile its own workspace, for minutes. `prove` compiles that.
        ["cargo", "xtask", "bench", ..] => None,
        ["cargo", "xtask", ref rest @ ..] => misreads(&programs.xtask, rest),
        ["cargo", "run", ..] => match (package, behind("--")) {
            (Some(&"samovar-sim"), Some(rest)) => misreads(&programs.sim, rest),
            (Some(&"samovar-relay"), Some(rest)) => misreads(&programs.relay, rest),
            (Some(&"samovar-orders"), None) => None,
            // An example takes a relay, a code and a name. The examples' own tests run them with these.
            (Some(&"samovar-examples"), Some([_, _, _])) => {
                let name = behind("--bin")?.first()?;
                let file = repo.root.join(format!("examples/src/bin/{name}.rs"));
                (!file.exists()).then(|| format!("there is no example {name}"))
            }
            _ => Some("nobody checks what it runs".to_owned()),
        },
        ["cargo", "test", ..] => {
            let target = behind("--test")?.first()?;
            let is_there =
                |package: &&str| repo.package(package).is_some_and(|p| p.tests.iter().any(|t| t == target));
            (!package.is_some_and(is_there)).then(|| format!("there is no test target {target}"))
        }
        ["cargo", "build" | "doc" | "fmt" | "clippy" | "install" | "tree" | "update", ..] => None,
        // The test `two_commands_lead_to_two_tabs_that_share_an_object` runs these.
        ["npm", "create", "samovar", ..] | ["npm", "exec" | "run", ..] => None,
        ["samovar-sim", ref rest @ ..] => misreads(&programs.sim, rest),
        ["samovar-relay" | "target/release/samovar-relay", ref rest @ ..] => misreads(&programs.relay, rest),
        _ => Some("no check knows this program".to_owned()),
    }
}

/// The first line of a program's error when it does not understand these arguments.
fn misreads(program: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(words).arg("--help").output();
    match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(said.lines().next().unwrap_or("it fails without a word").to_owned())
        }
        Err(error) => Some(format!("{}: {error}", process::shown(&command))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_blocks_and_text() {
        let text = "Run `cargo xtask test`, not\n`samovar-sim soak\n--seeds 0..3`, `cargo xtask STEP …` or `ls`.\n\
            ```sh\n# first\ncargo run -p samovar-relay -- serve &\neval \"$(x)\" && trunk serve  # then this\n```\n\
            ```toml\ncargo = 1\n```\n";
        let expected = [
            "cargo run -p samovar-relay -- serve",
            "eval \"$(x)\"",
            "trunk serve",
            "cargo xtask test",
            "samovar-sim soak --seeds 0..3",
        ];
        assert_eq!(commands_in(text), expected);
    }
}
