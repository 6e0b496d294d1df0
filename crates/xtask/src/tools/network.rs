//! Programs for tests of networks: those that make networks of namespaces, the proxies that stand in front of relays,
//! and an authority of certificates.

use std::path::{Path, PathBuf};

use super::debian;
use crate::process::{self, Result};

/// The programs, and Debian's package of each.
const PROGRAMS: [(&str, &str); 5] =
    [("ip", "iproute2"), ("nft", "nftables"), ("nginx", "nginx"), ("caddy", "caddy"), ("pebble", "pebble")];

/// Servers. Where systemd runs, Debian starts a server when it installs it. So servers are not installed there: it
/// may be a person's own machine.
const SERVERS: [&str; 2] = ["nginx", "caddy"];

/// Directories of such programs, which some systems have on the `PATH` of root only.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Installs missing programs if this process may. Prints the names of those still missing; the tests that need them
/// are skipped.
///
/// # Errors
/// An installation fails.
pub(crate) fn ensure() -> Result<()> {
    let missing = missing();
    if !missing.is_empty() {
        let starts_servers = Path::new("/run/systemd/system").exists();
        let packages = missing.iter().map(|&(_, package)| package);
        let packages: Vec<_> =
            packages.filter(|package| !(starts_servers && SERVERS.contains(package))).collect();
        if !packages.is_empty() {
            debian::install(&packages)?;
        }
    }
    for (program, package) in self::missing() {
        println!(
            "{program} is not there (Debian: apt-get install {package}): the tests that need it will be skipped."
        );
    }
    Ok(())
}

fn missing() -> Vec<(&'static str, &'static str)> {
    let path = process::path();
    let directories: Vec<_> = std::env::split_paths(&path).chain(SYSTEM.map(PathBuf::from)).collect();
    let is_there = |program: &str| directories.iter().any(|each| process::is_program(&each.join(program)));
    PROGRAMS.into_iter().filter(|(program, _)| !is_there(program)).collect()
}
