//! Changes of the machine's network.

use samovar_wire::{Duration, Time};

/// A change of network counts once in so long.
const MOVES_LAST: Duration = Duration::from_millis(500);

/// When the network changed. Machines say the same change several times.
#[derive(Debug)]
pub(crate) struct Moves {
    /// When it changed last, as the driver says.
    last: Option<Time>,
    /// When that is looked at again, since it has changed once more.
    again_at: Time,
}

impl Moves {
    pub(crate) const fn new() -> Self {
        Self { last: None, again_at: Time::FAR }
    }

    /// The driver says that the network changed; whether that counts now, and not later or never.
    pub(crate) fn counts(&mut self, now: Time) -> bool {
        let rests_until = self.last.map_or(now, |last| last + MOVES_LAST);
        if rests_until > now {
            self.again_at = rests_until;
            return false;
        }
        (self.last, self.again_at) = (Some(now), Time::FAR);
        true
    }

    /// Whether a change that came too soon is to be looked at now.
    pub(crate) fn take_due(&mut self, now: Time) -> bool {
        let is_due = self.again_at <= now;
        if is_due {
            self.again_at = Time::FAR;
        }
        is_due
    }

    /// When a change that came too soon is looked at again.
    pub(crate) const fn due(&self) -> Time {
        self.again_at
    }
}
