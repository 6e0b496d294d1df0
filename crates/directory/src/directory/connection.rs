//! The directory's state of one connection.

use samovar_wire::{PeerId, SessionId, Time};

use super::Origin;
use crate::bucket::Bucket;
use crate::limits::{CONTROL_BURST, CONTROL_INTERVAL, SIGNAL_BURST, SIGNAL_INTERVAL};

/// The stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// It has not sent its `Enter`.
    New,
    /// A newcomer to a dormant session: a member must come back first.
    Awaiting(SessionId),
    /// The same for a peer that was this member; it founds the game anew if no member comes back.
    Returning(SessionId, PeerId),
    /// The same for a peer of that session that no host has named.
    Resuming(SessionId, PeerId),
    /// It becomes that peer when the game's term is on disk.
    Entrant(SessionId, PeerId),
    /// It is that peer.
    Entered(SessionId, PeerId),
}

/// The opener of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    /// `None` if the driver does not tell addresses apart.
    pub(super) origin: Option<Origin>,
    /// The relay itself opened it.
    pub(super) is_own: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    pub(super) caller: Caller,
    /// When its peer entered its game.
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

    /// Counts a control message; whether it is within the limit.
    pub(super) fn takes_control(&mut self, now: Time) -> bool {
        self.controls.take(now)
    }

    /// Counts a signal; whether it is within the limit.
    pub(super) fn takes_signal(&mut self, now: Time) -> bool {
        self.signals.take(now)
    }
}
