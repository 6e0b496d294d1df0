//! The send budget: pacing by a token bucket whose rate follows what the path can take.
//!
//! ```text
//!                 nothing wrong, and the sender wanted more
//!             +--------------------------------------------+
//!             v                                            |
//!   rate --> bucket --> packets --> path --> acks --> a look every 100 ms or round trip
//!             ^                                            |
//!             +--------------------------------------------+
//!       a queue is growing, much is lost, or the driver's buffer fills:
//!       the rate falls below what was delivered, and sending pauses until the queue is gone
//! ```
//!
//! A *look* judges the measurements since the look before. *Delay decides.* The least time from packet to ack in a
//! look, minus the least of the last ten seconds, is the length of the path's queue. It is known before the queue
//! drops anything. Loss alone slows the link down only above one packet in five: wireless paths lose at random, and a
//! rate that follows such loss collapses (as SCTP's does on data channels, PROTOCOL §2.5). Bytes in the driver's
//! buffer beyond those in flight are a queue as well, and are known sooner.
//!
//! If a queue or a loss stays when this link sends less, another sender causes it. After [`STUBBORN`] looks it counts
//! as part of the path. The rate never falls below [`FLOOR`], which carries acks, keep-alives and small reliable
//! messages.

use samovar_wire::limits::PACKET_MAX;
use samovar_wire::{Duration, Time};

/// The least rate, in bytes per second.
const FLOOR: u64 = 8_000;
/// The rate that a link begins with.
const START: u64 = 64_000;
/// The greatest rate.
const CEILING: u64 = 8_000_000;
/// Bytes that a path adds to a packet: IP, UDP, DTLS and SCTP, or TCP, TLS and WebSocket.
const OVERHEAD: usize = 60;
/// A packet with all its headers.
const FULL_PACKET: u64 = (PACKET_MAX + OVERHEAD) as u64;
/// The shortest time between two looks.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// Round trips that a look needs to judge the queue, so that it does not take one late ack for a queue.
const TRIPS_MIN: u32 = 5;
/// A shorter queue does not slow the link down. The rate stops growing at half of this.
const QUEUE_MIN: Duration = Duration::from_millis(30);
/// A loss that exceeds the path's own by more than this slows the link down, in thousandths.
const LOSS_MAX: u32 = 200;
/// The fewest packets by which a look judges the loss.
const LOSS_TOLD: u32 = 20;
/// The most loss that counts as the path's own, in thousandths.
const USUAL_LOSS_MAX: u32 = 500;
/// After this long without an arrival the path may be gone, and only the least rate is used.
const CHOKE_AFTER: Duration = Duration::from_millis(1_000);
/// After this many looks in a row that find the same queue or the same loss, it counts as part of the path.
const STUBBORN: u32 = 4;
/// The least round trip is the shortest of the last one to two spans of this length.
const BASE_MEMORY: Duration = Duration::from_millis(5_000);
/// The longest pause in which a queue may drain.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Bytes that the driver's buffer may hold besides those of a round trip and 50 ms.
const BACKLOG_MIN: u64 = 4_096;
/// Tokens are kept in millionths of a byte, so that no time is too short to count.
const MICRO: i64 = 1_000_000;

/// Measurements since the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    from: Time,
    /// Bytes sent, and bytes known to have arrived.
    spent: u64,
    delivered: u64,
    told: u32,
    lost: u32,
    trips: u32,
    least: Option<Duration>,
    /// Whether the budget held something back.
    limited: bool,
    /// Whether the driver's buffer was too full.
    backlogged: bool,
    /// Whether bulk chunks went out. Their acks come too late for this look.
    bulk: bool,
}

