//! What a game says of its interest (PROTOCOL §4.9).

use samovar_objects::{Focus, Objects};

use crate::Session;
use crate::core::Core;
use crate::interest::InterestState;

/// What this peer wants to see of others' objects, by [`crate::Session::interest`].
#[derive(Debug)]
pub struct Interest<'a> {
    pub(super) core: &'a mut Core,
    pub(super) objects: &'a mut Objects,
    pub(super) state: &'a mut InterestState,
}

impl Session {
    /// What this peer wants to be kept up to date about.
    pub const fn interest(&mut self) -> Interest<'_> {
        Interest { core: &mut self.core, objects: &mut self.objects, state: &mut self.interest }
    }
}

impl Interest<'_> {
    /// What this peer wants to be kept up to date about: objects within a ball, or everything, as long as nothing else
    /// is said. Objects that have no place, or whose changes are reliable, are always told.
    ///
    /// All members hear of it when it has moved by an eighth of its radius, so it may be called with every frame.
    /// [`Event::ObjectEntered`](crate::Event::ObjectEntered) and `ObjectLeft` follow. That there is an object, who
    /// owns it, and that it is gone, is told about all objects in any case: any member may have to take them over.
    ///
    /// A focus that is not made of numbers, or has a negative radius, changes nothing.
    pub fn set_focus(&mut self, focus: Option<Focus>) {
        self.core.stir();
        if focus.is_none_or(|focus| focus.is_valid()) {
            self.state.set(self.core, focus);
        }
    }

    /// What this peer wants to see; `None` for everything.
    #[must_use]
    pub const fn focus(&self) -> Option<Focus> {
        self.state.focus()
    }

    /// The edge of the cells in which this peer looks for what others want to see, in the unit of the places; 16 unless
    /// set. About the radius of the members' foci serves best.
    pub fn set_cell(&mut self, edge: f32) {
        self.core.stir();
        self.objects.set_cell(edge);
    }
}
