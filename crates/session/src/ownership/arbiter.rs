//! The arbiter, the host's side of ownership: it grants and denies ownership requests, or puts them to the host's game.
//!
//! The arbiter's state ends with the host's reign. Only the frozen objects, and the seats that they wait for, outlast
//! it: each member keeps track of these by itself. Members with open requests ask a new host again.

use samovar_objects::{Focus, Object, ObjectError, ObjectEvent, Objects};
use samovar_wire::claim::{Answer, Denial, Request, Wish};
use samovar_wire::limits::{OBJECTS_AT_HOST_MAX, OBJECTS_PER_PEER_MAX};
use samovar_wire::object::{Access, MessageKind, Orphan};
use samovar_wire::{CloseCode, Duration, ObjectId, PeerId, Reader, SeatId, SortedMap, SortedSet, Time};

use super::{OwnershipState, WISHES_MAX};
use crate::context::Context;
use crate::core::Core;
use crate::settle::News;

/// How many ownership requests a member may send at once, and how many more each second.
const WISHES_AT_ONCE: u64 = 128;
const WISHES_PER_SECOND: u64 = 32;
/// How long a touched object waits for members that touched it earlier and are heard later.
const TOUCH_WINDOW: Duration = Duration::from_millis(100);
/// In microseconds: a touch counts as at most this old, whatever its sender says.
const TOUCH_AGE_MAX: i64 = 250_000;
/// A shared or balanced object that was given to a new owner is not given away again within this time.
const HELD_FOR: Duration = Duration::from_millis(500);
/// If the host learns within this time that the former owner of an object has ended, the object came to the host by
/// that end, and not by a release.
const INHERITED_FOR: Duration = Duration::from_millis(2_000);
/// A grant that is not taken up within this time is void.
const TAKEN_WITHIN: Duration = Duration::from_millis(5_000);

/// No seat has this id.
const NO_SEAT: SeatId = SeatId(0);

/// How the host decides ownership requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnershipPolicy {
    /// By the [`Access`] of the object.
    #[default]
    ByAccess,
    /// The game decides: [`crate::Ownership::poll_request`].
    Ask,
}

/// An ownership request that the host's game has to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnershipRequest {
    /// The member that asks.
    pub from: PeerId,
    /// The object, what the member asks for, and when it asked: session time, as the member states it.
    pub request: Request,
}

/// The arbiter's verdict on a request.
enum Verdict {
    Grant(PeerId),
    /// The game decides.
    Ask,
    /// The member that touched the object first gets it.
    Contest,
    /// The member holds the object already.
    Settled,
}

/// All members that touched an object within the window.
#[derive(Clone, Debug)]
struct Contest {
    until: Time,
    touches: Vec<(Time, PeerId, Request)>,
}

/// The state of the arbiter.
#[derive(Clone, Debug, Default)]
pub(super) struct Arbiter {
    pub(super) policy: OwnershipPolicy,
    /// Requests that the game has not polled yet. `asked` holds all requests that it has not answered.
    pub(super) queue: Vec<OwnershipRequest>,
    asked: SortedMap<(PeerId, ObjectId), Request>,
    contests: SortedMap<ObjectId, Contest>,
    /// When each object was last given to a new owner, remembered for [`HELD_FOR`].
    pub(super) moved: SortedMap<ObjectId, Time>,
    /// Grants that the new owner has not taken up, and until when it may.
    promised: SortedMap<ObjectId, (PeerId, Time)>,
    /// How many requests each member has left, and as of when.
    allowance: SortedMap<PeerId, (u64, Time)>,
    /// Frozen objects, and the seat whose next member each waits for.
    pub(super) frozen: SortedMap<ObjectId, SeatId>,
    /// Objects that came to the host, from which owner and when. News of that owner's end may come later.
    inherited: SortedMap<ObjectId, (PeerId, Time)>,
    /// Objects that the host keeps for itself although their traits allow balancing.
    pub(super) kept: SortedSet<ObjectId>,
}

impl Arbiter {
    /// Whether a member has sent no more requests than it may.
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

impl OwnershipState {
    pub(crate) fn answer(
        &mut self,
        ctx: &mut Context<'_>,
        asked: &OwnershipRequest,
        is_granted: bool,
    ) -> News {
        let key = (asked.from, asked.request.id);
        let Some(request) = self.arbiter.asked.remove(&key) else { return News::NONE };
        let verdict =
            if is_granted { self.weigh(ctx, asked.from, &request, false) } else { Err(Denial::Refused) };
        self.follow(ctx, asked.from, &request, verdict)
    }

