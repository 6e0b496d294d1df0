//! Walking directories.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Explain, Result};

/// Every file below a directory, sorted. Hidden entries are left out: they are scratch files of editors and trunk.
///
/// # Errors
/// A directory cannot be read.
pub(crate) fn below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).explain(directory.display())? {
            let path = entry.explain(directory.display())?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
                continue;
            }
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}
