//! The stages of leaving a game, or the host's office.

use samovar_wire::{Duration, Time};

/// The longest time that a leaving host waits for its successor.
const HANDS_OVER_WITHIN: Duration = Duration::from_millis(1_500);
/// The time that direct paths get to open before a host compares its own with its heir's.
const LINKED_WITHIN: Duration = Duration::from_millis(4_000);

/// The state of a peer's leaving.
#[derive(Debug)]
pub(crate) struct Leaving {
    is_over: bool,
    /// The peer may come back as a new peer.
    is_away: bool,
    /// When a leaving host goes although no successor has taken over.
    leaves_at: Time,
    /// When a host whose relay is about to stop compares its direct paths with its heir's.
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

    /// Ends the peer; whether it was still running.
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

    /// A host leaves as soon as a successor has taken over.
    pub(crate) fn hand_over(&mut self, now: Time) {
        self.leaves_at = self.leaves_at.min(now + HANDS_OVER_WITHIN);
    }

    /// Whether the host waits for its successor before it leaves.
    pub(crate) fn hands_over(&self) -> bool {
        self.leaves_at != Time::FAR
    }

    /// Whether a leaving host goes now.
    pub(crate) fn is_due(&self, now: Time, is_succeeded: bool) -> bool {
        self.hands_over() && (is_succeeded || self.leaves_at <= now)
    }

    /// The peer leaves without waiting for a successor.
    pub(crate) const fn leave(&mut self) {
        self.leaves_at = Time::FAR;
    }

    /// The relay stops within this time.
    pub(crate) fn on_draining(&mut self, now: Time, within: Duration) {
        self.yields_at = now + LINKED_WITHIN.min(within.half());
    }

    /// Whether to look for a host with more direct paths now; true once for each relay that stops.
    pub(crate) fn takes_yield(&mut self, now: Time) -> bool {
        let is_due = self.yields_at <= now;
        if is_due {
            self.yields_at = Time::FAR;
        }
        is_due
    }

    /// When a timer of this is due.
    pub(crate) fn due(&self) -> Time {
        self.leaves_at.min(self.yields_at)
    }
}
