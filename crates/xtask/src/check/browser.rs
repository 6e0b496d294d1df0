//! The tests that need a browser: the core's own, compiled to wasm, and the end-to-end ones.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::binaries::{self, Binary, Job};
use super::program;
use super::sandbox::Sandbox;
use crate::js;
use crate::page::{self, Optimised};
use crate::process::{self, Explain, Failure, Result};
use crate::repo::{FOR_BOTH, NATIVE, Repo, WASM};
use crate::tools::Toolbox;
use crate::tools::chromium::Chromium;

/// The packages of the core whose tests also run as wasm. They need no browser, so they run in Node.js, which has the
/// same engine as Chromium. Node.js starts in a twentieth of a second for each, a browser in three seconds.
const CORE: [&str; 7] = [
    "samovar-wire",
    "samovar-link",
    "samovar-objects",
    "samovar-roster",
    "samovar-session",
    "samovar-directory",
    "samovar-peer",
];

/// The packages whose tests need a page.
const IN_BROWSER: [&str; 2] = ["samovar-peer-web", FOR_BOTH];

/// Runs the tests of the core as wasm, and the tests that need a page in a headless browser.
///
/// # Errors
/// A test fails, or none was run: a runner that finds no test succeeds.
pub(super) fn core_tests(repo: &Repo, runner: &Path, chromium: &Chromium) -> Result<()> {
    let settings = webdriver_settings(repo, chromium)?;
    let has_node = process::find("node").is_some();
    if !has_node {
        println!("Node.js is not there: the core's tests run in the browser, which takes minutes longer.");
    }
    let sandbox = Sandbox::open();
    for (packages, in_browser) in [(&CORE[..], !has_node), (&IN_BROWSER[..], true)] {
        let job = |binary: Binary| {
            let mut test = binary.under(Some(runner));
            test.env("CHROMEDRIVER", &chromium.driver)
                .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &settings)
                // In seconds: short enough to find a browser that does not start.
                .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "30")
                .env("WASM_BINDGEN_TEST_TIMEOUT", "120");
            // Cargo's configuration sets this variable, for wasm-pack.
            if !in_browser {
                test.env_remove("WASM_BINDGEN_USE_BROWSER");
            }
            Job { name: format!("wasm/{}", binary.name), command: sandbox.wrap(&test) }
        };
        let binaries = Binary::build(&mut wasm_test(repo, packages))?;
        let said = binaries::run(repo, binaries.into_iter().map(job).collect())?;
        let passed: usize = said.iter().flat_map(|said| said.lines()).map(tests_passed).sum();
        if passed == 0 {
            return Err(Failure::new(format!("{} ran no test in wasm", packages.join(", "))));
        }
        println!(
            "{passed} tests passed in wasm, {}.",
            if in_browser { "in a browser" } else { "in Node.js" }
        );
    }
    Ok(())
}

/// `cargo test` of these packages for wasm.
fn wasm_test(repo: &Repo, packages: &[&str]) -> Command {
    let mut test = repo.cargo("test");
    test.args(["--lib", "--tests", "--locked", "--target", WASM]);
    // Without line numbers the modules take a third of the time, and a test's name tells where it failed.
    test.env("CARGO_PROFILE_DEV_DEBUG", "false");
    for package in packages {
        test.args(["--package", package]);
    }
    test
}

/// Tells the test runner which browser the driver has to start.
pub(super) fn webdriver_settings(repo: &Repo, chromium: &Chromium) -> Result<PathBuf> {
    let directory = repo.target.join("xtask");
    fs::create_dir_all(&directory).explain(directory.display())?;
    let file = directory.join("webdriver.json");
    // Direct connections on loopback need the flag for them, and a microphone: without one the browser hides its
    // addresses.
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

/// Builds page, relay and the named test targets, and runs these.
///
/// # Errors
/// As [`run`], and when page or relay cannot be built.
pub(super) fn end_to_end(repo: &Repo, toolbox: &Toolbox<'_>, targets: &[&str]) -> Result<()> {
    run(repo, targets, &Stage::build(repo, toolbox)?.variables())
}

/// Builds the named test targets and runs them in a place without a network, with these variables set.
///
/// # Errors
/// A target is missing, or a test fails. A failure does not keep the other targets from running.
pub(crate) fn run(repo: &Repo, targets: &[&str], variables: &[(&str, OsString)]) -> Result<()> {
    let existing = || repo.packages.iter().flat_map(|package| &package.tests);
    if let Some(missing) = targets.iter().find(|&&target| existing().all(|name| name != target)) {
        return Err(Failure::new(format!("there is no test target {missing:?}")));
    }
    let mut test = repo.cargo("test");
    test.args(NATIVE).arg("--locked");
    for target in targets {
        test.args(["--test", target]);
    }
    let sandbox = Sandbox::open();
    let job = |binary: Binary| {
        let mut test = binary.command();
        let target = binary.name.rsplit('/').next().unwrap_or_default();
        test.args([&format!("--test-threads={}", threads(target)), "--show-output"]);
        test.envs(variables.iter().map(|(name, value)| (name, value)));
        Job { command: sandbox.wrap(&test), name: binary.name }
    };
    binaries::run(repo, Binary::build(&mut test)?.into_iter().map(job).collect()).map(drop)
}

/// The number of a target's tests that run at once, on two cores and beside those of another target. With more, pages
/// wait too long for a core: other members miss a host that waits for a quarter of a second.
fn threads(target: &str) -> usize {
    if target == "browser" { 2 } else { 1 }
}

/// The built parts that end-to-end tests use.
pub(crate) struct Stage {
    relay: PathBuf,
    page: PathBuf,
    whiteboard: PathBuf,
    orders: PathBuf,
    js: PathBuf,
    npm: PathBuf,
    chromium: Chromium,
}

impl Stage {
    /// Builds the page and the relay, and finds the browser.
    ///
    /// # Errors
    /// The page or the relay cannot be built, or there is no browser.
    pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<Self> {
        page::build(repo, toolbox, Optimised::Always)?;
        let [whiteboard, orders] =
            ["whiteboard", "orders"].map(|name| page::build_example(repo, toolbox, name));
        let js = js::example(repo, toolbox)?;
        // Not a release build, which is no faster when only a few pages play.
        let relay = program::as_tested(repo, "samovar-relay", "relay")?;
        let npm = js::pack(repo, &relay)?;
        let (page, chromium) = (page::directory(repo), Chromium::ensure()?);
        Ok(Self { relay, page, whiteboard: whiteboard?, orders: orders?, js, npm, chromium })
    }

    /// The variables by which tests find the parts.
    pub(crate) fn variables(&self) -> [(&'static str, OsString); 8] {
        [
            ("SAMOVAR_RELAY_BIN", self.relay.clone().into()),
            ("SAMOVAR_WEB_DIR", self.page.clone().into()),
            ("SAMOVAR_WHITEBOARD_DIR", self.whiteboard.clone().into()),
            ("SAMOVAR_ORDERS_DIR", self.orders.clone().into()),
            ("SAMOVAR_JS_DIR", self.js.clone().into()),
            ("SAMOVAR_NPM_DIR", self.npm.clone().into()),
            ("SAMOVAR_CHROMIUM", self.chromium.browser.clone().into()),
            ("CHROMEDRIVER", self.chromium.driver.clone().into()),
        ]
    }
}

/// The number in a line like `test result: ok. 12 passed; 0 failed`, 0 for any other line.
pub(super) fn tests_passed(line: &str) -> usize {
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
