//! The data directory and the relay's key in it. No other user may read the key: with it any peer can be made host.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::error::RelayError;

/// Makes sure that the data directory exists. A new one belongs to its owner alone.
///
/// # Errors
/// The directory cannot be created, or the path is no directory.
pub(crate) fn prepare_directory(directory: &Path) -> Result<(), RelayError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(directory)
        .map_err(|source| RelayError::DataDirectory { path: directory.to_owned(), source })
}

/// The relay's signing key: the one in the directory, or a new one, which is then stored there, readable by its owner
/// alone.
///
/// # Errors
/// The directory cannot be used, or holds a damaged key, or one that all users may read.
pub(crate) fn signing_key(directory: &Path) -> Result<[u8; 32], RelayError> {
    let path = directory.join("relay.key");
    match fs::read(&path) {
        Ok(bytes) => match bytes.try_into() {
            Ok(_) if is_open(&path) => Err(RelayError::OpenKey { path }),
            Ok(key) => Ok(key),
            Err(_) => Err(RelayError::DamagedKey { path }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = random()?;
            write_private(directory, &path, &key)
                .map_err(|source| RelayError::DataDirectory { path, source })?;
            Ok(key)
        }
        Err(source) => Err(RelayError::DataDirectory { path, source }),
    }
}

/// Whether users other than the owner and the group may read a file. Kubernetes gives a volume a group.
#[cfg(unix)]
pub(crate) fn is_open(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o007 != 0)
}

#[cfg(not(unix))]
pub(crate) const fn is_open(_: &Path) -> bool {
    false
}

/// Writes a file that is whole or absent, even if the machine stops.
pub(crate) fn write_private(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    // Fails if another user has put a file with other rights, or a link, in this file's place.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished, path)?;
    // The new name is on disk only once the directory is.
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    Ok(())
}

/// Random bytes from the system.
///
/// # Errors
/// The system has no randomness.
pub(crate) fn random() -> Result<[u8; 32], RelayError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| RelayError::System {
        what: "draw random numbers",
        source: io::Error::other(error.to_string()),
    })?;
    Ok(bytes)
}

/// The number of files that this process may have open; `None` if the system does not tell.
pub(crate) fn open_files_max() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    max_open_files(&limits)
}

/// The soft limit in a `/proc/self/limits`; `None` if there is no limit, or no line for it.
fn max_open_files(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_of_open_files_is_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max processes             96000                96000                processes\n\
            Max open files            1024                 524288               files\n";
        assert_eq!(max_open_files(limits), Some(1024));
        assert_eq!(max_open_files(&limits.replace("1024  ", "unlimited")), None);
        assert_eq!(max_open_files(""), None);
    }
}
