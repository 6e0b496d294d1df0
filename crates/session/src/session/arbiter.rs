//! Who shall own what, from the host's side: what members wish is granted, denied, or put to the host's game.
//!
//! Nothing here outlives the host's reign but what each member sees for itself: which frozen objects wait for which
//! seat. A new host is asked anew by whoever still wishes something.
use samovar_objects::{Object, ObjectError, ObjectEvent};
use samovar_wire::claim::{Answer, Denial, Request, Wish};
use samovar_wire::limits::{OBJECTS_AT_HOST_MAX, OBJECTS_PER_PEER_MAX};
use samovar_wire::object::{Access, MessageKind, Orphan};
use samovar_wire::{CloseCode, Duration, ObjectId, PeerId, Reader, SeatId, SortedMap, SortedSet, Time};

use super::Session;
use super::ownership::WISHES_MAX;

/// How many wishes a member may tell at once, and how many more it may each second.
const WISHES_AT_ONCE: u64 = 128;
const WISHES_PER_SECOND: u64 = 32;
/// How long a touched object waits for those who touched it before and are heard later.
const TOUCH_WINDOW: Duration = Duration::from_millis(100);
/// A touch counts as at most this old, whatever its sender says.
const TOUCH_AGE_MAX: i64 = 250_000;
/// An object that moved stays for so long.
const HELD_FOR: Duration = Duration::from_millis(500);
/// An object whose owner's end is heard of within this time came to the host by that end, and not by release.
const INHERITED_FOR: Duration = Duration::from_millis(2_000);
/// A grant that is not taken up for so long is void.
const TAKEN_WITHIN: Duration = Duration::from_millis(5_000);

/// Nobody sits here.
const NO_SEAT: SeatId = SeatId(0);

/// How the host decides on what members wish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnershipPolicy {
    /// By the [`Access`] of the object.
    #[default]
    ByAccess,
    /// The game decides: [`Session::poll_request`].
    Ask,
}

/// A member wishes something that the host's game has to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnershipRequest {
    /// Who.
    pub from: PeerId,
    /// What about which object, and when it wished so: session time, by its own word.
    pub request: Request,
}

/// What follows from a wish.
enum Verdict {
    Grant(PeerId),
    /// The game decides.
    Ask,
    /// Whoever touched it first.
    Contest,
    /// It is granted already, or put to the game.
    Settled,
}

/// Everybody who touched an object within the window.
#[derive(Clone, Debug)]
struct Contest {
    until: Time,
    touches: Vec<(Time, PeerId, Request)>,
}

/// What the host has to remember to decide.
#[derive(Clone, Debug, Default)]
pub(super) struct Arbiter {
    policy: OwnershipPolicy,
    /// What the game has not seen yet, and what it has not answered.
    queue: Vec<OwnershipRequest>,
    asked: SortedMap<(PeerId, ObjectId), Request>,
    contests: SortedMap<ObjectId, Contest>,
    /// When an object moved last, for a while.
    pub(super) moved: SortedMap<ObjectId, Time>,
    /// Grants to be taken up, until when.
    promised: SortedMap<ObjectId, (PeerId, Time)>,
    /// What each member may still wish now, and as of when.
    allowance: SortedMap<PeerId, (u64, Time)>,
    /// Objects that wait for whoever takes a seat.
    pub(super) frozen: SortedMap<ObjectId, SeatId>,
    /// Objects that came to the host, from whom and when: news of their owner's end may come behind.
    inherited: SortedMap<ObjectId, (PeerId, Time)>,
    /// Objects that the host keeps for itself although they may be balanced.
    pub(super) kept: SortedSet<ObjectId>,
}

impl Arbiter {
    /// Whether a member has told no more wishes than it may.
    fn allows(&mut self, now: Time, peer: PeerId) -> bool {
        let (left, since) = self.allowance.entry(peer).or_insert((WISHES_AT_ONCE, now));
        let earned = now.since(*since).as_micros() * WISHES_PER_SECOND / 1_000_000;
        if earned > 0 {
            (*left, *since) = ((*left + earned).min(WISHES_AT_ONCE), now);
        }
        *left = left.saturating_sub(1);
        *left > 0
    }

    fn forget(&mut self, id: ObjectId) {
        self.contests.remove(&id);
        self.moved.remove(&id);
        self.promised.remove(&id);
        self.frozen.remove(&id);
        self.inherited.remove(&id);
        self.kept.remove(&id);
        self.queue.retain(|request| request.request.id != id);
        self.asked.retain(|&(_, asked), _| asked != id);
    }
}

