//! Why the relay refuses a peer.

use bincode::{Decode, Encode};

/// The reason why the relay does not let a peer in, or closes its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Refusal {
    /// No game has this code.
    UnknownGame,
    /// The code to create is in use.
    CodeTaken,
    /// The host reports that no seat is free.
    Full,
    /// The host admits no newcomers.
    Closed,
    /// Another protocol version; the relay speaks this one.
    Version(u16),
    /// Another game, or other parameters.
    Parameters,
    /// The relay did not sign the pass or warrant, or not for this game.
    BadPass,
    /// The relay has reached its limit of games or connections, or the game has reached its limit of connections.
    Busy,
    /// A message that breaks the protocol.
    Misbehaved,
    /// The relay is about to stop: it founds no more games.
    Draining,
    /// The game's host has barred the peer, or newcomers from its address.
    Barred,
    /// The code is kept for the relay's own connections.
    Reserved,
    /// The relay's operator lets nobody in from the peer's address.
    Banned,
    /// The relay's operator has ended this game.
    Ended,
    /// The relay lets in peers with a token of the game's own server, and this peer's does not serve.
    Token(TokenFault),
    /// The game's own server does not let the peer in. [`FromRelay::Told`](super::FromRelay::Told) says why, if the
    /// server does.
    NotAllowed,
}

/// The fault of a peer's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum TokenFault {
    /// The peer showed none.
    Missing,
    /// It is no token, or lacks a claim that it must have.
    Malformed,
    /// No key of the relay's verifies it.
    Forged,
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYet,
    /// It is for another game.
    OtherGame,
    /// It has made a member already.
    Used,
}
