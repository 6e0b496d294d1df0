//! The terms of direct connections, for drivers.

use samovar_wire::Mode;

/// The side of the negotiation that this end plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// Makes the offer and waits for the answer.
    Offer,
    /// Answers this offer.
    Answer(String),
}

/// An event of a connection, in this order: described, opened, packets, closed. A connection may close at any point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionEvent<B = Vec<u8>> {
    /// The offer or answer, complete with candidates.
    Described(String),
    /// Both channels can carry messages.
    Opened,
    /// A message arrived, at most 64 KiB; never empty on the reliable channel.
    Packet(Mode, B),
    /// The connection ended. Nothing follows.
    Closed,
}

/// A server that helps to find or carry a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IceServer {
    /// `stun:host:port` or `turn:host:port`.
    pub url: String,
    /// User name for TURN; empty otherwise.
    pub username: String,
    /// Password for TURN; empty otherwise.
    pub credential: String,
}

impl IceServer {
    /// A server for STUN at this URL, like `stun:203.0.113.5:3478`.
    #[must_use]
    pub const fn stun(url: String) -> Self {
        Self { url, username: String::new(), credential: String::new() }
    }
}
