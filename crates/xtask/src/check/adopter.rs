//! A crate as the guide tells a newcomer to write it: outside the workspace, with the dependencies and the program of
//! the first chapter.

use std::fs;
use std::process::Command;

use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;

const README: &str = "README.md";
const FIRST: &str = "crates/samovar/guide/first-room.md";
const FAULTS: &str = "crates/samovar/guide/faults.md";
/// The path to the library in the documents: a clone beside the newcomer's crate.
const BESIDE: &str = "../samovar/crates/samovar";

/// Writes the crate of the guide, and checks that it builds.
///
/// # Errors
/// A document lacks its snippet, the documents differ, or the crate does not build.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let read = |name: &str| fs::read_to_string(repo.root.join(name)).explain(name);
    let (readme, first, faults) = (read(README)?, read(FIRST)?, read(FAULTS)?);
    let dependencies = snippet(&first, "toml").ok_or_else(|| missing(FIRST, "toml"))?;
    let in_readme = snippet(&readme, "toml").ok_or_else(|| missing(README, "toml"))?;
    if dependencies.trim_start_matches("[dependencies]\n") != in_readme {
        return Err(Failure::new(format!("{README} and {FIRST} name other dependencies")));
    }
    let for_tests = snippet(&faults, "toml").ok_or_else(|| missing(FAULTS, "toml"))?;
    let program = snippet(&first, "rust,no_run").ok_or_else(|| missing(FIRST, "rust,no_run"))?;
    let library = repo.root.join("crates/samovar").display().to_string();
    let package = "[package]\nname = \"adopter\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let manifest = format!("{package}\n{dependencies}\n{for_tests}").replace(BESIDE, &library);
    let folder = repo.target.join("tmp/adopter");
    let source = folder.join("src");
    fs::create_dir_all(&source).explain(source.display())?;
    fs::write(folder.join("Cargo.toml"), manifest).explain(folder.display())?;
    fs::write(source.join("main.rs"), program).explain(source.display())?;
    // Takes the locked versions of the workspace, which are on this machine already: the build is offline.
    fs::copy(repo.root.join("Cargo.lock"), folder.join("Cargo.lock")).explain(folder.display())?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&folder).args(["check", "--offline", "--all-targets", "--quiet"]);
    process::run(cargo.env("CARGO_TARGET_DIR", &repo.target))?;
    println!("The crate of {FIRST} builds outside the workspace.");
    Ok(())
}

fn missing(document: &str, language: &str) -> Failure {
    Failure::new(format!("{document} has no snippet in {language}"))
}

/// The first code block in a language.
fn snippet<'a>(document: &'a str, language: &str) -> Option<&'a str> {
    let (_, rest) = document.split_once(&format!("```{language}\n"))?;
    Some(rest.split_once("```")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippet_is_the_first_of_its_language() {
        let document = "a\n```sh\nls\n```\n```toml\nx = 1\n```\n```toml\ny = 2\n```\n";
        assert_eq!(snippet(document, "toml"), Some("x = 1\n"));
        assert_eq!(snippet(document, "rust"), None);
    }
}
