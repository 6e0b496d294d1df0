//! What a client tells its peer and asks of its driver.

use samovar_wire::relay::{Denial, Entered, Refusal, Signal};
use samovar_wire::{Duration, Mode, PeerId, Term, Warrant};

/// Names one of the sockets that a client has asked for. A client has two for a moment when it moves from one network to
/// another; each that it asks for has a higher number than those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

impl SocketId {
    /// The first that a client asks for.
    pub const FIRST: Self = Self(1);

    pub(super) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// An obligation of the driver about a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRequest {
    /// Open a socket to the relay beside those that there are; answer with `handle_opened` or, when it cannot be,
    /// `handle_closed`.
    Open(SocketId),
    /// Close the socket, or stop opening it, and hand nothing of it over any more.
    Close(SocketId),
}

/// What happened, for the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The relay let us in for the first time.
    Entered(Entered),
    /// The relay refuses us for good. The client is over.
    Refused(Refusal),
    /// The relay breaks the protocol. The client is over.
    Failed(Fault),
    /// The relay cannot be reached, for the first time since it could, or since birth. The client goes on trying.
    Lost,
    /// We are in the game again, as the same peer. A newer warrant follows as [`ClientEvent::Issued`].
    Restored,
    /// We are in the game by another socket, and were so by the former one up to now. What hung on that socket, data
    /// channels to the relay for one, has ended.
    Moved,
    /// A packet or bulk chunk from another member.
    Forwarded {
        /// Its sender, on the relay's word.
        from: PeerId,
        /// How it travelled.
        mode: Mode,
        /// The packet or chunk.
        payload: Vec<u8>,
    },
    /// How to reach another member, or the relay by [`PeerId::RELAY`], by data channels.
    Signal(PeerId, Signal),
    /// The relay answers offers of data channels, until the socket closes.
    Reachable,
    /// A verified warrant, of a higher term than any that this client knew, by `set_warrant` included.
    Issued(Warrant),
    /// The host has lost the relay: a verified warrant to live under as soon as this peer misses it, and not before.
    Successor(Warrant),
    /// Our claim was not granted.
    Denied(Term, Denial),
    /// The relay stops within this time. What goes through it had better go another way by then; the client goes on
    /// trying, for another relay may take its place.
    Draining(Duration),
    /// That member's connection to the relay closed; it may live on direct links.
    Gone(PeerId),
}

/// How a relay broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A message that does not parse.
    Malformed,
    /// A message that may not come now.
    Unexpected,
    /// A pass or warrant that its own key does not verify, or of another session.
    BadSignature,
    /// Its key is no key, or not the one it had before.
    KeyChanged,
    /// It took us for another peer, or into another session, than before.
    IdentityChanged,
}
