//! Builds a client alone: the session and its driver in a page, without a game and without any feature.

use std::process::Command;

use crate::compress::{self, Sizes};
use crate::page::program;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::{Repo, WASM};
use crate::tools::{Tool, Toolbox};

/// Builds the example `client` of the browser's driver, with the settings of the page. Returns the total size of its
/// files.
///
/// # Errors
/// A tool is missing, or the build fails.
pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<Sizes> {
    println!("Building a client alone: a minute or two.");
    let mut build = repo.cargo("build");
    build.args(["--quiet", "--locked", "--target", WASM, "--profile", "wasm-release"]);
    process::run(build.args([
        "--package",
        "samovar-peer-web",
        "--no-default-features",
        "--example",
        "client",
    ]))?;
    let module = repo.target.join(WASM).join("wasm-release/examples/client.wasm");
    let directory = repo.target.join("xtask/client");
    let path = toolbox.path_with(&[Tool::WasmBindgen, Tool::WasmOpt])?;
    let mut bind = Command::new(program("wasm-bindgen", &path));
    bind.args(["--target", "web", "--no-typescript", "--out-dir"]).arg(&directory).arg(&module);
    process::run(&mut bind)?;
    let (bound, small) = (directory.join("client_bg.wasm"), directory.join("client.wasm"));
    let mut opt = Command::new(program("wasm-opt", &path));
    opt.args(optimisations(repo)?.split_whitespace()).arg(&bound).arg("-o").arg(&small);
    process::run(&mut opt)?;
    let mut total = Sizes { plain: 0, sent: 0 };
    for file in [small, directory.join("client.js")] {
        compress::compress(&file)?;
        let sizes = compress::sizes(&file)?;
        (total.plain, total.sent) = (total.plain + sizes.plain, total.sent + sizes.sent);
    }
    Ok(total)
}

/// The page's settings for wasm-opt.
pub(crate) fn optimisations(repo: &Repo) -> Result<String> {
    let file = repo.root.join("web/index.html");
    let page = std::fs::read_to_string(&file).explain(file.display())?;
    let found = page.split_once("data-wasm-opt-params=\"").and_then(|(_, behind)| behind.split_once('"'));
    found
        .map(|(parameters, _)| parameters.to_owned())
        .ok_or_else(|| Failure::new(format!("{} has no data-wasm-opt-params", file.display())))
}
