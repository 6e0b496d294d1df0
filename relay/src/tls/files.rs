//! A certificate in files, which are read again when they change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::sleep;

use crate::error::RelayError;

/// The time between two looks whether the files have changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The files of a certificate with its chain, and of its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The certificate that new connections get.
#[derive(Debug)]
pub(super) struct FileCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    current: RwLock<Arc<CertifiedKey>>,
}

impl FileCertificate {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// A file cannot be read, holds no certificate or no key, or the two do not belong together.
    pub(super) fn read(files: TlsFiles, provider: Arc<CryptoProvider>) -> Result<Self, RelayError> {
        let current = RwLock::new(Arc::new(read(&files, &provider)?));
        Ok(Self { files, provider, current })
    }

    /// Reads the files again. A mistake in them changes nothing: the former certificate is worth more than none.
    pub(super) fn renew(&self) {
        match read(&self.files, &self.provider) {
            Ok(key) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                tracing::info!("new connections get the certificate as it is now");
            }
            Err(error) => tracing::error!(%error, "the former certificate stays"),
        }
    }

    /// Reads the files again whenever they have changed. They are read when a look finds them as the look before did:
    /// a program that replaces them writes one after the other.
    pub(super) async fn watch(self: Arc<Self>) {
        let (mut read, mut seen) = (self.stamps(), self.stamps());
        loop {
            sleep(LOOK_EVERY).await;
            let now = self.stamps();
            if now == seen && now != read {
                self.renew();
                read = now;
            }
            seen = now;
        }
    }

    fn stamps(&self) -> [Option<(SystemTime, u64)>; 2] {
        let stamp = |path: &PathBuf| {
            let data = fs::metadata(path).ok()?;
            Some((data.modified().ok()?, data.len()))
        };
        [&self.files.certificate, &self.files.key].map(stamp)
    }
}

impl ResolvesServerCert for FileCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, RelayError> {
    let TlsFiles { certificate, key } = files;
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(certificate, error))?;
    if chain.is_empty() {
        return Err(failed(certificate, "it holds no certificate in PEM"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, error))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| failed(key, error))
}

fn failed(path: &Path, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> RelayError {
    RelayError::Certificate { path: path.to_owned(), source: io::Error::other(why) }
}
