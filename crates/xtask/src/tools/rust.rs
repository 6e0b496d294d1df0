//! The parts of the Rust toolchain that the pinned version may lack.

use std::path::Path;
use std::process::Command;

use super::debian;
use crate::dist::Server;
use crate::process::{self, Failure, Result};
use crate::repo::{Repo, WASM};

/// Adds the standard library for the browser if it is missing.
pub(super) fn ensure_wasm_target(repo: &Repo) -> Result<()> {
    ensure_target(repo, WASM)
}

/// Adds what a static program for a server needs: the standard library, and a compiler for C.
///
/// # Errors
/// A part is missing, and this process may not install it.
pub(crate) fn ensure_server(repo: &Repo, server: Server) -> Result<()> {
    ensure_target(repo, server.triple())?;
    let (compiler, package) = server.compiler();
    if process::find(compiler).is_none() {
        debian::install(&[package])?;
    }
    if process::find(compiler).is_none() {
        return Err(Failure::new(format!("{compiler} is missing (Debian: apt-get install {package})")));
    }
    Ok(())
}

fn ensure_target(repo: &Repo, triple: &str) -> Result<()> {
    let mut ask = Command::new("rustc");
    ask.args(["--print=target-libdir", "--target", triple]).current_dir(&repo.root);
    if Path::new(process::read(&mut ask)?.trim()).exists() {
        return Ok(());
    }
    rustup(repo, &["target", "add", triple], &format!("the standard library for {triple}"))
}

/// Adds a component if Cargo lacks its subcommand.
pub(super) fn ensure_component(repo: &Repo, subcommand: &str, component: &str) -> Result<()> {
    if process::code(repo.cargo(subcommand).arg("--version")) == Some(0) {
        return Ok(());
    }
    rustup(repo, &["component", "add", component], &format!("the Rust component {component}"))
}

fn rustup(repo: &Repo, arguments: &[&str], what: &str) -> Result<()> {
    if process::find("rustup").is_none() {
        return Err(Failure::new(format!(
            "{what} is missing and there is no rustup: install it with your Rust"
        )));
    }
    eprintln!("xtask: fetching {what}");
    process::run(Command::new("rustup").args(arguments).current_dir(&repo.root))
}
