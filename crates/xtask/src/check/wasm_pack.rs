//! `wasm-pack test`, as a developer calls it: it runs a crate's tests in headless Chromium.

use std::process::Command;

use super::browser::{tests_passed, webdriver_settings};
use super::{Context, Outcome};
use crate::process::{self, Explain, Failure, Result};
use crate::tools::Tool;
use crate::tools::chromium::Chromium;

/// A small crate of the core, the two crates whose tests the tier `test` does not run in wasm, and the browser's
/// driver. The other crates' tests take minutes in a browser, and `test` runs them in Node.js.
const PACKAGES: [&str; 4] = ["wire", "order", "duel", "peer-web"];

/// Runs the tests of these packages.
///
/// # Errors
/// A test fails, or none was run. In the latter case wasm-pack itself succeeds.
pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    let chromium = Chromium::ensure()?;
    let settings = webdriver_settings(context.repo, &chromium)?;
    let path = context.toolbox.path_with(&[Tool::WasmPack, Tool::WasmBindgen])?;
    let program = process::find_in(&path, "wasm-pack").ok_or_else(|| Failure::new("wasm-pack is missing"))?;
    for package in PACKAGES {
        let mut test = Command::new(&program);
        test.args(["test", "--headless", "--chrome", "--mode", "no-install", "--chromedriver"])
            .arg(&chromium.driver)
            .arg(context.repo.root.join("crates").join(package))
            .arg("--locked")
            .env("PATH", &path)
            .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &settings)
            // The same setting as in the step `wasm`, so that its compiled modules are used again.
            .env("CARGO_PROFILE_DEV_DEBUG", "false");
        let mut said = Said::of(&mut test)?;
        if said.lost_its_browser() {
            println!("wasm-pack test of crates/{package} lost its browser ({}): once more.", said.reason());
            said = Said::of(&mut test)?;
        }
        if !said.is_success || said.passed == 0 {
            let (passed, reason) = (said.passed, said.reason());
            return Err(Failure::new(format!(
                "wasm-pack test of crates/{package}: {passed} tests passed; {reason}"
            )));
        }
    }
    Ok(Outcome::Done)
}

/// The result and the output of a run of wasm-pack.
struct Said {
    is_success: bool,
    passed: usize,
    output: String,
    errors: String,
}

impl Said {
    /// Runs the command, and shows what it prints.
    fn of(command: &mut Command) -> Result<Self> {
        let said = command.output().explain("wasm-pack")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (output, errors) = (text(&said.stdout), text(&said.stderr));
        print!("{output}");
        eprint!("{errors}");
        let passed = output.lines().map(tests_passed).sum();
        Ok(Self { is_success: said.status.success(), passed, output, errors })
    }

    /// Whether the browser or its driver failed: the program compiled, some tests began, and none failed.
    fn lost_its_browser(&self) -> bool {
        let has_failed = self.output.contains("test result: FAILED") || self.output.contains("panicked at");
        !self.is_success && self.errors.contains("Running ") && !has_failed
    }

    /// The first error that the run printed.
    fn reason(&self) -> &str {
        let errors = || self.errors.lines().chain(self.output.lines()).map(str::trim);
        errors().find(|line| line.to_ascii_lowercase().starts_with("error")).unwrap_or("it names no error")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &str, errors: &str) -> Said {
        Said { is_success: false, passed: 0, output: output.to_owned(), errors: errors.to_owned() }
    }

    #[test]
    fn a_lost_browser_is_distinguished_from_a_failed_test() {
        let lost = said("test result: ok. 8 passed", "     Running tests/order\nError: http status: 500\n");
        assert!(lost.lost_its_browser());
        assert_eq!(lost.reason(), "Error: http status: 500");
        assert!(!said("test result: FAILED. 7 passed", "     Running tests/order").lost_its_browser());
        assert!(!said("", "error: could not compile").lost_its_browser());
    }
}
