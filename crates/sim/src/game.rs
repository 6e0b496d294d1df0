//! What members do in the world: the game under test.

use samovar_session::{Event, Schemas, Session};
use samovar_wire::{Kind, PeerId, Time};

use crate::dice::Dice;
use crate::plan::Plan;
use crate::promise::Broken;

/// One process of the world, from its start to its end; numbered as they start. Who reloads a page is another process.
pub type ProcessId = usize;

/// A process that may act now.
pub struct Turn<'a> {
    /// Which.
    pub process: ProcessId,
    /// Its own clock, which all calls of the session want.
    pub now: Time,
    /// Its session.
    pub session: &'a mut Session,
    /// Changes are to stop: the world waits for everybody to agree.
    pub resting: bool,
    /// The game's own chance.
    pub dice: &'a mut Dice,
}

/// What members do, and what must hold besides the promises that hold for every game.
///
/// One value plays for all processes of a world, so that it can compare what one did with what another sees.
pub trait Game {
    /// A world begins in which this plan is played.
    fn begin(&mut self, _plan: &Plan) {}

    /// From now on this peer may say anything about what it owns.
    fn distrust(&mut self, _peer: PeerId) {}

    /// What its objects are made of.
    fn schemas(&self) -> Schemas;

    /// The kind of the object that a host keeps moving and that a new one goes on with: what recovery is measured by.
    fn beacon(&self) -> Option<Kind> {
        None
    }

    /// A frame of a member's game.
    fn tick(&mut self, turn: &mut Turn<'_>);

    /// Something happened at a process.
    fn event(&mut self, turn: &mut Turn<'_>, event: &Event);

    /// Looks at one process's session: after what changed its objects, and ten times a second.
    ///
    /// # Errors
    /// The promise that is broken.
    fn check(&mut self, _process: ProcessId, _session: &Session) -> Result<(), Broken> {
        Ok(())
    }

    /// Looks at all members when nothing changes any more and all of them agree.
    ///
    /// # Errors
    /// The promise that is broken, unless it can still become true: this is asked again until the world gives up.
    fn check_settled(&mut self, _members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        Ok(())
    }
}
