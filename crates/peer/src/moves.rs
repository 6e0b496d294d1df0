//! Changes of the machine's network.

use samovar_wire::{Duration, Time};

/// Changes of the network within this time count as one.
const MOVES_LAST: Duration = Duration::from_millis(500);

/// The times of network changes. Operating systems report the same change several times.
#[derive(Debug)]
pub(crate) struct Moves {
    /// The last change that counted.
    last: Option<Time>,
    /// The time at which this peer handles a report that came within [`MOVES_LAST`] after that change.
    again_at: Time,
}

impl Moves {
    pub(crate) const fn new() -> Self {
        Self { last: None, again_at: Time::FAR }
    }

    /// Takes the driver's report of a change. Returns whether it counts now; otherwise it counts later or never.
    pub(crate) fn counts(&mut self, now: Time) -> bool {
        let rests_until = self.last.map_or(now, |last| last + MOVES_LAST);
        if rests_until > now {
            self.again_at = rests_until;
            return false;
        }
        (self.last, self.again_at) = (Some(now), Time::FAR);
        true
    }

    /// Whether a report that came too soon is to be handled now. True once.
    pub(crate) fn take_due(&mut self, now: Time) -> bool {
        let is_due = self.again_at <= now;
        if is_due {
            self.again_at = Time::FAR;
        }
        is_due
    }

    /// The time at which this peer handles a report that came too soon.
    pub(crate) const fn due(&self) -> Time {
        self.again_at
    }
}
