//! Installs packages of Debian, on Debian and systems derived from it.

use std::process::Command;

use crate::process::{self, Result};

/// Installs these packages where there is `apt-get` and this process is root. Elsewhere it does nothing, and the
/// caller reports the missing ones.
///
/// # Errors
/// `apt-get` fails.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    if process::find("apt-get").is_none() || !process::is_root() {
        return Ok(());
    }
    eprintln!("xtask: installing Debian's {}", packages.join(", "));
    process::run(&mut apt_get(&["update", "--quiet"]))?;
    process::run(apt_get(&["install", "--yes"]).args(packages))
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command
}
