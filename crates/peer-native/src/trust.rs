//! The authorities whose certificates a peer accepts from a relay that speaks TLS: those of the platform, and any
//! others that the peer is given.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// The authorities that a peer trusts. The first use reads those of the platform, once for all clones.
#[derive(Clone, Debug, Default)]
pub struct Trust(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    further: Vec<CertificateDer<'static>>,
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// The reason why a file names no authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustError {
    path: PathBuf,
    why: String,
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, why } = self;
        write!(f, "{} holds no certificate of an authority ({why}): give a file in PEM", path.display())
    }
}

impl std::error::Error for TrustError {}

impl Trust {
    /// Trusts the platform's authorities, and those whose certificates are in this file, in PEM.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no certificate.
    pub fn with_file(path: &Path) -> Result<Self, TrustError> {
        let failed = |why: String| TrustError { path: path.to_owned(), why };
        let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
        let further = read().map_err(|error| failed(error.to_string()))?;
        // Parses the certificates now: a text that is no certificate must fail here, and not at the first relay that
        // shows a certificate.
        let mut roots = RootCertStore::empty();
        for certificate in &further {
            roots.add(certificate.clone()).map_err(|error| failed(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(failed("there is none in it".to_owned()));
        }
        Ok(Self(Arc::new(Inner { further, config: OnceLock::new() })))
    }

    /// The TLS settings; an error names the thing that this machine lacks.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, String> {
        self.0.config.get_or_init(|| configure(&self.0.further)).clone()
    }
}

fn configure(further: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let platform = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(platform.certs);
    roots.add_parsable_certificates(further.iter().cloned());
    if roots.is_empty() {
        let why: Vec<_> = platform.errors.iter().map(ToString::to_string).collect();
        return Err(format!(
            "this machine has no certificates of authorities ({}): install them (Debian: ca-certificates), or name the \
             relay's own authority",
            why.join("; ")
        ));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
