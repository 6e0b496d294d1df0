//! The programs that the files of `deploy/` are for.

use std::path::Path;

use super::debian;
use crate::process::{self, Result};

/// The programs, and Debian's package of each.
const PROGRAMS: [(&str, &str); 4] = [
    ("buildah", "buildah"),
    ("docker-compose", "docker-compose"),
    ("cloud-init", "cloud-init"),
    ("systemd-analyze", "systemd"),
];

/// The programs that are here. Missing ones are installed first if this process may, but not where systemd runs:
/// cloud-init would then change a person's own machine at its next start. Prints the names of those still missing.
///
/// # Errors
/// An installation fails.
pub(crate) fn ensure() -> Result<Vec<&'static str>> {
    let is_here =
        |program: &str| process::find(program).is_some() && (program != "buildah" || process::is_root());
    let missing = PROGRAMS.into_iter().filter(|(program, _)| process::find(program).is_none());
    let missing: Vec<_> = missing.map(|(_, package)| package).collect();
    if !missing.is_empty() && !Path::new("/run/systemd/system").exists() {
        debian::install(&missing)?;
    }
    let (here, missing): (Vec<_>, Vec<_>) = PROGRAMS.into_iter().partition(|(program, _)| is_here(program));
    for (program, package) in missing {
        println!(
            "{program} is not there, or needs root (Debian: apt-get install {package}): its file is not checked."
        );
    }
    Ok(here.into_iter().map(|(program, _)| program).collect())
}
