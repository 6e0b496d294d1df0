//! Complaints of not being heard: those that the other end makes, and when to make one.

use samovar_wire::{Duration, Time};

/// How often the other end is told that it is not heard, and half of how long that counts.
pub const COMPLAIN_EVERY: Duration = Duration::from_millis(200);

/// Complaints by one way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Complaints {
    /// When the other end said last that it does not hear us.
    heard: Option<Time>,
    /// When we say so next, at the soonest.
    next: Time,
}

impl Complaints {
    pub(super) const fn on_heard(&mut self, now: Time) {
        self.heard = Some(now);
    }

    /// Whether the other end has complained, and not too long ago.
    pub(super) fn are_heard(&self, now: Time) -> bool {
        self.heard.is_some_and(|last| last + COMPLAIN_EVERY.times(2) > now)
    }

    /// When to complain of a silence that is to be complained of from `due` on.
    pub(super) fn next_of(&self, due: Time) -> Time {
        due.max(self.next)
    }

    /// Whether to complain now, if it may be done at `at`.
    pub(super) fn make(&mut self, now: Time, at: Time) -> bool {
        let is_due = at <= now;
        if is_due {
            self.next = now + COMPLAIN_EVERY;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    #[test]
    fn a_complaint_counts_for_two_intervals() {
        let mut complaints = Complaints::default();
        assert!(!complaints.are_heard(at(0)));
        complaints.on_heard(at(10));
        assert!(complaints.are_heard(at(409)) && !complaints.are_heard(at(410)));
    }
}
