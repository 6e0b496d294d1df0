//! A certificate from an authority, by ACME (RFC 8555). The relay proves its name at its own port, by TLS-ALPN-01
//! (RFC 8737).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rustls::server::ResolvesServerCert;
use rustls_acme::{AcmeState, EventError, EventOk};

use super::kept::Kept;
use super::roots;
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

/// The time without a certificate and without an event after which the operator hears of it: at first, and after it has
/// doubled several times.
const QUIET_AT_FIRST: Duration = Duration::from_secs(15);
const QUIET_AT_LAST: Duration = Duration::from_secs(3_600);

/// The exchange with the authority, and the address of its directory.
pub(super) struct Acme(AcmeState<io::Error, io::Error>, String);

impl Acme {
    /// Prepares the exchange. The account and the certificates are kept in the data directory.
    ///
    /// # Errors
    /// The file of the authority cannot be read.
    pub(super) fn new(names: AcmeNames, data: &Path) -> Result<Self, RelayError> {
        let AcmeNames { domains, contact, directory, authority } = names;
        let client = roots::client(authority.as_deref())?;
        let config = rustls_acme::AcmeConfig::new_with_client_config(domains, Arc::new(client))
            .contact(contact.map(url_of))
            .directory(&directory)
            .cache(Kept::new(data)?);
        Ok(Self(config.state(), directory))
    }

    pub(super) fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        self.0.resolver()
    }

    /// Gets certificates, and renews them in time, for as long as the relay runs.
    pub(super) async fn run(mut self) {
        let mut has_certificate = false;
        let mut patience = QUIET_AT_FIRST;
        loop {
            // The library waits for an authority for ever, so the operator hears of the silence.
            let patient = async {
                match has_certificate {
                    true => std::future::pending().await,
                    false => tokio::time::sleep(patience).await,
                }
            };
            let event = tokio::select! {
                event = self.0.next() => event,
                () = patient => {
                    tracing::error!(
                        seconds = patience.as_secs(),
                        authority = self.1,
                        "there is still no certificate, and browsers cannot connect. If no line above tells another reason, the                          authority does not answer: let this machine open connections to it"
                    );
                    patience = (patience * 2).min(QUIET_AT_LAST);
                    continue;
                }
            };
            let Some(event) = event else { return };
            match event {
                Ok(event) => {
                    has_certificate |=
                        matches!(event, EventOk::DeployedCachedCert | EventOk::DeployedNewCert);
                    tracing::info!(?event, "the certificate");
                }
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
