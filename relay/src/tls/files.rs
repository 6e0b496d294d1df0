//! A certificate in files, which are read again when they change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::task::spawn_blocking;
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

/// The times and sizes of the two files; `None` for a file that is not there.
type Stamps = [Option<(SystemTime, u64)>; 2];

/// The certificate that new connections get.
#[derive(Debug)]
pub(super) struct FileCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    current: RwLock<Arc<CertifiedKey>>,
    /// The files when they were last read well.
    read: Mutex<Stamps>,
}

impl FileCertificate {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// A file cannot be read, holds no certificate or no key, or the two do not belong together.
    pub(super) fn read(files: TlsFiles, provider: Arc<CryptoProvider>) -> Result<Self, RelayError> {
        let stamps = stamps(&files);
        let current = RwLock::new(Arc::new(read(&files, &provider)?));
        Ok(Self { files, provider, current, read: Mutex::new(stamps) })
    }

    /// Reads the files again. A mistake in them changes nothing: the former certificate is worth more than none.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn renew(&self) -> Result<(), RelayError> {
        let stamps = stamps(&self.files);
        let key = read(&self.files, &self.provider)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = stamps;
        Ok(())
    }

    /// Reads the files again, and says in the log what came of it. A disk may be slow, so another thread reads.
    pub(super) async fn renew_and_tell(self: Arc<Self>) {
        let renewed = spawn_blocking(move || self.renew().map_err(|error| error.to_string())).await;
        match renewed.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(()) => tracing::info!("new connections get the certificate as it is now"),
            Err(error) => tracing::error!(error, "the former certificate stays"),
        }
    }

    /// Reads the files again whenever they have changed, until that succeeds. They are read when a look finds them as the
    /// look before did: a program that replaces them writes one after the other.
    pub(super) async fn watch(self: Arc<Self>) {
        let (mut seen, mut told) = (None, String::new());
        loop {
            sleep(LOOK_EVERY).await;
            let (before, certificate) = (seen, Arc::clone(&self));
            let look = spawn_blocking(move || {
                let now = stamps(&certificate.files);
                let read = *certificate.read.lock().unwrap_or_else(PoisonError::into_inner);
                let is_due = Some(now) == before && now != read;
                (now, is_due.then(|| certificate.renew().map_err(|error| error.to_string())))
            });
            let Ok((now, renewed)) = look.await else { continue };
            seen = Some(now);
            match renewed {
                None => {}
                Some(Ok(())) => {
                    told.clear();
                    tracing::info!("new connections get the certificate as it is now");
                }
                Some(Err(error)) => {
                    // Tried again at each look, and told once.
                    if told != error {
                        tracing::error!(error, "the former certificate stays");
                    }
                    told = error;
                }
            }
        }
    }
}

fn stamps(files: &TlsFiles) -> Stamps {
    let stamp = |path: &PathBuf| {
        let data = fs::metadata(path).ok()?;
        Some((data.modified().ok()?, data.len()))
    };
    [&files.certificate, &files.key].map(stamp)
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
    // A mistake in the certificate's own bytes is not the key's.
    let in_certificate = |error: &rustls::Error| matches!(error, rustls::Error::InvalidCertificate(_));
    CertifiedKey::from_der(chain, private, provider)
        .map_err(|error| failed(if in_certificate(&error) { certificate } else { key }, error))
}

fn failed(path: &Path, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> RelayError {
    RelayError::Certificate { path: path.to_owned(), source: io::Error::other(why) }
}
