//! The page in `dist/`: built by trunk in release, compressed, and left alone while nothing has changed.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

use crate::clock::Stopwatch;
use crate::compress;
use crate::files;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;
use crate::seam;
use crate::tools::{PAGE_TOOLS, Tool, Toolbox};

/// All inputs of a build of the page, below the root. The native crates among them sometimes cost a needless build; a
/// list of the relevant ones would have to be maintained by hand.
const INPUTS: [&str; 7] =
    ["web", "crates", "Cargo.toml", "Cargo.lock", "Trunk.toml", "rust-toolchain.toml", ".cargo/config.toml"];

/// Whether a page without wasm-opt is good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Optimised {
    /// A page without wasm-opt is not good enough, because its size is measured.
    Always,
    /// A page without wasm-opt will do if wasm-opt is unavailable: it is bigger, and works.
    IfPossible,
}

/// The directory that holds the built page.
pub(crate) fn directory(repo: &Repo) -> PathBuf {
    repo.root.join("dist")
}

/// Brings `dist/` up to date, with a `.br` file beside every file that shrinks.
///
/// # Errors
/// A tool is missing, or the build fails.
pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>, optimised: Optimised) -> Result<()> {
    let state = State::of(repo);
    if state.is_current(optimised)? {
        println!("The page is up to date.");
        return Ok(());
    }
    if !repo.root.join("web/index.html").exists() {
        return Err(Failure::new("there is no page to build: web/index.html is missing"));
    }
    state.forget()?;
    let taken = trunk(repo, toolbox, optimised)?;
    println!("Compressing the page: half a minute.");
    let watch = Stopwatch::start();
    shorten(repo)?;
    for file in files_of(repo)? {
        compress::compress(&file)?;
    }
    println!("Compressed it in {watch}.");
    state.remember(taken)
}

/// Shortens trunk's output where no person reads it: the long names between module and script, and the indentation.
fn shorten(repo: &Repo) -> Result<()> {
    let files = files_of(repo)?;
    let of_kind = |kind: &str| {
        let mut found =
            files.iter().filter(|file| file.extension().is_some_and(|extension| extension == kind));
        found.next().filter(|_| found.next().is_none())
    };
    match (of_kind("wasm"), of_kind("js")) {
        (Some(module), Some(script)) => seam::shorten(module, script)?,
        _ => return Err(Failure::new("dist/ does not hold one module and one script")),
    }
    for kind in ["css", "html"] {
        if let Some(file) = of_kind(kind) {
            let text = fs::read_to_string(file).explain(file.display())?;
            let short = if kind == "css" { seam::compact_style(&text) } else { seam::compact(&text) };
            fs::write(file, short).explain(file.display())?;
        }
    }
    Ok(())
}

/// Every file of the page that a browser downloads, without the compressed forms.
///
/// # Errors
/// `dist/` cannot be read.
pub(crate) fn files_of(repo: &Repo) -> Result<Vec<PathBuf>> {
    let mut files = files::below(&directory(repo))?;
    files.retain(|file| file.extension().is_none_or(|extension| extension != "br"));
    Ok(files)
}

/// Runs trunk and returns whether wasm-opt took part.
fn trunk(repo: &Repo, toolbox: &Toolbox<'_>, optimised: Optimised) -> Result<Optimised> {
    toolbox.rust(false)?;
    let without = toolbox.path_with(&PAGE_TOOLS)?;
    let (path, taken) = match toolbox.path_with(&[Tool::Trunk, Tool::WasmBindgen, Tool::WasmOpt]) {
        Ok(path) => (path, Optimised::Always),
        Err(failure) if optimised == Optimised::Always => return Err(failure),
        Err(failure) => {
            eprintln!("xtask: {failure}; the page will be bigger, and works");
            (without, Optimised::IfPossible)
        }
    };
    // Trunk asks the network for nothing if it finds every tool on PATH in the right version. Trunk's `--offline`
    // would forbid Cargo the network, too, and the first build after a clone needs the network.
    let mut build = Command::new(program("trunk", &path));
    build.arg("build");
    match taken {
        Optimised::Always => build.arg("--release"),
        // Trunk calls wasm-opt in release only; the profile alone gives the same module unoptimised.
        Optimised::IfPossible => build.args(["--cargo-profile", "wasm-release"]),
    };
    build.current_dir(&repo.root).env("PATH", &path).env("TRUNK_SKIP_VERSION_CHECK", "true");
    build.env_remove("NO_COLOR"); // Trunk takes only "true" or "false" for it and refuses the usual "1".
    process::run(&mut build)?;
    Ok(taken)
}

