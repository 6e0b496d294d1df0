//! [`Link`] itself: its queues, the fates of its packets, and its timers.

mod association;
mod bounds;
mod budget;
mod buffers;
mod bulk;
mod clock;
mod event;
mod liveness;
mod loose;
mod receive;
mod receive_lane;
mod received;
mod send_lane;
mod sent;
mod transmit;

use std::collections::VecDeque;

use samovar_wire::lane::RELIABLE_LANES;
use samovar_wire::limits::{DATAGRAM_MAX, MESSAGE_MAX, PACKET_MAX, PIGGYBACK_MAX};
use samovar_wire::link_frame::{Ack, Frame, PacketHeader};
use samovar_wire::{CloseCode, Duration, Generation, Generations, Lane, Mode, Receipt, Time, Writer};

use association::Association;
use bounds::{OPEN_PACKETS, SESSION_SEGMENTS, queue_of};
use budget::Budget;
use buffers::Buffers;
use bulk::{BulkReceiver, BulkSender};
use clock::PingClock;
pub use event::{Deliveries, Fate, LinkConfig, LinkEvent, LinkStats, SendError};
pub use liveness::SUSPECTED;
use liveness::{Liveness, SLEPT};
use loose::{LooseSender, SequencedReceiver};
use receive_lane::ReceiveLane;
use received::ReceivedPackets;
use send_lane::{SegmentCounts, SendLane};
use sent::SentPackets;
pub use transmit::{Compose, Dues, Source};

/// The loss rate is a running mean over about this many packets.
const LOSS_MEMORY: f32 = 128.0;
/// The least time until a probe on a lossless path. There only an overloaded relay drops packets.
const LOSSLESS_PROBE: Duration = Duration::from_millis(1_000);
/// Each probe without an answer doubles the time until the next one. The time doubles at most this often.
const PROBE_DOUBLINGS: u32 = 4;

/// One end of the link between two peers.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    association: Association,
    sent: SentPackets,
    received: ReceivedPackets,
    send_lanes: [SendLane; RELIABLE_LANES as usize],
    receive_lanes: [ReceiveLane; RELIABLE_LANES as usize],
    loose_out: LooseSender,
    sequenced_in: SequencedReceiver,
    bulk_out: BulkSender,
    bulk_in: BulkReceiver,
    clock: PingClock,
    liveness: Liveness,
    budget: Budget,
    buffers: Buffers,
    /// Whether the path loses nothing; see [`Link::set_lossless`].
    lossless: bool,
    last_now: Time,
    last_sent: Time,
    /// See [`Link::reached_at`].
    reached: Time,
    /// The next value of `reached`, with the queue ends of the lanes and of bulk at that time.
    milestone: (Time, [u64; RELIABLE_LANES as usize], u64),
    /// Whether the owner has more to queue than the lanes take.
    is_behind: bool,
    ack_due: Option<Time>,
    /// When the owner is likely to send a packet anyway.
    expected: Time,
    /// When segments were last sent or acked; the probe's time counts from here.
    last_segment: Time,
    probes: u32,
    /// The index of the next entry of `TURNS`.
    turn: usize,
    bulk_credit: Time,
    /// An unreliable message that each packet carries; empty for none.
    piggyback: Vec<u8>,
    counts: SegmentCounts,
    stats: LinkStats,
    events: VecDeque<LinkEvent>,
    scratch: Vec<u8>,
}

impl Link {
    /// Starts a link. `generation` is the one after that of this peer's previous link to the other end.
    #[must_use]
    pub fn new(now: Time, config: LinkConfig, generation: Generation) -> Self {
        Self {
            config,
            association: Association::new(generation),
            sent: SentPackets::default(),
            received: ReceivedPackets::default(),
            send_lanes: core::array::from_fn(|lane| SendLane::new(lane as u8)),
            receive_lanes: core::array::from_fn(|lane| ReceiveLane::new(lane as u8)),
            loose_out: LooseSender::default(),
            sequenced_in: SequencedReceiver::default(),
            bulk_out: BulkSender::default(),
            bulk_in: BulkReceiver::default(),
            clock: PingClock::new(config.ping_interval),
            liveness: Liveness::new(now, config.keep_alive),
            budget: Budget::new(now),
            buffers: Buffers::default(),
            lossless: false,
            last_now: now,
            last_sent: Time::ZERO,
            reached: Time::ZERO,
            milestone: <_>::default(),
            is_behind: false,
            ack_due: None,
            expected: Time::ZERO,
            last_segment: now,
            probes: 0,
            turn: 0,
            bulk_credit: now,
            piggyback: Vec::new(),
            counts: SegmentCounts::default(),
            stats: LinkStats::default(),
            events: VecDeque::new(),
            scratch: Vec::with_capacity(PACKET_MAX),
        }
    }

