//! The relay's end of its members' data channels (PROTOCOL §5.7): one UDP socket for all of them, driven by one thread.
//!
//! All connections belong to this one thread. So it decrypts, readdresses and encrypts a packet without any lock but
//! the hub's. It takes datagrams by the batch, and sends a batch's packets for one member together. A connection
//! whose state machine panics is dropped; its member is reached by its WebSocket, as before.

mod association;
mod ledger;
mod path;
mod stun;
mod wire;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::error::RelayError;
use crate::hub::Hub;
use crate::network::PublicAddress;
use crate::reach::Reach;
use association::Identity;
use wire::Bound;
use worker::Worker;

/// The endpoint's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpConfig {
    /// The address to listen at; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The addresses that members are told, at most one of each family; without any, that of `listen`.
    pub public: Vec<PublicAddress>,
}

/// A bound socket that is not served yet.
#[derive(Debug)]
pub(crate) struct Endpoint {
    socket: Bound,
    address: SocketAddr,
    identity: Identity,
    reach: Arc<Reach>,
}

impl Endpoint {
    /// Binds the socket, and makes a certificate that lives as long as the process.
    ///
    /// # Errors
    /// The address is unavailable, or no certificate can be made.
    pub(crate) fn bind(config: &UdpConfig) -> Result<Self, RelayError> {
        let failed = |source| RelayError::Listen { address: config.listen, flag: "--udp", source };
        let socket = Bound::bind(config.listen).map_err(failed)?;
        let address = socket.address().map_err(failed)?;
        let told =
            config.public.iter().map(|public| (public.ip, public.port.unwrap_or(address.port())).into());
        let mut addresses: Vec<SocketAddr> = told.collect();
        if addresses.is_empty() {
            addresses.push(address);
        }
        let provider = Arc::new(str0m::crypto::from_feature_flags());
        let certificate =
            provider.dtls_provider.generate_certificate().ok_or_else(|| RelayError::System {
                what: "make a certificate for --udp",
                source: std::io::Error::other("the cryptographic library gives no reason"),
            })?;
        let identity = Identity { provider, certificate, addresses };
        Ok(Self { socket, address, identity, reach: Arc::default() })
    }

    /// The address that the endpoint listens at.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The queue by which other threads give tasks to the endpoint's thread.
    pub(crate) fn reach(&self) -> Arc<Reach> {
        Arc::clone(&self.reach)
    }

    /// Starts the endpoint's thread, which ends when told to. The returned receiver completes when the thread has
    /// ended, for any reason.
    ///
    /// # Errors
    /// The system gives the endpoint no thread.
    pub(crate) fn start(
        self,
        hub: Arc<Hub>,
    ) -> Result<(std::thread::JoinHandle<()>, oneshot::Receiver<()>), RelayError> {
        let failed = |source| RelayError::System { what: "start the thread of --udp", source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let Self { socket, identity, reach, .. } = self;
        let (end, ended) = oneshot::channel();
        let run = move || {
            let _end = end;
            runtime.block_on(async move {
                match socket.into_socket() {
                    Ok(socket) => Worker::new(socket, identity, reach, hub).run().await,
                    Err(error) => tracing::error!(%error, "the socket of --udp cannot be used"),
                }
            });
        };
        let thread = std::thread::Builder::new().name("samovar-udp".to_owned()).spawn(run).map_err(failed)?;
        Ok((thread, ended))
    }
}
