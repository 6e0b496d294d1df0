//! `wasm-pack test`, as a developer calls it: it runs a crate's tests in headless Chromium.

use super::browser::tests_passed;
use super::{Context, Outcome};
use crate::process::{self, Explain, Failure, Result};
use crate::tools::Tool;
use crate::tools::chromium::Chromium;

/// A small crate of the core, the two whose tests `test` does not run in wasm, and the browser's driver. Tests of the
/// other crates take minutes in a browser, and `test` runs them in Node.js.
const PACKAGES: [&str; 4] = ["wire", "order", "duel", "peer-web"];

/// Runs the tests of these packages.
///
/// # Errors
/// A test fails; or none was run: wasm-pack succeeds then.
pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    let chromium = Chromium::ensure()?;
    let path = context.toolbox.path_with(&[Tool::WasmPack, Tool::WasmBindgen])?;
    let program = process::find_in(&path, "wasm-pack").ok_or_else(|| Failure::new("wasm-pack is missing"))?;
    for package in PACKAGES {
        let mut test = std::process::Command::new(&program);
        test.args(["test", "--headless", "--chrome", "--mode", "no-install", "--chromedriver"])
            .arg(&chromium.driver)
            .arg(context.repo.root.join("crates").join(package))
            .arg("--locked")
            .env("PATH", &path)
            // As in the step `wasm`, whose modules these are.
            .env("CARGO_PROFILE_DEV_DEBUG", "false");
        let said = test.output().explain("wasm-pack")?;
        let output = String::from_utf8_lossy(&said.stdout);
        print!("{output}");
        eprint!("{}", String::from_utf8_lossy(&said.stderr));
        let passed: usize = output.lines().map(tests_passed).sum();
        if !said.status.success() || passed == 0 {
            return Err(Failure::new(format!(
                "wasm-pack test of crates/{package}: {}, {passed} tests passed",
                said.status
            )));
        }
    }
    Ok(Outcome::Done)
}
