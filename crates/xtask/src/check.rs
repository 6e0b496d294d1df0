//! `test`: every check of the project in one order, cheapest first; the first failure ends it.

mod browser;
mod layers;
mod sandbox;
mod sections;

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::clock::Stopwatch;
use crate::fuzz;
use crate::page::{self, Optimised};
use crate::process::{self, Failure, Result};
use crate::repo::{BROWSER_PACKAGES, NATIVE, Repo, WASM};
use crate::size;
use crate::tools::chromium::Chromium;
use crate::tools::network;
use crate::tools::{PAGE_TOOLS, Tool, Toolbox};

/// What the steps work on.
struct Context<'a> {
    repo: &'a Repo,
    toolbox: Toolbox<'a>,
}

/// How a step that did not fail ended.
enum Outcome {
    Done,
    /// Something that the step can do without is not there.
    Skipped(&'static str),
}

/// One check.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Context<'_>) -> Result<Outcome>,
}

const STEPS: [Step; 16] = [
    Step { name: "setup", about: "fetch tools, dependencies and Chromium", run: setup },
    Step { name: "fmt", about: "the formatter would change nothing", run: format },
    Step { name: "clippy", about: "no warning in native code and tests", run: clippy },
    Step { name: "clippy-wasm", about: "no warning in code for the browser", run: clippy_wasm },
    Step { name: "docs", about: "no warning in the documentation", run: docs },
    Step { name: "layers", about: "dependencies point down, the core does no I/O", run: layers },
    Step { name: "sections", about: "every cited section of PROTOCOL.md exists", run: sections },
    Step { name: "mutants", about: "every planted bug can still be planted", run: mutants },
    Step { name: "deny", about: "licences, sources and advisories of dependencies", run: deny },
    Step { name: "native", about: "all tests without a browser", run: native },
    Step {
        name: "soak",
        about: "sessions that nobody has seen yet: 300 of chaos, some of every scenario, in a mesh and a star",
        run: soak,
    },
    Step { name: "fuzz", about: "ten seconds of hostile bytes for every target", run: fuzz },
    Step {
        name: "wasm",
        about: "tests of the core and of the browser's driver in a headless browser",
        run: wasm,
    },
    Step { name: "page", about: "the page in release", run: build_page },
    Step { name: "size", about: "the page's download size", run: measure_page },
    Step { name: "end-to-end", about: "real browsers and processes in one game", run: end_to_end },
];

/// Prints the names of the steps.
pub(crate) fn list() {
    for step in &STEPS {
        println!("{:12} {}", step.name, step.about);
    }
}

/// Runs all steps, or only the named ones, in the order of the list.
///
/// # Errors
/// The failure of the first step that fails, with its exit code; or a name that no step has.
pub(crate) fn run(repo: &Repo, only: &[String]) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| STEPS.iter().all(|step| step.name != name.as_str())) {
        return Err(Failure::new(format!(
            "there is no step {unknown:?}; `cargo xtask test --list` names them"
        )));
    }
    let context = Context { repo, toolbox: Toolbox::new(repo)? };
    let (total, mut passed, mut skipped) = (Stopwatch::start(), 0, 0);
    for step in STEPS.iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)) {
        println!("\n== {}: {}", step.name, step.about);
        let watch = Stopwatch::start();
        match (step.run)(&context) {
            Ok(Outcome::Done) => {
                passed += 1;
                println!("== {} passed in {watch}", step.name);
            }
            Ok(Outcome::Skipped(why)) => {
                skipped += 1;
                println!("== {} skipped: {why}", step.name);
            }
            Err(failure) => {
                println!("== {} FAILED after {watch}\n\nsteps: {passed} passed, 1 failed", step.name);
                return Err(failure.during(&format!("step {} failed", step.name)));
            }
        }
    }
    println!("\nAll done in {total}.\nsteps: {passed} passed, 0 failed, {skipped} skipped");
    Ok(())
}

