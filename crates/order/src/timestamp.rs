//! Time-stamp order: messages are delivered in the order of what they tell of, wherever they come from first.
//!
//! Conservative, with lookahead (docs/sources.md, "Fujimoto": the limits of
//! causal and total order; the bounds are those of Chandy, Misra and Bryant, without null messages of their own): a message
//! is delivered when every other member has promised to say nothing older any more. A promise rides in every packet.
//! So the nearer connection does not win, and what follows from what by a way that no message took keeps its order.
//!
//! Responsible for: numbering and keeping own messages, holding back those of others, the promises, and that survivors
//! of a member deliver the same of it. It refuses to reorder: what comes behind what was delivered is reported as late.
//! It sends nothing itself and knows no host, since none is needed.
//!
//! Invariants: keys `(time, sender, number)` of what one member delivers as [`Event::Message`] only grow; a message
//! waits at most until `patience` behind its time; of each sender at most [`TIMED_HELD_MAX`] messages are held.
//!
//! All times here are session time. How it is driven: [`TimeOrder::promise`] for each packet that goes anyway,
//! [`TimeOrder::handle_promise`] and [`TimeOrder::handle_message`] for what comes, then [`TimeOrder::poll_transmit`],
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

/// The furthest in the future that a message may be, for its sender.
pub const AHEAD_MAX: Duration = Duration::from_millis(2_000);
/// What a receiver allows: clocks differ.
pub(crate) const AHEAD_ALLOWED: Duration = Duration::from_millis(4_000);
/// What a sender may have with receivers at once: half of what these hold, since they may be behind it.
const KEPT_MAX: usize = TIMED_HELD_MAX / 2;
/// As many who were forgotten are remembered by the number of their last message; of more, any.
const FORMER_MAX: usize = 64;

/// How a game wants time-stamp order. Agreed: all members have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeOrderConfig {
    /// How long before its time a message is sent at the latest; none unless set. As much lookahead as the slowest way
    /// takes, and a packet interval, makes the order free of delay; but then what happens at once happens so much later.
    pub lookahead: Duration,
    /// How long a member that is silent or slow holds up the others, behind the time of a message; 250 ms unless set.
    /// With less, members whose packets are late more often have their own messages reported late.
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
    /// Others have been promised that nothing older than this comes any more.
    TooOld(Time),
    /// It is more than [`AHEAD_MAX`] in the future.
    TooFarAhead,
    /// It has more than `TIMED_MAX` bytes.
    TooLarge,
    /// Too many messages of this peer may not be delivered everywhere yet: 128, or 32 KiB.
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

/// Whether a message may have this time and size, by who has promised nothing older than `floor`.
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
    /// When what it tells of happened.
    pub time: Time,
    /// Who tells it; this peer, too.
    pub from: PeerId,
    /// Which of its sender's it is.
    pub number: u64,
    /// The game's own.
    pub bytes: Vec<u8>,
}

/// What the game is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A message, behind all that are older, of equal ones behind those of lower senders.
    Message(Delivery),
    /// A message that comes behind one that should have followed it, since its sender was late; or that lies so far ahead,
    /// or is one of so many, that it cannot be held back.
    Late(Delivery),
    /// Others are not held up any more by this member, which is silent or slow.
    PeerLate(PeerId),
    /// It is on time again.
    PeerOnTime(PeerId),
}

/// A message for another member's [`TimeOrder::handle_message`], by a reliable lane that keeps the order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transmit {
    /// For whom.
    pub to: PeerId,
    /// The body of TIMED (PROTOCOL §4.14).
    pub bytes: Vec<u8>,
}

/// What messages are delivered by.
type Key = (Time, PeerId, u64);

