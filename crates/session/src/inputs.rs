//! Inputs: what players want the host's game to do. An input is accepted when the loss of any single peer cannot undo
//! it (PROTOCOL §4.12).
//!
//! A member sends its inputs to the host and to each backup that its view names. It counts an input as accepted when
//! all of them have said, under the present term, that they hold it. A peer that holds inputs passes them to each new
//! host. The new host gives them to its game when it has heard all members that live, so the game gets the inputs of a
//! seat in order.
//!
//! A member accepts nothing on the word of a host that may not act as one, or that knows of other backups than the
//! member. Acks of the link do not count, since they do not say whether the receiver took the input as the host or as a
//! backup.

mod feed;
mod own;
mod store;

use samovar_wire::input::{Held, INPUT_KEPT_FOR, Input, Told};
use samovar_wire::limits::INPUT_MAX;
use samovar_wire::{CloseCode, Duration, PeerId, Reader, SeatId, SortedMap, SortedSet, Time};

use crate::Event;
use crate::core::{Core, Phase};
use crate::settle::News;
use feed::Feed;
use own::OwnInputs;
use store::Store;

/// How long a new host waits for members that live to pass on the inputs that they hold.
const COLLECTS_FOR: Duration = Duration::from_millis(1_000);
/// A new host takes no input of an absent member that is numbered further ahead of session time than this. Honest
/// numbers stay below session time in microseconds.
const AHEAD_MAX: Duration = Duration::from_millis(60_000);

/// Why an input was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmitError {
    /// This peer is no member.
    NotAMember,
    /// The input has more than `INPUT_MAX` bytes.
    TooLarge,
    /// Too many inputs of this peer are not accepted yet, or were accepted within the last ten seconds: 256 inputs, or
    /// 16 KiB.
    WouldBlock,
}

impl core::fmt::Display for SubmitError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NotAMember => "only a member submits inputs",
            Self::TooLarge => "an input is too large",
            Self::WouldBlock => "too many inputs are on their way or held",
        })
    }
}

impl core::error::Error for SubmitError {}

/// A new host's collection of the inputs that others hold.
#[derive(Clone, Debug)]
struct Collection {
    /// Whether the host's game still waits for the inputs. Afterwards the host takes late inputs as long as they are
    /// of use.
    is_open: bool,
    /// Members that have not passed on all their inputs yet.
    awaited: SortedSet<PeerId>,
    /// Members that have passed on all their inputs.
    told: SortedSet<PeerId>,
    /// Peers that may hold inputs of others: the former host and its backups.
    sources: SortedSet<PeerId>,
    /// Inputs of others that the sources have passed on, and that the host has not checked yet.
    passed: Store,
    until: Time,
}

/// All inputs at this peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    own: OwnInputs,
    store: Store,
    /// For each holder of this peer's inputs: what this peer has sent it, and what it says that it holds.
    feeds: SortedMap<PeerId, Feed>,
    /// For each member: the number of the last of its own inputs that it sent under this term.
    received: SortedMap<PeerId, u64>,
    /// Members that must be told that this peer holds their inputs.
    owed: SortedSet<PeerId>,
    collection: Option<Collection>,
    scratch: Vec<u8>,
}

impl Inputs {
    fn is_collecting(&self) -> bool {
        self.collection.as_ref().is_some_and(|collection| collection.is_open)
    }

    /// Ends the feed of a peer whose link begins anew, since messages under way on the former link may be lost.
    pub(crate) fn on_linked(&mut self, peer: PeerId) {
        self.feeds.remove(&peer);
    }

    pub(crate) fn submit(&mut self, core: &Core, now: Time, bytes: &[u8]) -> Result<u64, SubmitError> {
        let Some((seat, since)) = core.view().member(core.me()).map(|m| (m.record.seat, m.record.since))
        else {
            return Err(SubmitError::NotAMember);
        };
        if core.phase != Phase::Member {
            return Err(SubmitError::NotAMember);
        }
        if bytes.len() > INPUT_MAX {
            return Err(SubmitError::TooLarge);
        }
        self.own.expire(now);
        if !self.own.has_room(bytes.len()) {
            return Err(SubmitError::WouldBlock);
        }
        // This number is above all numbers of the seat's former member, which submitted less than one input per
        // microsecond.
        let number = self.own.last.max(since).saturating_add(1);
        if core.roster.is_host() {
            let kept = self.store.keep((seat, number), bytes, now + INPUT_KEPT_FOR);
            kept.map_err(|_| SubmitError::WouldBlock)?;
        }
        self.own.push(number, bytes);
        Ok(number)
    }

