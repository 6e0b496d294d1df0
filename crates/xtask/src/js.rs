//! The package for JavaScript: `packages/js/dist`, and the page of its example.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Explain, Failure, Result};
use crate::repo::{Repo, WASM};
use crate::tools::{Tool, Toolbox};
use crate::{client, page, seam};

/// The cores of the package: the small one, and the one with orders and worlds. Each has a profile of its own, so that
/// neither build undoes the other.
const CORES: [(&str, &str, &[&str]); 2] =
    [("core", "wasm-release", &[]), ("full", "wasm-full", &["--features", "full"])];

/// Builds the package, and returns its folder.
///
/// # Errors
/// A tool is missing, or a part does not build.
pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<PathBuf> {
    let package = repo.root.join("packages/js");
    let path = toolbox.path_with(&[Tool::WasmBindgen, Tool::WasmOpt])?;
    for (core, profile, features) in CORES {
        let mut build = repo.cargo("build");
        build.args(["--package", "samovar-js", "--profile", profile]).args(features);
        process::run(build.args(["--target", WASM, "--locked"]))?;
        let module = repo.target.join(WASM).join(profile).join("samovar_js.wasm");
        let folder = package.join("ts").join(core);
        let small = folder.join("samovar_js_bg.wasm");
        if is_newer(&small, &module) {
            continue;
        }
        // The last step makes the file that is compared, so a build that fails before it is made again.
        let bound = repo.target.join("js").join(core);
        let mut glue = Command::new(page::program("wasm-bindgen", &path));
        process::run(glue.args(["--target", "web", "--out-dir"]).arg(&bound).arg(&module))?;
        let optimised = bound.join("optimised.wasm");
        let mut shrink = Command::new(page::program("wasm-opt", &path));
        shrink.args(client::optimisations(repo)?.split_whitespace());
        process::run(shrink.arg(bound.join("samovar_js_bg.wasm")).arg("-o").arg(&optimised))?;
        seam::shorten(&optimised, &bound.join("samovar_js.js"))?;
        fs::create_dir_all(&folder).explain(folder.display())?;
        for file in ["samovar_js.js", "samovar_js.d.ts"] {
            fs::copy(bound.join(file), folder.join(file)).explain(file)?;
        }
        fs::copy(&optimised, &small).explain(small.display())?;
    }
    fetch_tools(&package)?;
    for script in ["build.mjs", "check.mjs"] {
        process::run(Command::new("node").arg(package.join(script)))?;
    }
    Ok(package.join("dist"))
}

/// Writes the reference of the package.
///
/// # Errors
/// As [`build`], or something public has no description that its links need.
pub(crate) fn reference(repo: &Repo, toolbox: &Toolbox<'_>, folder: &Path) -> Result<()> {
    build(repo, toolbox)?;
    let package = repo.root.join("packages/js");
    let mut typedoc = Command::new("node");
    typedoc.arg("node_modules/typedoc/bin/typedoc").arg("--out").arg(folder).current_dir(package);
    process::run(&mut typedoc)
}

/// Whether a file exists that was made after another.
fn is_newer(file: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    time(file).is_some_and(|made| time(source).is_some_and(|changed| changed < made))
}

/// The files that a page loads: the face, and the core with orders and worlds if `is_full`.
pub(crate) fn loaded(dist: &Path, is_full: bool) -> Vec<PathBuf> {
    let core = if is_full { "full" } else { "core" };
    let face =
        ["index", "room", "loader", "schema", "error", "world", "input"].map(|name| format!("{name}.js"));
    let core = ["samovar_js.js", "samovar_js_bg.wasm"].map(|name| format!("{core}/{name}"));
    face.iter().chain(&core).map(|file| dist.join(file)).collect()
}

/// Fetches the tools of the package, unless they are there.
fn fetch_tools(package: &Path) -> Result<()> {
    if is_newer(&package.join("node_modules/.package-lock.json"), &package.join("package-lock.json")) {
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
    let package = repo.root.join("packages/js");
    copy(&package.join("tests"), &folder.join("tests"))?;
    for (from, to) in [("examples/cursors/index.html", "index.html"), ("tests/blank.html", "blank.html")] {
        fs::copy(package.join(from), folder.join(to)).explain(from)?;
    }
    Ok(folder)
}

/// Builds the packages and a relay, and packs them: see [`pack`].
///
/// # Errors
/// A tool is missing, or a part does not build.
pub(crate) fn release(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<PathBuf> {
    build(repo, toolbox)?;
    let mut relay = repo.cargo("build");
    process::run(relay.args([
        "--release",
        "--locked",
        "--package",
        "samovar-relay",
        "--bin",
        "samovar-relay",
    ]))?;
    pack(repo, &repo.target.join("release/samovar-relay"))
}

/// Packs the packages as npm publishes them, with this program of the relay, and returns the folder that holds them.
/// Fetches what their users need, so that a test installs them without a network.
///
/// # Errors
/// npm is missing or fails.
pub(crate) fn pack(repo: &Repo, relay: &Path) -> Result<PathBuf> {
    let folder = repo.target.join("npm");
    if folder.exists() {
        fs::remove_dir_all(&folder).explain(folder.display())?;
    }
    let (os, cpu) = machine();
    let machine = folder.join(format!("relay-{os}-{cpu}"));
    fs::create_dir_all(&machine).explain(machine.display())?;
    fs::write(machine.join("package.json"), manifest(os, cpu)).explain(machine.display())?;
    let program = machine.join(relay.file_name().unwrap_or_default());
    if cfg!(unix) {
        // Debug information would make it five times as large.
        process::run(Command::new("strip").arg("-o").arg(&program).arg(relay))?;
    } else {
        fs::copy(relay, &program).explain(program.display())?;
    }
    let packages = ["js", "relay", "create"].map(|name| repo.root.join("packages").join(name));
    for package in packages.iter().chain([&machine]) {
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            fs::copy(repo.root.join(licence), package.join(licence)).explain(licence)?;
        }
        let mut pack = Command::new("npm");
        pack.args(["pack", "--silent", "--pack-destination"]).arg(&folder).current_dir(package);
        process::run(&mut pack)?;
    }
    let mut create = Command::new("node");
    create.arg(repo.root.join("packages/create/index.js")).arg(folder.join("first"));
    // This template needs the most packages.
    process::run(create.args(["--template", "physics", "--packages"]).arg(&folder))?;
    Ok(folder)
}

/// This machine's system and processor, as Node calls them.
fn machine() -> (&'static str, &'static str) {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        os => os,
    };
    let cpu = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        cpu => cpu,
    };
    (os, cpu)
}

/// The description of the package with the relay's program for a machine.
fn manifest(os: &str, cpu: &str) -> String {
    let (ending, version) = (std::env::consts::EXE_SUFFIX, env!("CARGO_PKG_VERSION"));
    format!(
        r#"{{
  "name": "samovar-relay-{os}-{cpu}",
  "version": "{version}",
  "description": "The program of samovar-relay for {os} on {cpu}.",
  "license": "MIT OR Apache-2.0",
  "os": ["{os}"],
  "cpu": ["{cpu}"],
  "files": ["samovar-relay{ending}"]
}}
"#
    )
}

/// Copies a folder with all that it holds.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
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
