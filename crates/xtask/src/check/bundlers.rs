//! The packages for JavaScript in others' hands: pages that webpack and Next build, and the checks of npm's packages.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Context, Outcome, browser};
use crate::js;
use crate::process::{self, Explain, Result};
use crate::tools::network;

/// Each bundler, and the folder that it writes.
const BUNDLERS: [(&str, &str); 2] = [("webpack", "dist"), ("next", "out")];
const VERSION: &str = env!("CARGO_PKG_VERSION");
const PUBLINT: &str = "publint@0.3.25";
const TYPES: &str = "@arethetypeswrong/cli@0.18.5";

pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    network::ensure()?;
    let repo = context.repo;
    let stage = browser::Stage::build(repo, &context.toolbox)?;
    let packages = repo.target.join("npm");
    let package = packages.join(format!("samovar-{VERSION}.tgz"));
    for name in ["samovar", "samovar-relay", "create-samovar"] {
        let file = packages.join(format!("{name}-{VERSION}.tgz"));
        npm(&packages, &["exec", "--yes", PUBLINT, "--", "run", &file.display().to_string(), "--strict"])?;
        if name != "create-samovar" {
            // Programs that are no modules import it by `import()`, as they do all modules.
            let file = file.display().to_string();
            npm(&packages, &["exec", "--yes", TYPES, "--", &file, "--profile", "esm-only"])?;
        }
    }
    let mut pages = Vec::new();
    for (bundler, built) in BUNDLERS {
        let folder = repo.target.join("bundlers").join(bundler);
        if folder.exists() {
            fs::remove_dir_all(&folder).explain(folder.display())?;
        }
        js::copy(&repo.root.join("packages/js/bundlers").join(bundler), &folder)?;
        npm(&folder, &["install", "--no-audit", "--no-fund", &package.display().to_string()])?;
        npm(&folder, &["run", "build"])?;
        pages.push(folder.join(built).display().to_string());
    }
    let pages = ("SAMOVAR_BUNDLED", pages.join(":").into());
    let variables = stage.variables().into_iter().chain([pages]);
    browser::run(repo, &["bundlers"], &variables.collect::<Vec<_>>())?;
    Ok(Outcome::Done)
}

fn npm(folder: &Path, args: &[&str]) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args(args).current_dir(folder).env("NEXT_TELEMETRY_DISABLED", "1");
    process::run(&mut npm)
}
