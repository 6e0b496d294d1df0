//! Fetches tools from crates.io, whose index has the checksums of all packages, and from npm, with a checksum in this
//! file.

use std::path::Path;
use std::process::Command;

use sha2::{Digest as _, Sha512};

use super::{Recipe, Tool};
use crate::process::{self, Explain, Failure, Result};

/// Settings with which a tool compiles in half the time, which is worth more than a fast tool. They are only for
/// tools: these variables must not reach a build of the project.
const LIGHT_PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// Installs a tool into `root`, compiling below `scratch` if needed.
pub(super) fn install(tool: Tool, recipe: &Recipe, scratch: &Path, root: &Path) -> Result<()> {
    match tool {
        Tool::WasmOpt => from_npm(recipe, scratch, root),
        // The default features of the first two fetch further tools over TLS, which is this module's work; those of the
        // book watch and serve.
        Tool::Trunk | Tool::WasmBindgen | Tool::Mdbook => {
            from_crates(recipe, &["--no-default-features"], scratch, root)
        }
        Tool::Deny | Tool::WasmPack | Tool::Cyclonedx => from_crates(recipe, &[], scratch, root),
    }
}

fn from_crates(recipe: &Recipe, features: &[&str], scratch: &Path, root: &Path) -> Result<()> {
    eprintln!("xtask: compiling {}, some minutes, once", recipe.folder());
    // With the scratch folder on PATH, Cargo does not advise to put it there.
    let mut path = vec![root.join("bin")];
    path.extend(std::env::split_paths(&process::path()));
    let mut install = Command::new("cargo");
    install
        .args(["install", recipe.package, "--version", &recipe.version, "--locked", "--root"])
        .arg(root)
        .arg("--target-dir")
        .arg(scratch.join("target"))
        .args(features)
        .envs(LIGHT_PROFILE)
        .env("PATH", std::env::join_paths(path).explain("PATH")?)
        // A developer's target for the project does not apply to tools that run here.
        .env_remove("CARGO_BUILD_TARGET")
        .current_dir(scratch);
    process::run(&mut install)
}

/// The SHA-512 of the package of [`BINARYEN`](super::BINARYEN), which the npm registry calls its integrity. A new
/// version needs a new checksum: `npm view binaryen@VERSION dist.integrity`, in hexadecimal.
const BINARYEN_SUM: &str = "e14b20ef212fc0edc532ca373a8bfaaa438e1d2a1dd4812ff9ba0a921efb9139\
     6333e78d068baa0936ea5acc06cdb1bebc334efdbfefd82e207c48755a007d2e";

fn from_npm(recipe: &Recipe, scratch: &Path, root: &Path) -> Result<()> {
    if process::find("npm").is_none() || process::find("node").is_none() {
        return Err(Failure::new("wasm-opt comes from npm, which needs node and npm"));
    }
    eprintln!("xtask: fetching {} from npm", recipe.folder());
    let mut pack = Command::new("npm");
    pack.args(["pack", "--ignore-scripts", "--silent", "--pack-destination"]).arg(scratch);
    process::run(pack.arg(format!("{}@{}", recipe.package, recipe.version)).current_dir(scratch))?;
    let package = scratch.join(format!("{}-{}.tgz", recipe.package, recipe.version));
    let bytes = std::fs::read(&package).explain(package.display())?;
    check_sum(&bytes, BINARYEN_SUM).map_err(|failure| failure.during(&recipe.folder()))?;
    let mut install = Command::new("npm");
    install
        .args([
            "install",
            "--global",
            "--ignore-scripts",
            "--offline",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ])
        .arg("--prefix")
        .arg(root)
        .arg(&package)
        .current_dir(scratch);
    process::run(&mut install)
}

/// Checks a file against the checksum in this repository.
fn check_sum(bytes: &[u8], expected: &str) -> Result<()> {
    let sum: String = Sha512::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if sum == expected {
        return Ok(());
    }
    Err(Failure::new(format!(
        "what was downloaded is not what this repository expects (SHA-512 {sum}): somebody may have changed it on its way"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_checksum_is_refused() {
        let sum = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
            2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
        check_sum(b"abc", sum).unwrap();
        let failure = check_sum(b"abd", sum).unwrap_err().to_string();
        assert!(failure.contains("not what this repository expects"), "{failure}");
        assert_eq!(BINARYEN_SUM.len(), 128);
    }
}
