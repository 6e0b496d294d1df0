//! What a game calls of the services: calls to others, inputs, interest, lockstep, ownership.

use samovar_objects::Focus;
use samovar_wire::claim::Wish;
use samovar_wire::{ObjectId, PeerId, Time};

use crate::calls::packed;
use crate::context::Context;
use crate::settle::News;
use crate::{
    Call, CallError, CallId, CallKey, CallOutcome, IncomingCall, Lockstep, OwnershipPolicy, OwnershipRequest,
    Procedure, Reply, ReplyError, Session, SubmitError, WishError,
};

impl Session {
    /// Calls another peer's game; [`crate::Event::Reply`] tells how that ended, exactly once.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn call(&mut self, now: Time, call: Call<'_>) -> Result<CallId, CallError> {
        self.core.stir();
        let to = self.core.receiver(&self.objects, call.target).ok_or(CallError::NoSuchPeer)?;
        self.calls.call(&mut self.core, now, to, call)
    }

    /// Calls a [`Procedure`]; the method and the bytes of `call` do not matter.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn call_as<P: Procedure>(
        &mut self,
        now: Time,
        call: Call<'_>,
        request: &P::Request,
    ) -> Result<CallId, CallError> {
        let bits = packed(request);
        self.call(now, Call { method: P::METHOD, bytes: bits.bytes(), ..call })
    }

    /// Waits for an answer no longer; [`CallOutcome::Cancelled`] follows, unless the call has ended.
    pub fn cancel(&mut self, id: CallId) {
        self.core.stir();
        self.calls.give_up(&mut self.core, id, CallOutcome::Cancelled);
    }

    /// The next call of another peer. Each must be answered: who has `CALLS_PER_PEER_MAX` open is told `Busy`.
    pub fn poll_call(&mut self) -> Option<IncomingCall> {
        self.calls.poll()
    }

    /// Whether a call of another peer waits for an answer still: it may have been cancelled.
    #[must_use]
    pub fn is_waiting(&self, key: CallKey) -> bool {
        self.calls.is_open(key)
    }

    /// Answers a call of another peer.
    ///
    /// # Errors
    /// See [`ReplyError`].
    pub fn reply(&mut self, key: CallKey, reply: Reply<'_>) -> Result<(), ReplyError> {
        self.core.stir();
        self.calls.reply(&mut self.core, key, reply)
    }

    /// Answers a call of a [`Procedure`].
    ///
    /// # Errors
    /// See [`ReplyError`].
    pub fn reply_as<P: Procedure>(&mut self, key: CallKey, reply: &P::Reply) -> Result<(), ReplyError> {
        self.reply(key, Reply::Done(packed(reply).bytes()))
    }

    /// Wants the host's game to do something: its number, for [`crate::Event::Accepted`]. Each input is given to the game of
    /// each host exactly once in its reign, in the order of submission, as [`crate::Event::Input`]; that of an accepted one
    /// survives the end of any single peer. A game of a new host skips inputs whose effect it sees in what the former one left, by
    /// keeping the number of the last input of each seat in the object that has the effect.
    ///
    /// An input is sent at once, and again to each new host and backup. It is not accepted while nobody but the host
    /// could hold it, except when this peer is alone in its session.
    ///
    /// # Errors
    /// See [`SubmitError`]; then nothing was sent.
    pub fn submit(&mut self, now: Time, bytes: &[u8]) -> Result<u64, SubmitError> {
        self.core.stir();
        let number = self.inputs.submit(&self.core, now, bytes)?;
        self.settle(now, News::INPUTS);
        Ok(number)
    }

    /// What this peer wants to be kept up to date about: objects within a ball, or everything, as long as nothing else
    /// is said. Objects that have no place, or whose changes are reliable, are always told.
    ///
    /// All members hear of it when it has moved by an eighth of its radius, so it may be called with every frame.
    /// [`Event::ObjectEntered`](super::Event::ObjectEntered) and `ObjectLeft` follow. That there is an object, who
    /// owns it, and that it is gone, is told about all objects in any case: any member may have to take them over.
    ///
    /// A focus that is not made of numbers, or has a negative radius, changes nothing.
    pub fn set_focus(&mut self, _now: Time, focus: Option<Focus>) {
        self.core.stir();
        if focus.is_none_or(|focus| focus.is_valid()) {
            self.interest.set(&mut self.core, focus);
        }
    }

    /// What this peer wants to see; `None` for everything.
    #[must_use]
    pub const fn focus(&self) -> Option<Focus> {
        self.interest.focus()
    }

    /// The edge of the cells in which this peer looks for what others want to see, in the unit of the places; 16 unless
    /// set. About the radius of the members' foci serves best.
    pub fn set_interest_cell(&mut self, edge: f32) {
        self.core.stir();
        self.objects.set_cell(edge);
    }

    /// The machine of lockstep for this peer's game; `None` when the rules name none. To ask for it is a step of the game.
    pub fn lockstep(&mut self, now: Time) -> Option<Lockstep<'_>> {
        self.stepped(now);
        self.orders.lockstep(now)
    }

    /// Asks the host for an object. From now on this peer may change it as if it were its own; until it is, nobody else
    /// sees that. [`crate::Event::Ownership`] tells the outcome. Asking for what is this peer's does nothing.
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
        self.ownership.set_policy(policy);
    }

    /// The next wish that the host's game has to decide, by [`Session::answer_request`]. One that it never answers
    /// is asked again by whoever wishes it, and given up in the end.
    pub fn poll_request(&mut self) -> Option<OwnershipRequest> {
        self.ownership.poll_request()
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
        self.ownership.set_balancing(is_on);
    }
}
