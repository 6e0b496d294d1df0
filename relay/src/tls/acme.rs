//! A certificate from an authority, by ACME (RFC 8555). The relay proves its name at its own port, by TLS-ALPN-01
//! (RFC 8737).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ResolvesServerCert;
use rustls::{ClientConfig, RootCertStore};
use rustls_acme::{AcmeState, EventError};

use super::kept::Kept;
use crate::error::RelayError;

/// The directory of Let's Encrypt.
pub(crate) const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// The names of the relay, and the authority that certifies them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeNames {
    /// The names.
    pub domains: Vec<String>,
    /// The address to which the authority writes, such as `mailto:ann@tea.example`.
    pub contact: Option<String>,
    /// The address of the authority's ACME directory.
    pub directory: String,
    /// Certificates of the authority's own server, in PEM, beside those that this machine trusts.
    pub authority: Option<PathBuf>,
}

/// The exchange with the authority.
pub(super) struct Acme(AcmeState<io::Error, io::Error>);

impl Acme {
    /// Prepares the exchange. The account and the certificates are kept in the data directory.
    ///
    /// # Errors
    /// The file of the authority cannot be read.
    pub(super) fn new(
        names: AcmeNames,
        data: &Path,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, RelayError> {
        let AcmeNames { domains, contact, directory, authority } = names;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let has_authority = authority.is_some();
        if let Some(path) = authority {
            let failed =
                |source| RelayError::Certificate { path: path.clone(), source: io::Error::other(source) };
            let certificates = CertificateDer::pem_file_iter(&path)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| failed(error.to_string()))?;
            if roots.add_parsable_certificates(certificates).0 == 0 {
                return Err(failed("it holds no certificate in PEM".to_owned()));
            }
        }
        if roots.is_empty() && !has_authority {
            let source = io::Error::other(
                "this machine trusts nobody: install its `ca-certificates`, or set --acme-ca",
            );
            return Err(RelayError::System { what: "trust the authority of --domain", source });
        }
        let client = ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| RelayError::System { what: "begin TLS", source: io::Error::other(error) })?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let config = rustls_acme::AcmeConfig::new_with_client_config(domains, Arc::new(client))
            .contact(contact.map(url_of))
            .directory(directory)
            .cache(Kept::new(data)?);
        Ok(Self(config.state()))
    }

    pub(super) fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        self.0.resolver()
    }

    /// Gets certificates, and renews them in time, for as long as the relay runs.
    pub(super) async fn run(mut self) {
        while let Some(event) = self.0.next().await {
            match event {
                Ok(event) => tracing::info!(?event, "the certificate"),
                Err(error @ EventError::Order(_)) => tracing::error!(
                    %error,
                    "the authority gives no certificate: it must reach this relay by its name at port 443, and this relay \
                     the authority. The relay tries again after a pause that doubles; a restart tries at once"
                ),
                Err(error) => tracing::error!(
                    %error,
                    "a certificate cannot be kept or used: check the folder `acme` of --data"
                ),
            }
        }
    }
}

/// An address to write to, as the authority takes it.
fn url_of(contact: String) -> String {
    if contact.contains(':') { contact } else { format!("mailto:{contact}") }
}
