//! Ownership requests, on the side of the member that makes them (PROTOCOL §4.7).
//!
//! A request is open until the host answers: by GRANT, which the objects handle, or by ANSWER. A member repeats its
//! request to a host that does not answer, and to each new host. A member that asks for an object may change it at
//! once, but only for itself. The event that ends the request tells whether the changes count.

use samovar_objects::{Object, ObjectEvent};
use samovar_wire::claim::{Answer, Denial, Request, Wish};
use samovar_wire::object::MessageKind;
use samovar_wire::{CloseCode, Duration, ObjectId, PeerId, Reader, SortedMap, Time};

use super::OwnershipState;
use crate::context::Context;
use crate::core::Phase;
use crate::settle::News;
use crate::{Event, Outcome};

/// How many ownership requests of this peer may be open at a time.
pub const WISHES_MAX: usize = 64;
/// A host that has not answered within this time is asked again.
const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(1_500);
/// How many times a request is sent at most.
const TRIES_MAX: u8 = 4;

/// Why an ownership request was not sent to the host. The caller is at fault, unless another member was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WishError {
    /// There is no such object, or it is gone.
    Unknown,
    /// The session object goes with the host; no member can ask for it.
    Forbidden,
    /// This peer is no member.
    NotAMember,
    /// This peer does not own the object, so it cannot give it away.
    NotOwner,
    /// Another request for the same object is open.
    Pending,
    /// [`WISHES_MAX`] requests are open.
    TooMany,
}

impl core::fmt::Display for WishError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "there is no such object",
            Self::Forbidden => "the session object goes with the host",
            Self::NotAMember => "this peer is no member",
            Self::NotOwner => "another peer owns the object",
            Self::Pending => "another request for the object is open",
            Self::TooMany => "too many requests are open",
        })
    }
}

impl core::error::Error for WishError {}

/// A request that the host has not answered.
#[derive(Clone, Copy, Debug)]
struct Open {
    request: Request,
    told: Time,
    tries: u8,
}

/// The open requests of this peer.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes(SortedMap<ObjectId, Open>);

impl OwnershipState {
    pub(crate) fn wish(
        &mut self,
        ctx: &mut Context<'_>,
        id: ObjectId,
        wish: Wish,
    ) -> Result<News, WishError> {
        if ctx.core.phase != Phase::Member {
            return Err(WishError::NotAMember);
        }
        if id == ObjectId::SESSION {
            return Err(WishError::Forbidden);
        }
        let object = ctx.objects.get(id).ok_or(WishError::Unknown)?;
        let (is_mine, known) = (object.owner() == ctx.core.me(), object.stamp());
        let is_taking = matches!(wish, Wish::Request | Wish::Touch);
        match self.wishes.0.get(&id) {
            Some(open) if open.request.wish == wish => return Ok(News::NONE),
            Some(_) => return Err(WishError::Pending),
            None if is_taking && is_mine => return Ok(News::NONE),
            None if !is_taking && !is_mine => return Err(WishError::NotOwner),
            None if self.wishes.0.len() >= WISHES_MAX => return Err(WishError::TooMany),
            None => {}
        }
        if is_taking {
            ctx.objects.claim(id).map_err(|_| WishError::Unknown)?;
        }
        let request = Request { id, known, time: ctx.core.time(ctx.now), wish };
        self.wishes.0.insert(id, Open { request, told: ctx.now, tries: 1 });
        Ok(self.tell_wish(ctx, &request))
    }

    /// Sends a request to the host. If the link has no room, the host is asked again later.
    fn tell_wish(&mut self, ctx: &mut Context<'_>, request: &Request) -> News {
        if ctx.core.is_host() && request.wish == Wish::Release {
            self.arbiter.kept.remove(&request.id);
            self.end_wish(ctx, request.id, Outcome::Moved(ctx.core.me()));
            News::NONE
        } else if ctx.core.is_host() {
            self.decide(ctx, ctx.core.me(), request)
        } else {
            ctx.core.net.send_about(ctx.core.host(), MessageKind::Request, |out| request.encode(out));
            News::NONE
        }
    }