impl Session {
    /// How the host decides on what members wish; [`OwnershipPolicy::ByAccess`] unless set. Matters while this peer
    /// hosts.
    pub fn set_ownership_policy(&mut self, policy: OwnershipPolicy) {
        self.arbiter.policy = policy;
    }

    /// The next wish that the host's game has to decide, by [`Session::answer_request`]. One that it never answers
    /// is asked again by whoever wishes it, and given up in the end.
    pub fn poll_request(&mut self) -> Option<OwnershipRequest> {
        let queue = &mut self.arbiter.queue;
        (!queue.is_empty()).then(|| queue.remove(0))
    }

    /// The game's decision. It does nothing when the wish was settled otherwise: its sender or its object is gone, or
    /// this peer hosts no longer.
    pub fn answer_request(&mut self, now: Time, asked: &OwnershipRequest, is_granted: bool) {
        self.stir();
        let key = (asked.from, asked.request.id);
        let Some(request) = self.arbiter.asked.remove(&key) else { return };
        let verdict = if is_granted { self.weigh(asked.from, &request, false) } else { Err(Denial::Refused) };
        self.follow(now, asked.from, &request, verdict);
    }

    pub(super) fn handle_request(&mut self, now: Time, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(body);
        let request = Request::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
        reader.end().map_err(|_| CloseCode::Malformed)?;
        // Who asks a former host will ask its successor.
        if self.is_host() && self.view.has(from) {
            if self.arbiter.allows(now, from) {
                self.decide(now, from, &request);
            } else {
                self.deny(from, &request, Denial::TooMany);
            }
        }
        Ok(())
    }

    /// Decides on what a member, or this host itself, wishes.
    pub(super) fn decide(&mut self, now: Time, from: PeerId, request: &Request) {
        let verdict = self.weigh(from, request, true);
        self.follow(now, from, request, verdict);
    }

    fn weigh(&self, from: PeerId, request: &Request, may_ask: bool) -> Result<Verdict, Denial> {
        let Request { id, known, wish, .. } = *request;
        let (me, arbiter) = (self.config.me, &self.arbiter);
        if id == ObjectId::SESSION {
            return Err(Denial::Forbidden);
        }
        let object = self.objects.get(id).ok_or(Denial::Unknown)?;
        let promised = self.objects.granted_to(id);
        let holder = promised.unwrap_or(object.owner());
        let is_asking = may_ask && arbiter.policy == OwnershipPolicy::Ask && from != me;
        let is_stale = promised.is_some() || known < object.stamp();
        match wish {
            Wish::Release | Wish::Transfer(_) if holder != from => {
                return Err(if promised.is_some() { Denial::LostTo(holder) } else { Denial::NotOwner });
            }
            Wish::Release => return Ok(Verdict::Grant(me)),
            Wish::Transfer(to) => {
                if !self.view.has(to) {
                    return Err(Denial::NotAMember);
                }
                self.check_room(to)?;
                return Ok(if is_asking { Verdict::Ask } else { Verdict::Grant(to) });
            }
            Wish::Request | Wish::Touch if holder == from => return Ok(Verdict::Settled),
            Wish::Request | Wish::Touch => {}
        }
        if arbiter.frozen.contains_key(&id) {
            return Err(Denial::Frozen);
        }
        self.check_room(from)?;
        if is_asking {
            return Ok(Verdict::Ask);
        }
        if !may_ask {
            return Ok(Verdict::Grant(from));
        }
        match object.traits().access {
            Access::Exclusive => return Err(Denial::Forbidden),
            Access::Free if holder != me && is_stale => return Err(Denial::LostTo(holder)),
            Access::Free if holder != me => return Err(Denial::NotAvailable),
            Access::Shared if arbiter.moved.contains_key(&id) => {
                return Err(if is_stale && holder != me { Denial::LostTo(holder) } else { Denial::TooSoon });
            }
            Access::Free | Access::Shared => {}
        }
        Ok(if wish == Wish::Touch { Verdict::Contest } else { Verdict::Grant(from) })
    }

