//! Tools as their projects release them: seconds instead of minutes where GitHub can be reached.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{BINARYEN, Recipe, Tool};
use crate::process::{self, Explain, Result};

/// How long to wait for an answer before the package registries are used instead.
const CONNECT_SECONDS: &str = "5";
const DOWNLOAD_SECONDS: &str = "300";

/// What curl says when it could not reach the host at all: no name, no connection, no answer in time.
const UNREACHABLE: [i32; 3] = [6, 7, 28];

/// Remembers that the host did not answer, so that it is waited for only once.
#[derive(Default)]
pub(super) struct Prebuilt {
    unreachable: Cell<bool>,
}

impl Prebuilt {
    /// Downloads a release and lays its programs out as `root/bin`; `false` when there is none to be had.
    ///
    /// # Errors
    /// When the scratch folder cannot be written.
    pub(super) fn fetch(&self, url: &str, recipe: &Recipe, scratch: &Path, root: &Path) -> Result<bool> {
        if self.unreachable.get() || process::find("curl").is_none() || process::find("tar").is_none() {
            return Ok(false);
        }
        eprintln!("xtask: fetching {} prebuilt", recipe.folder());
        let (archive, unpacked) = (scratch.join("release.tar.gz"), scratch.join("release"));
        let mut curl = Command::new("curl");
        curl.args(["--proto", "=https", "--tlsv1.2", "--fail", "--location", "--silent"])
            .args(["--connect-timeout", CONNECT_SECONDS, "--max-time", DOWNLOAD_SECONDS, "--output"])
            .arg(&archive)
            .arg(url);
        match process::code(&mut curl) {
            Some(0) => {}
            code => {
                self.unreachable.set(code.is_some_and(|code| UNREACHABLE.contains(&code)));
                return Ok(false);
            }
        }
        fs::create_dir_all(&unpacked).explain(unpacked.display())?;
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(&unpacked);
        Ok(process::code(&mut tar) == Some(0) && lay_out(recipe, &unpacked, root)?)
    }
}

/// Where the project of a tool releases it for this machine, `None` where it does not.
pub(super) fn url(tool: Tool, recipe: &Recipe) -> Option<String> {
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let triple = match (os, architecture) {
        ("linux", "x86_64" | "aarch64") => format!("{architecture}-unknown-linux-musl"),
        ("macos", "x86_64" | "aarch64") => format!("{architecture}-apple-darwin"),
        ("windows", "x86_64") => "x86_64-pc-windows-msvc".to_owned(),
        _ => return None,
    };
    let version = &recipe.version;
    Some(match tool {
        Tool::Trunk if os == "windows" => return None, // It is a zip file there.
        Tool::Trunk => {
            format!("https://github.com/trunk-rs/trunk/releases/download/v{version}/trunk-{triple}.tar.gz")
        }
        Tool::WasmBindgen => format!(
            "https://github.com/wasm-bindgen/wasm-bindgen/releases/download/{version}/wasm-bindgen-{version}-{triple}.tar.gz"
        ),
        Tool::WasmOpt => {
            let architecture =
                if (os, architecture) == ("macos", "aarch64") { "arm64" } else { architecture };
            format!(
                "https://github.com/WebAssembly/binaryen/releases/download/version_{BINARYEN}/binaryen-version_{BINARYEN}-{architecture}-{os}.tar.gz"
            )
        }
    })
}

/// Moves the programs, wherever the archive has them, to `root/bin`, and the libraries beside them to `root/lib`.
fn lay_out(recipe: &Recipe, unpacked: &Path, root: &Path) -> Result<bool> {
    let bin = root.join("bin");
    fs::create_dir_all(&bin).explain(bin.display())?;
    for program in recipe.programs {
        let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        let Some(found) = find_below(unpacked, &file)? else { return Ok(false) };
        let libraries = found.parent().and_then(Path::parent).map(|above| above.join("lib"));
        if let Some(libraries) = libraries.filter(|libraries| libraries.is_dir()) {
            fs::rename(&libraries, root.join("lib")).explain(libraries.display())?;
        }
        fs::rename(&found, bin.join(&file)).explain(found.display())?;
    }
    Ok(true)
}

fn find_below(directory: &Path, file: &str) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(directory).explain(directory.display())? {
        let path = entry.explain(directory.display())?.path();
        if path.is_dir() {
            if let Some(found) = find_below(&path, file)? {
                return Ok(Some(found));
            }
        } else if path.file_name().is_some_and(|name| name == file) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_wherever_an_archive_has_them() {
        let scratch = std::env::temp_dir().join(format!("samovar-xtask-layout-{}", std::process::id()));
        let (unpacked, root) = (scratch.join("release"), scratch.join("root"));
        fs::create_dir_all(unpacked.join("binaryen-version_132/bin")).unwrap();
        fs::create_dir_all(unpacked.join("binaryen-version_132/lib")).unwrap();
        let file = format!("wasm-opt{}", std::env::consts::EXE_SUFFIX);
        fs::write(unpacked.join("binaryen-version_132/bin").join(&file), "program").unwrap();
        fs::write(unpacked.join("binaryen-version_132/lib/libbinaryen.dylib"), "library").unwrap();
        let mut recipe = Recipe {
            package: "binaryen",
            version: "132.0.0".to_owned(),
            printed: "132".to_owned(),
            programs: &["wasm-opt"],
        };
        assert!(lay_out(&recipe, &unpacked, &root).unwrap());
        assert!(root.join("bin").join(&file).exists() && root.join("lib/libbinaryen.dylib").exists());
        recipe.programs = &["wasm-dis"];
        assert!(!lay_out(&recipe, &unpacked, &root).unwrap());
        fs::remove_dir_all(&scratch).unwrap();
    }
}
