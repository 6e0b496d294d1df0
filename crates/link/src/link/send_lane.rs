//! The sending half of a reliable lane: messages cut into segments, each sent until it is acked (PROTOCOL §3.1).
//!
//! A segment goes out again before its loss is known. A copy costs a few bytes. Without it a loss would hold up
//! everything behind it in the lane for a round trip (PROTOCOL §3.1). A small segment has up to two copies. A budget
//! (`purse`) limits the copies, and each copy takes its size from it. The first sending of a small segment adds 1.9
//! times its size, and that of a larger one its size. So small messages at most triple the traffic, and large ones at
//! most double it. When the budget is low, third sendings are left out first.

use std::collections::VecDeque;

use samovar_wire::limits::SEGMENT_MAX;
use samovar_wire::link_frame::{Frame, SEGMENT_HEAD_MAX, SEGMENTS_PER_PACKET};
use samovar_wire::{Duration, Time, Writer};

use super::bounds::window_of;
use super::buffers::Buffers;
use super::sent::SegmentRef;

/// A segment up to this size has up to two copies, a larger one at most one. A new host's announcements are below
/// this size.
const SMALL_MAX: usize = 300;
/// A copy goes in a packet that leaves at least this long after the last packet that carried the segment.
const COPY_AFTER: Duration = Duration::from_millis(8);
/// A copy gets a packet of its own after this time. That is longer than a tick at 60 Hz, so the tick's packet usually
/// carries the copy.
const COPY_DUE: Duration = Duration::from_millis(18);
/// Credit that a byte of a segment adds to the budget for copies when it is first sent, in tenths of a byte: in a
/// small segment, and in a larger one.
const COPY_TENTHS: [usize; 2] = [19, 10];
/// The most that the budget for copies holds, in tenths of a byte.
const PURSE_MAX: usize = 40_000;
/// The credit that a third sending must leave in the budget for second sendings, in tenths of a byte.
const PURSE_RESERVE: usize = 4_000;
/// Segments that may await copies at a time.
const COPYING_MAX: usize = 128;

/// How often segments were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentCounts {
    /// Segments sent for the first time.
    pub(super) fresh: u64,
    /// Segments sent again before their loss was known.
    pub(super) copies: u64,
    /// Segments sent again because of a loss or a long silence.
    pub(super) resends: u64,
}

#[derive(Debug)]
struct Segment {
    bytes: Vec<u8>,
    last: bool,
    acked: bool,
    resend: bool,
    /// How often it was sent since it was queued or lost.
    sendings: u8,
    sent: Time,
    /// The packet that carried it last.
    packet: u64,
}

/// A packet that segments are written into.
#[derive(Debug)]
pub(super) struct Page<'a, 'b> {
    pub(super) now: Time,
    /// The packet's number.
    pub(super) packet: u64,
    /// The end of the room for segments in the packet, in bytes.
    pub(super) end: usize,
    /// How often a small segment is sent before its loss is known.
    pub(super) sendings: u8,
    pub(super) contents: &'a mut VecDeque<SegmentRef>,
    pub(super) counts: &'a mut SegmentCounts,
    pub(super) out: &'a mut Writer<'b>,
}

#[derive(Debug)]
pub(super) struct SendLane {
    lane: u8,
    /// The number of the first segment in `segments`; all before it are acked.
    first: u64,
    segments: VecDeque<Segment>,
    /// How many segments from the front have been sent at least once.
    sent: usize,
    /// How many segments wait to be sent again.
    resends: usize,
    /// Numbers of segments that may be copied, in the order of their sending.
    copying: VecDeque<u64>,
    purse: usize,
}

impl SendLane {
    pub(super) fn new(lane: u8) -> Self {
        Self {
            lane,
            first: 0,
            segments: VecDeque::new(),
            sent: 0,
            resends: 0,
            copying: VecDeque::new(),
            purse: PURSE_RESERVE,
        }
    }

    /// Queues a message. Returns the number of its last segment, or `None` when there would be more than `most`
    /// segments.
    pub(super) fn push(&mut self, message: &[u8], most: usize, buffers: &mut Buffers) -> Option<u64> {
        let pieces = message.len().div_ceil(SEGMENT_MAX).max(1);
        if self.segments.len() + pieces > most {
            return None;
        }
        for piece in 0..pieces {
            let bytes = &message[piece * SEGMENT_MAX..message.len().min((piece + 1) * SEGMENT_MAX)];
            self.segments.push_back(Segment {
                bytes: buffers.copy_of(bytes),
                last: piece + 1 == pieces,
                acked: false,
                resend: false,
                sendings: 0,
                sent: Time::ZERO,
                packet: 0,
            });
        }
        Some(self.end() - 1)
    }