#[derive(Debug)]
pub(super) struct Budget {
    rate: u64,
    /// The credit for sending, in millionths of a byte. After an overdraft it is negative, and sending waits.
    tokens: i64,
    updated: Time,
    look: Look,
    /// The least time from packet to ack: in the current span of [`BASE_MEMORY`], and in the span before.
    base: [Option<Duration>; 2],
    base_from: Time,
    /// Bytes of packets whose fate is unknown.
    in_flight: u64,
    /// Packets before this number went out at an older rate and are not judged.
    epoch: u64,
    /// Whether the path has not shown a limit yet.
    starting: bool,
    /// Consecutive looks that found a queue; the length of the first queue, and the rate then.
    queues: (u32, Duration, u64),
    /// When sending last paused to drain a queue.
    drained: Time,
    /// Consecutive looks that found losses, and the loss of the first one, in thousandths.
    losses: (u32, u32),
    /// The path's own loss, in thousandths.
    usual_loss: u32,
    /// When a packet was last known to have arrived, the path changed, or this peer woke, whichever was last.
    heard: Time,
    /// Whether no packet has arrived for [`CHOKE_AFTER`]. Then only the least rate is used until one does.
    choked: bool,
    /// Bytes in the driver's buffer, and when the driver first reported this number.
    backlog: (u64, Time),
}

impl Budget {
    pub(super) fn new(now: Time) -> Self {
        Self {
            rate: START,
            tokens: 2 * FULL_PACKET as i64 * MICRO,
            updated: now,
            look: Look { from: now, ..Look::default() },
            base: [None; 2],
            base_from: now,
            in_flight: 0,
            epoch: 0,
            starting: true,
            queues: (0, Duration::ZERO, 0),
            drained: now,
            losses: (0, 0),
            usual_loss: 0,
            heard: now,
            choked: false,
            backlog: (0, now),
        }
    }

    /// Bytes per second.
    pub(super) fn rate(&self) -> u64 {
        if self.choked { FLOOR } else { self.rate }
    }

    /// Bytes that may go at once after a pause.
    fn burst(&self) -> i64 {
        (2 * FULL_PACKET + self.rate / 32) as i64 * MICRO
    }

    fn tokens_at(&self, now: Time) -> i64 {
        let earned = (now.since(self.updated).as_micros()).min(10_000_000) as i64 * self.rate() as i64;
        (self.tokens + earned).min(self.burst())
    }

    /// Bytes that may go now. The last packet may be longer than what is left of them.
    pub(super) fn bytes(&self, now: Time) -> usize {
        if self.ready_at() > now { 0 } else { (self.tokens_at(now) / MICRO).max(0) as usize }
    }

    /// When a packet may go.
    pub(super) fn ready_at(&self) -> Time {
        let missing = (MICRO - self.tokens).max(0) as u64;
        let paced = if missing == 0 { Time::ZERO } else { self.updated + self.time_for(missing) };
        let (held, at) = self.backlog;
        let excess = held.saturating_sub(self.backlog_allowed());
        let drained = if excess == 0 {
            Time::ZERO
        } else {
            at + self.time_for(excess.saturating_mul(MICRO as u64)).min(PAUSE_MAX)
        };
        paced.max(drained)
    }

    fn time_for(&self, micro_bytes: u64) -> Duration {
        Duration::from_micros(micro_bytes.div_ceil(self.rate()))
    }

    fn backlog_allowed(&self) -> u64 {
        let span = self.least_trip().unwrap_or(Duration::ZERO) + Duration::from_millis(50);
        BACKLOG_MIN + self.rate * span.as_micros().min(1_000_000) / 1_000_000
    }

    fn least_trip(&self) -> Option<Duration> {
        self.base.iter().flatten().min().copied()
    }

    /// Accounts for a sent packet or chunk, whether the budget allowed it or not.
    pub(super) fn spend(&mut self, now: Time, bytes: usize) {
        self.refill(now);
        let least = -(self.rate as i64 / 2 * MICRO).max(FULL_PACKET as i64 * MICRO);
        self.tokens = (self.tokens - (bytes + OVERHEAD) as i64 * MICRO).max(least);
    }

    fn refill(&mut self, now: Time) {
        self.tokens = self.tokens_at(now);
        self.updated = self.updated.max(now);
    }

