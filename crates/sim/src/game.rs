//! The interface of the game that members play in the world.

use samovar_session::{Event, Schemas, Session};
use samovar_wire::{Kind, PeerId, Time};

use crate::dice::Dice;
use crate::plan::Plan;
use crate::promise::Broken;

/// The number of a process, in the order in which processes start. A player who reloads the page gets a new process.
pub type ProcessId = usize;

/// A run of a process's driver in which its game may act.
pub struct Turn<'a> {
    /// The process.
    pub process: ProcessId,
    /// The time on the process's own clock, as all calls of the session expect it.
    pub now: Time,
    /// The process's session.
    pub session: &'a mut Session,
    /// Whether the game must stop making changes, because the world waits for all members to agree.
    pub resting: bool,
    /// The game's own random numbers.
    pub dice: &'a mut Dice,
}

/// The game that members play, with its own checks beside the promises of every game.
///
/// One value of this type plays for all processes of a world, so it can compare what different processes see.
pub trait Game {
    /// Called once, before a world runs this plan.
    fn begin(&mut self, _plan: &Plan) {}

    /// Tells the game that this peer is a liar: from now on it may write any value into the objects that it owns.
    fn distrust(&mut self, _peer: PeerId) {}

    /// The schemas of the game's objects.
    fn schemas(&self) -> Schemas;

    /// The kind of the *beacon*: the object that each host keeps moving. Its motion is the measure of recovery.
    /// `None`: recovery is not measured.
    fn beacon(&self) -> Option<Kind> {
        None
    }

    /// Runs one frame of a member's game.
    fn tick(&mut self, turn: &mut Turn<'_>);

    /// Handles an event of a process's session.
    fn event(&mut self, turn: &mut Turn<'_>, event: &Event);

    /// Checks one process's session: after each event about its objects, and ten times a second.
    ///
    /// # Errors
    /// The promise that is broken.
    fn check(&mut self, _process: ProcessId, _session: &Session) -> Result<(), Broken> {
        Ok(())
    }

    /// Checks all members once changes have stopped and all members agree.
    ///
    /// # Errors
    /// The promise that is broken. The world repeats the check until it succeeds or time is up, so it may fail at
    /// first.
    fn check_settled(&mut self, _members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        Ok(())
    }
}
