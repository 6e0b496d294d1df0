//! The tests that need a browser: the core's own, compiled to wasm, and the end-to-end ones.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::sandbox::Sandbox;
use crate::page;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::{NATIVE, Repo, WASM};
use crate::tools::chromium::Chromium;

/// The packages whose tests are run in a browser: the core's, too, and the browser's driver's only there.
const IN_BROWSER: [&str; 8] =
    ["wire", "link", "objects", "roster", "session", "directory", "peer", "peer-web"];

/// Runs the tests of the core and of the browser's driver in a headless browser.
///
/// # Errors
/// When a test fails, or a package turns out to have none: a runner that finds no test is content.
pub(super) fn core_tests(repo: &Repo, path: &OsStr, chromium: &Chromium) -> Result<()> {
    // The sandbox has no network and so must not be the first to compile.
    for name in IN_BROWSER {
        let mut build = repo.cargo("test");
        build.args([
            "--no-run",
            "--lib",
            "--tests",
            "--locked",
            "--target",
            WASM,
            "--package",
            &format!("samovar-{name}"),
        ]);
        process::run(&mut build)?;
    }
    let settings = webdriver_settings(repo, chromium)?;
    let sandbox = Sandbox::open();
    for name in IN_BROWSER {
        let mut test = Command::new(page::program("wasm-pack", path));
        test.args(["test", "--headless", "--chrome", "--mode", "no-install", "--chromedriver"])
            .arg(&chromium.driver)
            .arg(repo.root.join("crates").join(name))
            .args(["--lib", "--locked", "--offline"])
            // wasm-pack says `--tests` itself when it builds, so here each is named.
            .args(
                repo.package(&format!("samovar-{name}"))
                    .iter()
                    .flat_map(|package| &package.tests)
                    .flat_map(|test| ["--test", test]),
            )
            .current_dir(&repo.root)
            .env("PATH", path)
            .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &settings)
            // In seconds; the defaults of 5 and 20 are short on a machine that also compiles.
            .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "30")
            .env("WASM_BINDGEN_TEST_TIMEOUT", "120")
            // Without it, a package that does not ask for a browser would be skipped with success.
            .env("WASM_BINDGEN_USE_BROWSER", "1");
        let mut passed = 0;
        process::run_observed(&mut sandbox.wrap(&test), |line| passed += tests_passed(line))?;
        if passed == 0 {
            return Err(Failure::new(format!("samovar-{name} ran no test in the browser")));
        }
    }
    Ok(())
}

/// Tells the test runner which browser the driver is to start, wherever that is.
fn webdriver_settings(repo: &Repo, chromium: &Chromium) -> Result<PathBuf> {
    let directory = repo.target.join("xtask");
    fs::create_dir_all(&directory).explain(directory.display())?;
    let file = directory.join("webdriver.json");
    // Direct connections on loopback need the flag and a microphone; without one the browser hides its addresses.
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--allow-loopback-in-peer-connection",
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
    ];
    let settings = serde_json::json!({ "goog:chromeOptions": { "binary": chromium.browser, "args": flags } });
    fs::write(&file, settings.to_string()).explain(file.display())?;
    Ok(file)
}

/// Builds and runs the named test targets with these variables set.
///
/// # Errors
/// When a target is missing or a test fails.
pub(super) fn end_to_end(repo: &Repo, targets: &[&str], variables: &[(&str, OsString)]) -> Result<()> {
    let existing = repo.package("samovar-tests").map_or(&[][..], |package| &package.tests);
    if let Some(missing) = targets.iter().find(|&&target| existing.iter().all(|name| name != target)) {
        return Err(Failure::new(format!("samovar-tests has no test target {missing:?}")));
    }
    let cargo = |target: &str, last: &[&str]| {
        let mut test = repo.cargo("test");
        test.args(NATIVE).args(["--locked", "--test", target]).args(last);
        test.envs(variables.iter().map(|(name, value)| (name, value)));
        test
    };
    for target in targets {
        process::run(&mut cargo(target, &["--no-run"]))?;
    }
    let sandbox = Sandbox::open();
    for target in targets {
        // Two cores cannot draw several duels at once, and the tests measure time. What they measured is shown.
        let last = ["--offline", "--", "--test-threads=1", "--show-output"];
        process::run(&mut sandbox.wrap(&cargo(target, &last)))?;
    }
    Ok(())
}

/// The number in a line like `test result: ok. 12 passed; 0 failed`, 0 for any other line.
fn tests_passed(line: &str) -> usize {
    let Some((_, result)) = line.split_once("test result:") else { return 0 };
    let Some((before, _)) = result.split_once(" passed") else { return 0 };
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_are_counted() {
        assert_eq!(tests_passed("test result: ok. 12 passed; 0 failed; 0 ignored; 3 filtered out"), 12);
        assert_eq!(tests_passed("\u{1b}[0mtest result: \u{1b}[32mok\u{1b}[0m. 3 passed; 0 failed"), 3);
        assert_eq!(tests_passed("no tests to run!"), 0);
        assert_eq!(tests_passed("test wire::three_passed ... ok"), 0);
    }
}
