//! Drives a peer with tokio and the `webrtc` crate: for robots, tests, and native games of others.
//!
//! Responsible for moving bytes, descriptions and time between a [`Peer`](samovar_peer::Peer) and the world: the
//! relay's WebSocket, direct connections, tokio's clock. It decides nothing about the protocol.
//!
//! ```no_run
//! use samovar_peer::{PathPolicy, Peer, PeerConfig, PeerEvent, Purpose, Schemas, Time};
//! use samovar_peer_native::{Game, NativeConfig, NativePeer, entropy};
//! use samovar_session::{Event, Lane, Target};
//!
//! struct Greeter;
//!
//! impl Game for Greeter {
//!     fn on_event(&mut self, _now: Time, peer: &mut Peer, event: PeerEvent) {
//!         match event {
//!             PeerEvent::Entered(code) => println!("others join by Purpose::Join({code})"),
//!             PeerEvent::Session(Event::MemberJoined { member, .. }) => {
//!                 let Some(session) = peer.session_mut() else { return };
//!                 let greeting = format!("welcome, {}", member.name);
//!                 // Sending fails only when too much already waits for that member.
//!                 let _ = session.send(Target::Peer(member.peer), Lane::GAME, greeting.as_bytes());
//!             }
//!             PeerEvent::Session(Event::Message { from, bytes, .. }) => {
//!                 println!("{from} says {}", String::from_utf8_lossy(&bytes));
//!             }
//!             _ => {}
//!         }
//!     }
//!
//!     fn on_tick(&mut self, now: Time, peer: &mut Peer) {
//!         if let Some(session) = peer.session_mut() {
//!             session.stepped(now);
//!         }
//!     }
//! }
//!
//! # async fn greet() {
//! let config = PeerConfig {
//!     entropy: entropy(),
//!     purpose: Purpose::Create(None),
//!     token: None,
//!     ticket: None,
//!     kept: None,
//!     name: "Greeter".to_owned(),
//!     attributes: 0,
//!     params: 0,
//!     schemas: Schemas::new(),
//!     paths: PathPolicy::Auto,
//!     capacity: 8,
//!     public: true,
//!     rules: samovar_peer::Rules::default(),
//! };
//! let url = "ws://127.0.0.1:8080/ws".to_owned();
//! let greeter = NativePeer::start(url, config, NativeConfig::default(), Greeter);
//! tokio::time::sleep(std::time::Duration::from_secs(60)).await;
//! greeter.stop().await;
//! # }
//! ```

mod config;
#[cfg(feature = "direct")]
pub mod connection;
mod driver;
#[cfg(not(feature = "direct"))]
mod left_out;
mod name;
pub mod relay_socket;
mod trust;

pub use config::NativeConfig;
pub use driver::{Game, Lender, Loan, NativePeer};
pub use name::fit_name;
pub use relay_socket::OpenError;
#[cfg(feature = "direct")]
pub use samovar_peer::IceServer;
pub use trust::{Trust, TrustError};

/// Unpredictable bytes from the operating system, for `PeerConfig::entropy`.
///
/// # Panics
/// When the operating system has no random bytes, which does not happen on a supported system.
#[must_use]
pub fn entropy() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}
