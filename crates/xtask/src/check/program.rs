//! The project's programs as their tests run them: a release of one takes minutes to compile.

use std::path::PathBuf;

use crate::process::{self, Result};
use crate::repo::{NATIVE, Repo};

/// Builds a program and returns its path. `test` is a test of its package, for which cargo builds it: with the same
/// choice of packages as all tests, so that nothing is compiled again.
///
/// # Errors
/// It cannot be built.
pub(super) fn as_tested(repo: &Repo, name: &str, test: &str) -> Result<PathBuf> {
    process::run(repo.cargo("test").args(NATIVE).args(["--locked", "--no-run", "--test", test]))?;
    Ok(repo.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
