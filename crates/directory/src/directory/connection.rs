//! What the directory keeps of one connection.

use samovar_wire::{PeerId, SessionId, Time};

use super::Origin;
use crate::bucket::Bucket;
use crate::limits::{CONTROL_BURST, CONTROL_INTERVAL, SIGNAL_BURST, SIGNAL_INTERVAL};

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// It has not said who it wants to be.
    New,
    /// A newcomer to a dormant session: a member must come back first.
    Awaiting(SessionId),
    /// The same of somebody who was this member, and founds the game anew if nobody comes back.
    Returning(SessionId, PeerId),
    /// The same of a peer of that session that no host has named.
    Resuming(SessionId, PeerId),
    /// It is that peer as soon as the game's term is on disk.
    Entrant(SessionId, PeerId),
    /// It is that peer.
    Entered(SessionId, PeerId),
}

/// Who opened a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    /// `None` when the driver does not tell addresses apart.
    pub(super) origin: Option<Origin>,
    /// It is the relay itself.
    pub(super) is_own: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    pub(super) caller: Caller,
    /// Since when its peer has been in its game.
    pub(super) entered: Time,
    controls: Bucket,
    signals: Bucket,
}

impl Connection {
    pub(super) const fn new(caller: Caller) -> Self {
        Self {
            phase: Phase::New,
            caller,
            entered: Time::ZERO,
            controls: Bucket::new(CONTROL_INTERVAL, CONTROL_BURST),
            signals: Bucket::new(SIGNAL_INTERVAL, SIGNAL_BURST),
        }
    }

    /// Whether one more control message is within the limit.
    pub(super) fn takes_control(&mut self, now: Time) -> bool {
        self.controls.take(now)
    }

    /// Whether one more signal is within the limit.
    pub(super) fn takes_signal(&mut self, now: Time) -> bool {
        self.signals.take(now)
    }
}
