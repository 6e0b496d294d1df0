//! Stands in for interest where the feature `extras` is off: this peer wants to see everything.

use samovar_objects::Focus;
use samovar_wire::PeerId;

use crate::core::Core;

/// There is no focus, so there is no state.
#[derive(Debug, Default)]
pub(crate) struct InterestState {}

impl InterestState {
    pub(crate) fn focus(&self) -> Option<Focus> {
        None
    }

    pub(crate) fn on_linked(&mut self, _: PeerId) {}

    pub(crate) fn tell(&mut self, _: &mut Core) {}
}
