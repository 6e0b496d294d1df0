//! The relay's program for servers, in `target/dist`: static, with the page inside, with checksums and a list of what
//! it is made of.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;
use crate::tools::{Tool, Toolbox, ensure_server};
use crate::{files, page};

/// The most bytes of one program.
const SIZE_MAX: u64 = 20_000_000;
const PROFILE: &str = "server";
const SUMS: &str = "SHA256SUMS";

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// Intel's and AMD's 64 bits.
    Amd64,
    /// ARM's 64 bits.
    Arm64,
}

impl Server {
    pub(crate) const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// The name that Docker has for it, which is in the program's name.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The kind with this name.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|server| server.word() == word)
    }

    pub(crate) const fn triple(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// The compiler for the parts in C, and Debian's package of it.
    pub(crate) const fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Self::Amd64 => ("musl-gcc", "musl-tools"),
            Self::Arm64 => ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        }
    }

    pub(crate) fn file_name(self) -> String {
        format!("samovar-relay-linux-{}", self.word())
    }
}

/// The folder of the programs.
pub(crate) fn folder(repo: &Repo) -> PathBuf {
    repo.target.join("dist")
}

/// Builds the programs for these servers, their checksums and the list of their parts.
///
/// # Errors
/// A tool is missing, a part does not build, or a program is too large.
pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>, servers: &[Server]) -> Result<()> {
    page::build(repo, toolbox, page::Optimised::Always)?;
    let folder = folder(repo);
    // Nothing of an earlier build gets a checksum beside these.
    if folder.exists() {
        fs::remove_dir_all(&folder).explain(folder.display())?;
    }
    fs::create_dir_all(&folder).explain(folder.display())?;
    for &server in servers {
        let program = compile(repo, server)?;
        let size = fs::metadata(&program).explain(program.display())?.len();
        println!("{} has {size} bytes.", program.display());
        if size > SIZE_MAX {
            return Err(Failure::new(format!("{} has more than {SIZE_MAX} bytes", program.display())));
        }
    }
    // An image with the program alone begins with this directory (deploy/Dockerfile).
    let data = folder.join("data");
    fs::create_dir_all(&data).explain(data.display())?;
    list_parts(repo, toolbox, &folder)?;
    let sums = sums(&folder)?;
    fs::write(folder.join(SUMS), sums).explain(SUMS)
}

/// Compiles the program for a server into the folder.
fn compile(repo: &Repo, server: Server) -> Result<PathBuf> {
    ensure_server(repo, server)?;
    let (triple, (compiler, _)) = (server.triple(), server.compiler());
    let variable = triple.replace('-', "_");
    let mut build = repo.cargo("build");
    build.args(["--locked", "--profile", PROFILE, "--target", triple]);
    build.args(["--package", "samovar-relay", "--bin", "samovar-relay", "--features", "embed-page"]);
    build.env(format!("CC_{variable}"), compiler);
    // A compiler for glibc would otherwise call functions that only glibc has.
    build.env(format!("CFLAGS_{variable}"), "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0");
    if server == Server::Arm64 {
        build.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), "rust-lld");
    }
    process::run(&mut build)?;
    let program = folder(repo).join(server.file_name());
    let built = repo.target.join(triple).join(PROFILE).join("samovar-relay");
    fs::copy(&built, &program).explain(built.display())?;
    Ok(program)
}

/// Writes the list of the program's parts in CycloneDX's form.
fn list_parts(repo: &Repo, toolbox: &Toolbox<'_>, folder: &Path) -> Result<()> {
    let path = toolbox.path_with(&[Tool::Cyclonedx])?;
    let mut list = Command::new(page::program("cargo-cyclonedx", &path));
    list.args(["cyclonedx", "--format", "json", "--features", "embed-page", "--manifest-path"]);
    list.arg(repo.root.join("relay/Cargo.toml")).args(["--target", Server::Amd64.triple()]);
    list.args(["--override-filename", "samovar-relay.cdx"]).current_dir(&repo.root);
    process::run(&mut list)?;
    let mut found = None;
    // The tool writes a list beside every manifest of the workspace.
    for package in &repo.packages {
        let written = package.directory.join("samovar-relay.cdx.json");
        if package.name == "samovar-relay" {
            let bytes = fs::read(&written).explain(written.display())?;
            found = Some(bytes);
        }
        fs::remove_file(&written).ok();
    }
    let bytes = found.ok_or_else(|| Failure::new("there is no list of the relay's parts"))?;
    fs::write(folder.join("samovar-relay.cdx.json"), bytes).explain(folder.display())
}

/// The lines that `sha256sum --check` reads.
fn sums(folder: &Path) -> Result<String> {
    let mut lines = String::new();
    for file in files::below(folder)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name == SUMS {
            continue;
        }
        let bytes = fs::read(&file).explain(file.display())?;
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        lines.push_str(&format!("{sum}  {name}\n"));
    }
    Ok(lines)
}
