//! Rules of language that a program can check: a comment begins with its subject, and a function's name is short.

use std::path::Path;

use crate::process::{Explain, Failure, Result};
use crate::repo::Repo;

/// Words that leave the reader without the subject of a sentence.
const RIDDLES: [&str; 7] = ["What", "Who", "Whom", "Whoever", "Whose", "Of", "Nobody"];
/// The most characters of a function's name.
const NAME_MAX: usize = 60;
/// The folders with sources of ours.
const FOLDERS: [&str; 8] = ["crates", "web", "relay", "tests", "examples", "bench", "fuzz", "integrations"];
/// Folders of build tools, below these.
const BUILT: [&str; 2] = ["target", "dist"];

/// Checks every source.
///
/// # Errors
/// Lists the comments and names that break a rule.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let mut wrong = Vec::new();
    for folder in FOLDERS {
        check_place(&repo.root, &repo.root.join(folder), &mut wrong)?;
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(format!("\n  {}", wrong.join("\n  ")))) }
}

fn check_place(root: &Path, place: &Path, wrong: &mut Vec<String>) -> Result<()> {
    if place.is_dir() {
        if BUILT.iter().any(|name| place.ends_with(name)) {
            return Ok(());
        }
        for entry in std::fs::read_dir(place).explain(place.display())? {
            check_place(root, &entry.explain(place.display())?.path(), wrong)?;
        }
        return Ok(());
    }
    if place.extension().is_some_and(|extension| extension == "rs") {
        let source = std::fs::read_to_string(place).explain(place.display())?;
        let name = place.strip_prefix(root).unwrap_or(place).display();
        wrong.extend(faults(&source).map(|(line, fault)| format!("{name}:{line}: {fault}")));
    }
    Ok(())
}

/// The number of each line that breaks a rule, and the rule.
fn faults(source: &str) -> impl Iterator<Item = (usize, String)> {
    let mut is_comment = false;
    source.lines().enumerate().filter_map(move |(index, line)| {
        let line = line.trim_start();
        let text = line.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim_start());
        let begins = text.filter(|text| !text.is_empty() && !is_comment);
        is_comment = text.is_some_and(|text| !text.is_empty());
        let riddle = begins.and_then(|text| text.split(' ').next()).filter(|word| RIDDLES.contains(word));
        if let Some(word) = riddle {
            return Some((index + 1, format!("the comment begins with `{word}` instead of its subject")));
        }
        let name = function(line).filter(|name| name.len() > NAME_MAX)?;
        Some((index + 1, format!("{name} has {} characters, more than {NAME_MAX}", name.len())))
    })
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "];
    let line = words.iter().fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
    line.strip_prefix("fn ")?.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_paragraph_is_judged() {
        let lines = |source: &str| faults(source).map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(lines("/// What it is.\nfn a() {}\n"), [1]);
        assert_eq!(lines("//! The host.\n//! What it does.\n//!\n//! Nobody else does.\n"), [4]);
        assert_eq!(lines("    // Of two, the first.\n    let what = \"// Who\";\n"), [1]);
        assert!(lines("/// Whatever it is.\n").is_empty());
    }

    #[test]
    fn long_name_of_a_function_is_a_fault() {
        let named = |length: usize| format!("    pub(crate) async fn {}() {{", "a".repeat(length));
        assert_eq!(faults(&named(60)).count(), 0);
        assert_eq!(faults(&named(61)).count(), 1);
    }
}