    /// The next input for the game of this host.
    pub(crate) fn poll(&mut self, core: &Core) -> Option<Event> {
        if !core.is_host() {
            return None;
        }
        let (seat, number, bytes) = self.store.poll_due()?;
        Some(Event::Input { seat, number, bytes })
    }

    /// Begins a new term, while the view is still the former term's. Earlier statements about held inputs do not
    /// count any more.
    pub(crate) fn begin_term(&mut self, core: &Core, now: Time, former: PeerId) {
        self.feeds.clear();
        self.received.clear();
        self.owed.clear();
        let (me, host) = (core.me(), core.host());
        if host == former && host == me {
            return;
        }
        self.store.begin_reign();
        self.collection = None;
        if host != me {
            return;
        }
        let (missed, _) = core.lives(now);
        let others = core.view().members().map(|m| m.peer).filter(|peer| *peer != me);
        let mut sources: SortedSet<_> = core.view().backups().iter().copied().collect();
        sources.insert(former);
        self.collection = Some(Collection {
            is_open: true,
            awaited: others.filter(|peer| !missed.contains(peer)).collect(),
            told: SortedSet::new(),
            sources,
            passed: Store::default(),
            until: now + COLLECTS_FOR,
        });
        let Some(seat) = core.view().member(me).map(|m| m.record.seat) else { return };
        for input in self.own.behind(0) {
            let until = now + Duration::from_millis(input.left(now).into());
            // This fits: a seat has room for four times the inputs of one member, and others may have passed on less
            // than three times as much.
            let _ = self.store.keep((seat, input.number), &input.bytes, until);
        }
    }

    pub(crate) fn handle(
        &mut self,
        core: &Core,
        now: Time,
        from: PeerId,
        body: &[u8],
    ) -> Result<News, CloseCode> {
        let Some(seat) = core.view().member(from).map(|m| m.record.seat) else { return Ok(News::NONE) };
        let mut reader = Reader::new(body);
        loop {
            let input = Input::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
            let key = (input.seat, input.number);
            let until = now + Duration::from_millis(input.left.into());
            if input.seat == seat {
                let kept = self.store.keep(key, input.bytes, until);
                kept.map_err(|_| CloseCode::LimitExceeded)?;
                let last = self.received.entry(from).or_default();
                *last = input.number.max(*last);
                self.owed.insert(from);
            } else if from == core.host() {
                let kept = self.store.keep(key, input.bytes, until);
                kept.map_err(|_| CloseCode::LimitExceeded)?;
            } else if let Some(collection) = &mut self.collection
                && collection.sources.contains(&from)
                && core.view().seats().any(|record| record.seat == input.seat)
            {
                // An input for which there is no room is dropped: it is not from an honest member.
                let _ = collection.passed.keep(key, input.bytes, until);
            }
            if reader.is_empty() {
                break;
            }
        }
        Ok(News::INPUTS)
    }

    pub(crate) fn handle_held(&mut self, core: &Core, from: PeerId, body: &[u8]) -> Result<News, CloseCode> {
        let held = Held::decode(&mut Reader::new(body)).map_err(|_| CloseCode::Malformed)?;
        if held.term == core.term()
            && let Some(feed) = self.feeds.get_mut(&from)
        {
            feed.on_held(held);
        }
        Ok(News::INPUTS)
    }

    pub(crate) fn handle_told(&mut self, core: &Core, from: PeerId, body: &[u8]) -> Result<News, CloseCode> {
        let told = Told::decode(&mut Reader::new(body)).map_err(|_| CloseCode::Malformed)?;
        if told.term == core.term()
            && let Some(collection) = &mut self.collection
        {
            collection.awaited.remove(&from);
            collection.told.insert(from);
        }
        Ok(News::INPUTS)
    }

    /// Accepts the inputs that all holders have confirmed, and gives the host's game the inputs that it may see.
    pub(crate) fn settle(&mut self, core: &mut Core, now: Time) {
        if core.phase != Phase::Member {
            return;
        }
        self.collect(core, now);
        if core.is_host() && !self.is_collecting() {
            self.store.give();
        }
        let accepted = self.accepted_up_to(core);
        if accepted > self.own.accepted {
            for number in self.own.accept(now, accepted) {
                core.push_event(Event::Accepted { number });
            }
        }
    }

