//! Drives a peer in the browser.
//!
//! Responsible for moving bytes, descriptions and time between a [`Peer`](samovar_peer::Peer) and the page: the relay's
//! WebSocket, direct connections, timers. The crate decides nothing about the protocol, draws nothing, and asks no
//! third party for anything.
//!
//! The crate's timer runs in a worker made from a blob, because timers of a hidden page run once a second at best. A
//! page with a content security policy allows the worker by `worker-src blob:`. Without that, timers of the page
//! replace it.
//!
//! ```no_run
//! use samovar_peer::{PathPolicy, PeerConfig, Purpose, Schemas};
//! use samovar_peer_web::{WebPeer, entropy};
//!
//! let config = PeerConfig {
//!     entropy: entropy(),
//!     purpose: Purpose::Create(None),
//!     token: None,
//!     ticket: None,
//!     kept: None,
//!     name: "Ann".to_owned(),
//!     attributes: 0,
//!     params: 0,
//!     schemas: Schemas::new(),
//!     paths: PathPolicy::Auto,
//!     capacity: 8,
//!     public: true,
//!     rules: samovar_peer::Rules::default(),
//! };
//! let peer = WebPeer::start("ws://127.0.0.1:8080/ws", config, || ());
//! // In every frame, and whenever the closure above is called:
//! peer.with(|peer, _now| while let Some(_event) = peer.poll_event() {});
//! ```

mod alarm;
mod clock;
pub mod connection;
mod driver;
mod inquiry;
mod listener;
mod name;
mod network;
mod pacer;
pub mod relay_socket;
pub mod scope;
pub mod tab;
mod web_peer;

pub use clock::{entropy, now};
pub use connection::{IceServer, WebConfig};
pub use inquiry::Obstacle;
pub use listener::Listener;
pub use name::fit_name;
pub use web_peer::WebPeer;
