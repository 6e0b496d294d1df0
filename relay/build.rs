//! Tells the program its commit, and fails a build with the feature `embed-page` if there is no page.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A build for development has none: it would be built anew after each commit.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed=../.git/logs/HEAD");
        println!("cargo::rerun-if-env-changed=SAMOVAR_COMMIT");
        if let Some(commit) = commit() {
            version = format!("{version} ({commit})");
        }
    }
    println!("cargo::rustc-env=SAMOVAR_VERSION={version}");
    if std::env::var_os("CARGO_FEATURE_EMBED_PAGE").is_none() {
        return;
    }
    println!("cargo::rerun-if-changed=../dist");
    if !Path::new("../dist/index.html").is_file() {
        println!(
            "cargo::error=the feature `embed-page` builds the page of dist/ into the relay, and dist/index.html is \
             not there: run `trunk build --release` at the root of the repository first"
        );
    }
}

/// The commit: the environment's word, for builds without a repository, or git's.
fn commit() -> Option<String> {
    let told = std::env::var("SAMOVAR_COMMIT").ok();
    let asked = || {
        let output = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    told.or_else(asked)
        .filter(|commit| !commit.is_empty() && commit.chars().all(|c| c.is_ascii_alphanumeric()))
}