    pub(crate) fn handle_request(
        &mut self,
        ctx: &mut Context<'_>,
        from: PeerId,
        body: &[u8],
    ) -> Result<News, CloseCode> {
        let mut reader = Reader::new(body);
        let request = Request::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
        reader.end().map_err(|_| CloseCode::Malformed)?;
        // Only the host decides, and only requests of members. It ignores others: a member asks each new host again.
        if ctx.core.is_host() && ctx.core.view().has(from) {
            if self.arbiter.allows(ctx.now, from) {
                return Ok(self.decide(ctx, from, &request));
            }
            self.deny(ctx, from, &request, Denial::TooMany);
        }
        Ok(News::NONE)
    }

    /// Decides a request of a member, or of this host itself.
    pub(super) fn decide(&mut self, ctx: &mut Context<'_>, from: PeerId, request: &Request) -> News {
        let verdict = self.weigh(ctx, from, request, true);
        self.follow(ctx, from, request, verdict)
    }

    fn weigh(
        &self,
        ctx: &Context<'_>,
        from: PeerId,
        request: &Request,
        may_ask: bool,
    ) -> Result<Verdict, Denial> {
        let Request { id, known, wish, .. } = *request;
        let (me, arbiter) = (ctx.core.me(), &self.arbiter);
        if id == ObjectId::SESSION {
            return Err(Denial::Forbidden);
        }
        let object = ctx.objects.get(id).ok_or(Denial::Unknown)?;
        let promised = ctx.objects.granted_to(id);
        let holder = promised.unwrap_or(object.owner());
        let is_asking = may_ask && arbiter.policy == OwnershipPolicy::Ask && from != me;
        let is_stale = promised.is_some() || known < object.stamp();
        match wish {
            Wish::Release | Wish::Transfer(_) if holder != from => {
                return Err(if promised.is_some() { Denial::LostTo(holder) } else { Denial::NotOwner });
            }
            Wish::Release => return Ok(Verdict::Grant(me)),
            Wish::Transfer(to) => {
                if !ctx.core.view().has(to) {
                    return Err(Denial::NotAMember);
                }
                self.check_room(ctx, to)?;
                return Ok(if is_asking { Verdict::Ask } else { Verdict::Grant(to) });
            }
            Wish::Request | Wish::Touch if holder == from => return Ok(Verdict::Settled),
            Wish::Request | Wish::Touch => {}
        }
        if arbiter.frozen.contains_key(&id) {
            return Err(Denial::Frozen);
        }
        self.check_room(ctx, from)?;
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

    /// Whether a member may own one more object.
    fn check_room(&self, ctx: &Context<'_>, peer: PeerId) -> Result<(), Denial> {
        let limit = if peer == ctx.core.me() { OBJECTS_AT_HOST_MAX } else { OBJECTS_PER_PEER_MAX };
        let promised = self.arbiter.promised.values().filter(|(to, _)| *to == peer).count();
        if ctx.objects.owned_by(peer) + promised < limit { Ok(()) } else { Err(Denial::TooMany) }
    }

    fn follow(
        &mut self,
        ctx: &mut Context<'_>,
        from: PeerId,
        request: &Request,
        verdict: Result<Verdict, Denial>,
    ) -> News {
        let mut news = News::NONE;
        match verdict {
            Err(denial) => self.deny(ctx, from, request, denial),
            Ok(Verdict::Settled) => {}
            Ok(Verdict::Grant(to)) => {
                match self.give(ctx, request.id, to) {
                    Ok(given) => news |= given,
                    Err(_) => self.deny(ctx, from, request, Denial::NotAMember),
                }
                if to == ctx.core.me() && request.wish != Wish::Release {
                    self.arbiter.kept.insert(request.id);
                }
            }
            Ok(Verdict::Ask) => self.ask_game(ctx, from, request),
            Ok(Verdict::Contest) => {
                let time = ctx.core.time(ctx.now);
                let touched = request.time.clamp(time.offset(-TOUCH_AGE_MAX), time);
                let contest = Contest { until: ctx.now + TOUCH_WINDOW, touches: Vec::new() };
                let contest = self.arbiter.contests.entry(request.id).or_insert(contest);
                if !contest.touches.iter().any(|&(_, peer, _)| peer == from) {
                    contest.touches.push((touched, from, *request));
                }
            }
        }
        news
    }

    /// Puts a request to the game, unless the game has it already.
    fn ask_game(&mut self, ctx: &mut Context<'_>, from: PeerId, request: &Request) {
        let first = (from, ObjectId::SESSION);
        let last = (from, ObjectId { creator: PeerId(u32::MAX), number: u32::MAX });
        if self.arbiter.asked.contains_key(&(from, request.id)) {
            return;
        }
        if self.arbiter.asked.range(&first, &last).count() >= WISHES_MAX {
            return self.deny(ctx, from, request, Denial::TooMany);
        }
        self.arbiter.asked.insert((from, request.id), *request);
        self.arbiter.queue.push(OwnershipRequest { from, request: *request });
    }

    /// Denies a request.
    fn deny(&mut self, ctx: &mut Context<'_>, to: PeerId, request: &Request, denial: Denial) {
        if to == ctx.core.me() {
            self.deny_wish(ctx, request.id, denial);
        } else {
            let answer = Answer { id: request.id, wish: request.wish.number(), denial };
            // If the link has no room for the answer, the member asks again.
            ctx.core.net.send_about(to, MessageKind::Answer, |out| answer.encode(out));
        }
    }

    /// As the host, gives an object to a member.
    pub(super) fn give(
        &mut self,
        ctx: &mut Context<'_>,
        id: ObjectId,
        to: PeerId,
    ) -> Result<News, ObjectError> {
        let former = ctx.objects.granted_to(id).filter(|&former| former != to);
        ctx.objects.grant(id, to)?;
        self.note_grant(ctx.core, id, to);
        self.arbiter.kept.remove(&id);
        self.arbiter.moved.insert(id, ctx.now);
        if to != ctx.core.me() {
            self.arbiter.promised.insert(id, (to, ctx.now + TAKEN_WITHIN));
        }
        // The member named by an earlier grant may not know of that grant. This peer tells that member that it lost
        // the object.
        for wish in [Wish::Request, Wish::Touch] {
            if let Some(former) = former {
                let answer = Answer { id, wish: wish.number(), denial: Denial::LostTo(to) };
                ctx.core.net.send_about(former, MessageKind::Answer, |out| answer.encode(out));
            }
        }
        Ok(News::OBJECTS)
    }

    /// Notes that the host's game or the arbiter has granted an object.
    pub(crate) fn note_grant(&mut self, core: &Core, id: ObjectId, to: PeerId) {
        self.arbiter.frozen.remove(&id);
        self.arbiter.promised.remove(&id);
        self.balance.pool.remove(&id);
        if to == core.me() {
            self.arbiter.kept.insert(id);
        }
    }

    /// Takes an event of an object, as far as the host's decisions depend on it.
    pub(super) fn note_for_arbiter(
        &mut self,
        ctx: &mut Context<'_>,
        focus: Option<Focus>,
        event: &ObjectEvent,
    ) {
        match *event {
            ObjectEvent::OwnerChanged { id, from, to } => {
                self.arbiter.promised.remove(&id);
                if to != ctx.core.host() {
                    self.arbiter.frozen.remove(&id);
                    self.arbiter.kept.remove(&id);
                    self.arbiter.inherited.remove(&id);
                } else if has_orphan(ctx.objects, id, Orphan::Freeze) {
                    self.arbiter.inherited.insert(id, (from, ctx.now));
                }
                if to == ctx.core.me() && ctx.core.is_host() && !ctx.core.view().has(from) {
                    self.place_orphan(ctx, focus, id);
                }
            }
            ObjectEvent::Destroyed { id, .. } => self.forget_object(id),
            _ => {}
        }
    }

    /// Forgets an object that is gone.
    pub(crate) fn forget_object(&mut self, id: ObjectId) {
        self.arbiter.forget(id);
        self.balance.pool.remove(&id);
    }

    /// Places an object that the host took over from a peer that is gone. The object stays frozen, or goes to the
    /// nearest member, if its traits say so.
    fn place_orphan(&mut self, ctx: &mut Context<'_>, focus: Option<Focus>, id: ObjectId) {
        if has_orphan(ctx.objects, id, Orphan::Freeze) {
            // If the former owner's seat is not known here, the object waits for no seat.
            self.arbiter.frozen.entry(id).or_insert(NO_SEAT);
        }
        if !has_orphan(ctx.objects, id, Orphan::ToNearest) {
            return;
        }
        let members = ctx.core.view().members().map(|member| member.peer);
        let nearest = ctx.objects.nearest(id, focus, members);
        if let Some(heir) =
            nearest.filter(|&heir| heir != ctx.core.me() && self.check_room(ctx, heir).is_ok())
        {
            // If the grant fails, that member has gone as well, and the host keeps the object.
            let _ = self.give(ctx, id, heir);
        }
    }

    /// Handles that a member is gone from its seat. Those of its objects that freeze wait for the next member on that
    /// seat.
    pub(crate) fn freeze_for(&mut self, objects: &Objects, peer: PeerId, seat: SeatId) {
        let is_left = |object: &&Object| {
            let inherited = self.arbiter.inherited.get(&object.id()).is_some_and(|&(from, _)| from == peer);
            (object.owner() == peer || inherited) && object.traits().orphan == Orphan::Freeze
        };
        let left: Vec<_> = objects.iter().filter(is_left).map(Object::id).collect();
        left.into_iter().for_each(|id| {
            // An object that was frozen already still waits for its first seat.
            self.arbiter.frozen.entry(id).or_insert(seat);
        });
        self.arbiter.allowance.remove(&peer);
        self.arbiter.queue.retain(|request| request.from != peer);
        self.arbiter.asked.retain(|&(from, _), _| from != peer);
    }

    /// Gives the member on a seat the objects that waited for that seat.
    pub(crate) fn unfreeze_for(&mut self, ctx: &mut Context<'_>, peer: PeerId, seat: SeatId) -> News {
        let mut news = News::NONE;
        let waiting = self.arbiter.frozen.iter().filter(|&(_, &of)| of == seat);
        let waiting: Vec<_> = waiting.map(|(&id, _)| id).collect();
        for id in waiting {
            if ctx.core.is_host() && self.check_room(ctx, peer).is_ok() {
                // An object that cannot be granted now stays frozen.
                news |= self.give(ctx, id, peer).unwrap_or(News::NONE);
            }
        }
        news
    }

    /// Decides what is due by time: contests of touches, and grants that no member took up.
    pub(crate) fn arbitrate(&mut self, ctx: &mut Context<'_>) -> News {
        let mut news = News::NONE;
        self.arbiter.moved.retain(|_, at| *at + HELD_FOR > ctx.now);
        self.arbiter.inherited.retain(|_, (_, at)| *at + INHERITED_FOR > ctx.now);
        if !ctx.core.is_host() {
            self.arbiter.contests.clear();
            self.arbiter.promised.clear();
            self.arbiter.queue.clear();
            self.arbiter.asked.clear();
            return news;
        }
        let contests = self.arbiter.contests.extract_if(|_, contest| contest.until <= ctx.now);
        for (id, mut contest) in contests {
            samovar_wire::sorted::sort_by_key(&mut contest.touches, |&(time, peer, _)| (time, peer));
            let mut winner = None;
            for (_, peer, request) in contest.touches {
                let verdict = match winner {
                    Some(winner) => Err(Denial::LostTo(winner)),
                    None => self.weigh(ctx, peer, &request, true),
                };
                if let Ok(Verdict::Contest) = verdict {
                    winner = Some(peer);
                    news |= self.follow(ctx, peer, &request, Ok(Verdict::Grant(peer)));
                } else {
                    news |= self.follow(ctx, peer, &request, verdict);
                }
            }
            debug_assert!(!self.arbiter.contests.contains_key(&id), "a contest that ended begins no other");
        }
        let void = self.arbiter.promised.extract_if(|_, &mut (_, until)| until <= ctx.now);
        for (id, (to, _)) in void {
            if ctx.objects.granted_to(id) == Some(to)
                && let Some(owner) = ctx.objects.get(id).map(Object::owner)
            {
                // The owner gets the object anew, under a stamp that is above the promised one.
                let owner = if ctx.core.view().has(owner) { owner } else { ctx.core.me() };
                news |= self.give(ctx, id, owner).unwrap_or(News::NONE);
            }
        }
        news
    }
}

fn has_orphan(objects: &Objects, id: ObjectId, orphan: Orphan) -> bool {
    objects.get(id).is_some_and(|object| object.traits().orphan == orphan)
}
