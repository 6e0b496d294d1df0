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
    pub(super) fn count(&mut self, now: Time, peer: PeerId, reached: Option<Time>) -> bool {
        let Some(&since) = self.0.get(&peer) else { return false };
        let is_told = reached.is_some_and(|reached| reached > since);
        let counts = now <= since + if is_told { COUNTS_FOR } else { UNTOLD_COUNTS_FOR };
        if !counts {
            // What is ignored once is a gap: nothing behind it counts.
            self.0.remove(&peer);
        }
        counts
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
        let mut former = succeeded();
        assert!(!former.count(at(10_000), PeerId(2), None), "that one never hosted");
        for (ms, reached, counts) in [
            (12_000, Some(10_001), true),
            (12_001, Some(10_000), true),
            (70_000, None, true),
            (12_001, Some(10_001), false),
        ] {
            assert_eq!(former.count(at(ms), HOST, reached.map(at)), counts, "{ms} {reached:?}");
        }
        assert!(!succeeded().count(at(70_001), HOST, None));
    }

    #[test]
    fn nothing_counts_behind_what_was_ignored_until_it_has_hosted_again() {
        let mut former = succeeded();
        assert!(!former.count(at(12_001), HOST, Some(at(10_001))));
        // A link that began anew since.
        assert!(!former.count(at(12_002), HOST, None));
        former.note(at(13_000), HOST);
        assert!(former.count(at(13_001), HOST, None));
    }

    #[test]
    fn of_many_hosts_each_counts_for_its_own_time() {
        let mut former = succeeded();
        former.note(at(69_000), PeerId(2));
        assert!(former.count(at(70_000), HOST, None));
        assert!(former.count(at(129_000), PeerId(2), None));
        former.note(at(130_000), PeerId(3));
        assert_eq!(former.0.len(), 1, "who counts no more is forgotten");
    }
}
