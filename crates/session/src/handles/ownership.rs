//! Ownership requests, as a game makes them and a host's game decides them (PROTOCOL §4.7).

use samovar_wire::claim::Wish;
use samovar_wire::{ObjectId, PeerId, Time};

use crate::context::Context;
use crate::{OwnershipPolicy, OwnershipRequest, Session, WishError};

/// The ownership of objects, by [`crate::Session::ownership`].
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
    /// Asks the host for an object. From now on this peer may change the object as if it were its own; until it owns
    /// the object, no other peer sees the changes. [`crate::Event::Ownership`] tells the outcome. Asking for an
    /// object that this peer owns does nothing.
    ///
    /// Unless the host's game decides, [`samovar_wire::object::Access`] says which members may ask, and when.
    ///
    /// # Errors
    /// See [`WishError`].
    pub fn request(&mut self, id: ObjectId) -> Result<(), WishError> {
        self.wish(id, Wish::Request)
    }

    /// Gives an object that this peer owns to the host, which may give it to another member.
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

    /// Asks as [`Ownership::request`] does, for an object that this peer touches. Of all members that touch it at
    /// about the same time, the first by session time gets it. For a moment the object does not change owners again.
    /// A game may call this for as long as the touch lasts.
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

    /// Sets how this peer decides ownership requests while it hosts; [`OwnershipPolicy::ByAccess`] unless set.
    pub const fn set_policy(&mut self, policy: OwnershipPolicy) {
        self.session.ownership.set_policy(policy);
    }

    /// The next ownership request that the host's game has to decide, by [`Ownership::answer`]. If the game never
    /// answers, the sender asks again, and gives up in the end.
    pub fn poll_request(&mut self) -> Option<OwnershipRequest> {
        self.session.ownership.poll_request()
    }

    /// Decides an ownership request. It does nothing when the request has ended otherwise: its sender or its object
    /// is gone, or this peer no longer hosts.
    pub fn answer(&mut self, asked: &OwnershipRequest, is_granted: bool) {
        let Session { core, objects, ownership, .. } = &mut *self.session;
        core.stir();
        let news = ownership.answer(&mut Context { core, objects, now: self.now }, asked, is_granted);
        self.session.settle(self.now, news);
    }

    /// Sets whether this peer, while it hosts, spreads objects over all members, at most four a second; off unless set.
    /// Only objects whose traits say `balanced` move: those for which no member may ask; those that the host owns by
    /// creation, release or inheritance, unless its own game asked for them; and those that were spread before.
    pub const fn set_balancing(&mut self, is_on: bool) {
        self.session.ownership.set_balancing(is_on);
    }
}
