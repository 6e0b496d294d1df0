//! The library crates are fit for a registry: they can be packaged, say what they are, and leave their users a choice of
//! versions.

use serde_json::Value;

use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;

/// The crates for games, those first that others depend on.
const LIBRARIES: [&str; 13] = [
    "samovar-wire",
    "samovar-derive",
    "samovar-link",
    "samovar-objects",
    "samovar-order",
    "samovar-roster",
    "samovar-session",
    "samovar-directory",
    "samovar-peer",
    "samovar-peer-native",
    "samovar-peer-web",
    "samovar-sim",
    "samovar",
];

/// Facts that a registry shows of a crate.
const FACTS: [&str; 5] = ["description", "license", "readme", "rust_version", "keywords"];

/// Checks every library crate.
///
/// # Errors
/// A crate lacks a fact, takes one version of a dependency alone, or cannot be packaged.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let mut metadata = repo.cargo("metadata");
    let metadata = process::read(metadata.args(["--no-deps", "--locked", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).explain("cargo metadata")?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    for name in LIBRARIES {
        let package = packages.iter().find(|package| package["name"] == name);
        let package = package.ok_or_else(|| Failure::new(format!("there is no crate {name}")))?;
        check_facts(name, package)?;
    }
    let mut cargo = repo.cargo("package");
    // The step `setup` has fetched all that it needs.
    cargo.args(["--no-verify", "--allow-dirty", "--locked", "--offline", "--quiet"]);
    for name in LIBRARIES {
        cargo.args(["--package", name]);
    }
    process::run(&mut cargo)
}

fn check_facts(name: &str, package: &Value) -> Result<()> {
    let is_missing = |fact: &str| package[fact].is_null() || package[fact] == Value::Array(Vec::new());
    if let Some(fact) = FACTS.into_iter().find(|fact| is_missing(fact)) {
        return Err(Failure::new(format!("{name} has no {fact} in its Cargo.toml")));
    }
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    for dependency in dependencies.iter().filter(|dependency| dependency["kind"] != "dev") {
        let wanted = dependency["req"].as_str().unwrap_or_default();
        if wanted.starts_with('=') {
            let other = &dependency["name"];
            return Err(Failure::new(format!(
                "{name} takes {other} at {wanted} alone: a range lets it build beside other crates, and Cargo.lock pins"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(req: &str, kind: Value) -> Value {
        serde_json::json!({
            "description": "d", "license": "l", "readme": "r", "rust_version": "1", "keywords": ["k"],
            "dependencies": [{ "name": "tea", "req": req, "kind": kind }],
        })
    }

    #[test]
    fn pinned_dependencies_and_missing_facts_are_refused() {
        assert!(check_facts("a", &package("^1", Value::Null)).is_ok());
        assert!(check_facts("a", &package("=1.2.3", "dev".into())).is_ok());
        assert!(check_facts("a", &package("=1.2.3", Value::Null)).is_err());
        let mut silent = package("^1", Value::Null);
        silent["keywords"] = serde_json::json!([]);
        assert!(check_facts("a", &silent).is_err());
    }
}
