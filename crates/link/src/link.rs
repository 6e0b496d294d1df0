//! The association itself: what arrives, what goes out, when.

mod bulk;
mod clock;
mod packets;
mod receive_lane;
mod send_lane;

use std::collections::VecDeque;

use samovar_wire::limits::{BULK_CHUNK_MAX, MESSAGE_MAX, PACKET_MAX};
use samovar_wire::link_frame::{Frame, Frames, HEADER_LEN, PacketHeader, expand};
use samovar_wire::{CloseCode, DecodeError, Duration, Mode, Receipt, Time, Writer};

use bulk::{BulkReceiver, BulkSender};
use clock::PingClock;
use packets::{ReceivedPackets, SentPackets};
use receive_lane::ReceiveLane;
use send_lane::SendLane;

/// Local tuning of a link. Not agreed between the ends.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    /// Longest time without sending anything. Less finds a dead peer sooner and costs packets. Default 100 ms.
    pub keep_alive: Duration,
    /// Longest time an ack waits for a packet to ride in. Default 20 ms.
    pub ack_delay: Duration,
    /// Time between two pings once the round trip is known. Default 250 ms.
    pub ping_interval: Duration,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_millis(100),
            ack_delay: Duration::from_millis(20),
            ping_interval: Duration::from_millis(250),
        }
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The other end has it.
    Delivered,
    /// It was overtaken; if it arrives yet, nobody will know.
    Lost,
}

/// What a link tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// The next message of the reliable lane.
    Message(Vec<u8>),
    /// The next message of the bulk stream. All reliable messages sent before it were delivered before it.
    Bulk(Vec<u8>),
    /// An unreliable message, and the number of the packet it came in.
    Datagram(u64, Vec<u8>),
    /// What became of a packet that carried a composed datagram.
    Fate(u64, Fate),
    /// A measured round trip.
    Clock {
        /// Session time at the other end when it answered; zero while it did not know.
        session: Time,
        /// Local time at which the answer arrived.
        received: Time,
        /// The round trip, without the time that the other end held the question.
        round_trip: Duration,
    },
    /// The other end closed the link.
    Closed(CloseCode),
}

/// Bytes for the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// How the path shall carry them.
    pub mode: Mode,
    /// A packet, or a chunk of the bulk stream.
    pub bytes: Vec<u8>,
}

/// How far the other end is known to have got in the reliable lane and the bulk stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deliveries {
    lane: u64,
    bulk: u64,
}

impl Deliveries {
    /// Whether the message of this receipt, and all before it, have been delivered.
    #[must_use]
    pub const fn cover(&self, receipt: Receipt) -> bool {
        match receipt {
            Receipt::Lane(segment) => segment < self.lane,
            Receipt::Bulk(end) => end <= self.bulk,
        }
    }
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The queue is full; try again when the other end has acked some of it.
    WouldBlock,
    /// The message is larger than `MESSAGE_MAX`.
    TooLarge,
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::WouldBlock => "the send queue is full",
            Self::TooLarge => "the message is too large",
        })
    }
}

impl core::error::Error for SendError {}

/// Writes an unreliable message of at most the given size for the packet of the given number; writes nothing when
/// there is nothing to say.
pub type Compose<'a> = dyn FnMut(u64, usize, &mut Vec<u8>) + 'a;

/// One association with one peer.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    sent: SentPackets,
    received: ReceivedPackets,
    send_lane: SendLane,
    receive_lane: ReceiveLane,
    bulk_out: BulkSender,
    bulk_in: BulkReceiver,
    clock: PingClock,
    last_heard: Time,
    last_sent: Time,
    ack_due: Option<Time>,
    events: VecDeque<LinkEvent>,
    scratch: Vec<u8>,
}

impl Link {
    /// A link that begins now.
    #[must_use]
    pub fn new(now: Time, config: LinkConfig) -> Self {
        Self {
            config,
            sent: SentPackets::default(),
            received: ReceivedPackets::default(),
            send_lane: SendLane::default(),
            receive_lane: ReceiveLane::default(),
            bulk_out: BulkSender::default(),
            bulk_in: BulkReceiver::default(),
            clock: PingClock::new(config.ping_interval),
            last_heard: now,
            last_sent: Time::ZERO,
            ack_due: None,
            events: VecDeque::new(),
            scratch: Vec::with_capacity(PACKET_MAX),
        }
    }

    /// Takes what the path delivered.
    ///
    /// # Errors
    /// The code to close the link with when the bytes break the protocol; nothing of them has been delivered.
    pub fn handle(&mut self, now: Time, mode: Mode, bytes: &[u8]) -> Result<(), CloseCode> {
        match mode {
            Mode::Unreliable => self.handle_packet(now, bytes),
            Mode::Reliable => {
                self.bulk_in.handle_chunk(bytes)?;
                self.last_heard = now;
                self.ack_soon(now);
                self.deliver_bulk()
            }
        }
    }

