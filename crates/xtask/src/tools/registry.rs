//! Tools from crates.io and npm: slower than prebuilt ones, and there wherever Cargo itself works.

use std::path::Path;
use std::process::Command;

use super::{Recipe, Tool};
use crate::process::{self, Explain, Failure, Result};

/// Compiling a tool in half the time is worth more than a fast tool. Only for tools: these variables must not
/// reach a build of the project.
const LIGHT_PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// Installs a tool into `root`, compiling below `scratch` if it has to be compiled.
pub(super) fn install(tool: Tool, recipe: &Recipe, scratch: &Path, root: &Path) -> Result<()> {
    match tool {
        Tool::WasmOpt => from_npm(recipe, scratch, root),
        // Their default features fetch further tools over TLS, which is this module's work.
        Tool::Trunk | Tool::WasmBindgen => from_crates(recipe, scratch, root),
    }
}

fn from_crates(recipe: &Recipe, scratch: &Path, root: &Path) -> Result<()> {
    eprintln!("xtask: compiling {}, some minutes, once", recipe.folder());
    // Cargo would advise to put the scratch folder on PATH if it were not there.
    let mut path = vec![root.join("bin")];
    path.extend(std::env::split_paths(&process::path()));
    let mut install = Command::new("cargo");
    install
        .args(["install", recipe.package, "--version", &recipe.version, "--locked", "--root"])
        .arg(root)
        .arg("--target-dir")
        .arg(scratch.join("target"))
        .arg("--no-default-features")
        .envs(LIGHT_PROFILE)
        .env("PATH", std::env::join_paths(path).explain("PATH")?)
        // A developer's wish for the project's target is not meant for tools that run here.
        .env_remove("CARGO_BUILD_TARGET")
        .current_dir(scratch);
    process::run(&mut install)
}

fn from_npm(recipe: &Recipe, scratch: &Path, root: &Path) -> Result<()> {
    if process::find("npm").is_none() || process::find("node").is_none() {
        return Err(Failure::new(
            "wasm-opt could not be fetched prebuilt, and from npm it needs node and npm",
        ));
    }
    eprintln!("xtask: fetching {} from npm", recipe.folder());
    let mut install = Command::new("npm");
    install
        .args(["install", "--global", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(root)
        .arg(format!("{}@{}", recipe.package, recipe.version))
        .current_dir(scratch);
    process::run(&mut install)
}
