//! A client's events for its peer, and its requests to its driver.

use samovar_wire::relay::{Denial, Entered, Refusal, Signal};
use samovar_wire::{Duration, Mode, PeerId, Term, Voucher, Warrant};

/// Names one of a client's sockets. A client has two for a moment when it moves between networks; each new one has a
/// higher number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

impl SocketId {
    /// The first socket of a client.
    pub const FIRST: Self = Self(1);

    pub(super) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// A request to the driver about a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRequest {
    /// Open another socket to the relay; answer with `handle_opened` or, if that fails, `handle_closed`.
    Open(SocketId),
    /// Close the socket, or stop opening it, and hand over none of its messages any more.
    Close(SocketId),
}

/// An event for the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The relay let this peer in for the first time.
    Entered(Entered),
    /// The relay refuses this peer for good. The client is over.
    Refused(Refusal),
    /// Another session has the game's code. The client goes on trying.
    CodeTaken,
    /// The relay breaks the protocol. The client is over.
    Failed(Fault),
    /// The connection to the relay is lost, or could not be opened at the first try. The client reports this once,
    /// and goes on trying.
    Lost,
    /// This peer is in the game again, with the same id. A newer warrant follows as [`ClientEvent::Issued`].
    Restored,
    /// This peer is in the game by another socket, without a gap. Everything that belonged to the old socket, such as
    /// data channels to the relay, has ended.
    Moved,
    /// A packet or bulk chunk from another member.
    Forwarded {
        /// The sender, as the relay states it.
        from: PeerId,
        /// Unreliable for a packet, reliable for a chunk.
        mode: Mode,
        /// The packet or chunk.
        payload: Vec<u8>,
    },
    /// A signal by which another member, or the relay by [`PeerId::RELAY`], opens data channels.
    Signal(PeerId, Signal),
    /// The relay answers offers of data channels until the socket closes.
    Reachable,
    /// A verified warrant from the relay. Its term is above that of every warrant that this client knew, including
    /// those of `set_warrant`.
    Issued(Warrant),
    /// The host's connection to the relay closed. This peer adopts this verified warrant once it misses the host, and
    /// not before.
    Successor(Warrant),
    /// This peer's claim was not granted.
    Denied(Term, Denial),
    /// The relay stops within this time, and packets should take other paths by then. The client goes on trying,
    /// because another relay may take its place.
    Draining(Duration),
    /// The connection of this member to the relay closed. The member may live on over direct paths.
    Gone(PeerId),
    /// This member is barred, and this peer puts it out if it hosts.
    PutOut(PeerId),
    /// The relay's voucher, at a later entry: this peer shows it to hosts from now on.
    Vouched(Box<Voucher>),
    /// The game's own server does not let this peer in, and says why in words for the player.
    /// [`ClientEvent::Refused`] follows.
    Told(String),
}

/// A relay's breach of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A message that does not parse.
    Malformed,
    /// A message that is not allowed now.
    Unexpected,
    /// A pass or warrant of another session, or one that the relay's own key does not verify.
    BadSignature,
    /// The relay's key is invalid, or differs from its earlier key.
    KeyChanged,
    /// The relay gave this peer another id or session than before.
    IdentityChanged,
}
