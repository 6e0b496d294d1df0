//! The authorities whose certificates the relay believes when it asks another server.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::error::RelayError;

/// Believes the authorities that this machine trusts, and those in a file.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn client(authority: Option<&Path>) -> Result<ClientConfig, RelayError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = authority {
        let failed =
            |source| RelayError::Certificate { path: path.to_owned(), source: io::Error::other(source) };
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| failed(error.to_string()))?;
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(failed("it holds no certificate in PEM".to_owned()));
        }
    } else if roots.is_empty() {
        // In an image with this program alone, the authorities are those that Mozilla trusted when it was built.
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| RelayError::System { what: "begin TLS", source: io::Error::other(error) })?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
