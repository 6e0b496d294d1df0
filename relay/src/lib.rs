//! The relay: a native server around [`samovar_directory::Directory`].
//!
//! It moves bytes and time between sockets, disk and the directory, forwards packets unread, keeps each peer to its
//! limits, counts events, and serves the page. It decides nothing about games: the directory does. On request a
//! `referee` hosts games in the same process; to the relay it is a peer like any other.

pub mod admin;
mod bans;
pub mod bots;
mod channels;
mod clock;
mod data;
mod door;
pub mod duration;
mod endpoint;
mod entry;
mod error;
mod forwarder;
mod frames;
mod fresh;
mod game;
mod games;
mod gate;
mod hub;
mod limits;
mod line;
mod lines;
mod metrics;
mod network;
mod order;
mod outbox;
mod overview;
mod page;
#[cfg(test)]
mod panics;
mod play;
mod player;
pub mod processors;
mod reach;
mod redirect;
mod referee;
mod refusals;
mod reports;
mod room;
mod routes;
mod seat;
mod seldom;
mod server;
pub mod settings;
mod socket;
mod store;
mod tls;
#[cfg(feature = "otel")]
pub mod traces;
mod value;
pub mod version;
mod writing;

#[cfg(test)]
#[path = "../tests/relay/caller.rs"]
#[expect(dead_code, reason = "the tests of processes ask for more")]
mod caller;
#[cfg(test)]
#[path = "../tests/relay/peer.rs"]
#[expect(dead_code, reason = "the tests of processes ask for more")]
mod peer;
#[cfg(test)]
use panics::process;

pub use endpoint::UdpConfig;
pub use error::RelayError;
pub use gate::{GateConfig, TokenKeys, WebhookConfig};
pub use limits::{LimitWords, Limits};
pub use order::Order;
pub use referee::RefereeConfig;
pub use server::{Relay, ServeConfig};
pub use tls::{AcmeNames, TlsConfig, TlsFiles};
