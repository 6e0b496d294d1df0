//! Cargo features: each builds by itself, and none of the session changes the messages between members.

use super::{Context, Outcome};
use crate::process::{self, Failure, Result};

/// Features of the session. All other checks build the session with all of them.
const FEATURES: [&str; 5] = ["orders", "lockstep", "ownership", "inputs", "extras"];

/// Features of `samovar`, each a part of the session.
const PARTS: [&str; 4] = ["orders", "lockstep", "ownership", "extras"];

/// Checks the session and `samovar` with each feature alone, and without any.
///
/// # Errors
/// One of these sessions does not build, fails a test, or sends other messages.
pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    for feature in FEATURES {
        let mut clippy = context.repo.cargo("clippy");
        clippy.args(["--package", "samovar-session", "--no-default-features", "--features", feature]);
        process::run(clippy.args(["--all-targets", "--locked", "--", "-D", "warnings"]))?;
    }
    for feature in PARTS {
        let mut clippy = context.repo.cargo("clippy");
        clippy.args(["--package", "samovar", "--no-default-features", "--features", feature]);
        process::run(clippy.args(["--lib", "--locked", "--", "-D", "warnings"]))?;
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
    without_direct_paths(context)?;
    with_traces(context)?;
    Ok(Outcome::Done)
}

/// Checks a relay that sends traces to a collector of OpenTelemetry.
///
/// # Errors
/// It does not build, or the collector does not get what it should.
fn with_traces(context: &Context<'_>) -> Result<()> {
    let mut clippy = context.repo.cargo("clippy");
    clippy.args(["--package", "samovar-relay", "--features", "otel", "--all-targets", "--locked"]);
    process::run(clippy.args(["--", "-D", "warnings"]))?;
    let mut test = context.repo.cargo("test");
    test.args(["--package", "samovar-relay", "--features", "otel", "--locked", "--quiet"]);
    process::run(test.args(["--test", "relay", "traces::"]))
}

/// Checks native programs that are built without direct paths.
///
/// # Errors
/// They do not build, do not meet over the relay, or contain the WebRTC stack.
fn without_direct_paths(context: &Context<'_>) -> Result<()> {
    for package in ["samovar-peer-native", "samovar"] {
        let mut clippy = context.repo.cargo("clippy");
        clippy.args(["--package", package, "--no-default-features", "--lib", "--locked"]);
        process::run(clippy.args(["--", "-D", "warnings"]))?;
    }
    let mut test = context.repo.cargo("test");
    test.args(["--package", "samovar-peer-native", "--no-default-features", "--locked", "--quiet"]);
    process::run(test.args(["--test", "peer-native", "driver::"]))?;
    let mut tree = context.repo.cargo("tree");
    tree.args(["--package", "samovar", "--no-default-features", "--locked", "--edges", "normal"]);
    let tree = process::read(tree.args(["--prefix", "none"]))?;
    match tree.lines().find(|line| line.starts_with("webrtc") || line.starts_with("rtc")) {
        Some(line) => Err(Failure::new(format!("without the feature `direct` samovar depends on {line}"))),
        None => Ok(()),
    }
}

/// A hash of the messages between members of a game that uses no feature.
fn said(context: &Context<'_>, features: &[&str]) -> Result<String> {
    let mut test = context.repo.cargo("test");
    test.args(["--package", "samovar-session", "--locked", "--quiet", "--test", "session"]).args(features);
    let output = process::read(test.args(["bytes::", "--", "--nocapture"]))?;
    let line = output.lines().find_map(|line| line.split_once("said: "));
    line.map(|(_, hash)| hash.to_owned()).ok_or_else(|| Failure::new("the test `bytes` says nothing"))
}
