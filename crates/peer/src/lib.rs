//! A running peer: a session, one path per other peer, and the relay's client.
//!
//! [`Peer`] is what a driver drives. It decides which path each packet takes (relayed at once, direct when that is
//! proven, back when it falls silent), when to try for a direct path, and carries plain values between the session
//! and the relay's client: warrants, claims, hints. It knows no socket and no browser; the adapters do.

mod path;
mod peer;

pub use path::Path;
pub use peer::{Buffer, ConnectionKey, PathPolicy, Peer, PeerConfig, PeerEvent, Request, Traffic, Transmit};
pub use samovar_session::{Rules, Schemas, Topology};
