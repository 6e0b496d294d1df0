//! Drives a peer with tokio and the `webrtc` crate: robots, tests, other people's native clients.
//!
//! Responsible for moving bytes, descriptions and time between a [`Peer`](samovar_peer::Peer) and the world: the
//! relay's WebSocket, direct connections, tokio's clock. It decides nothing about the protocol.
//!
//! ```no_run
//! use samovar_peer::{PathPolicy, Peer, PeerConfig, PeerEvent, Schemas};
//! use samovar_peer_native::{Game, NativeConfig, NativePeer, entropy};
//! use samovar_wire::Time;
//! use samovar_wire::relay::Purpose;
//!
//! struct Watcher;
//!
//! impl Game for Watcher {
//!     fn on_event(&mut self, _now: Time, _peer: &mut Peer, event: PeerEvent) {
//!         println!("{event:?}");
//!     }
//!
//!     fn on_tick(&mut self, _now: Time, _peer: &mut Peer) {}
//! }
//!
//! # async fn watch() {
//! let config = PeerConfig {
//!     entropy: entropy(),
//!     purpose: Purpose::Create(None),
//!     ticket: None,
//!     kept: None,
//!     name: "Watcher".to_owned(),
//!     attributes: 0,
//!     params: 0,
//!     schemas: Schemas::new(),
//!     paths: PathPolicy::Auto,
//!     capacity: 8,
//!     rules: samovar_peer::Rules::default(),
//! };
//! let url = "ws://127.0.0.1:8080/ws".to_owned();
//! let watcher = NativePeer::start(url, config, NativeConfig::default(), Watcher);
//! tokio::time::sleep(std::time::Duration::from_secs(60)).await;
//! watcher.stop().await;
//! # }
//! ```

pub mod connection;
mod driver;
mod name;
pub mod relay_socket;
mod trust;

pub use connection::{IceServer, NativeConfig};
pub use driver::{Game, NativePeer};
pub use name::fit_name;
pub use relay_socket::OpenError;
pub use trust::{Trust, TrustError};

/// Unpredictable bytes from the operating system, for `PeerConfig::entropy`.
///
/// # Panics
/// When the operating system has none, which no supported one admits to.
#[must_use]
pub fn entropy() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}
