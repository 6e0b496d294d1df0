//! The steps of `test`: the checks for every change. They give the same answer each time: fixed seeds, virtual time,
//! and no condition that a slow machine could miss.

use super::binaries::{self, Binary, Job};
use super::{
    Context, Outcome, Step, adopter, browser, commands, integrations, layers, links, names, package, rooms,
    sections, words,
};
use crate::process::{self, Failure, Result};
use crate::repo::{BROWSER_PACKAGES, FOR_BOTH, NATIVE, WASM};
use crate::tools::chromium::Chromium;
use crate::tools::{Tool, network};
use crate::{bench, fuzz, js, mutants, page, size};

pub(super) const STEPS: [Step; 15] = [
    Step { name: "setup", about: "Rust's parts and all dependencies are there", first: 0.5, run: setup },
    Step { name: "fmt", about: "the formatter would change nothing", first: 0.1, run: format },
    Step {
        name: "layers",
        about: "dependencies point down, modules form no circle, names and comments keep to rules",
        first: 0.1,
        run: layers,
    },
    Step { name: "sections", about: "every cited section of the protocol exists", first: 0.1, run: sections },
    Step { name: "mutants", about: "every planted bug can still be planted", first: 0.1, run: mutants },
    Step { name: "clippy", about: "no warning in native code and tests", first: 6.0, run: clippy },
    Step { name: "clippy-wasm", about: "no warning in code for the browser", first: 1.5, run: clippy_wasm },
    Step { name: "docs", about: "no warning in the documentation", first: 1.5, run: docs },
    Step { name: "native", about: "all tests without a browser", first: 16.0, run: native },
    Step {
        name: "commands",
        about: "the commands of the documents are understood, and the guide's crate builds",
        first: 1.5,
        run: commands,
    },
    Step { name: "package", about: "the library crates are fit for a registry", first: 0.1, run: package },
    Step {
        name: "wasm",
        about: "the core's tests in wasm, its driver's in a browser",
        first: 4.0,
        run: wasm,
    },
    Step {
        name: "page",
        about: "the page and the package for JavaScript, in release",
        first: 6.5,
        run: build_page,
    },
    Step { name: "size", about: "their download sizes", first: 2.0, run: measure_page },
    Step {
        name: "end-to-end",
        about: "real browsers and processes in one game",
        first: 18.0,
        run: end_to_end,
    },
];

/// The tests that drive real browsers and processes; they are a step of their own.
const END_TO_END: [&str; 4] = ["browser", "process", "netns", "examples"];

/// Tests of `prove`: they measure the machine, or depend on a seed.
pub(super) const OF_PROVE: [&str; 5] = ["bundlers", "figures", "person", "picture", "serve"];

fn setup(context: &Context<'_>) -> Result<Outcome> {
    context.toolbox.rust(true)?;
    // Steps without a network need all packages here, including the metadata of other platforms' packages.
    process::run(context.repo.cargo("fetch").arg("--locked"))?;
    Ok(Outcome::Done)
}

fn format(context: &Context<'_>) -> Result<Outcome> {
    process::run(context.repo.cargo("fmt").args(["--all", "--check"]))?;
    process::run(context.repo.cargo("fmt").arg("--check").current_dir(context.repo.root.join("fuzz")))?;
    bench::check_format(context.repo)?;
    integrations::check_format(context)?;
    Ok(Outcome::Done)
}

fn clippy(context: &Context<'_>) -> Result<Outcome> {
    let mut clippy = context.repo.cargo("clippy");
    clippy.args(NATIVE).args(["--all-targets", "--locked", "--", "-D", "warnings"]);
    process::run(&mut clippy)?;
    // The fuzzer is a workspace of its own, which the call above does not include.
    if fuzz::obstacle().is_none() {
        fuzz::check(context.repo)?;
    }
    Ok(Outcome::Done)
}

