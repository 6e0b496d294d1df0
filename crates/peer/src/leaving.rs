//! The stages of leaving a game, or the host's office.

use samovar_wire::{Duration, Time};

/// The longest time that a leaving host waits for its successor.
const HANDS_OVER_WITHIN: Duration = Duration::from_millis(1_500);
/// The time for direct paths to open, before a host compares how many it has with how many its heir has.
const LINKED_WITHIN: Duration = Duration::from_millis(4_000);

/// The state of a peer's leaving.
#[derive(Debug)]
pub(crate) struct Leaving {
    is_over: bool,
    /// Whether the peer may come back as a new peer.
    is_away: bool,
    /// When a leaving host leaves even if no successor has taken over.
    leaves_at: Time,
    /// When a host whose relay is about to stop compares the number of its direct paths with its heir's.
    yields_at: Time,
}

impl Leaving {
    pub(crate) const fn new() -> Self {
        Self { is_over: false, is_away: false, leaves_at: Time::FAR, yields_at: Time::FAR }
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) const fn set_over(&mut self, is_over: bool) {
        self.is_over = is_over;
    }

    /// Ends the peer. Returns whether it was still running.
    pub(crate) const fn end(&mut self) -> bool {
        !core::mem::replace(&mut self.is_over, true)
    }

    pub(crate) const fn is_away(&self) -> bool {
        self.is_away
    }

    /// Marks that the peer may come back.
    pub(crate) const fn go_away(&mut self) {
        self.is_away = true;
    }

    /// Lets a host leave as soon as a successor has taken over, or after [`HANDS_OVER_WITHIN`].
    pub(crate) fn hand_over(&mut self, now: Time) {
        self.leaves_at = self.leaves_at.min(now + HANDS_OVER_WITHIN);
    }

    /// Whether the host waits for its successor before it leaves.
    pub(crate) fn hands_over(&self) -> bool {
        self.leaves_at != Time::FAR
    }

    /// Whether a leaving host leaves now.
    pub(crate) fn is_due(&self, now: Time, is_succeeded: bool) -> bool {
        self.hands_over() && (is_succeeded || self.leaves_at <= now)
    }

    /// Stops waiting for a successor, because the peer leaves at once.
    pub(crate) const fn leave(&mut self) {
        self.leaves_at = Time::FAR;
    }

    /// Notes that the relay stops within this time.
    pub(crate) fn on_draining(&mut self, now: Time, within: Duration) {
        self.yields_at = now + LINKED_WITHIN.min(within.half());
    }

    /// Whether a host is to compare its direct paths with its heir's now; true once for each relay that stops.
    pub(crate) fn takes_yield(&mut self, now: Time) -> bool {
        let is_due = self.yields_at <= now;
        if is_due {
            self.yields_at = Time::FAR;
        }
        is_due
    }

    /// When the next of these timers is due.
    pub(crate) fn due(&self) -> Time {
        self.leaves_at.min(self.yields_at)
    }
}
