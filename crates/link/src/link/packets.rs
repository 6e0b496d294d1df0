//! Packet numbers: which were sent and what became of them, which were received.

use std::collections::VecDeque;

use samovar_wire::link_frame::{ACK_HISTORY, expand};
use samovar_wire::{Duration, Time};

use super::Fate;

/// Packets whose fate may be open at a time; the oldest is given up beyond it.
const IN_FLIGHT_MAX: usize = 512;
/// A packet is lost when one sent this many later was acked (RFC 9002 §6.1.1).
const REORDER_PACKETS: u64 = 3;
/// Or when a later one was acked and it is older than the round trip by an eighth and this (RFC 9002 §6.1.2).
const REORDER_SLACK: Duration = Duration::from_millis(10);

/// A packet under way.
#[derive(Debug)]
pub(super) struct SentPacket {
    /// When it left.
    pub(super) sent: Time,
    /// Segments of the reliable lane in it.
    pub(super) segments: Vec<u64>,
    /// Whether it carries a composed datagram, whose writer wants to know its fate.
    pub(super) composed: bool,
    open: bool,
}

type OnFate<'a> = dyn FnMut(u64, &SentPacket, Fate) + 'a;

/// The packets that were sent.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    /// The number of the first packet in `packets`.
    first: u64,
    packets: VecDeque<SentPacket>,
    newest_acked: Option<u64>,
    round_trip: Duration,
    loss_due: Option<Time>,
}

impl SentPackets {
    /// The number that the next packet will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = round_trip;
    }

    pub(super) fn push(&mut self, now: Time, segments: Vec<u64>, composed: bool) {
        // What is too much is given up at the next look, and no look is due for it: that would be at once, for ever.
        self.packets.push_back(SentPacket { sent: now, segments, composed, open: true });
    }

    pub(super) fn on_acked(&mut self, now: Time, newest: u64, history: u64, on_fate: &mut OnFate<'_>) {
        for back in 0..ACK_HISTORY {
            let Some(number) = newest.checked_sub(back) else { break };
            if history >> back & 1 == 0 {
                continue;
            }
            let Some(packet) = number.checked_sub(self.first).and_then(|i| self.packets.get_mut(i as usize))
            else {
                continue;
            };
            if packet.open {
                packet.open = false;
                on_fate(number, packet, Fate::Delivered);
                self.newest_acked = self.newest_acked.max(Some(number));
            }
        }
        self.detect_losses(now, on_fate);
    }

    /// Decides which packets are lost, by what was acked after them.
    pub(super) fn detect_losses(&mut self, now: Time, on_fate: &mut OnFate<'_>) {
        self.loss_due = None;
        let overfull = self.packets.len().saturating_sub(IN_FLIGHT_MAX) as u64;
        let patience = Duration::from_micros(self.round_trip.as_micros() / 8 * 9) + REORDER_SLACK;
        for (number, packet) in (self.first..).zip(&mut self.packets) {
            let overtaken = self.newest_acked.is_some_and(|acked| number < acked);
            if !packet.open || !(overtaken || number < self.first + overfull) {
                continue;
            }
            let by_count = self.newest_acked.is_some_and(|acked| acked >= number + REORDER_PACKETS);
            let due = packet.sent + patience;
            if by_count || due <= now || number < self.first + overfull {
                packet.open = false;
                on_fate(number, packet, Fate::Lost);
            } else {
                self.loss_due = Some(self.loss_due.map_or(due, |earlier| earlier.min(due)));
            }
        }
        while self.packets.front().is_some_and(|packet| !packet.open) {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    pub(super) fn loss_due(&self) -> Time {
        self.loss_due.unwrap_or(Time::FAR)
    }
}

/// The packets that were received.
#[derive(Debug, Default)]
pub(super) struct ReceivedPackets {
    /// The newest number, with which packets before it were received: bit i is `newest - i`.
    newest: Option<u64>,
    history: u64,
}

impl ReceivedPackets {
    /// Notes a packet; `None` for a duplicate, or one so old that its duplicate could not be told.
    pub(super) fn insert(&mut self, truncated: u16) -> Option<u64> {
        let Some(newest) = self.newest else {
            let number = expand(truncated, 0);
            self.newest = Some(number);
            self.history = 1;
            return Some(number);
        };
        let number = expand(truncated, newest);
        if number > newest {
            self.history = self.history.checked_shl(u32::try_from(number - newest).ok()?).unwrap_or(0) | 1;
            self.newest = Some(number);
            return Some(number);
        }
        let back = newest - number;
        if back >= ACK_HISTORY || self.history >> back & 1 == 1 {
            return None;
        }
        self.history |= 1 << back;
        Some(number)
    }

    /// What the next packet acks: the newest number and the history.
    pub(super) fn acks(&self) -> (u64, u64) {
        (self.newest.unwrap_or(0), self.history)
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
    fn the_fate_of_a_packet_is_told_once() {
        let mut sent = SentPackets::default();
        (0..8).for_each(|n| sent.push(at(n), Vec::new(), true));
        let mut fates = Vec::new();
        for _ in 0..2 {
            sent.on_acked(at(20), 6, 0b101_0101, &mut |n, _, fate| fates.push((n, fate)));
        }
        sent.on_acked(at(21), 6, 0b111_1111, &mut |n, _, fate| fates.push((n, fate)));
        fates.sort_by_key(|f| f.0);
        let expected: Vec<_> =
            (0..7).map(|n| (n, if n % 2 == 0 { Fate::Delivered } else { Fate::Lost })).collect();
        assert_eq!(fates, expected);
        assert_eq!(sent.packets.len(), 1);
    }

    #[test]
    fn packets_nobody_acks_do_not_pile_up() {
        let mut sent = SentPackets::default();
        let mut lost = 0;
        for n in 0..10_000 {
            sent.push(at(n), Vec::new(), true);
            assert_eq!(sent.loss_due(), Time::FAR, "nothing is due at once, for ever");
            sent.detect_losses(at(n), &mut |_, _, _| lost += 1);
        }
        assert_eq!(lost, 10_000 - IN_FLIGHT_MAX);
        assert_eq!(sent.packets.len(), IN_FLIGHT_MAX);
    }

    #[test]
    fn duplicates_and_ancient_packets_are_dropped() {
        let mut received = ReceivedPackets::default();
        assert_eq!(received.insert(3), Some(3));
        assert_eq!(received.insert(1), Some(1));
        assert_eq!(received.insert(1), None);
        assert_eq!(received.insert(100), Some(100));
        assert_eq!(received.insert(2), None);
        assert_eq!(received.acks(), (100, 1));
    }
}