    pub(crate) fn handle_answer(
        &mut self,
        ctx: &mut Context<'_>,
        from: PeerId,
        body: &[u8],
    ) -> Result<News, CloseCode> {
        let mut reader = Reader::new(body);
        let answer = Answer::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
        reader.end().map_err(|_| CloseCode::Malformed)?;
        let open = self.wishes.0.get(&answer.id);
        let is_open = open.is_some_and(|open| open.request.wish.number() == answer.wish);
        // An answer of a former host, or to a request that was settled otherwise, is merely old.
        if is_open && from == ctx.core.host() {
            self.deny_wish(ctx, answer.id, answer.denial);
        }
        Ok(News::NONE)
    }

    /// Ends a request of this peer that failed.
    pub(crate) fn deny_wish(&mut self, ctx: &mut Context<'_>, id: ObjectId, denial: Denial) {
        let outcome = match denial {
            Denial::LostTo(peer) => Outcome::LostTo(peer),
            denial => Outcome::Denied(denial),
        };
        self.end_wish(ctx, id, outcome);
    }

    fn end_wish(&mut self, ctx: &mut Context<'_>, id: ObjectId, outcome: Outcome) {
        let Some(open) = self.wishes.0.remove(&id) else { return };
        let last = ctx.objects.end_claim(id).map(Box::<Object>::new);
        ctx.core.push_event(Event::Ownership { id, wish: open.request.wish, outcome, last });
    }

    /// Ends a request whose object is gone, or has changed as the request asked.
    pub(super) fn settle_wishes(&mut self, ctx: &mut Context<'_>, event: &ObjectEvent) {
        match *event {
            ObjectEvent::OwnerChanged { id, from, to } => {
                let Some(open) = self.wishes.0.get(&id) else { return };
                let is_taking = matches!(open.request.wish, Wish::Request | Wish::Touch);
                if is_taking && to == ctx.core.me() {
                    self.end_wish(ctx, id, Outcome::Granted);
                } else if !is_taking && from == ctx.core.me() {
                    self.end_wish(ctx, id, Outcome::Moved(to));
                }
            }
            ObjectEvent::Destroyed { id, .. } => self.deny_wish(ctx, id, Denial::Unknown),
            _ => {}
        }
    }

    /// Repeats requests that were not answered.
    pub(crate) fn review_wishes(&mut self, ctx: &mut Context<'_>) -> News {
        let is_due = |open: &&Open| open.told + ASKED_AGAIN_AFTER <= ctx.now;
        let due: Vec<_> = self.wishes.0.values().filter(is_due).map(|open| open.request.id).collect();
        self.repeat_wishes(ctx, due)
    }

    /// Repeats all open requests to a new host.
    pub(crate) fn renew_wishes(&mut self, ctx: &mut Context<'_>) -> News {
        let all = self.wishes.0.keys().copied().collect();
        self.repeat_wishes(ctx, all)
    }

    fn repeat_wishes(&mut self, ctx: &mut Context<'_>, ids: Vec<ObjectId>) -> News {
        let mut news = News::NONE;
        for id in ids {
            let stamp = ctx.objects.get(id).map(Object::stamp);
            let Some(open) = self.wishes.0.get_mut(&id) else { continue };
            let Some(known) = stamp.filter(|_| open.tries < TRIES_MAX) else {
                let denial = if stamp.is_some() { Denial::NoAnswer } else { Denial::Unknown };
                self.deny_wish(ctx, id, denial);
                continue;
            };
            (open.told, open.tries, open.request.known) = (ctx.now, open.tries + 1, known);
            let request = open.request;
            news |= self.tell_wish(ctx, &request);
        }
        news
    }
}