fn setup(context: &Context<'_>) -> Result<Outcome> {
    context.toolbox.rust(true)?;
    context.toolbox.path_with(&PAGE_TOOLS)?;
    context.toolbox.path_with(&[Tool::WasmPack, Tool::WasmOpt])?;
    let chromium = Chromium::ensure()?;
    println!("Chromium is {}, its driver {}.", chromium.browser.display(), chromium.driver.display());
    network::ensure()?;
    // Steps without a network need everything here, even what other platforms' packages say of themselves.
    process::run(context.repo.cargo("fetch").arg("--locked"))?;
    Ok(Outcome::Done)
}

fn format(context: &Context<'_>) -> Result<Outcome> {
    process::run(context.repo.cargo("fmt").args(["--all", "--check"]))?;
    process::run(context.repo.cargo("fmt").arg("--check").current_dir(context.repo.root.join("fuzz")))?;
    crate::bench::check_format(context.repo)?;
    Ok(Outcome::Done)
}

fn clippy(context: &Context<'_>) -> Result<Outcome> {
    let mut clippy = context.repo.cargo("clippy");
    clippy.args(NATIVE).args(["--all-targets", "--locked", "--", "-D", "warnings"]);
    process::run(&mut clippy)?;
    Ok(Outcome::Done)
}

fn clippy_wasm(context: &Context<'_>) -> Result<Outcome> {
    let mut clippy = context.repo.cargo("clippy");
    clippy.args(["--target", WASM, "--locked"]);
    for package in BROWSER_PACKAGES.into_iter().chain(layers::sans_io(context.repo)) {
        clippy.args(["--package", package]);
    }
    process::run(clippy.args(["--", "-D", "warnings"]))?;
    Ok(Outcome::Done)
}

fn docs(context: &Context<'_>) -> Result<Outcome> {
    let mut doc = context.repo.cargo("doc");
    doc.args(["--no-deps", "--locked"]).args(NATIVE).env("RUSTDOCFLAGS", "-D warnings");
    process::run(&mut doc)?;
    let mut doc = context.repo.cargo("doc");
    doc.args(["--no-deps", "--locked", "--target", WASM]).env("RUSTDOCFLAGS", "-D warnings");
    for package in BROWSER_PACKAGES {
        doc.args(["--package", package]);
    }
    process::run(&mut doc)?;
    Ok(Outcome::Done)
}

fn layers(context: &Context<'_>) -> Result<Outcome> {
    layers::check(context.repo)?;
    Ok(Outcome::Done)
}

fn sections(context: &Context<'_>) -> Result<Outcome> {
    sections::check(context.repo)?;
    Ok(Outcome::Done)
}

fn mutants(context: &Context<'_>) -> Result<Outcome> {
    crate::mutants::check(context.repo)?;
    Ok(Outcome::Done)
}

fn deny(context: &Context<'_>) -> Result<Outcome> {
    if process::find("cargo-deny").is_none() {
        return Ok(Outcome::Skipped("cargo-deny is not installed"));
    }
    process::run(context.repo.cargo("deny").args(["check", "bans", "licenses", "sources"]))?;
    if process::code(context.repo.cargo("deny").arg("fetch")) == Some(0) {
        process::run(context.repo.cargo("deny").args(["check", "advisories"]))?;
    } else {
        println!("The database of advisories cannot be reached; they were not checked.");
    }
    Ok(Outcome::Done)
}

/// The tests that drive real browsers and processes; they are a step of their own.
const END_TO_END: [&str; 3] = ["browser", "process", "netns"];

/// What the step `soak` runs: how many seeds of what.
const SOAKS: [(u64, &[&str]); 3] = [(300, &["--scenario", "chaos"]), (12, &[]), (4, &["--star"])];