    /// Whether a member may own one more.
    fn check_room(&self, peer: PeerId) -> Result<(), Denial> {
        let limit = if peer == self.config.me { OBJECTS_AT_HOST_MAX } else { OBJECTS_PER_PEER_MAX };
        let promised = self.arbiter.promised.values().filter(|(to, _)| *to == peer).count();
        if self.objects.owned_by(peer) + promised < limit { Ok(()) } else { Err(Denial::TooMany) }
    }

    fn follow(&mut self, now: Time, from: PeerId, request: &Request, verdict: Result<Verdict, Denial>) {
        match verdict {
            Err(denial) => self.deny(from, request, denial),
            Ok(Verdict::Settled) => {}
            Ok(Verdict::Grant(to)) => {
                if self.give(now, request.id, to).is_err() {
                    self.deny(from, request, Denial::NotAMember);
                }
                if to == self.config.me && request.wish != Wish::Release {
                    self.arbiter.kept.insert(request.id);
                }
            }
            Ok(Verdict::Ask) => self.ask_game(from, request),
            Ok(Verdict::Contest) => {
                let time = self.clock.time(now);
                let touched = request.time.clamp(time.offset(-TOUCH_AGE_MAX), time);
                let contest = Contest { until: now + TOUCH_WINDOW, touches: Vec::new() };
                let contest = self.arbiter.contests.entry(request.id).or_insert(contest);
                if !contest.touches.iter().any(|&(_, peer, _)| peer == from) {
                    contest.touches.push((touched, from, *request));
                }
            }
        }
    }

    /// Puts a wish to the game, unless it has it already.
    fn ask_game(&mut self, from: PeerId, request: &Request) {
        let first = (from, ObjectId::SESSION);
        let last = (from, ObjectId { creator: PeerId(u32::MAX), number: u32::MAX });
        if self.arbiter.asked.contains_key(&(from, request.id)) {
            return;
        }
        if self.arbiter.asked.range(&first, &last).count() >= WISHES_MAX {
            return self.deny(from, request, Denial::TooMany);
        }
        self.arbiter.asked.insert((from, request.id), *request);
        self.arbiter.queue.push(OwnershipRequest { from, request: *request });
    }

    /// Says no.
    fn deny(&mut self, to: PeerId, request: &Request, denial: Denial) {
        if to == self.config.me {
            self.deny_wish(request.id, denial);
        } else {
            let answer = Answer { id: request.id, wish: request.wish.number(), denial };
            // Who does not hear it for want of room asks again.
            self.send_about(to, MessageKind::Answer, |out| answer.encode(out));
        }
    }

    /// The host gives an object to a member.
    pub(super) fn give(&mut self, now: Time, id: ObjectId, to: PeerId) -> Result<(), ObjectError> {
        let former = self.objects.granted_to(id).filter(|&former| former != to);
        self.objects.grant(id, to)?;
        self.note_grant(id, to);
        self.arbiter.kept.remove(&id);
        self.arbiter.moved.insert(id, now);
        if to != self.config.me {
            self.arbiter.promised.insert(id, (to, now + TAKEN_WITHIN));
        }
        // Whoever was promised it and has not heard so will not.
        for wish in [Wish::Request, Wish::Touch] {
            if let Some(former) = former {
                let answer = Answer { id, wish: wish.number(), denial: Denial::LostTo(to) };
                self.send_about(former, MessageKind::Answer, |out| answer.encode(out));
            }
        }
        self.after_objects(now);
        Ok(())
    }

    /// The host's game, or this peer for it, granted an object.
    pub(super) fn note_grant(&mut self, id: ObjectId, to: PeerId) {
        self.arbiter.frozen.remove(&id);
        self.arbiter.promised.remove(&id);
        self.balance.pool.remove(&id);
        if to == self.config.me {
            self.arbiter.kept.insert(id);
        }
    }

    /// What objects did, as far as the host's decisions depend on it.
    pub(super) fn note_for_arbiter(&mut self, now: Time, event: &ObjectEvent) {
        match *event {
            ObjectEvent::OwnerChanged { id, from, to } => {
                self.arbiter.promised.remove(&id);
                if to != self.host() {
                    self.arbiter.frozen.remove(&id);
                    self.arbiter.kept.remove(&id);
                    self.arbiter.inherited.remove(&id);
                } else if self.has_orphan(id, Orphan::Freeze) {
                    self.arbiter.inherited.insert(id, (from, now));
                }
                if to == self.config.me && self.is_host() && !self.view.has(from) {
                    self.place_orphan(now, id);
                }
            }
            ObjectEvent::Destroyed { id, .. } => self.forget_object(id),
            _ => {}
        }
    }

