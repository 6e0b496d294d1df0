//! The build tools, their versions and their places.
//!
//! A tool of the right version is taken from the cache, then from `PATH`; otherwise it is fetched into the cache from
//! a package registry. Only bytes run whose checksum is in the registry's index or in this repository. The cache is
//! `$SAMOVAR_TOOLS`, `$XDG_CACHE_HOME/samovar/tools` or `~/.cache/samovar/tools`. It has one folder
//! `<package>-<version>` for each tool, with the tool's programs in `bin/`. A folder appears only when it is
//! complete.

pub(crate) mod chromium;
mod debian;
pub(crate) mod network;
pub(crate) mod readers;
mod registry;
mod rust;

pub(crate) use rust::ensure_server;

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;

/// A program that a build or a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Builds the page.
    Trunk,
    /// Writes the glue between wasm and JavaScript, and runs tests in a browser; its version is that of the crate in
    /// the lock.
    WasmBindgen,
    /// Makes wasm smaller.
    WasmOpt,
    /// Checks licences, sources and advisories of dependencies.
    Deny,
    /// Runs a crate's tests in a browser, by a command that developers know.
    WasmPack,
    /// Makes the guide a book.
    Mdbook,
    /// Lists what a program is made of.
    Cyclonedx,
}

/// The tools of every release build of the page.
pub(crate) const PAGE_TOOLS: [Tool; 2] = [Tool::Trunk, Tool::WasmBindgen];

/// The version of trunk; newer ones need a newer Rust.
const TRUNK: &str = "0.21.14";
/// The version of cargo-deny; newer ones need a newer form of `deny.toml`.
const DENY: &str = "0.18.9";
const WASM_PACK: &str = "0.15.1";
const MDBOOK: &str = "0.5.4";
const CYCLONEDX: &str = "0.5.7";
/// The version of Binaryen, which has wasm-opt. The same number is in `Trunk.toml`. Version 108, which Debian has,
/// corrupts the module silently.
const BINARYEN: &str = "132";

/// The way to call, find and fetch one tool.
struct Recipe {
    package: &'static str,
    version: String,
    /// A word that the first program prints when it is asked for its version.
    printed: String,
    programs: &'static [&'static str],
    /// The words by which the first program prints its version.
    asked: &'static [&'static str],
}

impl Tool {
    fn recipe(self, repo: &Repo) -> Result<Recipe> {
        let (package, version, programs): (_, _, &[&str]) = match self {
            Self::Trunk => ("trunk", TRUNK.to_owned(), &["trunk"]),
            Self::WasmBindgen => (
                "wasm-bindgen-cli",
                repo.locked_version("wasm-bindgen")?,
                &["wasm-bindgen", "wasm-bindgen-test-runner"],
            ),
            Self::Deny => ("cargo-deny", DENY.to_owned(), &["cargo-deny"]),
            Self::WasmPack => ("wasm-pack", WASM_PACK.to_owned(), &["wasm-pack"]),
            Self::Mdbook => ("mdbook", MDBOOK.to_owned(), &["mdbook"]),
            Self::Cyclonedx => ("cargo-cyclonedx", CYCLONEDX.to_owned(), &["cargo-cyclonedx"]),
            Self::WasmOpt => ("binaryen", format!("{BINARYEN}.0.0"), &["wasm-opt"]),
        };
        let printed = match self {
            Self::WasmOpt => BINARYEN.to_owned(),
            Self::Mdbook => format!("v{version}"),
            _ => version.clone(),
        };
        let asked: &[&str] =
            if self == Self::Cyclonedx { &["cyclonedx", "--version"] } else { &["--version"] };
        Ok(Recipe { package, version, printed, programs, asked })
    }
}

impl Recipe {
    fn folder(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }

    fn is_complete_in(&self, directory: &Path) -> bool {
        let file = |program| directory.join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
        self.programs.iter().all(|program| process::is_program(&file(program)))
    }

    fn runs_from(&self, directory: &Path) -> bool {
        let version = Command::new(directory.join(self.programs[0])).args(self.asked).output();
        version.is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout).split_whitespace().any(|word| word == self.printed)
        })
    }

    /// Whether the first such program on `PATH`, the one that would run, has the right version.
    fn is_on_path(&self) -> bool {
        let found = process::find(self.programs[0]);
        found
            .as_deref()
            .and_then(Path::parent)
            .is_some_and(|bin| self.is_complete_in(bin) && self.runs_from(bin))
    }
}

/// The tools of this repository, fetched at first use.
pub(crate) struct Toolbox<'a> {
    repo: &'a Repo,
    cache: PathBuf,
}

