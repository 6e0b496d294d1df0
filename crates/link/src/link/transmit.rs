//! Sending: packets, and chunks of the bulk stream.

use samovar_wire::carried::CARRIED_HEAD;
use samovar_wire::lane::RELIABLE_LANES;
use samovar_wire::limits::{BULK_CHUNK_MAX, PACKET_MAX};
use samovar_wire::link_frame::{Frame, PacketHeader};
use samovar_wire::{Duration, Mode, Time, Writer};

use super::Link;
use super::send_lane::Page;
use super::sent::Noted;

/// Writes an unreliable message for a packet. Arguments: the packet's number, the room in bytes, the output. If it
/// writes nothing, there is no message.
pub type Compose<'a> = dyn FnMut(u64, usize, &mut Vec<u8>) + 'a;

/// Where composed datagrams come from.
pub struct Source<'a> {
    /// Whether to make a packet even when only `compose` has something to send.
    pub wanted: bool,
    /// Called once for each packet that the budget allows, with the room that is left.
    pub compose: &'a mut Compose<'a>,
}

impl core::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Source").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

/// When something is due on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dues {
    /// When something is to be sent, whether the budget allows it or not. Before that, [`Link::poll_transmit`] has
    /// nothing of its own to send, unless another method of the link is called in between.
    pub wanted: Time,
    /// When the budget allows a packet, as [`Link::budget_at`] says.
    pub allowed: Time,
    /// When the link has something to do, as [`Link::poll_timeout`] says.
    pub timeout: Time,
}

/// The lane that comes first in each of nine packets in turn; `None` stands for the unreliable mode.
const TURNS: [Option<u8>; 9] = [Some(0), None, Some(1), Some(0), None, Some(2), Some(0), None, Some(3)];
/// The room that waiting messages may take when the unreliable mode comes first; the composed datagram has the rest.
const LOOSE_SHARE: usize = SPACE / 2;
/// At this index of `TURNS` the waiting messages may take everything, so that large ones do not wait for ever.
const LOOSE_TURN: usize = 4;
/// The largest packet that is made; it leaves room for a carrier's header.
const SPACE: usize = PACKET_MAX - CARRIED_HEAD;
/// Bytes of a datagram's header when it is the last frame of its packet.
const DATAGRAM_HEAD: usize = 1;
/// How often a small segment is sent before its loss is known: usually `SENDINGS` times. `SENDINGS_WITH_LOSS` holds
/// when more than the share `LOSSY` of the packets is lost.
const SENDINGS: u8 = 2;
const SENDINGS_WITH_LOSS: u8 = 3;
const LOSSY: f32 = 0.015;
/// A chunk may have this many bytes on any path.
const CHUNK_MIN: usize = 1_024;
/// On a fast path a chunk may have as many bytes as the rate carries in this many microseconds.
const CHUNK_MICROS: u64 = 20_000;
/// The tolerance for a packet that is sent later than expected.
const EXPECTED_SLACK: Duration = Duration::from_millis(1);

impl Link {
    /// Writes the next bytes for the path into `out`, and returns the mode to send them in; `None` when there is
    /// nothing to send now.
    ///
    /// `session` is the session time to answer pings with, zero when unknown.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        session: Time,
        source: Source<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Mode> {
        self.observe(now);
        out.clear();
        let works = source.wanted || self.work_due() <= now;
        let allowed = self.budget.ready_at() <= now;
        if works && !allowed {
            self.budget.on_limited();
        }
        let due = works && allowed || self.sign_due() <= now;
        let mode = if due && self.write_packet(now, session, source, out) {
            Mode::Unreliable
        } else if self.write_chunk(now, out) {
            Mode::Reliable
        } else {
            return None;
        };
        self.stats.packets_out += 1;
        self.stats.bytes_out += out.len() as u64;
        self.budget.spend(now, out.len());
        Some(mode)
    }

    /// When queued messages need a packet. The budget may delay it.
    fn work_due(&self) -> Time {
        let lanes = self.send_lanes.iter().map(super::SendLane::due).min().unwrap_or(Time::FAR);
        if self.loose_out.has_work() { Time::ZERO } else { lanes }
    }

    /// When a keep-alive, a ping or an ack is due. Its packet goes whatever the budget says.
    fn sign_due(&self) -> Time {
        let sign = (self.last_sent + self.config.keep_alive).min(self.clock.ping_due(self.last_sent));
        self.ack_due.map_or(sign, |due| due.min(sign))
    }

    /// Writes a packet. Returns whether there was anything to send.
    fn write_packet(&mut self, now: Time, session: Time, source: Source<'_>, bytes: &mut Vec<u8>) -> bool {
        let must = self.sign_due() <= now;
        let allowed = self.budget.ready_at() <= now;
        bytes.reserve(SPACE);
        let number = self.sent.next();
        let mut out = Writer::new(bytes);
        let (generations, ack) = (self.association.generations(), self.received.ack());
        PacketHeader { generations, number: number as u16, ack }.encode(&mut out);
        if !self.piggyback.is_empty() {
            Frame::Piggyback(&self.piggyback).encode(&mut out);
        }
        let header = out.len();
        self.write_clock(now, session, number, &mut out);
        if let Some(offset) = self.bulk_in.take_ack() {
            Frame::BulkAck(offset).encode(&mut out);
        }
        let composed = allowed && self.write_content(now, number, source.compose, &mut out);
        if out.len() == header && !must {
            bytes.clear();
            return false;
        }
        if self.sent.has_unpacked() {
            self.last_segment = now;
        }
        let noted = Noted { size: out.len(), composed, arrivals: self.received.arrivals() };
        self.sent.push(now, noted);
        self.budget.on_packet(noted.size);
        self.last_sent = now;
        self.ack_due = None;
        true
    }

