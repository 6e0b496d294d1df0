//! The account and the certificates of an authority, in the relay's data directory. They hold private keys, so each is
//! a file that its owner alone may read, and is replaced as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rustls_acme::{AccountCache, CertCache};
use sha2::{Digest as _, Sha256};

use crate::data;
use crate::error::RelayError;

/// The folder in the data directory.
const FOLDER: &str = "acme";

/// The folder of what is kept.
#[derive(Clone, Debug)]
pub(super) struct Kept(PathBuf);

impl Kept {
    /// # Errors
    /// The folder cannot be made.
    pub(super) fn new(data: &Path) -> Result<Self, RelayError> {
        let folder = data.join(FOLDER);
        data::prepare_directory(&folder)?;
        Ok(Self(folder))
    }

    /// The file of a kind for these names and this authority.
    fn file(&self, kind: &str, names: &[String], directory: &str) -> PathBuf {
        let mut digest = Sha256::new();
        for part in names.iter().map(String::as_str).chain([directory]) {
            digest.update(part);
            digest.update([0]);
        }
        let name: String = digest.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.join(format!("{kind}-{name}.pem"))
    }

    async fn load(&self, path: PathBuf) -> io::Result<Option<Vec<u8>>> {
        blocking(move || match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(|bytes| Some(bytes).filter(|bytes| !bytes.is_empty())),
        })
        .await
    }

    async fn store(&self, path: PathBuf, bytes: &[u8]) -> io::Result<()> {
        let (folder, bytes) = (self.0.clone(), bytes.to_vec());
        blocking(move || data::write_private(&folder, &path, &bytes)).await
    }
}

async fn blocking<T: Send + 'static>(call: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(call).await.map_err(io::Error::other)?
}

#[async_trait]
impl CertCache for Kept {
    type EC = io::Error;

    async fn load_cert(&self, names: &[String], directory: &str) -> io::Result<Option<Vec<u8>>> {
        self.load(self.file("certificate", names, directory)).await
    }

    async fn store_cert(&self, names: &[String], directory: &str, bytes: &[u8]) -> io::Result<()> {
        self.store(self.file("certificate", names, directory), bytes).await
    }
}

#[async_trait]
impl AccountCache for Kept {
    type EA = io::Error;

    async fn load_account(&self, contact: &[String], directory: &str) -> io::Result<Option<Vec<u8>>> {
        self.load(self.file("account", contact, directory)).await
    }

    async fn store_account(&self, contact: &[String], directory: &str, bytes: &[u8]) -> io::Result<()> {
        self.store(self.file("account", contact, directory), bytes).await
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn kept_files_are_read_back_and_only_by_their_owner() {
        let data = std::env::temp_dir().join(format!("samovar-kept-{}", std::process::id()));
        fs::create_dir_all(&data).expect("a directory");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("rights");
        let kept = Kept::new(&data).expect("a folder");
        let names = ["tea.example".to_owned()];
        assert_eq!(kept.load_cert(&names, "here").await.expect("reads"), None);
        for bytes in [&b"one"[..], b"another"] {
            kept.store_cert(&names, "here", bytes).await.expect("writes");
            assert_eq!(kept.load_cert(&names, "here").await.expect("reads").as_deref(), Some(bytes));
        }
        assert_eq!(kept.load_cert(&names, "there").await.expect("reads"), None, "another authority's");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        let folder = data.join(FOLDER);
        assert_eq!(mode(&folder), 0o700);
        for file in fs::read_dir(&folder).expect("a folder") {
            assert_eq!(mode(&file.expect("a file").path()), 0o600);
        }
        fs::remove_dir_all(data).ok();
    }
}