fn clippy_wasm(context: &Context<'_>) -> Result<Outcome> {
    let mut clippy = context.repo.cargo("clippy");
    clippy.args(["--target", WASM, "--locked"]);
    for package in BROWSER_PACKAGES.into_iter().chain([FOR_BOTH]).chain(layers::sans_io(context.repo)) {
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
    for package in BROWSER_PACKAGES.into_iter().chain([FOR_BOTH]) {
        doc.args(["--package", package]);
    }
    process::run(&mut doc)?;
    Ok(Outcome::Done)
}

fn layers(context: &Context<'_>) -> Result<Outcome> {
    layers::check(context.repo)?;
    rooms::check(context.repo)?;
    names::check(context.repo)?;
    words::check(context.repo)?;
    Ok(Outcome::Done)
}

fn sections(context: &Context<'_>) -> Result<Outcome> {
    sections::check(context.repo)?;
    Ok(Outcome::Done)
}

fn mutants(context: &Context<'_>) -> Result<Outcome> {
    mutants::check(context.repo)?;
    Ok(Outcome::Done)
}

fn native(context: &Context<'_>) -> Result<Outcome> {
    // One call for all packages, so that nothing is compiled twice. Naming the targets leaves out the end-to-end ones,
    // and then the examples in the documentation need a call of their own.
    let mut test = context.repo.cargo("test");
    test.args(NATIVE).args(["--locked", "--lib", "--bins"]);
    let packages = context.repo.packages.iter().filter(|package| !BROWSER_PACKAGES.contains(&&*package.name));
    let tests = packages.flat_map(|package| &package.tests);
    let others = END_TO_END.into_iter().chain(OF_PROVE).collect::<Vec<_>>();
    for name in tests.filter(|name| !others.contains(&name.as_str())) {
        test.args(["--test", name]);
    }
    let mut binaries = Binary::build(&mut test)?;
    // The parts of the page that need no browser (its meshes, its reading of addresses) are tested natively.
    let mut page = context.repo.cargo("test");
    binaries.extend(Binary::build(page.args(["--locked", "--package", "samovar-web", "--bins"]))?);
    let jobs = binaries.into_iter().map(|each| Job { command: each.command(), name: each.name });
    binaries::run(context.repo, jobs.collect())?;
    process::run(context.repo.cargo("test").args(NATIVE).args(["--locked", "--doc"]))?;
    // The documentation of the browser's driver has an example, too. This call compiles it and does not run it.
    process::run(context.repo.cargo("test").args(["--locked", "--doc", "--package", "samovar-peer-web"]))?;
    Ok(Outcome::Done)
}

fn commands(context: &Context<'_>) -> Result<Outcome> {
    commands::check(context.repo)?;
    links::check(context.repo)?;
    adopter::check(context.repo)?;
    Ok(Outcome::Done)
}

fn package(context: &Context<'_>) -> Result<Outcome> {
    package::check(context.repo)?;
    Ok(Outcome::Done)
}

fn wasm(context: &Context<'_>) -> Result<Outcome> {
    let path = context.toolbox.path_with(&[Tool::WasmBindgen])?;
    let runner = "wasm-bindgen-test-runner";
    let runner =
        process::find_in(&path, runner).ok_or_else(|| Failure::new(format!("{runner} is missing")))?;
    browser::core_tests(context.repo, &runner, &Chromium::ensure()?)?;
    Ok(Outcome::Done)
}

fn build_page(context: &Context<'_>) -> Result<Outcome> {
    page::build(context.repo, &context.toolbox, page::Optimised::Always)?;
    js::build(context.repo, &context.toolbox)?;
    Ok(Outcome::Done)
}

fn measure_page(context: &Context<'_>) -> Result<Outcome> {
    size::measure(context.repo)?;
    size::measure_client(context.repo, &context.toolbox)?;
    size::measure_js(&context.repo.root.join("packages/js/dist"))?;
    Ok(Outcome::Done)
}

fn end_to_end(context: &Context<'_>) -> Result<Outcome> {
    network::ensure()?;
    browser::end_to_end(context.repo, &context.toolbox, &END_TO_END)?;
    Ok(Outcome::Done)
}