    /// Notes that a chunk of the bulk stream went out.
    pub(super) fn on_bulk(&mut self) {
        self.look.bulk = true;
    }

    /// Notes that the budget held something back.
    pub(super) fn on_limited(&mut self) {
        self.look.limited = true;
    }

    /// Notes how many bytes the driver's buffer holds.
    pub(super) fn on_backlog(&mut self, now: Time, bytes: u64) {
        // A repeated figure may be an old one, so its time stays.
        if self.backlog.0 != bytes {
            self.backlog = (bytes, now);
        }
        // A burst counts as a queue only if it is still in the driver's buffer at the next look.
        self.look.backlogged = bytes > self.backlog_allowed();
    }

    /// Notes that a packet arrived at the other end.
    pub(super) fn on_delivered(&mut self, now: Time, size: usize) {
        if self.choked {
            self.refill(now);
            self.choked = false;
        }
        self.heard = self.heard.max(now);
        self.look.delivered += (size + OVERHEAD) as u64;
        self.settle(size);
    }

    pub(super) fn on_lost(&mut self, size: usize) {
        self.look.lost += 1;
        self.settle(size);
    }

    fn settle(&mut self, size: usize) {
        self.look.told += 1;
        self.in_flight = self.in_flight.saturating_sub((size + OVERHEAD) as u64);
    }

    /// Notes a sent packet whose fate will become known. The caller also calls [`Budget::spend`] for it.
    pub(super) fn on_packet(&mut self, size: usize) {
        self.look.spent += (size + OVERHEAD) as u64;
        self.in_flight += (size + OVERHEAD) as u64;
    }

    /// Notes that the newest acked packet was acked after `trip`.
    pub(super) fn on_trip(&mut self, now: Time, packet: u64, trip: Duration) {
        if now.since(self.base_from) >= BASE_MEMORY {
            self.base = [None, self.base[0]];
            self.base_from = now;
        }
        self.base[0] = Some(self.base[0].map_or(trip, |least| least.min(trip)));
        if packet >= self.epoch {
            self.look.trips += 1;
            self.look.least = Some(self.look.least.map_or(trip, |least| least.min(trip)));
        }
    }

    /// Adapts the rate if a look is due. Returns whether the budget changed. `next` is the number of the next packet,
    /// `variation` the variation of round trips.
    pub(super) fn adapt(&mut self, now: Time, next: u64, variation: Duration) -> bool {
        let chokes = !self.choked && now.since(self.heard) >= CHOKE_AFTER;
        if chokes {
            self.refill(now);
            self.choked = true;
        }
        let base = self.least_trip().unwrap_or(Duration::ZERO);
        let span = now.since(self.look.from);
        let enough = self.look.trips >= TRIPS_MIN || self.look.backlogged || self.look.told >= LOSS_TOLD;
        if span < LOOK_AFTER.max(base) || !enough {
            return chokes;
        }
        self.look_back(now, (span, base), next, variation);
        true
    }

    /// Judges the measurements of a look.
    fn look_back(&mut self, now: Time, (span, base): (Duration, Duration), next: u64, variation: Duration) {
        let look = core::mem::replace(&mut self.look, Look { from: now, ..Look::default() });
        let delivered = look.delivered * 1_000_000 / span.as_micros();
        // Sending two packets takes time on a slow path, and round trips vary: neither is a queue.
        let tolerated =
            (QUEUE_MIN + variation.min(QUEUE_MIN)).max(self.time_for(2 * FULL_PACKET * MICRO as u64));
        let trip = look.least.filter(|_| look.trips >= TRIPS_MIN).unwrap_or(base);
        let queue = Duration::from_micros(trip.as_micros().saturating_sub(base.as_micros()));
        let loss = if look.told >= LOSS_TOLD { look.lost * 1_000 / look.told } else { 0 };
        let lossy = loss > self.usual_loss + LOSS_MAX;
        let busy = look.limited || delivered * 4 >= self.rate;
        if busy && (queue > tolerated || look.backlogged) {
            self.slow_down(now, &look, delivered, queue);
            self.epoch = next;
            return;
        }
        self.queues.0 = 0;
        if busy && lossy {
            self.suspect_losses(now, loss);
            return;
        }
        self.losses.0 = 0;
        if look.limited && look.trips >= TRIPS_MIN && queue.times(2) <= tolerated && !look.backlogged {
            let step = if self.starting { self.rate / 2 } else { self.rate / 16 + 500 };
            self.refill(now);
            self.rate = (self.rate + step).min(CEILING);
            // The effect of this step must show before the next step.
            self.epoch = next;
        }
        if look.limited && now.since(self.drained) >= BASE_MEMORY {
            // Without this pause a sender that always has more to send would never again see the path without a
            // queue.
            self.drain(now, queue + QUEUE_MIN);
        }
    }

