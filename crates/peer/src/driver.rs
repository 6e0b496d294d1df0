//! The types that pass between a peer and its driver: bytes, buffers, requests, events.

use samovar_directory::{Fault, SocketId};
use samovar_session::{ConfigError, Event};
use samovar_wire::relay::Refusal;
use samovar_wire::{Duration, GameCode, Mode, PeerId};

use crate::path::{AttemptEnd, Path};

/// Bytes for the driver to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// One binary message on a WebSocket to the relay.
    Relay {
        /// The socket.
        socket: SocketId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Bytes on a data channel of a connection.
    Direct {
        /// The other end: the receiver, or the relay as [`PeerId::RELAY`].
        peer: PeerId,
        /// The connection's number.
        attempt: u32,
        /// The channel.
        mode: Mode,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// A buffer of the driver that holds unsent bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// A WebSocket to the relay.
    Relay(SocketId),
    /// Both channels of a connection.
    Direct(ConnectionKey),
}

/// The name of one attempt at a connection with a peer, or with the relay as [`PeerId::RELAY`]. A driver keeps its
/// connections by these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionKey {
    /// The other end.
    pub peer: PeerId,
    /// Grows with each new attempt, so that events of a replaced one are recognised.
    pub attempt: u32,
}

/// An instruction to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Open another WebSocket to the relay; answer with `handle_relay_opened` or `handle_relay_closed`. Two sockets
    /// are open for a moment when the network changes.
    OpenRelay(SocketId),
    /// Close a WebSocket to the relay; drop everything that it still delivers.
    CloseRelay(SocketId),
    /// Create a connection with both channels and an offer; answer with `handle_local_description`.
    Offer {
        /// The receiver of the offer; the relay as [`PeerId::RELAY`].
        peer: PeerId,
        /// The connection's name from now on.
        attempt: u32,
    },
    /// Create a connection with both channels from an offer; answer with `handle_local_description`.
    Answer {
        /// The peer that offered.
        peer: PeerId,
        /// The connection's name from now on.
        attempt: u32,
        /// The offer; untrusted.
        offer: String,
    },
    /// Complete the connection that made an offer, with the answer to it.
    Accept {
        /// The peer that answered.
        peer: PeerId,
        /// The connection.
        attempt: u32,
        /// The answer; untrusted.
        answer: String,
    },
    /// Close a connection; its events are ignored from now on.
    CloseDirect {
        /// The other end.
        peer: PeerId,
        /// The connection.
        attempt: u32,
    },
}

/// Traffic over all paths since the start: packets and bulk chunks, without the relay's control messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets sent; a packet that took two paths counts twice.
    pub packets_out: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
}

/// A change that the driver and its game hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// The relay knows this peer; the host will admit it, or this peer is the host.
    Entered(GameCode),
    /// The relay does not let this peer in; final if [`Peer::is_over`](crate::Peer::is_over) says so. A session may go
    /// on by direct paths.
    Refused(Refusal),
    /// The game's own server does not let this peer in, and says why in words for the player.
    /// [`PeerEvent::Refused`] follows.
    Told(String),
    /// The relay breaks the protocol; final in the same cases as a refusal.
    Failed(Fault),
    /// The configuration allows no session; final.
    NoSession(ConfigError),
    /// The relay cannot be reached; the peer tries again and again.
    RelayLost,
    /// The relay is connected again, or over another network than before.
    RelayRestored,
    /// The relay stops within this time. The peer tries direct paths at once. A host hands over if its heir has more
    /// direct paths. When the relay stops, everything that still needs it ends.
    RelayDraining(Duration),
    /// The path to a peer changed.
    PathChanged(PeerId, Path),
    /// An attempt at a connection, with a peer or with the relay as [`PeerId::RELAY`], has ended. One of these events
    /// follows each [`Request::Offer`] and [`Request::Answer`].
    AttemptEnded(ConnectionKey, AttemptEnd),
    /// The session ended with [`EndReason::Removed`](samovar_session::EndReason::Removed). This peer takes its seat
    /// back as a new peer, by its ticket. The game begins anew with the next session's [`Event::Joined`], as after a
    /// reload.
    Rejoining {
        /// Whether objects changed here while the others went on without this peer. Such changes are lost.
        has_diverged: bool,
    },
    /// An event of the session.
    Session(Event),
}