fn soak(context: &Context<'_>) -> Result<Outcome> {
    // New at each start; a seed that fails is printed, and stays what it is.
    let first = RandomState::new().build_hasher().finish() >> 24;
    for (count, what) in SOAKS {
        let seeds = format!("{first}..{}", first + count);
        let mut soak = context.repo.cargo("run");
        soak.args(["--release", "--locked", "--package", "samovar-sim", "--", "soak", "--seeds", &seeds]);
        process::run(soak.args(what))?;
    }
    Ok(Outcome::Done)
}

fn native(context: &Context<'_>) -> Result<Outcome> {
    // One call for all packages, so that nothing is compiled twice; naming the targets leaves out the end-to-end
    // ones, and with named targets the examples in the documentation need a call of their own.
    let mut test = context.repo.cargo("test");
    test.args(NATIVE).args(["--locked", "--lib", "--bins"]);
    let packages = context.repo.packages.iter().filter(|package| !BROWSER_PACKAGES.contains(&&*package.name));
    let tests = packages.flat_map(|package| &package.tests);
    for name in tests.filter(|name| !END_TO_END.contains(&name.as_str())) {
        test.args(["--test", name]);
    }
    process::run(&mut test)?;
    process::run(context.repo.cargo("test").args(NATIVE).args(["--locked", "--doc"]))?;
    // The browser's driver has an example, too; it compiles anywhere, and runs nowhere.
    process::run(context.repo.cargo("test").args(["--locked", "--doc", "--package", "samovar-peer-web"]))?;
    // What the page does without a browser, its meshes and its reading of addresses, is tested without one.
    process::run(context.repo.cargo("test").args(["--locked", "--package", "samovar-web", "--bins"]))?;
    Ok(Outcome::Done)
}

fn fuzz(context: &Context<'_>) -> Result<Outcome> {
    if let Some(obstacle) = fuzz::obstacle() {
        return Ok(Outcome::Skipped(obstacle));
    }
    fuzz::fuzz(context.repo, None, 10)?;
    Ok(Outcome::Done)
}

fn wasm(context: &Context<'_>) -> Result<Outcome> {
    let path = context.toolbox.path_with(&[Tool::WasmBindgen, Tool::WasmPack])?;
    browser::core_tests(context.repo, &path, &Chromium::ensure()?)?;
    Ok(Outcome::Done)
}

fn build_page(context: &Context<'_>) -> Result<Outcome> {
    page::build(context.repo, &context.toolbox, Optimised::Always)?;
    Ok(Outcome::Done)
}

fn measure_page(context: &Context<'_>) -> Result<Outcome> {
    size::measure(context.repo)?;
    Ok(Outcome::Done)
}

fn end_to_end(context: &Context<'_>) -> Result<Outcome> {
    // Asked for alone, the step must not test the page of yesterday.
    page::build(context.repo, &context.toolbox, Optimised::Always)?;
    let relay = crate::play::build_relay(context.repo)?;
    let chromium = Chromium::ensure()?;
    let variables: [(&str, OsString); 4] = [
        ("SAMOVAR_RELAY_BIN", relay.into()),
        ("SAMOVAR_WEB_DIR", page::directory(context.repo).into()),
        ("SAMOVAR_CHROMIUM", chromium.browser.clone().into()),
        ("CHROMEDRIVER", chromium.driver.clone().into()),
    ];
    browser::end_to_end(context.repo, &END_TO_END, &variables)?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_own_name() {
        for (index, step) in STEPS.iter().enumerate() {
            assert!(STEPS[..index].iter().all(|former| former.name != step.name), "{}", step.name);
        }
    }

    #[test]
    fn an_unknown_step_runs_nothing() {
        let repo = Repo { root: ".".into(), target: ".".into(), packages: Vec::new() };
        let failure = run(&repo, &["fmt".to_owned(), "fnt".to_owned()]).unwrap_err();
        assert!(failure.to_string().contains("\"fnt\""), "{failure}");
    }
}
