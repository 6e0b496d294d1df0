//! Interest, as a game sets it (PROTOCOL §4.9).

use samovar_objects::{Focus, Objects};

use crate::Session;
use crate::core::Core;
use crate::interest::InterestState;

/// This peer's interest in the objects of others, by [`crate::Session::interest`].
#[derive(Debug)]
pub struct Interest<'a> {
    pub(super) core: &'a mut Core,
    pub(super) objects: &'a mut Objects,
    pub(super) state: &'a mut InterestState,
}

impl Session {
    /// Reads and sets this peer's interest.
    pub const fn interest(&mut self) -> Interest<'_> {
        Interest { core: &mut self.core, objects: &mut self.objects, state: &mut self.interest }
    }
}

impl Interest<'_> {
    /// Sets the objects about which this peer wants to be kept up to date: those within a ball, or all, which is the
    /// default. Changes of objects without a place, and reliable changes, are always sent to this peer.
    ///
    /// This peer tells the other members when the focus has moved by an eighth of its radius, so a game may call this
    /// with every frame. [`Event::ObjectEntered`](crate::Event::ObjectEntered) and `ObjectLeft` follow. The creation,
    /// the owner and the end of every object are always told, since any member may have to take it over.
    ///
    /// A focus with a value that is no number, or with a negative radius, changes nothing.
    pub fn set_focus(&mut self, focus: Option<Focus>) {
        self.core.stir();
        if focus.is_none_or(|focus| focus.is_valid()) {
            self.state.set(self.core, focus);
        }
    }

    /// This peer's focus; `None` for everything.
    #[must_use]
    pub const fn focus(&self) -> Option<Focus> {
        self.state.focus()
    }

    /// Sets the edge of the grid cells in which this peer looks up the objects that other members want to see; 16
    /// unless set. Its unit is that of the objects' places. An edge of about the radius of the members' foci is best.
    pub fn set_cell(&mut self, edge: f32) {
        self.core.stir();
        self.objects.set_cell(edge);
    }
}