    fn handle_packet(&mut self, now: Time, packet: &[u8]) -> Result<(), CloseCode> {
        let (header, frames) = PacketHeader::decode(packet).map_err(close_code)?;
        let mut ack_eliciting = false;
        let mut check = frames;
        while let Some(frame) = check.next_frame().map_err(close_code)? {
            match frame {
                // A close is honoured whatever its packet's number: who has forgotten us cannot number packets.
                Frame::Close(code) => {
                    self.events.push_back(LinkEvent::Closed(code));
                    return Ok(());
                }
                Frame::Segment { number, .. } => {
                    self.receive_lane.check(number)?;
                    ack_eliciting = true;
                }
                Frame::Datagram(_) | Frame::Ping { .. } => ack_eliciting = true,
                Frame::Pong { .. } | Frame::BulkAck(_) => {}
            }
        }
        self.last_heard = now;
        let Some(number) = self.received.insert(header.number) else { return Ok(()) };
        if header.history != 0 {
            self.handle_acks(now, &header)?;
        }
        if ack_eliciting {
            self.ack_soon(now);
        }
        self.handle_frames(now, number, frames)
    }

    fn handle_acks(&mut self, now: Time, header: &PacketHeader) -> Result<(), CloseCode> {
        let newest = expand(header.newest, self.sent.next().saturating_sub(1));
        if newest >= self.sent.next() {
            return Err(CloseCode::Malformed);
        }
        let (lane, events) = (&mut self.send_lane, &mut self.events);
        self.sent.on_acked(now, newest, header.history, &mut |number, packet, fate| {
            packet.segments.iter().for_each(|&segment| match fate {
                Fate::Delivered => lane.on_acked(segment),
                Fate::Lost => lane.on_lost(segment, packet.sent),
            });
            if packet.composed {
                events.push_back(LinkEvent::Fate(number, fate));
            }
        });
        Ok(())
    }

    fn handle_frames(&mut self, now: Time, packet: u64, mut frames: Frames<'_>) -> Result<(), CloseCode> {
        while let Some(frame) = frames.next_frame().map_err(close_code)? {
            match frame {
                Frame::Segment { number, last, bytes } => {
                    self.receive_lane.insert(number, last, bytes);
                    while let Some(message) = self.receive_lane.next_message()? {
                        self.events.push_back(LinkEvent::Message(message));
                    }
                }
                Frame::Datagram(bytes) => self.events.push_back(LinkEvent::Datagram(packet, bytes.to_vec())),
                Frame::Ping { sent } => self.clock.on_ping(now, sent),
                Frame::Pong { sent, held, session } => {
                    if let Some(round_trip) = self.clock.on_pong(now, sent, held) {
                        self.sent.set_round_trip(self.clock.round_trip());
                        let session = Time::from_micros(session);
                        self.events.push_back(LinkEvent::Clock { session, received: now, round_trip });
                    }
                }
                Frame::BulkAck(offset) => self.bulk_out.on_acked(now, offset)?,
                Frame::Close(_) => {}
            }
        }
        self.deliver_bulk()
    }

    fn deliver_bulk(&mut self) -> Result<(), CloseCode> {
        while let Some(message) = self.bulk_in.next_message(self.receive_lane.next())? {
            self.events.push_back(LinkEvent::Bulk(message));
        }
        Ok(())
    }

    fn ack_soon(&mut self, now: Time) {
        self.ack_due.get_or_insert(now + self.config.ack_delay);
    }

    /// Queues a message of the reliable lane.
    ///
    /// # Errors
    /// `WouldBlock` when the queue is full, `TooLarge`.
    pub fn send(&mut self, message: &[u8]) -> Result<Receipt, SendError> {
        if message.len() > MESSAGE_MAX {
            return Err(SendError::TooLarge);
        }
        self.send_lane.push(message).map(Receipt::Lane).ok_or(SendError::WouldBlock)
    }

    /// Queues a message of the bulk stream; it is delivered after the reliable messages queued before it.
    ///
    /// # Errors
    /// `WouldBlock` when the queue is full, `TooLarge`.
    pub fn send_bulk(&mut self, message: &[u8]) -> Result<Receipt, SendError> {
        if message.len() > MESSAGE_MAX {
            return Err(SendError::TooLarge);
        }
        self.bulk_out.push(self.send_lane.end(), message).map(Receipt::Bulk).ok_or(SendError::WouldBlock)
    }

