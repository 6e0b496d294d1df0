//! The relay's end of its members' data channels (PROTOCOL §5.7): one UDP port for all of them, driven by as many threads
//! as the machine has processors.
//!
//! Each thread has a socket of its own at the port. A connection belongs to the thread to whose socket its first check
//! came, and a sender's datagrams always come to the same socket. So a thread decrypts, readdresses and encrypts a packet
//! without waiting for another. Datagrams that a member sends from a second address may come to another thread, which
//! passes them on. A thread takes datagrams by the batch, and sends a batch's packets for one member together. A connection
//! whose state machine panics is dropped; its member is reached by its WebSocket, as before.

mod answered;
mod association;
mod failures;
mod holder;
mod ledger;
mod path;
mod registry;
mod stun;
mod wire;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::error::RelayError;
use crate::hub::Hub;
use crate::network::PublicAddress;
use crate::reach::Reach;
use association::Identity;
use failures::Failures;
use registry::Registry;
use wire::Bound;
use worker::{Shared, Worker};

/// The endpoint's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpConfig {
    /// The address to listen at; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The addresses that members are told, at most one of each family; without any, that of `listen`.
    pub public: Vec<PublicAddress>,
    /// The number of threads; 1 to 64. Systems other than Linux have one.
    pub threads: usize,
}

/// The most threads of the endpoint.
pub(crate) const THREADS_MAX: usize = 64;

/// Bound sockets that are not served yet.
#[derive(Debug)]
pub(crate) struct Endpoint {
    sockets: Vec<Bound>,
    address: SocketAddr,
    identity: Identity,
    reach: Arc<Reach>,
}

impl Endpoint {
    /// Binds the sockets, and makes a certificate that lives as long as the process.
    ///
    /// # Errors
    /// The address is unavailable, or no certificate can be made.
    pub(crate) fn bind(config: &UdpConfig) -> Result<Self, RelayError> {
        let failed = |source| RelayError::Listen { address: config.listen, flag: "--udp", source };
        let threads = if cfg!(target_os = "linux") { config.threads.clamp(1, THREADS_MAX) } else { 1 };
        let sockets = Bound::bind(config.listen, threads).map_err(failed)?;
        let address = sockets[0].address().map_err(failed)?;
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
        let reach = Arc::new(Reach::new(sockets.len()));
        Ok(Self { sockets, address, identity, reach })
    }

    /// The address that the endpoint listens at.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The queues by which other threads give tasks to the endpoint's threads.
    pub(crate) fn reach(&self) -> Arc<Reach> {
        Arc::clone(&self.reach)
    }

    /// Starts the endpoint's threads, which end when told to. The returned receiver gets a value when one of them has ended,
    /// for any reason.
    ///
    /// # Errors
    /// The system gives the endpoint no thread.
    pub(crate) fn start(self, hub: Arc<Hub>) -> Result<(Threads, mpsc::Receiver<()>), RelayError> {
        let failed = |source| RelayError::System { what: "start the threads of --udp", source };
        let Self { sockets, identity, reach, .. } = self;
        let failures = Failures::new(Arc::clone(&hub.metrics), &identity.addresses);
        let stop = Arc::clone(&reach);
        let shared = Arc::new(Shared { identity, reach, hub, registry: Registry::default(), failures });
        let (end, ended) = mpsc::channel(1);
        let mut threads = Threads { reach: stop, all: Vec::new() };
        for (thread, socket) in sockets.into_iter().enumerate() {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
            let (end, shared) = (Ended(end.clone()), Arc::clone(&shared));
            let run = move || {
                let _end = end;
                runtime.block_on(async move {
                    match socket.into_socket() {
                        Ok(socket) => Worker::new(thread, socket, shared).run().await,
                        Err(error) => tracing::error!(%error, "a socket of --udp cannot be used"),
                    }
                });
            };
            let name = format!("samovar-udp-{thread}");
            threads.all.push(std::thread::Builder::new().name(name).spawn(run).map_err(failed)?);
        }
        Ok((threads, ended))
    }
}

/// The running threads.
#[derive(Debug)]
pub(crate) struct Threads {
    reach: Arc<Reach>,
    all: Vec<std::thread::JoinHandle<()>>,
}

impl Threads {
    /// Stops the threads, and waits until they have told their members.
    pub(crate) fn stop(self) {
        self.reach.stop();
        // A panic of a thread was logged as it happened.
        self.all.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Tells that a thread has ended, by its drop.
struct Ended(mpsc::Sender<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        // If there is no room, another thread has told already.
        self.0.try_send(()).ok();
    }
}
