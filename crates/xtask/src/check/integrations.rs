//! The integrations with engines: workspaces of their own, so that the workspace of Samovar does not build the engines.

use super::{Context, Outcome};
use crate::process::{self, Result};

/// The folders in `integrations/`.
const ALL: [&str; 1] = ["bevy"];

/// Checks each integration, and runs its tests against a real relay.
///
/// # Errors
/// One does not build, fails a test, or clippy warns.
pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    process::run(context.repo.cargo("build").args(["--quiet", "--locked", "--package", "samovar-relay"]))?;
    let relay = context.repo.target.join("debug").join("samovar-relay");
    for name in ALL {
        let manifest = context.repo.root.join("integrations").join(name).join("Cargo.toml");
        let target = context.repo.target.join("integrations");
        let cargo = |subcommand: &str| {
            let mut command = context.repo.cargo(subcommand);
            // Not `--locked`: when the dependencies of Samovar change, the lock file of the integration may stay behind.
            command.arg("--quiet").arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(&target);
            command
        };
        process::run(cargo("clippy").args(["--all-targets", "--", "-D", "warnings"]))?;
        process::run(cargo("test").env("SAMOVAR_RELAY_BIN", &relay))?;
    }
    Ok(Outcome::Done)
}

/// Checks the format of the integrations.
///
/// # Errors
/// The formatter would change a file.
pub(super) fn check_format(context: &Context<'_>) -> Result<()> {
    for name in ALL {
        let manifest = context.repo.root.join("integrations").join(name).join("Cargo.toml");
        process::run(context.repo.cargo("fmt").arg("--manifest-path").arg(manifest).arg("--check"))?;
    }
    Ok(())
}