/// Builds the page of an example, and returns the directory that holds it.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_example(repo: &Repo, toolbox: &Toolbox<'_>, name: &str) -> Result<PathBuf> {
    let path = toolbox.path_with(&PAGE_TOOLS)?;
    let directory = repo.target.join("pages").join(name);
    let mut build = Command::new(program("trunk", &path));
    // The profile of the page itself: most of the code is compiled already.
    build.args(["build", "--cargo-profile", "wasm-release", "--dist"]).arg(&directory);
    build.current_dir(repo.root.join("examples").join(name));
    build.env("PATH", &path).env("TRUNK_SKIP_VERSION_CHECK", "true").env_remove("NO_COLOR");
    process::run(&mut build)?;
    Ok(directory)
}

/// Finds a program on this `PATH`: the `PATH` that a child gets does not decide where the child itself is found.
pub(crate) fn program(name: &str, path: &std::ffi::OsStr) -> PathBuf {
    process::find_in(path, name).unwrap_or_else(|| name.into())
}

/// The record of the last build, kept outside `dist/` so that it is not served.
struct State<'a> {
    repo: &'a Repo,
    file: PathBuf,
}

impl<'a> State<'a> {
    fn of(repo: &'a Repo) -> Self {
        // The name tells clones apart, because several may share one target directory.
        let mut hasher = DefaultHasher::new();
        repo.root.hash(&mut hasher);
        let file = repo.target.join("xtask").join(format!("page-{:016x}", hasher.finish()));
        Self { repo, file }
    }

    fn is_current(&self, optimised: Optimised) -> Result<bool> {
        let Ok(remembered) = fs::read_to_string(&self.file) else { return Ok(false) };
        let better = self.fingerprint(Optimised::Always)?;
        let same = |fingerprint: &str| remembered == fingerprint;
        Ok(same(&better)
            || (optimised == Optimised::IfPossible && same(&self.fingerprint(Optimised::IfPossible)?)))
    }

    fn forget(&self) -> Result<()> {
        if self.file.exists() { fs::remove_file(&self.file).explain(self.file.display()) } else { Ok(()) }
    }

    fn remember(&self, taken: Optimised) -> Result<()> {
        let directory = self.repo.target.join("xtask");
        fs::create_dir_all(&directory).explain(directory.display())?;
        fs::write(&self.file, self.fingerprint(taken)?).explain(self.file.display())
    }

    /// Name, length and time of every input and of every file in `dist/`: `trunk serve` writes there, too.
    fn fingerprint(&self, taken: Optimised) -> Result<String> {
        let mut files = Vec::new();
        let inputs = INPUTS.map(|input| self.repo.root.join(input));
        for input in inputs.into_iter().chain([directory(self.repo)]).filter(|input| input.exists()) {
            if input.is_dir() { files.extend(files::below(&input)?) } else { files.push(input) }
        }
        let mut hasher = DefaultHasher::new();
        taken.hash(&mut hasher);
        for file in files {
            let metadata = file.metadata().explain(file.display())?;
            (&file, metadata.len(), metadata.modified().explain(file.display())?).hash(&mut hasher);
        }
        Ok(format!("{:016x}", hasher.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_current_until_an_input_or_the_output_changes() {
        let root = std::env::temp_dir().join(format!("samovar-xtask-page-{}", std::process::id()));
        fs::create_dir_all(root.join("web")).unwrap();
        fs::create_dir_all(root.join("dist")).unwrap();
        fs::write(root.join("web/main.rs"), "a").unwrap();
        fs::write(root.join("dist/index.html"), "a").unwrap();
        let repo = Repo { root: root.clone(), target: root.join("target"), packages: Vec::new() };
        let state = State::of(&repo);
        assert!(!state.is_current(Optimised::IfPossible).unwrap());

        state.remember(Optimised::IfPossible).unwrap();
        assert!(state.is_current(Optimised::IfPossible).unwrap());
        assert!(!state.is_current(Optimised::Always).unwrap(), "a page without wasm-opt is not measured");

        state.remember(Optimised::Always).unwrap();
        assert!(state.is_current(Optimised::IfPossible).unwrap(), "a better page will do");

        fs::write(root.join("dist/index.html"), "bb").unwrap();
        assert!(!state.is_current(Optimised::Always).unwrap());
        state.remember(Optimised::Always).unwrap();
        fs::write(root.join("web/main.rs"), "bb").unwrap();
        assert!(!state.is_current(Optimised::Always).unwrap());
        state.forget().unwrap();
        fs::remove_dir_all(&root).unwrap();
    }
}
