//! Time-stamp order: messages are delivered in the order of their times, whichever arrives first.
//!
//! Conservative, with lookahead (docs/sources.md, "Fujimoto": the limits of causal and total order; the bounds are
//! those of Chandy, Misra and Bryant, without separate null messages). A message is delivered when every other member
//! has promised to send nothing older. Every packet carries a promise. So the nearer connection does not win, and
//! effects follow causes even when no message connects them.
//!
//! Responsible for: numbering and keeping own messages, holding back those of others, the promises, and that all
//! survivors deliver the same messages of a lost member. It refuses to reorder: a message older than a delivered one
//! is reported as late. It sends nothing itself and needs no host.
//!
//! Invariants: the keys `(time, sender, number)` of [`Event::Message`] at one member only grow; a message waits at
//! most until `patience` after its time; of each sender at most [`TIMED_HELD_MAX`] messages are held.
//!
//! All times here are session time. Driving: [`TimeOrder::promise`] for each packet that goes anyway,
//! [`TimeOrder::handle_promise`] and [`TimeOrder::handle_message`] for arrivals, then [`TimeOrder::poll_transmit`],
//! whose bytes go by a reliable lane that keeps their order, and [`TimeOrder::poll_event`].
//!
//! ```
//! use samovar_order::timestamp::{Event, TimeOrder, TimeOrderConfig};
//! use samovar_wire::{PeerId, Time};
//!
//! let (ann, bo, ms) = (PeerId(1), PeerId(2), |ms: u64| Time::from_micros(ms * 1_000));
//! let mut at_ann = TimeOrder::new(ann, TimeOrderConfig::default());
//! let mut at_bo = TimeOrder::new(bo, TimeOrderConfig::default());
//! at_ann.handle_view(ms(0), &[ann, bo]);
//! at_bo.handle_view(ms(0), &[ann, bo]);
//!
//! // Ann sees something at 10 ms. It reaches Bo before he tells of what he saw at 5 ms.
//! at_ann.send(ms(10), ms(10), b"the second")?;
//! while let Some(transmit) = at_ann.poll_transmit() {
//!     at_bo.handle_message(ms(20), ann, &transmit.bytes).expect("Ann breaks no rule");
//! }
//! at_bo.send(ms(20), ms(5), b"the first")?;
//! assert_eq!(at_bo.poll_event(ms(20)), None);
//!
//! // Both are due when Ann has promised in some packet that nothing older comes from her.
//! let promise = at_ann.promise(ms(30), bo).expect("Bo is a member");
//! at_bo.handle_promise(ms(40), ann, promise);
//! for bytes in [b"the first".as_slice(), b"the second"] {
//!     assert!(matches!(at_bo.poll_event(ms(40)), Some(Event::Message(message)) if message.bytes == bytes));
//! }
//! # Ok::<(), samovar_order::timestamp::SendError>(())
//! ```

mod gone;
mod peer;
mod promises;
mod promising;

use std::collections::VecDeque;

use samovar_wire::limits::{TIMED_HELD_BYTES_MAX, TIMED_HELD_MAX, TIMED_MAX};
use samovar_wire::timed::{Promise, Timed, TimedMessage};
use samovar_wire::{CloseCode, DecodeError, Duration, PeerId, Reader, SortedMap, Time, Writer};

use peer::Peer;

/// A sender's messages may be at most this far in the future.
pub const AHEAD_MAX: Duration = Duration::from_millis(2_000);
/// A receiver takes messages that are at most this far in the future, which allows for different clocks.
pub(crate) const AHEAD_ALLOWED: Duration = Duration::from_millis(4_000);
/// The most messages of this peer that may be undelivered somewhere: half of a receiver's bound, since receivers may
/// be behind.
const KEPT_MAX: usize = TIMED_HELD_MAX / 2;
/// The most forgotten peers for which the number of their last message is remembered.
const FORMER_MAX: usize = 64;

