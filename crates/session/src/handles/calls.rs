//! Calls, as a game makes and answers them (PROTOCOL §4.8).

use samovar_objects::Objects;
use samovar_wire::Time;

use crate::calls::{CallsState, packed};
use crate::core::Core;
use crate::{
    Call, CallError, CallId, CallKey, CallOutcome, IncomingCall, Procedure, Reply, ReplyError, Session,
};

/// The calls between this peer's game and the games of other peers, from [`crate::Session::calls`].
#[derive(Debug)]
pub struct Calls<'a> {
    pub(super) core: &'a mut Core,
    pub(super) objects: &'a Objects,
    pub(super) state: &'a mut CallsState,
    pub(super) now: Time,
}

impl Session {
    /// Calls other peers' games, and answers their calls.
    pub const fn calls(&mut self, now: Time) -> Calls<'_> {
        Calls { core: &mut self.core, objects: &self.objects, state: &mut self.calls, now }
    }
}

impl Calls<'_> {
    /// Calls another peer's game; [`crate::Event::Reply`] tells how the call ended, exactly once.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn call(&mut self, call: Call<'_>) -> Result<CallId, CallError> {
        self.core.stir();
        let to = self.core.receiver(self.objects, call.target).ok_or(CallError::NoSuchPeer)?;
        self.state.call(self.core, self.now, to, call)
    }

    /// Calls a [`Procedure`]; the method and the bytes of `call` are ignored.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn call_as<P: Procedure>(
        &mut self,
        call: Call<'_>,
        request: &P::Request,
    ) -> Result<CallId, CallError> {
        let bits = packed(request);
        self.call(Call { method: P::METHOD, bytes: bits.bytes(), ..call })
    }

    /// Cancels a call; [`CallOutcome::Cancelled`] follows, unless the call has ended.
    pub fn cancel(&mut self, id: CallId) {
        self.core.stir();
        self.state.give_up(self.core, id, CallOutcome::Cancelled);
    }

    /// The next call of another peer. Each must be answered: a caller that has
    /// [`CALLS_PER_PEER_MAX`](crate::CALLS_PER_PEER_MAX) open is told [`CallOutcome::Busy`].
    pub fn poll(&mut self) -> Option<IncomingCall> {
        self.state.poll()
    }

    /// Whether a call of another peer still waits for an answer. The caller may have cancelled it.
    #[must_use]
    pub fn is_waiting(&self, key: CallKey) -> bool {
        self.state.is_open(key)
    }

    /// Answers a call of another peer.
    ///
    /// # Errors
    /// See [`ReplyError`].
    pub fn reply(&mut self, key: CallKey, reply: Reply<'_>) -> Result<(), ReplyError> {
        self.core.stir();
        self.state.reply(self.core, key, reply)
    }

    /// Answers a call of a [`Procedure`].
    ///
    /// # Errors
    /// See [`ReplyError`].
    pub fn reply_as<P: Procedure>(&mut self, key: CallKey, reply: &P::Reply) -> Result<(), ReplyError> {
        self.reply(key, Reply::Done(packed(reply).bytes()))
    }
}
