//! The copy of the tree that bugs are planted in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::list::Mutant;
use super::pattern::{self, Match};
use crate::files;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;

/// The place of a planted bug.
pub(super) struct Place {
    /// The file's path below the root.
    file: PathBuf,
    at: Match,
}

impl Place {
    /// The only place that the bug's pattern fits.
    ///
    /// # Errors
    /// The pattern fits no place, or several.
    pub(super) fn of(repo: &Repo, mutant: &Mutant) -> Result<Self> {
        let crates = Path::new(if mutant.package == "relay" { "" } else { "crates" });
        let sources = crates.join(mutant.package).join("src");
        let mut places = Vec::new();
        for file in files::below(&repo.root.join(&sources))? {
            let source = fs::read_to_string(&file).explain(file.display())?;
            let file = file.strip_prefix(&repo.root).unwrap_or(&file).to_owned();
            let found = pattern::find(&source, mutant.text);
            places.extend(found.into_iter().map(|at| Self { file: file.clone(), at }));
        }
        match places.len() {
            1 => Ok(places.remove(0)),
            times => Err(Failure::new(format!(
                "{}: its text is {times} times in {}",
                mutant.name,
                sources.display()
            ))),
        }
    }
}

/// A copy of all tracked files, with a build directory of its own.
pub(super) struct Tree {
    /// Holds the copy and its builds.
    pub(super) directory: PathBuf,
    copy: Repo,
    is_release: bool,
}

impl Tree {
    /// Copies the files that have changed since the last time. With `is_release` the simulator is built for release,
    /// which is worth while for long runs.
    pub(super) fn copy(repo: &Repo, is_release: bool) -> Result<Self> {
        let directory = repo.target.join("mutants");
        let root = directory.join("tree");
        let mut files = Command::new("git");
        files.args(["ls-files", "-z"]).current_dir(&repo.root);
        let mut copied = BTreeSet::new();
        for file in process::read(&mut files)?.split('\0').filter(|file| !file.is_empty()) {
            let (from, to) = (repo.root.join(file), root.join(file));
            // Git tracks a removed file until the removal is committed.
            if from.is_file() {
                copy_changed(&from, &to)?;
                copied.insert(to);
            }
        }
        remove_others(&root, &copied)?;
        let target = directory.join("build");
        Ok(Self { directory, copy: Repo { root, target, packages: Vec::new() }, is_release })
    }

    /// A call of Cargo in the copy.
    pub(super) fn cargo(&self, subcommand: &str) -> Command {
        let mut command = self.copy.cargo(subcommand);
        // Only the code that depends on a planted bug should be compiled again.
        command.env("CARGO_TARGET_DIR", &self.copy.target).env("CARGO_INCREMENTAL", "1");
        command.arg("--locked");
        command
    }

    /// Builds the simulator.
    pub(super) fn build_simulator(&self) -> Result<PathBuf> {
        let mut build = self.cargo("build");
        build.args(["--quiet", "--package", "samovar-sim", "--bin", "samovar-sim"]);
        build.args(self.is_release.then_some("--release"));
        process::run(&mut build)?;
        let profile = if self.is_release { "release" } else { "debug" };
        Ok(self.copy.target.join(profile).join(format!("samovar-sim{}", std::env::consts::EXE_SUFFIX)))
    }

    /// The place of a bug in the copy.
    pub(super) fn place(&self, mutant: &Mutant) -> Result<Place> {
        Place::of(&self.copy, mutant)
    }

    /// Plants a bug in the copy.
    pub(super) fn plant(&self, mutant: &Mutant, place: &Place) -> Result<()> {
        let path = self.copy.root.join(&place.file);
        let mut source = fs::read_to_string(&path).explain(path.display())?;
        source.replace_range(place.at.range.clone(), &pattern::fill(mutant.instead, &place.at.receivers));
        fs::write(&path, source).explain(path.display())
    }

    /// Removes the bug from the copy again.
    pub(super) fn restore(&self, repo: &Repo, place: &Place) -> Result<()> {
        copy_changed(&repo.root.join(&place.file), &self.copy.root.join(&place.file))
    }
}

/// Removes files of an earlier tree. Cargo would take them for tests, for example.
fn remove_others(directory: &Path, kept: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).explain(directory.display())? {
        let path = entry.explain(directory.display())?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) {
            fs::remove_file(&path).explain(path.display())?;
        }
    }
    Ok(())
}

/// Copies a file unless an equal copy exists. Cargo goes by the time of the last change, and would compile a new copy
/// again.
fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).explain(from.display())?;
    if fs::read(to).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).explain(parent.display())?;
    }
    fs::write(to, bytes).explain(to.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_copy_is_not_written_again() {
        let directory = std::env::temp_dir().join(format!("samovar-mutants-{}", std::process::id()));
        let (from, to) = (directory.join("from"), directory.join("deep/to"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(&from, "tea").unwrap();
        copy_changed(&from, &to).unwrap();
        let written = fs::metadata(&to).unwrap().modified().unwrap();
        copy_changed(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), written);
        assert_eq!(fs::read_to_string(&to).unwrap(), "tea");
        remove_others(&directory, &BTreeSet::from([to.clone()])).unwrap();
        assert!(!from.exists() && to.exists());
        fs::remove_dir_all(&directory).unwrap();
    }
}