/// A game's parameters of time-stamp order. Agreed: all members have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeOrderConfig {
    /// The least time by which a message is sent before its own time; zero unless set. A lookahead of the slowest
    /// one-way delay plus a packet interval removes the order's delay. In exchange immediate events happen that much
    /// later.
    pub lookahead: Duration,
    /// How long a silent or slow member delays the others, after the time of a message; 250 ms unless set. With less,
    /// a member with late packets has more of its own messages reported as late.
    pub patience: Duration,
}

impl TimeOrderConfig {
    /// Without lookahead, and a patience of 250 ms.
    pub const DEFAULT: Self = Self { lookahead: Duration::ZERO, patience: Duration::from_millis(250) };
}

impl Default for TimeOrderConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why a message was not sent. The game is at fault, or sends too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// This peer has promised others to send nothing older than this.
    TooOld(Time),
    /// The message's time is more than [`AHEAD_MAX`] in the future.
    TooFarAhead,
    /// The message has more than `TIMED_MAX` bytes.
    TooLarge,
    /// Too many messages of this peer may be undelivered at some member: 128, or 32 KiB.
    WouldBlock,
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::TooOld(_) => "the message is older than what was promised",
            Self::TooFarAhead => "the message is too far in the future",
            Self::TooLarge => "the message is too large",
            Self::WouldBlock => "too many messages are on their way",
        })
    }
}

impl core::error::Error for SendError {}

/// Checks a message's time and size, for a sender that has promised nothing older than `floor`.
fn check(now: Time, floor: Time, time: Time, bytes: &[u8]) -> Result<(), SendError> {
    if bytes.len() > TIMED_MAX {
        return Err(SendError::TooLarge);
    }
    if time < floor {
        return Err(SendError::TooOld(floor));
    }
    if time > now + AHEAD_MAX {
        return Err(SendError::TooFarAhead);
    }
    Ok(())
}

/// A message for the game.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delivery {
    /// The time of the event that the message tells of.
    pub time: Time,
    /// The sender, this peer included.
    pub from: PeerId,
    /// The number among its sender's messages.
    pub number: u64,
    /// The game's own bytes.
    pub bytes: Vec<u8>,
}

/// An event for the game.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A message, after all older ones, and after those of the same time by senders with lower ids.
    Message(Delivery),
    /// A message that came after its turn: its sender was late, and a message that should follow it was delivered
    /// before. Or a message that cannot be held back, because it is too far ahead or one of too many.
    Late(Delivery),
    /// This member, which is silent or slow, no longer delays others.
    PeerLate(PeerId),
    /// This member is on time again.
    PeerOnTime(PeerId),
}

/// A message for another member's [`TimeOrder::handle_message`], by a reliable lane that keeps the order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transmit {
    /// The receiver.
    pub to: PeerId,
    /// The body of TIMED (PROTOCOL §4.14).
    pub bytes: Vec<u8>,
}

/// The key that orders messages.
type Key = (Time, PeerId, u64);

