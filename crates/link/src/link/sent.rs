//! Sent packets and the fate of each (PROTOCOL §2.3).

use std::collections::VecDeque;
use std::collections::vec_deque::Iter;

use samovar_wire::link_frame::AckHistory;
use samovar_wire::{Duration, Time};

use super::bounds::OPEN_PACKETS;
use super::event::Fate;

/// A packet is lost when a packet was acked whose number is higher by at least this (RFC 9002 §6.1.1).
const REORDER_PACKETS: u64 = 3;
/// A packet is also lost when a later packet was acked, and its own age exceeds 9/8 of the round trip by this (RFC
/// 9002 §6.1.2).
const REORDER_SLACK: Duration = Duration::from_millis(10);

/// A segment that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentRef {
    pub(super) lane: u8,
    pub(super) number: u64,
}

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) number: u64,
    /// When it left.
    pub(super) sent: Time,
    /// Its bytes.
    pub(super) size: usize,
    /// Whether it carries a composed datagram. The datagram's writer is told the packet's fate.
    pub(super) composed: bool,
    /// How many packets had arrived at this end when this one was written; see `ReceivedPackets`.
    pub(super) arrivals: u64,
    /// The place of its first segment in `contents`, counted since the link began.
    contents: u64,
    /// How many segments it carries.
    segments: usize,
    open: bool,
}

/// The packets that were sent.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    /// The number of the first packet in `packets`.
    first: u64,
    packets: VecDeque<SentPacket>,
    /// The segments of `packets`, one packet after the other, and then those of the packet being written.
    contents: VecDeque<SegmentRef>,
    /// How many were dropped from the front of `contents`.
    dropped: u64,
    newest_acked: Option<u64>,
    round_trip: Duration,
    loss_due: Option<Time>,
}

/// A packet to be noted as sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub(super) size: usize,
    pub(super) composed: bool,
    pub(super) arrivals: u64,
}

