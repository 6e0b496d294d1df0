//! Inputs, as a game submits them (PROTOCOL §4.12).

use samovar_wire::Time;

use crate::settle::News;
use crate::{Session, SubmitError};

impl Session {
    /// Submits an input for the host's game. Returns its number, for [`crate::Event::Accepted`]. The game of each host
    /// gets each input exactly once in its reign, in the order of submission, as [`crate::Event::Input`]. An accepted
    /// input survives the loss of any single peer. A new host's game must skip inputs that already had their effect
    /// under the former host. To see which, a game keeps the number of each seat's last input in the object that has
    /// the effect.
    ///
    /// An input is sent at once, and again to each new host and backup. It is not accepted while no peer but the host
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