/// Time-stamp order at one member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeOrder {
    me: PeerId,
    config: TimeOrderConfig,
    /// The earliest time that a message of this peer can still have.
    floor: Time,
    /// Of this peer's last message.
    number: u64,
    /// Own messages that may not have been delivered everywhere.
    kept: VecDeque<Timed>,
    /// All other members, and those that have gone and whose messages the survivors still tell each other.
    peers: SortedMap<PeerId, Peer>,
    /// Of who was forgotten the number of the last message that came: a member whose view dropped another may be told by the
    /// next host that both are there, and the other sends again what is kept.
    former: SortedMap<PeerId, u64>,
    held: SortedMap<Key, Vec<u8>>,
    /// The key of the last message that was delivered in order.
    delivered: Option<Key>,
    out: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl TimeOrder {
    /// Time-stamp order of a member that knows nobody yet.
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

    /// Sends a message to all members, this one included: its number. What it tells of happens at `time`.
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

    /// The promise for a packet to a member: from now on this peer says nothing older than now and its lookahead.
    /// `None` for who is none.
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

    /// The members change. The links to those that are new begin now; what those that are gone have said is told among
    /// the survivors, so that all deliver the same of it.
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

    /// Says where what this peer says to another begins.
    fn begin(&mut self, to: PeerId) {
        let Some(peer) = self.peers.get(&to) else { return };
        let mut bytes = Vec::new();
        TimedMessage::Begin(peer.begins_behind).encode(&mut Writer::new(&mut bytes));
        self.out.push_back(Transmit { to, bytes });
    }

    /// A link to a member begins anew: what was under way on it may be lost, and is sent again. What was said before it was a
    /// member, or while it was none, it is not owed, and has been promised not to be told.
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

    /// A promise came in a packet.
    pub fn handle_promise(&mut self, now: Time, from: PeerId, promise: Promise) {
        let until = promise.until.min(now + AHEAD_ALLOWED);
        if let Some(peer) = self.peers.get_mut(&from).filter(|peer| !peer.is_gone()) {
            peer.promises.hear(Promise { until, ..promise });
        }
    }

    /// As [`TimeOrder::promise`], for a packet that will have an update or not: `None` also when the time that the update
    /// states says as much. Then [`TimeOrder::on_sent`] and [`TimeOrder::on_fate`] tell what became of the packet.
    pub fn promise_beside(&mut self, now: Time, to: PeerId, has_update: bool) -> Option<Promise> {
        let promise = self.promise(now, to)?;
        let promising = &mut self.peers.get_mut(&to)?.promising;
        promising.states(now, promise.sent, has_update).then_some(promise)
    }

    /// A packet went to a member, and an update in it, if one did: the packet's number, and the time that it states, which is
    /// as good as a promise.
    pub fn on_sent(&mut self, now: Time, to: PeerId, update: Option<(u64, Time)>) {
        if let Some(peer) = self.peers.get_mut(&to) {
            peer.promising.on_sent(now, update.map(|(packet, _)| packet));
        }
        if let Some((_, stated)) = update {
            self.raise_floor(stated);
        }
    }

    /// What became of a packet with an update.
    pub fn on_fate(&mut self, to: PeerId, packet: u64, has_arrived: bool) {
        if let Some(peer) = self.peers.get_mut(&to) {
            peer.promising.on_fate(packet, has_arrived);
        }
    }

    /// A packet stated a time, which is as good as a promise that counts what the last one did; of who has not promised on the
    /// present link it is none. Whether it was one.
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

    /// A message came by the reliable lane. One of who is no member is ignored.
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
            // It was sent again on a new link.
            peer.promises.on_received();
            return Ok(());
        }
        if message.time < peer.promises.bound {
            return Err(CloseCode::Unexpected);
        }
        peer.keep(&message);
        peer.promises.on_received();
        // By a clock that jumped an honest member's messages lie ahead, and are more than can be kept until then.
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

    /// Takes a message up, to be delivered in its turn, or reported when that has passed.
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

    /// The next thing for the game. It may be that nothing comes now and something at [`TimeOrder::poll_timeout`].
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

    /// Time passes.
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

    /// When time alone lets something be delivered, or somebody gone be forgotten.
    #[must_use]
    pub fn poll_timeout(&self, now: Time) -> Option<Time> {
        let due = self.held.first_key_value();
        let due = due.map(|(&key, _)| self.blocked_until(now, key).unwrap_or(now));
        let gone = self.peers.values().filter(|peer| peer.is_gone());
        due.into_iter().chain(gone.map(|peer| peer.late_at(self.config.patience))).min()
    }

    /// Until when somebody who may still say something that goes before `key` is waited for; `None` when nobody is.
    fn blocked_until(&self, now: Time, key: Key) -> Option<Time> {
        let peers = self.peers.iter();
        let others =
            &mut peers.map(|(&id, peer)| (id, peer.promises.bound, peer.late_at(self.config.patience)));
        blocked_until(now, key, self.own_bound(), others)
    }

    /// This peer's own part in that: who it is, its bound, and when that is beyond the time of a message.
    const fn own_bound(&self) -> (PeerId, Time, Duration) {
        (self.me, self.floor, self.config.lookahead)
    }

    fn members(&self) -> impl Iterator<Item = PeerId> {
        self.peers.iter().filter(|(_, peer)| !peer.is_gone()).map(|(&id, _)| id)
    }

    /// Forgets messages that all have delivered: nobody waits longer than patience behind a message's time.
    fn forget(&mut self, now: Time) {
        let until = now - self.config.patience.times(2) - Duration::from_millis(500);
        while self.kept.front().is_some_and(|message| message.time < until) {
            self.kept.pop_front();
        }
        self.peers.values_mut().for_each(|peer| peer.forget(until));
    }
}

/// Until when somebody who may still say something that goes before `key` is waited for; `None` when nobody is. Of others it
/// is told who they are, their bounds, and from when on they are late.
pub(crate) fn blocked_until(
    now: Time,
    (time, sender, _): Key,
    (me, floor, lookahead): (PeerId, Time, Duration),
    others: &mut dyn Iterator<Item = (PeerId, Time, Time)>,
) -> Option<Time> {
    // Of two messages of one time the one of the lower sender goes first; of one sender the lower number.
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
