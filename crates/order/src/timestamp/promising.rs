//! How this peer's promises travel to one member: mostly by its updates, whose time implies a promise (PROTOCOL
//! §4.14).

use samovar_wire::{Duration, Time};

/// The longest time between two full statements of a promise: a member that missed one hears the next.
const STATED_AGAIN: Duration = Duration::from_millis(200);
/// The most packets with a promise and an update whose fate is awaited. More are not needed to know that one arrived.
const AWAITED_MAX: usize = 64;

/// The state of the promises to one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Promising {
    /// How many messages the last stated promises count.
    sent: u64,
    /// Whether one of these promises has arrived.
    is_known: bool,
    /// Packets with one of these promises and an update.
    awaited: Vec<u64>,
    stated_at: Time,
    /// Whether a packet went without a promise and without an update.
    is_owed: bool,
    /// Whether the next packet states the promise.
    is_stated: bool,
}

impl Promising {
    /// Whether the next packet has to state a promise that counts `sent` messages. `has_update` says whether the
    /// packet holds an update.
    pub(super) fn states(&mut self, now: Time, sent: u64, has_update: bool) -> bool {
        if self.sent != sent {
            (self.sent, self.is_known) = (sent, false);
            self.awaited.clear();
        }
        let is_implied = has_update && self.is_known && !self.is_owed && now < self.stated_at + STATED_AGAIN;
        self.is_stated = !is_implied;
        self.is_stated
    }

    /// Notes that a packet went. `update` is its number if it holds an update.
    pub(super) fn on_sent(&mut self, now: Time, update: Option<u64>) {
        if !self.is_stated {
            self.is_owed |= update.is_none();
            return;
        }
        (self.stated_at, self.is_owed) = (now, false);
        if let Some(packet) = update.filter(|_| !self.is_known && self.awaited.len() < AWAITED_MAX) {
            self.awaited.push(packet);
        }
    }

    /// Takes the fate of a packet with an update.
    pub(super) fn on_fate(&mut self, packet: u64, has_arrived: bool) {
        let before = self.awaited.len();
        self.awaited.retain(|&awaited| awaited != packet);
        if has_arrived && self.awaited.len() < before {
            self.is_known = true;
            self.awaited.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn promise_is_stated_until_it_arrived_and_an_update_implies_it() {
        let at = |ms: u64| Time::from_micros(ms * 1_000);
        let mut promising = Promising::default();
        for packet in 0..3 {
            assert!(promising.states(at(1_000 + packet), 7, true));
            promising.on_sent(at(1_000 + packet), Some(packet));
        }
        promising.on_fate(0, false);
        assert!(promising.states(at(1_004), 7, true));
        promising.on_fate(2, true);
        assert!(!promising.states(at(1_005), 7, true));
        assert!(promising.states(at(1_005), 7, false), "there is no update");
        assert!(!promising.states(at(1_006), 7, true));
        promising.on_sent(at(1_006), None);
        assert!(promising.states(at(1_007), 7, true), "there was none after all");
        promising.on_sent(at(1_007), Some(8));
        assert!(!promising.states(at(1_100), 7, true));
        assert!(promising.states(at(1_300), 7, true), "now and then");
        assert!(promising.states(at(1_100), 8, true), "another message was sent");
        promising.on_fate(8, true);
        assert!(promising.states(at(1_100), 8, true), "that packet did not count it");
    }
}
