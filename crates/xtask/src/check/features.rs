//! Cargo features of the session: each builds by itself, and none of them changes the messages between members.

use super::{Context, Outcome};
use crate::process::{self, Failure, Result};

/// Features of the session. All other checks build the session with all of them.
const FEATURES: [&str; 4] = ["orders", "lockstep", "ownership", "extras"];

/// Checks the session, built in each way.
///
/// # Errors
/// One of these sessions does not build, fails a test, or sends other messages.
pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    for feature in FEATURES {
        let mut clippy = context.repo.cargo("clippy");
        clippy.args(["--package", "samovar-session", "--no-default-features", "--features", feature]);
        process::run(clippy.args(["--all-targets", "--locked", "--", "-D", "warnings"]))?;
    }
    let mut test = context.repo.cargo("test");
    test.args(["--package", "samovar-session", "--no-default-features", "--locked", "--quiet"]);
    process::run(test.args(["--lib", "--tests"]))?;
    // The messages must be the same, so that a page and a robot that are built differently can be members of one
    // game.
    let (none, all) = (said(context, &["--no-default-features"])?, said(context, &[])?);
    if none != all {
        return Err(Failure::new(format!(
            "without features members say other things: {none}, with all {all}"
        )));
    }
    Ok(Outcome::Done)
}

/// A hash of the messages between members of a game that uses no feature.
fn said(context: &Context<'_>, features: &[&str]) -> Result<String> {
    let mut test = context.repo.cargo("test");
    test.args(["--package", "samovar-session", "--locked", "--quiet", "--test", "session"]).args(features);
    let output = process::read(test.args(["bytes::", "--", "--nocapture"]))?;
    let line = output.lines().find_map(|line| line.split_once("said: "));
    line.map(|(_, hash)| hash.to_owned()).ok_or_else(|| Failure::new("the test `bytes` says nothing"))
}