impl SentPackets {
    /// The number that the next packet will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = round_trip;
    }

    /// The list to which segments are added as they are written. [`SentPackets::push`] then completes their packet.
    pub(super) fn contents(&mut self) -> &mut VecDeque<SegmentRef> {
        &mut self.contents
    }

    /// Whether segments were added since the last complete packet.
    pub(super) fn has_unpacked(&self) -> bool {
        self.unpacked_from() < self.dropped + self.contents.len() as u64
    }

    fn unpacked_from(&self) -> u64 {
        self.packets.back().map_or(self.dropped, |last| last.contents + last.segments as u64)
    }

    pub(super) fn push(&mut self, now: Time, noted: Noted) {
        let contents = self.unpacked_from();
        let segments = (self.dropped + self.contents.len() as u64 - contents) as usize;
        let Noted { size, composed, arrivals } = noted;
        // Packets beyond `OPEN_PACKETS` are given up at the next `detect_losses`. They set no `loss_due`, which would
        // be due at once, again and again.
        let number = self.next();
        self.packets.push_back(SentPacket {
            number,
            sent: now,
            size,
            composed,
            arrivals,
            contents,
            segments,
            open: true,
        });
    }

    /// Takes an ack; reports the fate of each packet that it settles.
    pub(super) fn on_acked(
        &mut self,
        now: Time,
        newest: u64,
        history: &AckHistory,
        on_fate: &mut impl FnMut(&SentPacket, Iter<'_, SegmentRef>, Fate),
    ) {
        for back in core::iter::once(0).chain(history.bits().map(|bit| bit + 1)) {
            let index = newest.checked_sub(back).and_then(|number| number.checked_sub(self.first));
            // All further packets are older, and their fate is known.
            let Some(index) = index else { break };
            let Some(packet) = self.packets.get_mut(index as usize).filter(|packet| packet.open) else {
                continue;
            };
            packet.open = false;
            self.newest_acked = self.newest_acked.max(Some(packet.number));
            on_fate(packet, segments(&self.contents, self.dropped, packet), Fate::Delivered);
        }
        self.detect_losses(now, on_fate);
    }

    /// Declares packets lost, by the acks of later ones or because too many are open.
    pub(super) fn detect_losses(
        &mut self,
        now: Time,
        on_fate: &mut impl FnMut(&SentPacket, Iter<'_, SegmentRef>, Fate),
    ) {
        self.loss_due = None;
        let overfull = self.packets.len().saturating_sub(OPEN_PACKETS) as u64;
        let patience = Duration::from_micros(self.round_trip.as_micros() / 8 * 9) + REORDER_SLACK;
        let acked = self.newest_acked.unwrap_or(0);
        let suspects = acked.max(self.first + overfull).saturating_sub(self.first) as usize;
        for packet in self.packets.iter_mut().take(suspects).filter(|packet| packet.open) {
            let is_overfull = packet.number < self.first + overfull;
            let due = packet.sent + patience;
            if acked >= packet.number + REORDER_PACKETS || due <= now || is_overfull {
                packet.open = false;
                on_fate(packet, segments(&self.contents, self.dropped, packet), Fate::Lost);
            } else {
                self.loss_due = Some(self.loss_due.map_or(due, |earlier| earlier.min(due)));
            }
        }
        self.forget_closed();
    }

    fn forget_closed(&mut self) {
        while let Some(packet) = self.packets.front().filter(|packet| !packet.open) {
            let end = packet.contents + packet.segments as u64;
            while self.dropped < end {
                self.contents.pop_front();
                self.dropped += 1;
            }
            self.packets.pop_front();
            self.first += 1;
        }
    }

    pub(super) fn loss_due(&self) -> Time {
        self.loss_due.unwrap_or(Time::FAR)
    }

    /// How many packets are kept.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}

fn segments<'a>(
    contents: &'a VecDeque<SegmentRef>,
    dropped: u64,
    packet: &SentPacket,
) -> Iter<'a, SegmentRef> {
    let start = (packet.contents - dropped) as usize;
    contents.range(start..start + packet.segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const NOTED: Noted = Noted { size: 10, composed: true, arrivals: 0 };

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    fn history(bits: &[u64]) -> AckHistory {
        let mut history = AckHistory::default();
        bits.iter().for_each(|&bit| history.set(bit));
        history
    }

    #[test]
    fn each_packet_gets_one_fate_with_its_segments() {
        let mut sent = SentPackets::default();
        for number in 0..8 {
            (0..number % 3).for_each(|_| sent.contents().push_back(SegmentRef { lane: 1, number }));
            sent.push(at(number), NOTED);
        }
        let mut fates = Vec::new();
        let mut note = |packet: &SentPacket, segments: Iter<'_, SegmentRef>, fate| {
            assert_eq!(segments.len() as u64, packet.number % 3);
            assert!(segments.clone().all(|segment| segment.number == packet.number));
            fates.push((packet.number, fate));
        };
        for _ in 0..2 {
            sent.on_acked(at(20), 6, &history(&[1, 3, 5]), &mut note);
        }
        sent.on_acked(at(21), 6, &history(&[0, 1, 2, 3, 4, 5]), &mut note);
        fates.sort_by_key(|f| f.0);
        let expected: Vec<_> =
            (0..7).map(|n| (n, if n % 2 == 0 { Fate::Delivered } else { Fate::Lost })).collect();
        assert_eq!(fates, expected);
        assert_eq!((sent.len(), sent.contents.len()), (1, 1));
    }

    #[test]
    fn unacked_packets_do_not_pile_up() {
        let mut sent = SentPackets::default();
        let mut lost = 0;
        for n in 0..10_000 {
            sent.contents().push_back(SegmentRef { lane: 0, number: n });
            sent.push(at(n), NOTED);
            assert_eq!(sent.loss_due(), Time::FAR, "nothing is due at once, for ever");
            sent.detect_losses(at(n), &mut |_, _, _| lost += 1);
        }
        assert_eq!(lost, 10_000 - OPEN_PACKETS);
        assert_eq!((sent.len(), sent.contents.len()), (OPEN_PACKETS, OPEN_PACKETS));
    }
}
