//! Builds the project's programs as their tests run them, without optimisation: a release build of one takes minutes.

use std::path::PathBuf;

use crate::process::{self, Result};
use crate::repo::{NATIVE, Repo};

/// Builds a program and returns its path. `test` is a test target of the program's package, because cargo builds a
/// program for its tests. The call chooses the same packages as all tests, so that nothing is compiled again.
///
/// # Errors
/// The program cannot be built.
pub(super) fn as_tested(repo: &Repo, name: &str, test: &str) -> Result<PathBuf> {
    process::run(repo.cargo("test").args(NATIVE).args(["--locked", "--no-run", "--test", test]))?;
    Ok(repo.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
