//! What passes between a peer and its driver: bytes, buffers, requests, events.

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
        /// Which socket.
        socket: SocketId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// On a data channel of a connection.
    Direct {
        /// The other end: the receiver, or the relay by [`PeerId::RELAY`].
        peer: PeerId,
        /// Which connection.
        attempt: u32,
        /// Which channel.
        mode: Mode,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// A buffer of the driver that bytes wait in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// A WebSocket to the relay.
    Relay(SocketId),
    /// Both channels of a connection.
    Direct(ConnectionKey),
}

/// Names one attempt at a connection with a peer, or with the relay by [`PeerId::RELAY`]: how a driver keeps its connections apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionKey {
    /// The other end.
    pub peer: PeerId,
    /// Grows with each new attempt, so that events of a replaced one are recognised.
    pub attempt: u32,
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Open a WebSocket to the relay beside those that there are; answer with `handle_relay_opened` or
    /// `handle_relay_closed`. There are two of them for a moment when the network changes.
    OpenRelay(SocketId),
    /// Close it; what still comes from it is not to be handed over.
    CloseRelay(SocketId),
    /// Create a connection with both channels and an offer; answer with `handle_local_description`.
    Offer {
        /// To whom; to the relay by [`PeerId::RELAY`].
        peer: PeerId,
        /// The connection's name from now on.
        attempt: u32,
    },
    /// Create a connection with both channels from an offer; answer with `handle_local_description`.
    Answer {
        /// From whom.
        peer: PeerId,
        /// The connection's name from now on.
        attempt: u32,
        /// The offer; untrusted.
        offer: String,
    },
    /// Complete the connection that made the offer.
    Accept {
        /// From whom.
        peer: PeerId,
        /// The connection.
        attempt: u32,
        /// The answer; untrusted.
        answer: String,
    },
    /// Close a connection; its events are ignored from now on.
    CloseDirect {
        /// With whom.
        peer: PeerId,
        /// The connection.
        attempt: u32,
    },
}

/// What went over all paths since the start: packets and bulk chunks, without the relay's control messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets sent; one that went two ways counts twice.
    pub packets_out: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// The relay knows this peer; the host will admit it, or this peer is the host.
    Entered(GameCode),
    /// The relay does not let this peer in; final if [`Peer::is_over`](crate::Peer::is_over) says so. A session may go on by direct paths.
    Refused(Refusal),
    /// The relay breaks the protocol; final as a refusal is.
    Failed(Fault),
    /// There is no session by this peer's configuration; final.
    NoSession(ConfigError),
    /// The relay cannot be reached; it is tried again and again.
    RelayLost,
    /// The relay is back, or is reached by another network than before.
    RelayRestored,
    /// The relay stops within this time. Direct paths are tried at once, a host hands over when its successor has more of
    /// them, and what still needs the relay by then ends.
    RelayDraining(Duration),
    /// The path to a peer changed.
    PathChanged(PeerId, Path),
    /// An attempt at a connection, with a peer or with the relay by [`PeerId::RELAY`], has ended: every [`Request::Offer`]
    /// and [`Request::Answer`] is followed by one of these.
    AttemptEnded(ConnectionKey, AttemptEnd),
    /// The session ended with [`EndReason::Removed`](samovar_session::EndReason::Removed), and this peer takes its seat back as
    /// another one, by its ticket: the game begins anew with the next session's [`Event::Joined`], as after a reload.
    Rejoining {
        /// Objects changed here while the others went on, and count no more.
        has_diverged: bool,
    },
    /// From the session.
    Session(Event),
}
