//! The repository's facts: its place, its packages, the versions in `Cargo.lock`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::{self, Explain, Failure, Result};

/// The target of all code for browsers.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// The packages that make sense only in a browser.
pub(crate) const BROWSER_PACKAGES: [&str; 4] =
    ["samovar-web", "samovar-peer-web", "samovar-whiteboard", "samovar-js"];

/// The package that is built natively and for browsers, with different code for each.
pub(crate) const FOR_BOTH: &str = "samovar";

/// One selection for every native build: Cargo unifies features over the selected packages, so that any other
/// selection would compile the dependencies once more.
pub(crate) const NATIVE: [&str; 9] = [
    "--workspace",
    "--exclude",
    BROWSER_PACKAGES[0],
    "--exclude",
    BROWSER_PACKAGES[1],
    "--exclude",
    BROWSER_PACKAGES[2],
    "--exclude",
    BROWSER_PACKAGES[3],
];

/// The repository as `cargo metadata` describes it.
pub(crate) struct Repo {
    /// The workspace's root directory.
    pub(crate) root: PathBuf,
    /// Cargo's build directory; not always below the root.
    pub(crate) target: PathBuf,
    /// The workspace's own packages.
    pub(crate) packages: Vec<Package>,
}

/// One package of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// The package's name, as in `samovar-wire`.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// Names of its dependencies, for any target; dev-dependencies are left out.
    pub(crate) dependencies: Vec<String>,
    /// Names of its `[[test]]` targets.
    pub(crate) tests: Vec<String>,
}

impl Repo {
    /// Asks Cargo about the workspace that this program belongs to.
    ///
    /// # Errors
    /// Cargo cannot be run, or a manifest is broken.
    pub(crate) fn locate() -> Result<Self> {
        // `cargo run` sets the variable. The path from compile time may be another clone's: two clones may share one
        // target directory, and so this very program.
        let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
        let manifest = Path::new(&here).join("Cargo.toml");
        let mut metadata = Command::new(cargo());
        metadata.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(manifest);
        Self::from_metadata(&process::read(&mut metadata)?)
    }

    fn from_metadata(json: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(json).explain("cargo metadata")?;
        let directory = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .ok_or_else(|| Failure::new(format!("cargo metadata lacks {key}")))
        };
        Ok(Self {
            root: directory("workspace_root")?,
            target: directory("target_directory")?,
            packages: items(&metadata["packages"]).map(Package::from_metadata).collect(),
        })
    }

    /// A call of Cargo in the root of the workspace.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(cargo());
        command.arg(subcommand).current_dir(&self.root);
        // `cargo run` describes this program by these variables. Some build scripts read them (ring's). Such a script
        // would run again whenever a call from here follows one from a shell, and half of the dependencies would be
        // compiled again.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(describes_a_package) {
                command.env_remove(name);
            }
        }
        command
    }

    /// The package of this name.
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// The one version of a package in `Cargo.lock`.
    ///
    /// # Errors
    /// The file cannot be read, or the package is in it never or more than once.
    pub(crate) fn locked_version(&self, package: &str) -> Result<String> {
        let file = self.root.join("Cargo.lock");
        let lock = std::fs::read_to_string(&file).explain(file.display())?;
        locked_version(&lock, package)
    }
}

impl Package {
    fn from_metadata(package: &Value) -> Self {
        let is_test = |target: &&Value| items(&target["kind"]).any(|kind| kind == "test");
        Self {
            name: text(&package["name"]),
            directory: Path::new(&text(&package["manifest_path"]))
                .parent()
                .map(Path::to_owned)
                .unwrap_or_default(),
            dependencies: items(&package["dependencies"])
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| text(&dependency["name"]))
                .collect(),
            tests: items(&package["targets"]).filter(is_test).map(|target| text(&target["name"])).collect(),
        }
    }
}

/// Whether this is a variable that Cargo sets for the programs that it builds or runs, and does not read itself.
fn describes_a_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn locked_version(lock: &str, package: &str) -> Result<String> {
    let name = format!("name = \"{package}\"");
    let versions: Vec<&str> = lock
        .split("[[package]]")
        .filter(|entry| entry.lines().any(|line| line == name))
        .filter_map(|entry| {
            entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        })
        .collect();
    match versions[..] {
        [version] => Ok(version.to_owned()),
        [] => Err(Failure::new(format!("{package} is not in Cargo.lock"))),
        _ => Err(Failure::new(format!(
            "Cargo.lock has {package} in several versions: {}",
            versions.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"# This file is automatically @generated by Cargo.
version = 4

[[package]]
name = "wasm-bindgen"
version = "0.2.129"
dependencies = [
 "rand",
]

[[package]]
name = "wasm-bindgen-macro"
version = "0.2.128"

[[package]]
name = "rand"
version = "0.8.5"

[[package]]
name = "rand"
version = "0.9.1"
"#;

    #[test]
    fn the_locked_version_is_that_of_the_exact_package() {
        assert_eq!(locked_version(LOCK, "wasm-bindgen").unwrap(), "0.2.129");
        assert_eq!(locked_version(LOCK, "wasm-bindgen-macro").unwrap(), "0.2.128");
    }

    #[test]
    fn no_version_and_two_versions_are_errors() {
        assert!(locked_version(LOCK, "wasm").unwrap_err().to_string().contains("not in Cargo.lock"));
        assert!(locked_version(LOCK, "rand").unwrap_err().to_string().contains("0.8.5, 0.9.1"));
    }

    #[test]
    fn packages_are_read_with_their_normal_dependencies_only() {
        let repo = Repo::from_metadata(
            r#"{"workspace_root": "/r", "target_directory": "/t", "packages": [{
                "name": "samovar-a",
                "dependencies": [
                    {"name": "b", "kind": null}, {"name": "c", "kind": "dev"}, {"name": "d", "kind": "build"}],
                "targets": [{"name": "samovar_a", "kind": ["lib"]}, {"name": "browser", "kind": ["test"]}]
            }]}"#,
        )
        .unwrap();
        let package = repo.package("samovar-a").unwrap();
        assert_eq!(package.dependencies, ["b", "d"]);
        assert_eq!(package.tests, ["browser"]);
    }

    #[test]
    fn every_manifest_of_the_workspace_is_understood() {
        let repo = Repo::locate().unwrap();
        assert!(repo.package("samovar-wire").is_some());
        assert_eq!(repo.locked_version("wasm-bindgen").unwrap().split('.').count(), 3);
    }
}