    /// An object is gone.
    pub(super) fn forget_object(&mut self, id: ObjectId) {
        self.arbiter.forget(id);
        self.balance.pool.remove(&id);
    }

    fn has_orphan(&self, id: ObjectId, orphan: Orphan) -> bool {
        self.objects.get(id).is_some_and(|object| object.traits().orphan == orphan)
    }

    /// The host took over an object of a peer that is gone: one that goes to the nearest goes on.
    fn place_orphan(&mut self, now: Time, id: ObjectId) {
        if self.has_orphan(id, Orphan::Freeze) {
            // Who this peer only hears of now that it is gone has no seat that could be told.
            self.arbiter.frozen.entry(id).or_insert(NO_SEAT);
        }
        if !self.has_orphan(id, Orphan::ToNearest) {
            return;
        }
        let members = self.view.members().map(|member| member.peer);
        let nearest = self.objects.nearest(id, self.focus, members);
        if let Some(heir) = nearest.filter(|&heir| heir != self.config.me && self.check_room(heir).is_ok()) {
            // Who cannot be granted it has gone as well; then the host keeps it.
            let _ = self.give(now, id, heir);
        }
    }

    /// A member is gone from its seat: what it froze waits for whoever sits there next.
    pub(super) fn freeze_for(&mut self, peer: PeerId, seat: SeatId) {
        let is_left = |object: &&Object| {
            let inherited = self.arbiter.inherited.get(&object.id()).is_some_and(|&(from, _)| from == peer);
            (object.owner() == peer || inherited) && object.traits().orphan == Orphan::Freeze
        };
        let left: Vec<_> = self.objects.iter().filter(is_left).map(Object::id).collect();
        left.into_iter().for_each(|id| {
            // What was frozen already waits for whom it waited for.
            self.arbiter.frozen.entry(id).or_insert(seat);
        });
        self.arbiter.allowance.remove(&peer);
        self.arbiter.queue.retain(|request| request.from != peer);
        self.arbiter.asked.retain(|&(from, _), _| from != peer);
    }

    /// Somebody sits on a seat: what waited for it goes there.
    pub(super) fn unfreeze_for(&mut self, now: Time, peer: PeerId, seat: SeatId) {
        let waiting = self.arbiter.frozen.iter().filter(|&(_, &of)| of == seat);
        let waiting: Vec<_> = waiting.map(|(&id, _)| id).collect();
        for id in waiting {
            if self.is_host() && self.check_room(peer).is_ok() {
                // What cannot be granted now waits on.
                let _ = self.give(now, id, peer);
            }
        }
    }

    /// Decides what time decides: touches, grants that nobody took up.
    pub(super) fn arbitrate(&mut self, now: Time) {
        self.arbiter.moved.retain(|_, at| *at + HELD_FOR > now);
        self.arbiter.inherited.retain(|_, (_, at)| *at + INHERITED_FOR > now);
        if !self.is_host() {
            self.arbiter.contests.clear();
            self.arbiter.promised.clear();
            self.arbiter.queue.clear();
            self.arbiter.asked.clear();
            return;
        }
        let contests = self.arbiter.contests.extract_if(|_, contest| contest.until <= now);
        for (id, mut contest) in contests {
            samovar_wire::sorted::sort_by_key(&mut contest.touches, |&(time, peer, _)| (time, peer));
            let mut winner = None;
            for (_, peer, request) in contest.touches {
                let verdict = match winner {
                    Some(winner) => Err(Denial::LostTo(winner)),
                    None => self.weigh(peer, &request, true),
                };
                if let Ok(Verdict::Contest) = verdict {
                    winner = Some(peer);
                    self.follow(now, peer, &request, Ok(Verdict::Grant(peer)));
                } else {
                    self.follow(now, peer, &request, verdict);
                }
            }
            debug_assert!(!self.arbiter.contests.contains_key(&id), "a contest that ended begins no other");
        }
        let void = self.arbiter.promised.extract_if(|_, &mut (_, until)| until <= now);
        for (id, (to, _)) in void {
            if self.objects.granted_to(id) == Some(to)
                && let Some(owner) = self.objects.get(id).map(Object::owner)
            {
                // Its owner gets it anew, under a stamp that is above the promised one.
                let owner = if self.view.has(owner) { owner } else { self.config.me };
                let _ = self.give(now, id, owner);
            }
        }
    }
}