    /// Handles bytes that the path delivered.
    ///
    /// # Errors
    /// The code to close the link with when the bytes break the protocol. Nothing is delivered from a packet that
    /// does not parse to its end.
    pub fn handle(&mut self, now: Time, mode: Mode, bytes: &[u8]) -> Result<(), CloseCode> {
        self.observe(now);
        self.stats.packets_in += 1;
        self.stats.bytes_in += bytes.len() as u64;
        match mode {
            Mode::Unreliable => self.handle_packet(now, bytes),
            Mode::Reliable => self.handle_chunk(now, bytes),
        }
    }

    /// Returns whether this peer slept since the last call. The silence of that time proves nothing about the other
    /// end or the path, so it is not counted.
    fn observe(&mut self, now: Time) -> bool {
        let has_slept = now.since(self.last_now) >= SLEPT;
        if has_slept {
            self.liveness.forgive(now);
            self.clock.forget_ping();
            self.budget.on_slept(now, self.sent.next());
            self.last_segment = now;
        }
        self.last_now = self.last_now.max(now);
        has_slept
    }

    /// Settles the fate of packets: by `ack`, or if there is none, by the time that has passed and the number of open
    /// packets.
    fn settle(&mut self, now: Time, ack: Option<(u64, &Ack)>) {
        let Self { sent, send_lanes, bulk_out, received, budget, buffers, events, stats, .. } = self;
        let (mut newest, mut progress) = (None, false);
        let mut on_fate =
            |packet: &sent::SentPacket, segments: std::collections::vec_deque::Iter<'_, _>, fate| {
                progress |= fate == Fate::Delivered && segments.len() > 0;
                for &sent::SegmentRef { lane, number } in segments {
                    let lane = &mut send_lanes[usize::from(lane)];
                    match fate {
                        Fate::Delivered => lane.on_acked(number, buffers),
                        Fate::Lost => lane.on_lost(number, packet.number),
                    }
                }
                let lost = match fate {
                    Fate::Delivered => {
                        received.on_described(packet.arrivals);
                        budget.on_delivered(now, packet.size);
                        newest = newest.max(Some((packet.number, packet.sent)));
                        0.0
                    }
                    Fate::Lost => {
                        budget.on_lost(packet.size);
                        1.0
                    }
                };
                stats.loss_out += (lost - stats.loss_out) / LOSS_MEMORY;
                if packet.composed {
                    events.push_back(LinkEvent::Fate(packet.number, fate));
                }
            };
        match ack {
            Some((newest, ack)) => sent.on_acked(now, newest, &ack.history, &mut on_fate),
            None => sent.detect_losses(now, &mut on_fate),
        }
        if let Some((number, left)) = newest {
            budget.on_trip(now, number, now.since(left));
            let (at, ends, bulk) = self.milestone;
            let are_delivered = send_lanes.iter().zip(ends).all(|(lane, end)| lane.delivered() >= end);
            if left >= at && are_delivered && bulk_out.acked() >= bulk {
                self.reached = at;
                if !self.is_behind {
                    let ends = core::array::from_fn(|lane| send_lanes[lane].end());
                    self.milestone = (now, ends, bulk_out.queued());
                }
            }
        }
        if progress {
            self.probes = 0;
            self.last_segment = now;
        }
    }

    /// Queues a message.
    ///
    /// # Errors
    /// See [`SendError`]. Unreliable and sequenced messages never block: the link drops older ones for them.
    pub fn send(&mut self, lane: Lane, message: &[u8]) -> Result<Receipt, SendError> {
        let most = match lane {
            Lane::Reliable(_) | Lane::Bulk => MESSAGE_MAX,
            Lane::Unreliable | Lane::Sequenced(_) => DATAGRAM_MAX,
        };
        if !lane.is_valid() {
            return Err(SendError::NoSuchLane);
        }
        if message.len() > most {
            return Err(SendError::TooLarge);
        }
        let buffers = &mut self.buffers;
        let receipt = match lane {
            Lane::Reliable(lane) => {
                let end = self.send_lanes[usize::from(lane)].push(message, queue_of(lane), buffers);
                end.map(|end| if lane == 0 { Receipt::Lane(end) } else { Receipt::Game(lane, end) })
            }
            Lane::Bulk => self.bulk_out.push(self.send_lanes[0].end(), message).map(Receipt::Bulk),
            Lane::Unreliable => {
                self.loose_out.push(message, buffers);
                Some(Receipt::Untracked)
            }
            Lane::Sequenced(channel) => {
                self.loose_out.push_sequenced(channel, message, buffers);
                Some(Receipt::Untracked)
            }
        };
        self.stats.reliable_out += u64::from(lane.is_reliable() && receipt.is_some());
        receipt.ok_or(SendError::WouldBlock)
    }

    /// Queues a control message in the session's lane. A part of that queue is kept for control messages.
    ///
    /// # Errors
    /// `TooLarge`; `WouldBlock` when that part is full as well.
    pub fn send_control(&mut self, message: &[u8]) -> Result<Receipt, SendError> {
        if message.len() > MESSAGE_MAX {
            return Err(SendError::TooLarge);
        }
        let end = self.send_lanes[0].push(message, SESSION_SEGMENTS, &mut self.buffers);
        let end = end.ok_or(SendError::WouldBlock)?;
        self.stats.reliable_out += 1;
        Ok(Receipt::Lane(end))
    }

    /// How far the other end has received the reliable lanes and bulk, as far as known.
    #[must_use]
    pub fn deliveries(&self) -> Deliveries {
        let lanes = core::array::from_fn(|lane| self.send_lanes[lane].delivered());
        Deliveries { lanes, bulk: self.bulk_out.acked() }
    }

    /// Whether the message of this receipt, and all before it in its lane, have been delivered.
    #[must_use]
    pub fn is_delivered(&self, receipt: Receipt) -> bool {
        self.deliveries().cover(receipt)
    }

    /// Handles a change of the path. Bulk chunks in flight on the old path are sent again, since they may never
    /// arrive. The measured delays of the old path are forgotten.
    pub fn handle_path_changed(&mut self, now: Time) {
        self.bulk_out.rewind();
        self.budget.forget_path(now);
        self.clock.forget_least();
        self.liveness.forget_stall();
    }

    /// Sets whether the path is lossless: it keeps order, and loses packets only at an overloaded relay. That is true
    /// only for packets over the relay's WebSocket. Then the link sends no copies, and its probe, which finds the
    /// packets that the relay dropped, waits for a second at least.
    pub fn set_lossless(&mut self, now: Time, lossless: bool) {
        if self.lossless != lossless {
            self.lossless = lossless;
            // The probe's patience changes with the path. The patience counts from now, so that no probe is overdue
            // at once.
            self.last_segment = now;
        }
    }

    /// Whether the path is lossless, as [`Link::set_lossless`] says: a stream, which turns a loss into a delay.
    #[must_use]
    pub const fn is_lossless(&self) -> bool {
        self.lossless
    }

    /// Takes the number of sent bytes that the driver still holds: `bufferedAmount` of the data channels, or the queue
    /// for the relay's WebSocket. Call it before sending more. While the driver holds too much, the link sends only
    /// acks, pings and keep-alives.
    pub fn handle_backlog(&mut self, now: Time, bytes: u64) {
        self.budget.on_backlog(now, bytes);
    }

    /// Bytes that may be sent now; zero while the path needs a pause.
    #[must_use]
    pub fn budget(&self, now: Time) -> usize {
        self.budget.bytes(now)
    }

    /// When the budget allows a packet.
    #[must_use]
    pub fn budget_at(&self) -> Time {
        self.budget.ready_at()
    }

    /// Runs the timers that are due. Returns whether that may have changed [`Link::poll_timeout`] or added events.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        let mut is_news = self.observe(now);
        if self.probe_due() <= now {
            self.send_lanes.iter_mut().for_each(SendLane::probe);
            self.probes += 1;
            self.last_segment = now;
            is_news = true;
        }
        is_news |= self.bulk_out.on_timeout(now);
        if self.sent.loss_due() <= now || self.sent.len() > OPEN_PACKETS {
            self.settle(now, None);
            is_news = true;
        }
        self.budget.adapt(now, self.sent.next(), self.clock.variation()) || is_news
    }

    /// When the tail of the reliable lanes is sent again, because no later packet can prove its loss.
    fn probe_due(&self) -> Time {
        let waits = self.send_lanes.iter().any(SendLane::awaits_acks);
        if !waits {
            return Time::FAR;
        }
        let patience = self.clock.probe_timeout();
        let patience = if self.lossless { patience.max(LOSSLESS_PROBE) } else { patience };
        self.last_segment + patience.times(1 << self.probes.min(PROBE_DOUBLINGS))
    }

    /// A packet that closes this link. However late it arrives, it closes no later link of the two peers.
    #[must_use]
    pub fn close_packet(&self, code: CloseCode) -> Vec<u8> {
        close_packet_of(self.association.generations(), code)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        if self.events.is_empty() {
            // An error in the stream is ignored here, because the next packet that arrives reports it again.
            let _ = self.deliver_bulk();
        }
        let event = self.events.pop_front()?;
        let is_reliable = matches!(&event, LinkEvent::Message(lane, _) if lane.is_reliable());
        self.stats.reliable_in += u64::from(is_reliable);
        Some(event)
    }

    /// Takes back the buffer of an event or a packet after use; the link uses it again.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.give(buffer);
    }

    /// Sets whether the owner keeps messages back because the lanes are full. While it does, [`Link::reached_at`] does
    /// not advance, since those messages have not arrived.
    pub const fn set_behind(&mut self, is_behind: bool) {
        self.is_behind = is_behind;
    }

    /// A time such that all earlier messages are known to have arrived: those queued in the reliable lanes and in
    /// bulk, and those that the owner kept back ([`Link::set_behind`]). Zero until there is one. It lags behind the
    /// present by a round trip or two, or by the time that the queue takes.
    #[must_use]
    pub const fn reached_at(&self) -> Time {
        self.reached
    }

    /// When the other end was last heard, or when this peer last woke from a sleep, if that is later.
    #[must_use]
    pub fn heard_at(&self) -> Time {
        self.liveness.heard_at()
    }

    /// How long the other end has been silent while this peer was awake.
    #[must_use]
    pub fn silence(&self, now: Time) -> Duration {
        if now.since(self.last_now) >= SLEPT { Duration::ZERO } else { self.liveness.silence(now) }
    }

    /// Whether the other end has been silent for longer than usual: three times the time between two arrivals. Such a
    /// silence is no reason to count the other end as missed. It is a reason to prefer another peer.
    #[must_use]
    pub fn is_quiet(&self, now: Time) -> bool {
        now.since(self.last_now) < SLEPT && self.liveness.is_quiet(now)
    }

    /// When [`Link::is_quiet`] becomes true if nothing is heard before.
    #[must_use]
    pub fn quiet_at(&self) -> Time {
        self.liveness.quiet_at()
    }

    /// How improbable it is that the other end lives, as a power of ten: 3 means that a living peer is silent for
    /// this long once in a thousand silences. From [`SUSPECTED`] on the other end counts as suspected.
    #[must_use]
    pub fn suspicion(&self, now: Time) -> f64 {
        if now.since(self.last_now) >= SLEPT { 0.0 } else { self.liveness.suspicion(now, self.received.run) }
    }

    /// When the suspicion reaches `suspicion` if nothing is heard before.
    #[must_use]
    pub fn suspect_at(&self, suspicion: f64) -> Time {
        self.liveness.suspect_at(suspicion, self.received.run)
    }

    /// Sets the keep-alive intervals of both directions (PROTOCOL §2.4): `own` is the longest time between packets of
    /// this end, and `promised` that of the other end. Both are [`LinkConfig::keep_alive`] unless set.
    pub fn set_pace(&mut self, own: Duration, promised: Duration) {
        self.config.keep_alive = own;
        self.liveness.set_keep_alive(promised);
    }

    /// Sets an unreliable message that each packet carries from now on, so that the other end hears it with every
    /// packet. It never causes a packet. An empty message means none.
    ///
    /// # Panics
    /// When it has more than [`PIGGYBACK_MAX`] bytes.
    pub fn set_piggyback(&mut self, message: &[u8]) {
        assert!(message.len() <= PIGGYBACK_MAX, "a piggyback is small");
        self.piggyback.clear();
        self.piggyback.extend_from_slice(message);
    }

    /// The smoothed round trip, `None` before the first measurement.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.clock.smoothed()
    }

    /// The measurements so far.
    #[must_use]
    pub fn stats(&self) -> LinkStats {
        LinkStats {
            round_trip: self.clock.smoothed(),
            variation: self.clock.variation(),
            least_round_trip: self.clock.least(),
            jitter: self.liveness.jitter(),
            loss_in: self.received.loss,
            segments: self.counts.fresh,
            copies: self.counts.copies,
            resends: self.counts.resends,
            unacked: self.send_lanes.iter().map(|lane| lane.len() as u64).sum(),
            dropped: self.loose_out.dropped,
            rate: self.budget.rate(),
            ..self.stats
        }
    }
}

/// A packet that closes the link, whatever the link's generation. An end that has lost its state sends it.
#[must_use]
pub fn close_packet(code: CloseCode) -> Vec<u8> {
    close_packet_of(Generations::NONE, code)
}

fn close_packet_of(generations: Generations, code: CloseCode) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8);
    let mut out = Writer::new(&mut bytes);
    PacketHeader { generations, number: 0, ack: None }.encode(&mut out);
    Frame::Close(code).encode(&mut out);
    bytes
}