    fn write_clock(&mut self, now: Time, session: Time, number: u64, out: &mut Writer<'_>) {
        if let Some((ping, held)) = self.clock.take_pong(now) {
            Frame::Pong { ping, held, session: session.as_micros() }.encode(out);
        }
        if self.clock.take_ping(now, number) {
            Frame::Ping.encode(out);
        }
    }

    /// Fills the packet, beginning with the lane whose turn it is. Returns whether the last frame is a composed
    /// datagram.
    fn write_content(
        &mut self,
        now: Time,
        number: u64,
        compose: &mut Compose<'_>,
        out: &mut Writer<'_>,
    ) -> bool {
        let (turn, first) = (self.turn, TURNS[self.turn]);
        self.turn = (self.turn + 1) % TURNS.len();
        self.scratch.clear();
        let mut end = SPACE;
        if first.is_none() {
            let share = if turn == LOOSE_TURN { SPACE } else { SPACE.min(out.len() + LOOSE_SHARE) };
            self.loose_out.write(share, out, &mut self.buffers);
            end = self.compose(number, out.len(), compose);
        }
        let order = first.into_iter().chain((0..RELIABLE_LANES).filter(|&lane| Some(lane) != first));
        let sendings = match (self.lossless, self.stats.loss_out > LOSSY) {
            (true, _) => 1,
            (false, true) => SENDINGS_WITH_LOSS,
            (false, false) => SENDINGS,
        };
        for lane in order {
            let (contents, counts) = (self.sent.contents(), &mut self.counts);
            let mut page = Page { now, packet: number, end, sendings, contents, counts, out };
            self.send_lanes[usize::from(lane)].write(&mut page);
        }
        self.loose_out.write(end, out, &mut self.buffers);
        if first.is_some() {
            self.compose(number, out.len(), compose);
        }
        if self.scratch.is_empty() {
            return false;
        }
        Frame::LastDatagram(&self.scratch).encode(out);
        true
    }

    /// Composes the datagram of a packet that has `used` bytes already. Returns the end of the room for other frames,
    /// which stand before the datagram.
    fn compose(&mut self, number: u64, used: usize, compose: &mut Compose<'_>) -> usize {
        let room = SPACE.saturating_sub(used + DATAGRAM_HEAD);
        compose(number, room, &mut self.scratch);
        if self.scratch.len() > room {
            self.scratch.clear();
        }
        if self.scratch.is_empty() { SPACE } else { SPACE - DATAGRAM_HEAD - self.scratch.len() }
    }

    /// Writes the next chunk of the bulk stream if one may go: bulk takes at most half of the rate.
    fn write_chunk(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if self.chunk_due() > now {
            if self.bulk_out.has_work() {
                self.budget.on_limited();
            }
            return false;
        }
        let rate = self.budget.rate().max(1);
        let most = (rate * CHUNK_MICROS / 1_000_000) as usize;
        let most = most.clamp(CHUNK_MIN, BULK_CHUNK_MAX - CARRIED_HEAD);
        if !self.bulk_out.next_chunk(now, self.association.generations(), most, out) {
            return false;
        }
        self.budget.on_bulk();
        self.bulk_credit = now + Duration::from_micros(out.len() as u64 * 2_000_000 / rate);
        true
    }

    fn chunk_due(&self) -> Time {
        let goes = self.bulk_out.has_work() && self.association.takes_chunks();
        if goes { self.bulk_credit.max(self.budget.ready_at()) } else { Time::FAR }
    }

    /// Makes an ack due after the usual delay, or somewhat later if a packet is expected that can carry it. A packet
    /// with an ack alone costs as much as an update.
    pub(super) fn ack_soon(&mut self, now: Time) {
        let usual = now + self.config.ack_delay;
        let rides = usual < self.expected && self.expected <= usual + self.config.ack_delay.half();
        self.ack_by(if rides { self.expected + EXPECTED_SLACK } else { usual });
    }

    pub(super) fn ack_by(&mut self, due: Time) {
        self.ack_due = Some(self.ack_due.map_or(due, |known| known.min(due)));
    }

    /// Announces when the owner is likely to send the next packet, whatever arrives before. An ack that is due
    /// shortly before that time waits for the packet (PROTOCOL §2.3).
    pub fn expect_packet(&mut self, at: Time) {
        self.expected = at;
    }

    /// When something is due if nothing else happens to this link.
    #[must_use]
    pub fn dues(&self) -> Dues {
        let (sign, work, allowed) = (self.sign_due(), self.work_due(), self.budget.ready_at());
        let time = self.probe_due().min(self.sent.loss_due()).min(self.bulk_out.stall_due());
        Dues {
            // A waiting bulk stream may use more of the budget at each poll of the link.
            wanted: if self.bulk_out.has_work() { Time::ZERO } else { sign.min(work) },
            allowed,
            timeout: sign.min(work.max(allowed)).min(self.chunk_due()).min(time),
        }
    }

    /// When [`Link::handle_timeout`] and [`Link::poll_transmit`] have something to do by themselves.
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        self.dues().timeout
    }
}
