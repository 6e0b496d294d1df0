//! Checks the dependencies by the rules in `deny.toml` (licences, sources, bans), and for known faults.

use std::process::Command;

use super::{Context, Outcome};
use crate::process::{self, Result};
use crate::tools::Tool;

/// Checks licences, sources and bans.
///
/// # Errors
/// A licence, a source or a crate is not allowed, or cargo-deny is unavailable.
pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    process::run(deny(context)?.args(["check", "bans", "licenses", "sources"]))?;
    Ok(Outcome::Done)
}

/// Checks advisories, when their database can be reached.
///
/// # Errors
/// An advisory is not noted in `deny.toml`, or cargo-deny is unavailable.
pub(super) fn advisories(context: &Context<'_>) -> Result<Outcome> {
    if !is_reached(process::code(deny(context)?.arg("fetch"))) {
        return Ok(Outcome::Skipped("the database of advisories cannot be reached"));
    }
    process::run(deny(context)?.args(["check", "advisories"]))?;
    Ok(Outcome::Done)
}

/// Whether the database was reached, by the exit code of the command that fetches it.
const fn is_reached(code: Option<i32>) -> bool {
    matches!(code, Some(0))
}

fn deny(context: &Context<'_>) -> Result<Command> {
    let path = context.toolbox.path_with(&[Tool::Deny])?;
    let mut deny = context.repo.cargo("deny");
    deny.env("PATH", path);
    Ok(deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_cannot_be_fetched_is_out_of_reach() {
        assert!(is_reached(Some(0)));
        assert!(!is_reached(Some(1)) && !is_reached(None));
    }
}
