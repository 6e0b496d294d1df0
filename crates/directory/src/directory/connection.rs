//! The directory's state of one connection.

use samovar_wire::relay::TokenFault;
use samovar_wire::{PeerId, SessionId, Time};

use super::{Clearance, Origin};
use crate::bucket::Bucket;
use crate::limits::{CONTROL_BURST, CONTROL_INTERVAL, SIGNAL_BURST, SIGNAL_INTERVAL};

/// The stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// The peer has not sent its `Enter`.
    New,
    /// A newcomer waits for a session without connections, until a member comes back; or for a place in a live game.
    Awaiting(SessionId),
    /// A newcomer waits as in [`Phase::Awaiting`]. It was this member before, and founds the game anew if no member
    /// comes back.
    Returning(SessionId, PeerId),
    /// A peer of this session that no host has named waits as in [`Phase::Awaiting`].
    Resuming(SessionId, PeerId),
    /// The connection becomes that of this peer when the game's term is on disk.
    Entrant(SessionId, PeerId),
    /// The connection is that of this peer.
    Entered(SessionId, PeerId),
}

/// The opener of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    /// `None` if the driver does not tell addresses apart.
    pub(super) origin: Option<Origin>,
    /// Whether the relay itself opened the connection.
    pub(super) is_own: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    pub(super) caller: Caller,
    /// When the connection's peer entered its game.
    pub(super) entered: Time,
    /// The word of the game's own server about the peer.
    pub(super) clearance: Option<Clearance>,
    /// The fault of the token that it has shown.
    pub(super) fault: Option<TokenFault>,
    controls: Bucket,
    signals: Bucket,
}

impl Connection {
    pub(super) const fn new(caller: Caller) -> Self {
        Self {
            phase: Phase::New,
            caller,
            entered: Time::ZERO,
            clearance: None,
            fault: None,
            controls: Bucket::new(CONTROL_INTERVAL, CONTROL_BURST),
            signals: Bucket::new(SIGNAL_INTERVAL, SIGNAL_BURST),
        }
    }

    /// Counts a control message. Returns whether it is within the limit.
    pub(super) fn takes_control(&mut self, now: Time) -> bool {
        self.controls.take(now)
    }

    /// Counts a signal. Returns whether it is within the limit.
    pub(super) fn takes_signal(&mut self, now: Time) -> bool {
        self.signals.take(now)
    }
}
