//! What a game wishes of the ownership of objects, and what a host's game decides (PROTOCOL §4.7).

use samovar_wire::claim::Wish;
use samovar_wire::{ObjectId, PeerId, Time};

use crate::context::Context;
use crate::{OwnershipPolicy, OwnershipRequest, Session, WishError};

/// Who owns what, by [`crate::Session::ownership`].
#[derive(Debug)]
pub struct Ownership<'a> {
    pub(super) session: &'a mut Session,
    pub(super) now: Time,
}

impl Session {
    /// Asks the host for objects, gives them back, and decides who gets them while this peer hosts.
    pub const fn ownership(&mut self, now: Time) -> Ownership<'_> {
        Ownership { session: self, now }
    }
}

impl Ownership<'_> {
    /// Asks the host for an object. From now on this peer may change it as if it were its own; until it is, nobody else
    /// sees that. [`crate::Event::Ownership`] tells the outcome. Asking for what is this peer's does nothing.
    ///
    /// The host's rule, unless its game decides: [`samovar_wire::object::Access`] says who may ask and when.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn request(&mut self, id: ObjectId) -> Result<(), WishError> {
        self.wish(id, Wish::Request)
    }

    /// Gives an object that this peer owns to the host, which may give it to somebody else.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn release(&mut self, id: ObjectId) -> Result<(), WishError> {
        self.wish(id, Wish::Release)
    }

    /// Asks the host to give an object that this peer owns to another member.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn transfer(&mut self, id: ObjectId, to: PeerId) -> Result<(), WishError> {
        self.session.core.stir();
        if !self.session.core.view().has(to) {
            return Err(WishError::NotAMember);
        }
        if to == self.session.me() && self.session.object(id).is_some_and(|object| object.owner() == to) {
            return Ok(());
        }
        self.wish(id, Wish::Transfer(to))
    }

    /// As [`Ownership::request`], for an object that this peer touches: of all who touch it at about the same time the
    /// first by session time gets it, and it does not move again at once. May be called as long as the touch lasts.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn touch(&mut self, id: ObjectId) -> Result<(), WishError> {
        self.wish(id, Wish::Touch)
    }

    fn wish(&mut self, id: ObjectId, wish: Wish) -> Result<(), WishError> {
        let Session { core, objects, ownership, .. } = &mut *self.session;
        core.stir();
        let news = ownership.wish(&mut Context { core, objects, now: self.now }, id, wish)?;
        self.session.settle(self.now, news);
        Ok(())
    }

    /// How the host decides on what members wish; [`OwnershipPolicy::ByAccess`] unless set. Matters while this peer
    /// hosts.
    pub const fn set_policy(&mut self, policy: OwnershipPolicy) {
        self.session.ownership.set_policy(policy);
    }

    /// The next wish that the host's game has to decide, by [`Ownership::answer`]. One that it never answers is asked
    /// again by whoever wishes it, and given up in the end.
    pub fn poll_request(&mut self) -> Option<OwnershipRequest> {
        self.session.ownership.poll_request()
    }

    /// The game's decision. It does nothing when the wish was settled otherwise: its sender or its object is gone, or
    /// this peer hosts no longer.
    pub fn answer(&mut self, asked: &OwnershipRequest, is_granted: bool) {
        let Session { core, objects, ownership, .. } = &mut *self.session;
        core.stir();
        let news = ownership.answer(&mut Context { core, objects, now: self.now }, asked, is_granted);
        self.session.settle(self.now, news);
    }

    /// Whether this peer, while it hosts, spreads objects that nobody in particular owns over all members, at most
    /// four a second; off unless set. Only objects whose traits say `balanced` move: those that the host owns, by
    /// creation, release or inheritance, unless its own game asked for them, and those that were spread before.
    pub const fn set_balancing(&mut self, is_on: bool) {
        self.session.ownership.set_balancing(is_on);
    }
}
