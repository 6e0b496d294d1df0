//! TLS at the relay's own port.

mod acme;
mod files;
mod kept;
pub(crate) mod roots;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::ResolvesServerCert;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{Accept, TlsAcceptor};

pub use acme::AcmeNames;
pub(crate) use acme::LETS_ENCRYPT;
pub use files::TlsFiles;

use crate::error::RelayError;
use acme::Acme;
use files::FileCertificate;

/// The application protocol of a relay, and that of an authority's proof.
const PROTOCOLS: [&[u8]; 2] = [b"http/1.1", b"acme-tls/1"];

/// The origin of the relay's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsConfig {
    /// Files, which another program renews.
    Files(TlsFiles),
    /// An authority, by ACME.
    Acme(AcmeNames),
}

/// Takes the handshakes of connections.
#[derive(Clone)]
pub(crate) struct Acceptor(TlsAcceptor);

/// The relay's certificate, and the task that renews it.
pub(crate) struct Tls {
    acceptor: Acceptor,
    source: Source,
}

enum Source {
    Files(Arc<FileCertificate>),
    Acme(Box<Acme>),
}

/// A certificate that can be read again by an order.
pub(crate) struct Renewal(Option<Arc<FileCertificate>>);

impl Tls {
    /// Reads the certificate, or prepares to get one.
    ///
    /// # Errors
    /// A file cannot be used.
    pub(crate) fn new(config: TlsConfig, data: &Path) -> Result<Self, RelayError> {
        let provider = Arc::new(default_provider());
        let (source, resolver): (_, Arc<dyn ResolvesServerCert>) = match config {
            TlsConfig::Files(files) => {
                let certificate = Arc::new(FileCertificate::read(files, Arc::clone(&provider))?);
                (Source::Files(Arc::clone(&certificate)), certificate)
            }
            TlsConfig::Acme(names) => {
                let acme = Acme::new(names, data)?;
                let resolver = acme.resolver();
                (Source::Acme(Box::new(acme)), resolver)
            }
        };
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| RelayError::System { what: "begin TLS", source: io::Error::other(error) })?;
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        // A browser that was offered HTTP/2 could open no WebSocket here.
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Self { acceptor: Acceptor(TlsAcceptor::from(Arc::new(config))), source })
    }

    pub(crate) fn acceptor(&self) -> Acceptor {
        self.acceptor.clone()
    }

    /// The means to read the certificate again by an order.
    pub(crate) fn renewal(&self) -> Renewal {
        match &self.source {
            Source::Files(certificate) => Renewal(Some(Arc::clone(certificate))),
            Source::Acme(_) => Renewal(None),
        }
    }

    /// Whether an authority gives the certificate. It looks for the relay at port 443.
    pub(crate) const fn is_by_authority(&self) -> bool {
        matches!(self.source, Source::Acme(_))
    }

    /// Renews the certificate for as long as the relay runs.
    pub(crate) async fn run(self) {
        match self.source {
            Source::Files(certificate) => certificate.watch().await,
            Source::Acme(acme) => acme.run().await,
        }
    }
}

impl Renewal {
    /// Reads the files again, if there are some.
    pub(crate) async fn renew(&self) {
        if let Some(certificate) = &self.0 {
            Arc::clone(certificate).renew_and_tell().await;
        }
    }
}

impl Acceptor {
    pub(crate) fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Accept<S> {
        self.0.accept(stream)
    }
}

impl core::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Acceptor").finish_non_exhaustive()
    }
}

impl core::fmt::Debug for Tls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}
