//! The package for JavaScript: `packages/js/dist`, and the page of its example.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;
use crate::tools::{Tool, Toolbox};

/// The cores of the package: the small one, and the one with orders and worlds, each with the features that it is built
/// with.
const CORES: [(&str, &[&str]); 2] = [("core", &[]), ("full", &["--features", "full"])];

/// Builds the package, and returns its folder.
///
/// # Errors
/// A tool is missing, or a part does not build.
pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<PathBuf> {
    let package = repo.root.join("packages/js");
    let path = toolbox.path_with(&[Tool::WasmBindgen, Tool::WasmOpt])?;
    for (core, features) in CORES {
        let mut build = repo.cargo("build");
        build.args(["--package", "samovar-js", "--profile", "wasm-release"]).args(features);
        process::run(build.args(["--target", "wasm32-unknown-unknown", "--locked"]))?;
        let folder = package.join("ts").join(core);
        let module = repo.target.join("wasm32-unknown-unknown/wasm-release/samovar_js.wasm");
        let mut glue = Command::new(crate::page::program("wasm-bindgen", &path));
        process::run(glue.args(["--target", "web", "--out-dir"]).arg(&folder).arg(&module))?;
        let module = folder.join("samovar_js_bg.wasm");
        let mut shrink = Command::new(crate::page::program("wasm-opt", &path));
        process::run(shrink.args(["-Oz", "-o"]).arg(&module).arg(&module))?;
    }
    fetch_tools(&package)?;
    process::run(Command::new("node").arg(package.join("build.mjs")))?;
    Ok(package.join("dist"))
}

/// Fetches the compilers of the package's TypeScript, once.
fn fetch_tools(package: &Path) -> Result<()> {
    if package.join("node_modules/esbuild/package.json").exists() {
        return Ok(());
    }
    let mut fetch = Command::new("npm");
    fetch.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(package);
    process::run(&mut fetch)
        .map_err(|failure| Failure::new(format!("{failure}; the package for JavaScript needs node and npm")))
}

/// Builds the page of the example beside the package, and returns the folder that holds both.
///
/// # Errors
/// As [`build`].
pub(crate) fn example(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<PathBuf> {
    let dist = build(repo, toolbox)?;
    let folder = repo.target.join("pages/js");
    let samovar = folder.join("samovar");
    if samovar.exists() {
        fs::remove_dir_all(&samovar).explain(samovar.display())?;
    }
    copy(&dist, &samovar)?;
    let page = repo.root.join("packages/js/examples/cursors/index.html");
    fs::copy(&page, folder.join("index.html")).explain(page.display())?;
    Ok(folder)
}

/// Copies a folder with all that it holds.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).explain(to.display())?;
    for entry in fs::read_dir(from).explain(from.display())? {
        let entry = entry.explain(from.display())?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target).explain(path.display())?;
        }
    }
    Ok(())
}