    /// The last of this peer's inputs that the host and all backups hold. Zero when not all have said so under the
    /// present term, or when the host knows of other backups than this peer.
    fn accepted_up_to(&self, core: &Core) -> u64 {
        let (me, host) = (core.me(), core.host());
        let by_host = match self.feeds.get(&host) {
            _ if host == me && core.is_host() => u64::MAX,
            Some(feed) if feed.view <= core.view().number() => feed.held,
            _ => 0,
        };
        let backups = core.view().backups();
        if backups.is_empty() && (host != me || core.view().members().count() > 1) {
            return 0;
        }
        let by = |peer: PeerId| self.feeds.get(&peer).map_or(0, |feed| feed.held);
        let by_backups = backups.iter().map(|&peer| if peer == me { u64::MAX } else { by(peer) });
        by_backups.min().unwrap_or(u64::MAX).min(by_host)
    }

    /// Takes the inputs that others passed on, once all members that live have told theirs or have taken too long.
    fn collect(&mut self, core: &Core, now: Time) {
        let Some(mut collection) = self.collection.take() else { return };
        let was_open = collection.is_open;
        if was_open {
            let (missed, _) = core.lives(now);
            collection.awaited.retain(|peer| !missed.contains(peer) && core.view().has(*peer));
            collection.is_open = !collection.awaited.is_empty() && now < collection.until;
        }
        if !collection.is_open {
            let passed = core::mem::take(&mut collection.passed);
            let is_news = self.take_passed(core, now, &collection, &passed);
            // This host counts as backed up only when the backups hold all these inputs, too.
            if was_open || is_news {
                let keys: Vec<_> = self.store.keys().collect();
                let backups = core.view().backups();
                for (_, feed) in self.feeds.iter_mut().filter(|(peer, _)| backups.contains(peer)) {
                    feed.pass(keys.iter().copied());
                }
            }
        }
        self.collection = Some(collection);
    }

    /// Takes those of the passed inputs that may be genuine. Returns whether there were any.
    fn take_passed(&mut self, core: &Core, now: Time, collection: &Collection, passed: &Store) -> bool {
        let latest = (core.time(now) + AHEAD_MAX).as_micros();
        let mut is_any = false;
        for key in passed.keys() {
            if key.1 > latest || has_told(core, collection, key) {
                continue;
            }
            if let Some((bytes, until)) = passed.get(key) {
                // An input for which there is no room is dropped: it is not from an honest member.
                is_any |= self.store.keep(key, bytes, until).is_ok();
            }
        }
        is_any
    }

    /// Whether the backups hold what this host holds.
    pub(crate) fn are_backed_up(&self, core: &Core) -> bool {
        let holds = |peer: PeerId| {
            self.feeds.get(&peer).zip(core.net.link(peer)).is_some_and(|(feed, link)| {
                feed.held >= self.own.last_kept() && feed.has_passed(&link.transport.deliveries())
            })
        };
        !self.is_collecting() && core.view().backups().iter().all(|&peer| holds(peer))
    }

    /// The first of this peer's inputs that was accepted since a session time and is still kept.
    pub(crate) fn accepted_since(&self, core: &Core, since: Time) -> Option<u64> {
        self.own.first_accepted(|at| core.time(at) >= since)
    }

    /// Drops inputs that were held for long enough.
    pub(crate) fn review(&mut self, core: &mut Core, now: Time) {
        self.own.expire(now);
        let (view, is_host) = (core.view(), core.roster.is_host());
        self.store.expire(now, is_host, |seat| view.seats().any(|record| record.seat == seat));
        self.settle(core, now);
    }
}

/// Whether an input that others passed on does not count. It does not if the member on its seat has itself told all
/// its inputs, so no peer speaks for a member that lives. It does not either if its seat is gone.
fn has_told(core: &Core, collection: &Collection, (seat, number): (SeatId, u64)) -> bool {
    let record = core.view().seats().find(|record| record.seat == seat);
    record.is_none_or(|record| {
        let is_heard = |peer: PeerId| peer == core.me() || collection.told.contains(&peer);
        record.peer.is_some_and(is_heard) && number > record.since
    })
}
