//! What a game does with inputs (PROTOCOL §4.12).

use samovar_wire::Time;

use crate::settle::News;
use crate::{Session, SubmitError};

impl Session {
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
}