    /// The number that the next segment queued will have.
    pub(super) fn end(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    /// All segments before this number are delivered.
    pub(super) fn delivered(&self) -> u64 {
        self.first
    }

    /// Segments that are not acked.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether segments are under way, and none waits to be sent again.
    pub(super) fn awaits_acks(&self) -> bool {
        self.sent > 0 && self.resends == 0
    }

    /// When a segment needs a packet.
    pub(super) fn due(&self) -> Time {
        if self.resends > 0 || self.sent < self.sendable() {
            return Time::ZERO;
        }
        // The queue is in the order of sending, so its first unacked segment is due first. If that one is acked in the
        // meantime, the lane only wakes too early.
        let first = self.copying.iter().find_map(|&number| self.get(number).filter(|s| !s.acked));
        first.map_or(Time::FAR, |segment| segment.sent + COPY_DUE)
    }

    fn sendable(&self) -> usize {
        self.segments.len().min(window_of(self.lane) as usize)
    }

    /// Appends the due segments that fit.
    pub(super) fn write(&mut self, page: &mut Page<'_, '_>) {
        let full = page.contents.len() + SEGMENTS_PER_PACKET;
        for index in 0..self.sent {
            if self.resends == 0 || page.contents.len() == full {
                break;
            }
            if self.segments[index].resend && self.append(index, page) {
                self.resends -= 1;
                page.counts.resends += 1;
            }
        }
        while self.sent < self.sendable() && page.contents.len() < full && self.append(self.sent, page) {
            let len = self.segments[self.sent].bytes.len();
            let tenths = COPY_TENTHS[usize::from(len > SMALL_MAX)];
            self.purse = (self.purse + len * tenths).min(PURSE_MAX);
            self.sent += 1;
            page.counts.fresh += 1;
        }
        self.write_copies(full, page);
    }

    fn write_copies(&mut self, full: usize, page: &mut Page<'_, '_>) {
        // `append` may put a copied segment back at the end of the queue, so the loop takes each segment once only.
        for _ in 0..self.copying.len() {
            let Some(&number) = self.copying.front() else { return };
            let wanted = self.get(number).filter(|s| !s.acked && !s.resend && s.sendings < page.sendings);
            let Some(segment) = wanted else {
                self.copying.pop_front();
                continue;
            };
            if page.now.since(segment.sent) < COPY_AFTER || page.contents.len() >= full {
                return;
            }
            let cost = segment.bytes.len() * 10;
            let reserve = if segment.sendings > 1 { PURSE_RESERVE } else { 0 };
            if self.purse < cost + reserve {
                self.copying.pop_front();
                continue;
            }
            self.copying.pop_front();
            if !self.append((number - self.first) as usize, page) {
                self.copying.push_front(number);
                return;
            }
            self.purse -= cost;
            page.counts.copies += 1;
        }
    }

    /// Writes a segment, unless it does not fit.
    fn append(&mut self, index: usize, page: &mut Page<'_, '_>) -> bool {
        let segment = &mut self.segments[index];
        if page.out.len() + segment.bytes.len() + SEGMENT_HEAD_MAX > page.end {
            return false;
        }
        let number = self.first + index as u64;
        let (last, bytes) = (segment.last, &segment.bytes[..]);
        Frame::Segment { lane: self.lane, number: number as u16, last, bytes }.encode(page.out);
        page.contents.push_back(SegmentRef { lane: self.lane, number });
        segment.sendings += 1;
        segment.sent = page.now;
        segment.packet = page.packet;
        segment.resend = false;
        let sendings = if bytes.len() > SMALL_MAX { page.sendings.min(2) } else { page.sendings };
        if segment.sendings < sendings && self.copying.len() < COPYING_MAX {
            self.copying.push_back(number);
        }
        true
    }

    pub(super) fn on_acked(&mut self, number: u64, buffers: &mut Buffers) {
        let Some(segment) = self.get_mut(number) else { return };
        segment.acked = true;
        let waited = core::mem::take(&mut segment.resend);
        self.resends -= usize::from(waited);
        while self.segments.front().is_some_and(|s| s.acked) {
            if let Some(segment) = self.segments.pop_front() {
                buffers.give(segment.bytes);
            }
            self.first += 1;
            self.sent -= 1;
        }
    }

    /// Sends a segment again if the lost packet was the last that carried it. Otherwise a later copy is still under
    /// way.
    pub(super) fn on_lost(&mut self, number: u64, packet: u64) {
        if self.get(number).is_some_and(|segment| segment.packet == packet) {
            self.send_again(number);
        }
    }

    /// Sends the oldest unacked segment again. If the last segments are lost, no later packet proves it. The ack of
    /// the packet that carries this segment again does.
    pub(super) fn probe(&mut self) {
        self.send_again(self.first);
    }

    fn send_again(&mut self, number: u64) {
        let Some(segment) = self.get_mut(number) else { return };
        if !segment.acked && !segment.resend && segment.sendings > 0 {
            segment.resend = true;
            segment.sendings = 0;
            self.resends += 1;
        }
    }

    fn get(&self, number: u64) -> Option<&Segment> {
        self.segments.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Segment> {
        self.segments.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}