/// Time-stamp order at one member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeOrder {
    me: PeerId,
    config: TimeOrderConfig,
    /// The earliest time that a message of this peer can still have.
    floor: Time,
    /// The number of this peer's last message.
    number: u64,
    /// Own messages that may not have been delivered by all.
    kept: VecDeque<Timed>,
    /// All other members, and gone ones whose messages the survivors still tell each other.
    peers: SortedMap<PeerId, Peer>,
    /// The number of the last message of each forgotten peer. A later view may include that peer again, and then it
    /// resends messages that were delivered already.
    former: SortedMap<PeerId, u64>,
    held: SortedMap<Key, Vec<u8>>,
    /// The key of the last message that was delivered in order.
    delivered: Option<Key>,
    out: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl TimeOrder {
    /// Time-stamp order of a member that knows no other yet.
    #[must_use]
    pub const fn new(me: PeerId, config: TimeOrderConfig) -> Self {
        Self {
            me,
            config,
            floor: Time::ZERO,
            number: 0,
            kept: VecDeque::new(),
            peers: SortedMap::new(),
            former: SortedMap::new(),
            held: SortedMap::new(),
            delivered: None,
            out: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Sends a message about an event at `time` to all members, this one included; returns its number.
    ///
    /// # Errors
    /// See [`SendError`]; then nothing was sent.
    pub fn send(&mut self, now: Time, time: Time, bytes: &[u8]) -> Result<u64, SendError> {
        check(now, self.floor, time, bytes)?;
        self.forget(now);
        let size: usize = self.kept.iter().map(|message| message.bytes.len()).sum();
        if self.kept.len() >= KEPT_MAX || size + bytes.len() > TIMED_HELD_BYTES_MAX / 2 {
            return Err(SendError::WouldBlock);
        }
        self.number += 1;
        let message = Timed { time, number: self.number, bytes: bytes.to_vec() };
        self.held.insert((time, self.me, self.number), message.bytes.clone());
        let receivers: Vec<_> = self.members().collect();
        for to in receivers {
            self.send_to(to, &message);
        }
        self.kept.push_back(message);
        Ok(self.number)
    }

    fn send_to(&mut self, to: PeerId, message: &Timed) {
        let Some(peer) = self.peers.get_mut(&to) else { return };
        peer.sent += 1;
        let mut bytes = Vec::new();
        TimedMessage::Own(message.clone()).encode(&mut Writer::new(&mut bytes));
        self.out.push_back(Transmit { to, bytes });
    }

    /// The promise for a packet to a member: from now on this peer sends nothing older than now plus its lookahead.
    /// `None` when `to` is no member.
    pub fn promise(&mut self, now: Time, to: PeerId) -> Option<Promise> {
        self.raise_floor(now);
        let peer = self.peers.get(&to).filter(|peer| !peer.is_gone())?;
        Some(Promise { until: self.floor, sent: peer.sent })
    }

    /// The earliest time that a message of this peer can still have.
    #[must_use]
    pub const fn earliest(&self) -> Time {
        self.floor
    }

    fn raise_floor(&mut self, now: Time) {
        self.floor = self.floor.max(now + self.config.lookahead);
    }

    /// Takes a new list of members. The links to new members begin now. The survivors tell each other the messages of
    /// members that are gone, so that all deliver the same ones.
    pub fn handle_view(&mut self, now: Time, members: &[PeerId]) {
        self.see_off(members);
        let me = self.me;
        for &peer in members.iter().filter(|&&peer| peer != me) {
            let known = self.peers.get(&peer);
            if known.is_none_or(Peer::is_gone) {
                let newest = known.map(|known| known.newest).or(self.former.get(&peer).copied());
                self.peers.insert(peer, Peer::new(now, self.number, newest.unwrap_or(0)));
                self.begin(peer);
            }
        }
        self.drop_gone(now);
    }

    /// Tells another member where this peer's messages to it begin.
    fn begin(&mut self, to: PeerId) {
        let Some(peer) = self.peers.get(&to) else { return };
        let mut bytes = Vec::new();
        TimedMessage::Begin(peer.begins_behind).encode(&mut Writer::new(&mut bytes));
        self.out.push_back(Transmit { to, bytes });
    }

    /// Notes that the link to a member began anew. Messages in flight may be lost, and are sent again. Messages from
    /// before the peer became a member are not sent: promises to it do not count them.
    pub fn handle_linked(&mut self, now: Time, peer: PeerId) {
        self.forget(now);
        let Some(linked) = self.peers.get_mut(&peer).filter(|peer| !peer.is_gone()) else { return };
        linked.begin_anew();
        let begins_behind = linked.begins_behind;
        self.out.retain(|transmit| transmit.to != peer);
        self.begin(peer);
        let kept = core::mem::take(&mut self.kept);
        let owed = kept.iter().filter(|message| message.number > begins_behind);
        owed.for_each(|message| self.send_to(peer, message));
        self.kept = kept;
    }

    /// Takes a promise that came in a packet.
    pub fn handle_promise(&mut self, now: Time, from: PeerId, promise: Promise) {
        let until = promise.until.min(now + AHEAD_ALLOWED);
        if let Some(peer) = self.peers.get_mut(&from).filter(|peer| !peer.is_gone()) {
            peer.promises.hear(Promise { until, ..promise });
        }
    }

    /// As [`TimeOrder::promise`], for a packet with or without an update. `None` also when the update's time implies
    /// the promise. The caller then reports the packet by [`TimeOrder::on_sent`] and [`TimeOrder::on_fate`].
    pub fn promise_beside(&mut self, now: Time, to: PeerId, has_update: bool) -> Option<Promise> {
        let promise = self.promise(now, to)?;
        let promising = &mut self.peers.get_mut(&to)?.promising;
        promising.states(now, promise.sent, has_update).then_some(promise)
    }

    /// Notes that a packet went to a member. `update` names the packet's number and the time of the update in it, if
    /// there is one. That time is as good as a promise.
    pub fn on_sent(&mut self, now: Time, to: PeerId, update: Option<(u64, Time)>) {
        if let Some(peer) = self.peers.get_mut(&to) {
            peer.promising.on_sent(now, update.map(|(packet, _)| packet));
        }
        if let Some((_, stated)) = update {
            self.raise_floor(stated);
        }
    }

    /// Takes the fate of a packet with an update.
    pub fn on_fate(&mut self, to: PeerId, packet: u64, has_arrived: bool) {
        if let Some(peer) = self.peers.get_mut(&to) {
            peer.promising.on_fate(packet, has_arrived);
        }
    }

    /// Handles the time of an update in a member's packet. The time is as good as a promise that counts the same
    /// messages as the member's last one. It is ignored when the member has not promised on the present link. Returns
    /// whether it counted.
    pub fn handle_update(&mut self, now: Time, from: PeerId, stated: Time) -> bool {
        let until = (stated + self.config.lookahead).min(now + AHEAD_ALLOWED);
        let peer = self.peers.get_mut(&from).filter(|peer| !peer.is_gone());
        let Some((peer, sent)) = peer.and_then(|peer| peer.promises.counted().map(|sent| (peer, sent)))
        else {
            return false;
        };
        peer.promises.hear(Promise { until, sent });
        true
    }

    /// Takes a message of the reliable lane. It is ignored when its sender is no member.
    ///
    /// # Errors
    /// The code that ends the link to its sender.
    pub fn handle_message(&mut self, now: Time, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let message = TimedMessage::decode(&mut Reader::new(bytes)).map_err(|error| match error {
            DecodeError::TooLarge => CloseCode::TooLarge,
            _ => CloseCode::Malformed,
        })?;
        match message {
            TimedMessage::Begin(number) => {
                if let Some(peer) = self.peers.get_mut(&from).filter(|peer| !peer.has_begun) {
                    peer.newest = peer.newest.max(number);
                    peer.has_begun = true;
                }
                Ok(())
            }
            TimedMessage::Own(message) => self.on_own(now, from, message),
            TimedMessage::Gone { peer, more, messages } => {
                self.on_gone(now, from, peer, (more, messages));
                Ok(())
            }
        }
    }

    fn on_own(&mut self, now: Time, from: PeerId, message: Timed) -> Result<(), CloseCode> {
        let Some(peer) = self.peers.get_mut(&from).filter(|peer| !peer.is_gone()) else { return Ok(()) };
        if message.number <= peer.newest {
            // The message was sent again on a new link.
            peer.promises.on_received();
            return Ok(());
        }
        if message.time < peer.promises.bound {
            return Err(CloseCode::Unexpected);
        }
        peer.keep(&message);
        peer.promises.on_received();
        // Such a message is reported as late and is no fault: an honest member whose clock jumped may send messages too
        // far ahead, or more than can be held.
        if message.time > now + AHEAD_ALLOWED || self.is_full(from, message.bytes.len()) {
            self.report_late(from, message);
        } else {
            self.hold(from, message);
        }
        Ok(())
    }

    fn is_full(&self, from: PeerId, more: usize) -> bool {
        let of_sender = self.held.iter().filter(|((_, sender, _), _)| *sender == from);
        let (count, size) =
            of_sender.fold((0, 0), |(count, size), (_, bytes)| (count + 1, size + bytes.len()));
        count >= TIMED_HELD_MAX || size + more > TIMED_HELD_BYTES_MAX
    }

    /// Stores a message until its turn, or reports it as late when its turn has passed.
    fn hold(&mut self, from: PeerId, message: Timed) {
        let key = (message.time, from, message.number);
        if self.delivered.is_some_and(|delivered| key < delivered) {
            self.report_late(from, message);
        } else {
            self.held.insert(key, message.bytes);
        }
    }

    fn report_late(&mut self, from: PeerId, message: Timed) {
        let Timed { time, number, bytes } = message;
        self.events.push_back(Event::Late(Delivery { time, from, number, bytes }));
    }

    /// The next message for another member.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.out.pop_front()
    }

    /// The next event for the game. There may be none now and one at [`TimeOrder::poll_timeout`].
    pub fn poll_event(&mut self, now: Time) -> Option<Event> {
        self.handle_timeout(now);
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        let (&key, _) = self.held.first_key_value()?;
        if self.blocked_until(now, key).is_some() {
            return None;
        }
        let (key, bytes) = self.held.pop_first()?;
        self.delivered = Some(key);
        let (time, from, number) = key;
        Some(Event::Message(Delivery { time, from, number, bytes }))
    }

    /// Does everything that is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.raise_floor(now);
        self.forget(now);
        for (&id, peer) in self.peers.iter_mut() {
            let is_late = peer.late_at(self.config.patience) <= now;
            if core::mem::replace(&mut peer.was_late, is_late) != is_late && !peer.is_gone() {
                self.events.push_back(if is_late { Event::PeerLate(id) } else { Event::PeerOnTime(id) });
            }
        }
        self.drop_gone(now);
    }

    /// When time alone makes a message due, or lets a gone peer be forgotten.
    #[must_use]
    pub fn poll_timeout(&self, now: Time) -> Option<Time> {
        let due = self.held.first_key_value();
        let due = due.map(|(&key, _)| self.blocked_until(now, key).unwrap_or(now));
        let gone = self.peers.values().filter(|peer| peer.is_gone());
        due.into_iter().chain(gone.map(|peer| peer.late_at(self.config.patience))).min()
    }

    /// Until when a message with this key waits for members that may still send an earlier one; `None` when it need
    /// not.
    fn blocked_until(&self, now: Time, key: Key) -> Option<Time> {
        let peers = self.peers.iter();
        let others =
            &mut peers.map(|(&id, peer)| (id, peer.promises.bound, peer.late_at(self.config.patience)));
        blocked_until(now, key, self.own_bound(), others)
    }

    /// This peer's own entry for `blocked_until`: its id, its bound and its lookahead.
    const fn own_bound(&self) -> (PeerId, Time, Duration) {
        (self.me, self.floor, self.config.lookahead)
    }

    fn members(&self) -> impl Iterator<Item = PeerId> {
        self.peers.iter().filter(|(_, peer)| !peer.is_gone()).map(|(&id, _)| id)
    }

    /// Forgets messages that all have delivered: no member waits longer than patience after a message's time.
    fn forget(&mut self, now: Time) {
        let until = now - self.config.patience.times(2) - Duration::from_millis(500);
        while self.kept.front().is_some_and(|message| message.time < until) {
            self.kept.pop_front();
        }
        self.peers.values_mut().for_each(|peer| peer.forget(until));
    }
}

/// Until when a message with this key waits for members that may still send an earlier one; `None` when it need not
/// wait. `others` gives their ids, their bounds, and when each becomes late.
pub(crate) fn blocked_until(
    now: Time,
    (time, sender, _): Key,
    (me, floor, lookahead): (PeerId, Time, Duration),
    others: &mut dyn Iterator<Item = (PeerId, Time, Time)>,
) -> Option<Time> {
    // Messages with the same time go by the senders' ids, the lowest first; those of one sender by their numbers.
    let may_precede = |bound: Time, of: PeerId| bound < time || (bound == time && of < sender);
    let own = (time - lookahead) + Duration::from_micros(1);
    let mut last = may_precede(floor, me).then_some(own.max(now));
    for (id, bound, until) in others {
        if may_precede(bound, id) && until > now {
            last = last.max(Some(until));
        }
    }
    last
}
