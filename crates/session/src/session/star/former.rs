//! Who hosted before, and for how long what it passed on counts (PROTOCOL §4.11 rule 7).

use samovar_wire::{Duration, PeerId, SortedMap, Time};

/// How long what a former host passed on counts.
const COUNTS_FOR: Duration = Duration::from_millis(2_000);
/// And at most, as long as it may not know that there is another: it takes acks for a sign that what it passed on counts.
const UNTOLD_COUNTS_FOR: Duration = Duration::from_millis(60_000);

/// Former hosts, and when each was succeeded: hosts may follow each other fast, and what they passed on may still arrive.
#[derive(Debug, Default)]
pub(super) struct Former(SortedMap<PeerId, Time>);

impl Former {
    /// A host was succeeded.
    pub(super) fn note(&mut self, now: Time, host: PeerId) {
        self.0.retain(|_, since| now <= *since + UNTOLD_COUNTS_FOR);
        self.0.insert(host, now);
    }

    /// Whether what a peer passes on counts, as of a host of before, which was reached up to a moment: it has all that was said to it
    /// before that.
    pub(super) fn counts(&self, now: Time, peer: PeerId, reached: Time) -> bool {
        self.0.get(&peer).is_some_and(|&since| {
            let is_told = reached > since;
            now <= since + if is_told { COUNTS_FOR } else { UNTOLD_COUNTS_FOR }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const HOST: PeerId = PeerId(1);

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    fn succeeded() -> Former {
        let mut former = Former::default();
        former.note(at(10_000), HOST);
        former
    }

    #[test]
    fn who_knows_that_it_was_succeeded_counts_for_two_seconds_and_who_may_not_for_a_minute() {
        let former = succeeded();
        assert!(!former.counts(at(10_000), PeerId(2), at(0)), "that one never hosted");
        for (ms, reached, counts) in [
            (12_000, 10_001, true),
            (12_001, 10_001, false),
            (12_001, 10_000, true),
            (70_000, 0, true),
            (70_001, 0, false),
        ] {
            assert_eq!(former.counts(at(ms), HOST, at(reached)), counts, "{ms} {reached}");
        }
    }

    #[test]
    fn of_many_hosts_each_counts_for_its_own_time() {
        let mut former = succeeded();
        former.note(at(69_000), PeerId(2));
        assert!(former.counts(at(70_000), HOST, at(0)));
        assert!(former.counts(at(129_000), PeerId(2), at(0)));
        former.note(at(130_000), PeerId(3));
        assert_eq!(former.0.len(), 1, "who counts no more is forgotten");
    }
}