impl<'a> Toolbox<'a> {
    /// A toolbox; it does not look for tools yet.
    ///
    /// # Errors
    /// The machine has no home for a cache.
    pub(crate) fn new(repo: &'a Repo) -> Result<Self> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = variable("SAMOVAR_TOOLS")
            .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("samovar/tools")))
            .or_else(|| {
                Some(variable("HOME").or_else(|| variable("USERPROFILE"))?.join(".cache/samovar/tools"))
            })
            .ok_or_else(|| Failure::new("no place for tools: set SAMOVAR_TOOLS to a directory"))?;
        // The path is absolute, because programs in other directories get it as part of their PATH.
        let cache = std::path::absolute(&cache).explain(cache.display())?;
        Ok(Self { repo, cache })
    }

    /// Makes sure that Rust can compile for the browser, and has the linter and the formatter when `checks` is set.
    ///
    /// # Errors
    /// A part is missing, and rustup is missing or fails.
    pub(crate) fn rust(&self, checks: bool) -> Result<()> {
        rust::ensure_wasm_target(self.repo)?;
        if checks {
            rust::ensure_component(self.repo, "fmt", "rustfmt")?;
            rust::ensure_component(self.repo, "clippy", "clippy")?;
        }
        Ok(())
    }

    /// A `PATH` on which exactly the right versions of `tools` come first.
    ///
    /// # Errors
    /// A tool is missing and cannot be fetched.
    pub(crate) fn path_with(&self, tools: &[Tool]) -> Result<OsString> {
        let mut directories = Vec::new();
        for &tool in tools {
            directories.extend(self.fetch(tool)?);
        }
        directories.extend(std::env::split_paths(&process::path()));
        std::env::join_paths(directories).explain("PATH")
    }

    /// Fetches every tool and prints the line that puts them on a shell's `PATH`.
    ///
    /// # Errors
    /// As [`Toolbox::path_with`].
    pub(crate) fn print_path(&self) -> Result<()> {
        self.rust(true)?;
        let mut line = String::from("export PATH=\"");
        for tool in [Tool::Trunk, Tool::WasmBindgen, Tool::WasmOpt] {
            if let Some(directory) = self.fetch(tool)? {
                line.push_str(&format!("{}:", directory.display()));
            }
        }
        println!("{line}$PATH\"");
        Ok(())
    }

    /// The directory to put on `PATH` for a tool, `None` when `PATH` has it already.
    fn fetch(&self, tool: Tool) -> Result<Option<PathBuf>> {
        let recipe = tool.recipe(self.repo)?;
        let bin = self.cache.join(recipe.folder()).join("bin");
        if recipe.is_complete_in(&bin) {
            return Ok(Some(bin));
        }
        if recipe.is_on_path() {
            return Ok(None);
        }
        fs::create_dir_all(&self.cache).explain(self.cache.display())?;
        let _lock = self.lock()?;
        if !recipe.is_complete_in(&bin) {
            self.install(tool, &recipe).map_err(|failure| failure.during(&recipe.folder()))?;
        }
        Ok(Some(bin))
    }

    /// Takes the lock under which one process at a time fetches. The others wait, and then find the tools.
    fn lock(&self) -> Result<File> {
        let file = self.cache.join(".lock");
        let lock = File::create(&file).explain(file.display())?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                eprintln!("xtask: another xtask fetches tools, waiting for it");
                lock.lock().explain(file.display())?;
            }
            Err(TryLockError::Error(error)) => return Err(error).explain(file.display()),
        }
        Ok(lock)
    }

    /// Prepares the tool in a scratch folder and moves it to its place in one step.
    fn install(&self, tool: Tool, recipe: &Recipe) -> Result<()> {
        let scratch = self.cache.join(format!(".partial-{}-{}", recipe.folder(), std::process::id()));
        remove(&scratch)?;
        fs::create_dir_all(&scratch).explain(scratch.display())?;
        let root = scratch.join("root");
        let installed = Self::fill(tool, recipe, &scratch, &root).and_then(|()| {
            let place = self.cache.join(recipe.folder());
            remove(&place)?;
            fs::rename(&root, &place).explain(place.display())
        });
        let cleared = remove(&scratch);
        installed.and(cleared)
    }

    fn fill(tool: Tool, recipe: &Recipe, scratch: &Path, root: &Path) -> Result<()> {
        let works = || recipe.is_complete_in(&root.join("bin")) && recipe.runs_from(&root.join("bin"));
        registry::install(tool, recipe, scratch, root)?;
        if works() {
            Ok(())
        } else {
            Err(Failure::new(format!("it does not run as version {}", recipe.version)))
        }
    }
}

fn remove(directory: &Path) -> Result<()> {
    if directory.exists() { fs::remove_dir_all(directory).explain(directory.display()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trunk_toml_has_the_same_version_of_binaryen() {
        let settings = include_str!("../../../Trunk.toml");
        assert!(settings.contains(&format!("wasm_opt = \"version_{BINARYEN}\"")));
    }

    #[cfg(unix)]
    #[test]
    fn a_tool_of_another_version_does_not_count() {
        use std::os::unix::fs::PermissionsExt;
        let bin = std::env::temp_dir().join(format!("samovar-xtask-{}", std::process::id()));
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join("wasm-opt");
        fs::write(&program, "#!/bin/sh\necho wasm-opt version 132 '(version_132)'\n").unwrap();
        let mut recipe = Recipe {
            package: "binaryen",
            version: "132.0.0".to_owned(),
            printed: "132".to_owned(),
            programs: &["wasm-opt"],
            asked: &["--version"],
        };
        assert!(!recipe.is_complete_in(&bin), "a file that may not be executed is no program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(recipe.is_complete_in(&bin) && recipe.runs_from(&bin));
        recipe.printed = "13".to_owned();
        assert!(!recipe.runs_from(&bin));
        fs::remove_dir_all(&bin).unwrap();
    }
}
