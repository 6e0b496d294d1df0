//! The package for JavaScript: `packages/js/dist`, and the page of its example.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;
use crate::tools::{Tool, Toolbox};

/// Builds the package, and returns its folder.
///
/// # Errors
/// A tool is missing, or a part does not build.
pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<PathBuf> {
    let package = repo.root.join("packages/js");
    let mut build = repo.cargo("build");
    build.args(["--package", "samovar-js", "--profile", "wasm-release"]);
    process::run(build.args(["--target", "wasm32-unknown-unknown", "--locked"]))?;
    let path = toolbox.path_with(&[Tool::WasmBindgen, Tool::WasmOpt])?;
    let module = repo.target.join("wasm32-unknown-unknown/wasm-release/samovar_js.wasm");
    let core = package.join("ts/core");
    let mut glue = Command::new(crate::page::program("wasm-bindgen", &path));
    process::run(glue.args(["--target", "web", "--out-dir"]).arg(&core).arg(&module))?;
    let module = core.join("samovar_js_bg.wasm");
    let mut shrink = Command::new(crate::page::program("wasm-opt", &path));
    process::run(shrink.args(["-Oz", "-o"]).arg(&module).arg(&module))?;
    typescript(&package)?;
    let dist = package.join("dist");
    fs::create_dir_all(dist.join("core")).explain(dist.display())?;
    for file in ["samovar_js.js", "samovar_js.d.ts", "samovar_js_bg.wasm"] {
        fs::copy(core.join(file), dist.join("core").join(file)).explain(file)?;
    }
    Ok(dist)
}

/// Runs the compiler of TypeScript, which npm fetches once.
fn typescript(package: &Path) -> Result<()> {
    let compiler = package.join("node_modules/typescript/bin/tsc");
    if !compiler.exists() {
        process::run(
            Command::new("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(package),
        )
        .map_err(|failure| {
            Failure::new(format!("{failure}; the package for JavaScript needs node and npm"))
        })?;
    }
    process::run(Command::new("node").arg(compiler).arg("--project").arg(package))
}

/// Builds the page of the example beside the package, and returns the folder that holds both.
///
/// # Errors
/// As [`build`].
pub(crate) fn example(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<PathBuf> {
    let dist = build(repo, toolbox)?;
    let folder = repo.target.join("pages/js");
    fs::create_dir_all(folder.join("samovar/core")).explain(folder.display())?;
    let page = repo.root.join("packages/js/examples/cursors/index.html");
    fs::copy(&page, folder.join("index.html")).explain(page.display())?;
    for file in ["index.js", "schema.js", "core/samovar_js.js", "core/samovar_js_bg.wasm"] {
        fs::copy(dist.join(file), folder.join("samovar").join(file)).explain(file)?;
    }
    Ok(folder)
}
