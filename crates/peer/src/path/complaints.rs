//! Complaints about silence: those of the other end, and when to make one.

use samovar_wire::{Duration, Time};

/// The least time between two complaints. A complaint counts for twice this time.
pub const COMPLAIN_EVERY: Duration = Duration::from_millis(200);

/// The complaints about one connection, or those over the WebSocket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Complaints {
    /// When the other end last complained.
    heard: Option<Time>,
    /// When this end may complain next.
    next: Time,
}

impl Complaints {
    pub(super) const fn on_heard(&mut self, now: Time) {
        self.heard = Some(now);
    }

    /// Whether a complaint of the other end still counts.
    pub(super) fn are_heard(&self, now: Time) -> bool {
        self.heard.is_some_and(|last| last + COMPLAIN_EVERY.times(2) > now)
    }

    /// When to complain of a silence that is too long from `due` on.
    pub(super) fn next_of(&self, due: Time) -> Time {
        due.max(self.next)
    }

    /// Whether to complain now. `at` is when the complaint is due.
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
