//! The sending half of the reliable lane: messages cut into segments, each sent until it is acked.

use std::collections::VecDeque;

use samovar_wire::limits::{SEGMENT_MAX, SEGMENT_WINDOW};
use samovar_wire::link_frame::Frame;
use samovar_wire::{Duration, Time, Writer};

/// Segments that may wait or be under way; beyond it a sender is told to wait.
const QUEUE_MAX: usize = 1_024;
/// A segment up to this size rides again in the next packet before its loss is known: for a small message a copy
/// costs less than the round trip that noticing its loss would take (DESIGN §4).
const COPIED_MAX: usize = 200;
/// How soon after the first copy the second may ride.
const COPY_AFTER: Duration = Duration::from_millis(8);

#[derive(Debug)]
struct Segment {
    bytes: Vec<u8>,
    last: bool,
    acked: bool,
    copies: u32,
    sent: Time,
    resend: bool,
}

#[derive(Debug, Default)]
pub(super) struct SendLane {
    /// The number of the first segment in `segments`; all before it are acked.
    first: u64,
    segments: VecDeque<Segment>,
    /// How many segments from the front have been sent at least once.
    sent: usize,
    /// How many wait to be sent again.
    resends: usize,
}

impl SendLane {
    /// Queues a message; the number of its last segment, or `None` when the queue is full.
    pub(super) fn push(&mut self, message: &[u8]) -> Option<u64> {
        let pieces = message.len().div_ceil(SEGMENT_MAX).max(1);
        if self.segments.len() + pieces > QUEUE_MAX {
            return None;
        }
        for piece in 0..pieces {
            let bytes = &message[piece * SEGMENT_MAX..message.len().min((piece + 1) * SEGMENT_MAX)];
            self.segments.push_back(Segment {
                bytes: bytes.to_vec(),
                last: piece + 1 == pieces,
                acked: false,
                copies: 0,
                sent: Time::ZERO,
                resend: false,
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

    /// Whether a segment wants a packet now.
    pub(super) fn has_work(&self) -> bool {
        self.resends > 0 || self.sent < self.segments.len().min(SEGMENT_WINDOW as usize)
    }

    /// Appends what fits of the segments that want to go, and tells which.
    pub(super) fn write(&mut self, now: Time, packet_max: usize, out: &mut Writer<'_>) -> Vec<u64> {
        let mut written = Vec::new();
        let window = self.segments.len().min(SEGMENT_WINDOW as usize);
        for (index, segment) in self.segments.iter_mut().take(window).enumerate() {
            let fresh = segment.copies == 0;
            let copy = segment.copies == 1
                && segment.bytes.len() <= COPIED_MAX
                && now.since(segment.sent) >= COPY_AFTER;
            if segment.acked || !(fresh || segment.resend || copy) {
                continue;
            }
            // A frame's own header is at most 13 bytes: kind, number, length.
            if out.len() + segment.bytes.len() + 13 > packet_max {
                break;
            }
            let number = self.first + index as u64;
            Frame::Segment { number, last: segment.last, bytes: &segment.bytes }.encode(out);
            written.push(number);
            segment.copies += 1;
            segment.sent = now;
            self.resends -= usize::from(core::mem::take(&mut segment.resend));
            self.sent = self.sent.max(index + 1);
        }
        written
    }

    pub(super) fn on_acked(&mut self, number: u64) {
        let Some(segment) = self.get(number) else { return };
        segment.acked = true;
        let waited = core::mem::take(&mut segment.resend);
        self.resends -= usize::from(waited);
        while self.segments.front().is_some_and(|s| s.acked) {
            self.segments.pop_front();
            self.first += 1;
            self.sent -= 1;
        }
    }

    /// The packet that carried the segment, sent at `sent`, is lost. A copy sent since is still under way.
    pub(super) fn on_lost(&mut self, number: u64, sent: Time) {
        let Some(segment) = self.get(number) else { return };
        if !segment.acked && !segment.resend && segment.sent <= sent {
            segment.resend = true;
            self.resends += 1;
        }
    }

    /// Sends again what has had no ack for `patience`: at the tail nothing sent later can prove a loss.
    pub(super) fn on_timeout(&mut self, now: Time, patience: Duration) {
        for segment in self.segments.iter_mut().take(self.sent) {
            if !segment.acked && !segment.resend && segment.sent + patience <= now {
                segment.resend = true;
                self.resends += 1;
            }
        }
    }

    /// When [`SendLane::on_timeout`] has something to do.
    pub(super) fn probe_due(&self, patience: Duration) -> Time {
        let open = self.segments.iter().take(self.sent).filter(|s| !s.acked && !s.resend);
        open.map(|s| s.sent + patience).min().unwrap_or(Time::FAR)
    }

    fn get(&mut self, number: u64) -> Option<&mut Segment> {
        self.segments.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}
