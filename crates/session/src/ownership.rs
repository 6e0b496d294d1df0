//! Who owns what: what a member wishes, what a host decides, and how it spreads what is nobody's.

mod arbiter;
mod balance;
mod wishes;

use samovar_objects::{Focus, ObjectEvent};
use samovar_wire::claim::Wish;
use samovar_wire::object::MessageKind;
use samovar_wire::{CloseCode, ObjectId, PeerId, Time};

use crate::Session;
use crate::context::{Context, Incoming};
use crate::settle::News;
use arbiter::Arbiter;
pub use arbiter::{OwnershipPolicy, OwnershipRequest};
use balance::Balance;
use wishes::Wishes;
pub use wishes::{Outcome, WISHES_MAX, WishError};

/// All that concerns the ownership of objects.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    wishes: Wishes,
    arbiter: Arbiter,
    balance: Balance,
}

impl Ownership {
    pub(crate) fn handle(
        &mut self,
        ctx: &mut Context<'_>,
        Incoming { from, kind, body, .. }: Incoming<'_>,
    ) -> Result<News, CloseCode> {
        if kind == MessageKind::Answer {
            self.handle_answer(ctx, from, body)
        } else {
            self.handle_request(ctx, from, body)
        }
    }

    /// What objects did; `focus` is what this peer wants to see.
    pub(crate) fn on_object(&mut self, ctx: &mut Context<'_>, focus: Option<Focus>, event: &ObjectEvent) {
        self.settle_wishes(ctx, event);
        self.note_for_arbiter(ctx, focus, event);
    }
}

impl Session {
    /// Asks the host for an object. From now on this peer may change it as if it were its own; until it is, nobody else
    /// sees that. [`Event::Ownership`] tells the outcome. Asking for what is this peer's does nothing.
    ///
    /// The host's rule, unless its game decides: [`samovar_wire::object::Access`] says who may ask and when.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn request(&mut self, now: Time, id: ObjectId) -> Result<(), WishError> {
        self.core.stir();
        self.wish(now, id, Wish::Request)
    }

    /// Gives an object that this peer owns to the host, which may give it to somebody else.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn release(&mut self, now: Time, id: ObjectId) -> Result<(), WishError> {
        self.core.stir();
        self.wish(now, id, Wish::Release)
    }

    /// Asks the host to give an object that this peer owns to another member.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn transfer(&mut self, now: Time, id: ObjectId, to: PeerId) -> Result<(), WishError> {
        self.core.stir();
        if !self.core.view().has(to) {
            return Err(WishError::NotAMember);
        }
        if to == self.me() && self.objects.get(id).is_some_and(|object| object.owner() == to) {
            return Ok(());
        }
        self.wish(now, id, Wish::Transfer(to))
    }

    /// As [`Session::request`], for an object that this peer touches: of all who touch it at about the same time the
    /// first by session time gets it, and it does not move again at once. May be called as long as the touch lasts.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn touch(&mut self, now: Time, id: ObjectId) -> Result<(), WishError> {
        self.core.stir();
        self.wish(now, id, Wish::Touch)
    }

    fn wish(&mut self, now: Time, id: ObjectId, wish: Wish) -> Result<(), WishError> {
        let mut ctx = Context { core: &mut self.core, objects: &mut self.objects, now };
        let news = self.ownership.wish(&mut ctx, id, wish)?;
        self.settle(now, news);
        Ok(())
    }

    /// How the host decides on what members wish; [`OwnershipPolicy::ByAccess`] unless set. Matters while this peer
    /// hosts.
    pub fn set_ownership_policy(&mut self, policy: OwnershipPolicy) {
        self.ownership.arbiter.policy = policy;
    }

    /// The next wish that the host's game has to decide, by [`Session::answer_request`]. One that it never answers
    /// is asked again by whoever wishes it, and given up in the end.
    pub fn poll_request(&mut self) -> Option<OwnershipRequest> {
        let queue = &mut self.ownership.arbiter.queue;
        (!queue.is_empty()).then(|| queue.remove(0))
    }

    /// The game's decision. It does nothing when the wish was settled otherwise: its sender or its object is gone, or
    /// this peer hosts no longer.
    pub fn answer_request(&mut self, now: Time, asked: &OwnershipRequest, is_granted: bool) {
        self.core.stir();
        let mut ctx = Context { core: &mut self.core, objects: &mut self.objects, now };
        let news = self.ownership.answer(&mut ctx, asked, is_granted);
        self.settle(now, news);
    }

    /// Whether this peer, while it hosts, spreads objects that nobody in particular owns over all members, at most
    /// four a second; off unless set. Only objects whose traits say `balanced` move: those that the host owns, by
    /// creation, release or inheritance, unless its own game asked for them, and those that were spread before.
    pub fn set_balancing(&mut self, is_on: bool) {
        self.ownership.balance.is_on = is_on;
    }
}