    fn slow_down(&mut self, now: Time, look: &Look, delivered: u64, queue: Duration) {
        self.refill(now);
        self.starting = false;
        let (count, first, rate) = self.queues;
        self.queues = if count == 0 { (1, queue, self.rate) } else { (count + 1, first, rate) };
        let stays = queue.times(10) >= self.queues.1.times(9) && queue > Duration::ZERO;
        if self.queues.0 >= STUBBORN && stays && self.rate * 10 <= self.queues.2 * 6 {
            // The queue did not shrink when this link sent less, so another sender fills it.
            self.forget_base(now);
            self.queues.0 = 0;
            return;
        }
        let fills = look.limited || look.delivered * 10 < look.spent * 9;
        let target = match (fills, look.bulk) {
            // A link that sent below its rate, and whose bytes all arrived, did not fill the queue alone.
            (false, _) => delivered.max(self.rate * 17 / 20),
            (true, false) => delivered * 17 / 20,
            (true, true) => self.rate * 7 / 10,
        };
        self.rate = target.clamp(FLOOR.min(self.rate), self.rate).max(FLOOR);
        // The queue also holds what was sent after the packets that the look measured.
        let base = self.least_trip().unwrap_or(Duration::ZERO).as_micros();
        let standing = self.in_flight.saturating_sub(delivered * base / 1_000_000);
        self.drain(now, queue.max(self.time_for(standing * MICRO as u64)));
    }

    /// Pauses once until a queue of this length is gone.
    fn drain(&mut self, now: Time, queue: Duration) {
        self.refill(now);
        self.drained = now;
        let pause = queue.min(PAUSE_MAX).as_micros() as i64 * self.rate as i64;
        self.tokens = self.tokens.min(FULL_PACKET as i64 * MICRO - pause);
    }

    /// Handles losses without a visible queue. The link sends less, to tell a path that drops packets above its rate
    /// from one that loses them anyway.
    fn suspect_losses(&mut self, now: Time, loss: u32) {
        let (count, first) = self.losses;
        self.losses = if count == 0 { (1, loss) } else { (count + 1, first) };
        if self.losses.0 >= STUBBORN && loss * 10 >= self.losses.1 * 7 {
            self.usual_loss = loss.min(USUAL_LOSS_MAX);
            self.losses.0 = 0;
            return;
        }
        self.refill(now);
        self.starting = false;
        self.rate = (self.rate * 17 / 20).max(FLOOR);
    }

    /// Forgets the measurements of the old path after a change of the path.
    pub(super) fn forget_path(&mut self, now: Time) {
        self.heard = now;
        self.usual_loss = 0;
        self.forget_base(now);
    }

    fn forget_base(&mut self, now: Time) {
        self.base = [None; 2];
        self.base_from = now;
        self.look = Look { from: now, ..Look::default() };
    }

    /// Forgets the current measurements, because this peer slept until now: the ack times of packets before `next`
    /// prove nothing.
    pub(super) fn on_slept(&mut self, now: Time, next: u64) {
        self.epoch = next;
        self.look = Look { from: now, ..Look::default() };
        self.backlog = (0, now);
        self.heard = now;
    }
}
