//! At the host of a star: messages that wait for their place in the log until nothing older can come (PROTOCOL §4.14).

use std::collections::VecDeque;

use samovar_wire::timed::Promise;
use samovar_wire::{CloseCode, Duration, PeerId, SortedMap, SortedSet, Time, Writer};

use super::Arrival;
use super::entry::{Entry, Key, LATE, MARK, PEER_LATE, PEER_ON_TIME};
use crate::timestamp::{AHEAD_ALLOWED, Promises, TimeOrderConfig};

/// Another member, as the host knows it.
#[derive(Clone, Debug, Default)]
struct Watched {
    /// When the epoch began: nobody is late from then on. `None` until time is told.
    since: Option<Time>,
    promises: Promises,
    was_late: bool,
}

impl Watched {
    /// From when on it holds up nobody, if nothing else is heard of it.
    fn late_at(&self, patience: Duration) -> Time {
        self.since.map_or(Time::FAR, |since| self.promises.bound.max(since) + patience)
    }

    /// Whether others are to be told that it is late: who was before is until it promises more.
    fn is_late(&self, now: Time, patience: Duration) -> bool {
        let at = if self.was_late { self.promises.bound + patience } else { self.late_at(patience) };
        at <= now
    }
}

/// What waits, and for whom.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    me: PeerId,
    config: TimeOrderConfig,
    /// The earliest time that a message of this peer can still have.
    floor: Time,
    watched: SortedMap<PeerId, Watched>,
    held: SortedMap<Key, Arrival>,
    /// The last that got a place and was not late.
    placed: Option<Key>,
    /// What has a place at once: what is late, and who.
    hurried: VecDeque<Arrival>,
    /// What was told last; session time may not be known yet.
    now: Option<Time>,
}

impl Timeline {
    pub(super) const fn new(me: PeerId, config: TimeOrderConfig) -> Self {
        Self {
            me,
            config,
            floor: Time::ZERO,
            watched: SortedMap::new(),
            held: SortedMap::new(),
            placed: None,
            hurried: VecDeque::new(),
            now: None,
        }
    }

    /// An epoch begins, and everybody submits again what has no place: promises are of no use until that is here.
    pub(super) fn begin(&mut self, members: &[PeerId], late: &SortedSet<PeerId>, last: Option<Key>) {
        self.held.clear();
        self.hurried.clear();
        self.placed = self.placed.max(last);
        let others = members.iter().filter(|&&peer| peer != self.me);
        let watch = |&peer: &PeerId| {
            let was_late = late.contains(&peer);
            (peer, Watched { since: self.now, was_late, promises: Promises::default() })
        };
        self.watched = others.map(watch).collect();
        if let Some((time, origin, number)) = self.placed {
            let mut payload = Vec::new();
            Writer::new(&mut payload).varint(time.as_micros());
            self.hurried.push_back(Arrival { origin, number, flags: MARK, payload });
        }
    }

    /// A message is here.
    ///
    /// # Errors
    /// How its sender broke the rules.
    pub(super) fn push(&mut self, mut arrival: Arrival) -> Result<(), CloseCode> {
        let Arrival { origin, number, flags, ref payload } = arrival;
        let (time, _) = Entry { flags, origin, number, payload }.timed().map_err(crate::group::blame)?;
        if let Some(peer) = self.watched.get_mut(&origin) {
            if time < peer.promises.bound {
                return Err(CloseCode::Unexpected);
            }
            peer.promises.on_received_up_to(number);
        }
        let key = (time, origin, number);
        let is_far = self.now.is_some_and(|now| time > now + AHEAD_ALLOWED);
        if is_far || self.placed.is_some_and(|placed| key < placed) {
            arrival.flags |= LATE;
            self.hurried.push_back(arrival);
        } else {
            self.held.insert(key, arrival);
        }
        Ok(())
    }

    pub(super) fn on_promise(&mut self, now: Time, from: PeerId, promise: Promise) {
        let until = promise.until.min(now + AHEAD_ALLOWED);
        if let Some(peer) = self.watched.get_mut(&from) {
            peer.promises.hear(Promise { until, ..promise });
        }
    }

    /// Time passes; `floor` is the earliest time that a message of this peer can still have.
    pub(super) fn handle_time(&mut self, now: Time, floor: Time) {
        (self.now, self.floor) = (Some(now), floor);
        for (&origin, peer) in self.watched.iter_mut() {
            peer.since.get_or_insert(now);
            let is_late = peer.is_late(now, self.config.patience);
            if core::mem::replace(&mut peer.was_late, is_late) != is_late {
                let flags = if is_late { PEER_LATE } else { PEER_ON_TIME };
                self.hurried.push_back(Arrival { origin, number: 0, flags, payload: Vec::new() });
            }
        }
    }

    /// What has its place now.
    pub(super) fn pop(&mut self) -> Option<Arrival> {
        if let Some(arrival) = self.hurried.pop_front() {
            return Some(arrival);
        }
        let (&key, _) = self.held.first_key_value()?;
        if self.blockers(self.now?, key).next().is_some() {
            return None;
        }
        self.placed = Some(key);
        self.held.pop_first().map(|(_, arrival)| arrival)
    }

    /// When time alone gives something a place.
    pub(super) fn poll_timeout(&self, now: Time) -> Option<Time> {
        let (&key, _) = self.held.first_key_value()?;
        Some(self.blockers(now, key).max().unwrap_or(now).max(now))
    }

    /// Who may still say something that goes before `key`: until when each of them is waited for.
    fn blockers(&self, now: Time, key: Key) -> impl Iterator<Item = Time> {
        let (time, sender, _) = key;
        let may_precede = move |bound: Time, of: PeerId| bound < time || (bound == time && of < sender);
        let patience = self.config.patience;
        let others = self.watched.iter().filter_map(move |(&id, peer)| {
            let until = peer.late_at(patience);
            (may_precede(peer.promises.bound, id) && until > now).then_some(until)
        });
        let own = may_precede(self.floor, self.me)
            .then(|| (time - self.config.lookahead) + Duration::from_micros(1));
        others.chain(own)
    }
}
