//! Lockstep as a game sees it.

use samovar_order::lockstep::{self, FieldHash, Request, StateError, Stats, WrongSize};
use samovar_wire::Time;

/// A game's part in lockstep, from [`crate::Session::lockstep`]; see [`samovar_order::lockstep`].
///
/// When all packets that came have been handed to the session, a game calls [`Lockstep::poll_request`] until that
/// returns `None`. It carries out each request before it polls the next, and answers [`Request::Step`] by
/// [`Lockstep::stepped`].
#[derive(Debug)]
pub struct Lockstep<'a> {
    machine: &'a mut lockstep::Lockstep,
    now: Time,
}

impl<'a> Lockstep<'a> {
    pub(super) const fn new(machine: &'a mut lockstep::Lockstep, now: Time) -> Self {
        Self { machine, now }
    }

    /// Sets the input of this player from now on, in as many bytes as the rules say.
    ///
    /// # Errors
    /// [`WrongSize`] otherwise.
    pub fn set_input(&mut self, input: &[u8]) -> Result<(), WrongSize> {
        self.machine.set_input(input)
    }

    /// The next request that the game has to carry out.
    pub fn poll_request(&mut self) -> Option<Request> {
        self.machine.poll_request()
    }

    /// Tells lockstep that the game has stepped this frame, and that its state now has this checksum.
    pub fn stepped(&mut self, frame: u64, checksum: u64) {
        self.machine.stepped(frame, checksum);
    }

    /// Answers [`Request::Save`].
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn answer_state(&mut self, state: &[u8]) -> Result<(), StateError> {
        self.machine.answer_state(self.now, state)
    }

    /// Answers [`Request::Fields`].
    pub fn answer_fields(&mut self, frame: u64, fields: Vec<FieldHash>) {
        self.machine.answer_fields(self.now, frame, fields);
    }

    /// Answers [`lockstep::Event::NoState`]: the game goes on from its initial state.
    pub fn begin_anew(&mut self) {
        self.machine.begin_anew(self.now);
    }

    /// The next event, which a game may ignore.
    pub fn poll_event(&mut self) -> Option<lockstep::Event> {
        self.machine.poll_event()
    }

    /// The last frame that this peer knows.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.machine.last()
    }

    /// How many frames ahead of [`Lockstep::last`] an input of this player is given.
    #[must_use]
    pub fn input_delay(&self) -> u64 {
        self.machine.input_delay()
    }

    /// Counts since the beginning.
    #[must_use]
    pub const fn stats(&self) -> &Stats {
        self.machine.stats()
    }
}
