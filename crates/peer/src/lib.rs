//! A running peer: a session, the paths to every other peer, and the relay's client.
//!
//! A driver runs a [`Peer`]. The peer decides which path each packet takes. At first that is the relay's WebSocket.
//! Data channels, to the relay or to the other peer, take over when they are proven, and hand back when they fall
//! silent. The peer also decides when to try for another path. It carries plain values between the session and the
//! relay's client: warrants, claims, hints. The peer knows no socket and no browser; the drivers do.

mod carried;
mod carrying;
mod config;
mod direct;
mod drive;
mod driver;
mod exchange;
mod farewell;
mod leaving;
mod moves;
mod outbox;
pub mod path;
mod peer;
mod rejoin;
mod relay;
mod relay_path;
mod relay_path_tending;
mod rest;
mod routes;
mod routing;
mod seat;
mod signals;

mod ways;

pub use config::{PathPolicy, PeerConfig};
pub use direct::{ConnectionEvent, IceServer, Side};
pub use drive::Drive;
pub use driver::{Buffer, ConnectionKey, PeerEvent, Request, Traffic, Transmit};
pub use path::{AttemptEnd, Path};
pub use peer::Peer;
pub use samovar_directory::SocketId;
pub use samovar_directory::description::stun_servers;
pub use samovar_session::{Kept, Rules, Schemas};
pub use samovar_wire::relay::Purpose;
pub use samovar_wire::{GameCode, PeerId, Time};