    /// How far the other end is known to have got.
    #[must_use]
    pub fn deliveries(&self) -> Deliveries {
        Deliveries { lane: self.send_lane.delivered(), bulk: self.bulk_out.acked() }
    }

    /// Whether the message of this receipt, and all before it, have been delivered.
    #[must_use]
    pub fn is_delivered(&self, receipt: Receipt) -> bool {
        self.deliveries().cover(receipt)
    }

    /// The path changed: bulk chunks under way on the old one may never arrive.
    pub fn on_path_changed(&mut self) {
        self.bulk_out.rewind();
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Time) {
        self.send_lane.on_timeout(now, self.clock.probe_timeout());
        self.bulk_out.on_timeout(now);
        let (lane, events) = (&mut self.send_lane, &mut self.events);
        self.sent.detect_losses(now, &mut |number, packet, fate| {
            packet.segments.iter().for_each(|&segment| lane.on_lost(segment, packet.sent));
            if packet.composed {
                events.push_back(LinkEvent::Fate(number, fate));
            }
        });
    }

    /// The next bytes for the path, `None` when there is nothing to send now.
    ///
    /// `session` is the session time to answer pings with, zero when unknown. `compose` is asked for an unreliable
    /// message in each packet; `wanted` makes a packet even when only `compose` has something to say.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        session: Time,
        wanted: bool,
        compose: &mut Compose<'_>,
    ) -> Option<Outgoing> {
        let mut bytes = Vec::new();
        if self.bulk_out.next_chunk(now, BULK_CHUNK_MAX, &mut bytes) {
            return Some(Outgoing { mode: Mode::Reliable, bytes });
        }
        if !(wanted || self.has_reason_to_send(now)) {
            return None;
        }
        bytes.reserve_exact(PACKET_MAX);
        let number = self.sent.next();
        let mut out = Writer::new(&mut bytes);
        let (newest, history) = self.received.acks();
        PacketHeader { number: number as u16, newest: newest as u16, history }.encode(&mut out);
        self.write_clock(now, session, &mut out);
        if let Some(offset) = self.bulk_in.take_ack() {
            Frame::BulkAck(offset).encode(&mut out);
        }
        let segments = self.send_lane.write(now, PACKET_MAX, &mut out);
        self.scratch.clear();
        // A datagram's own header is at most three bytes.
        let room = PACKET_MAX.saturating_sub(out.len() + 3);
        compose(number, room, &mut self.scratch);
        let composed = !self.scratch.is_empty() && self.scratch.len() <= room;
        if composed {
            Frame::Datagram(&self.scratch).encode(&mut out);
        }
        self.sent.push(now, segments, composed);
        self.last_sent = now;
        self.ack_due = None;
        Some(Outgoing { mode: Mode::Unreliable, bytes })
    }

    fn write_clock(&mut self, now: Time, session: Time, out: &mut Writer<'_>) {
        if let Some((sent, held)) = self.clock.take_pong(now) {
            Frame::Pong { sent, held, session: session.as_micros() }.encode(out);
        }
        if let Some(sent) = self.clock.take_ping(now) {
            Frame::Ping { sent }.encode(out);
        }
    }

    fn has_reason_to_send(&self, now: Time) -> bool {
        self.send_lane.has_work()
            || self.ack_due.is_some_and(|due| due <= now)
            || self.last_sent + self.config.keep_alive <= now
            || self.clock.next_ping() <= now
    }

    /// When [`Link::handle_timeout`] and [`Link::poll_transmit`] have something to do by themselves.
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        (self.last_sent + self.config.keep_alive)
            .min(self.ack_due.unwrap_or(Time::FAR))
            .min(self.clock.next_ping())
            .min(self.sent.loss_due())
            .min(self.send_lane.probe_due(self.clock.probe_timeout()))
            .min(self.bulk_out.stall_due())
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }

    /// How long nothing has been heard.
    #[must_use]
    pub fn silence(&self, now: Time) -> Duration {
        now.since(self.last_heard)
    }

    /// We slept until `now`: silence before it proves nothing about the other end.
    pub fn forgive_silence(&mut self, now: Time) {
        self.last_heard = now;
    }

    /// The smoothed round trip, `None` before the first measurement.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.clock.smoothed()
    }
}

/// A packet that closes a link whose state is gone, or is about to be.
#[must_use]
pub fn close_packet(code: CloseCode) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_LEN + 3);
    let mut out = Writer::new(&mut bytes);
    PacketHeader { number: 0, newest: 0, history: 0 }.encode(&mut out);
    Frame::Close(code).encode(&mut out);
    bytes
}

const fn close_code(error: DecodeError) -> CloseCode {
    match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    }
}
