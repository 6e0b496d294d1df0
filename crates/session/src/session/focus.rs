//! What this peer wants to see of others' objects (PROTOCOL §4.9).

use samovar_objects::Focus;
use samovar_wire::object::MessageKind;
use samovar_wire::{PeerId, Time};

use super::Session;

/// How far the focus may move, in parts of its radius, before the others are told. What they are told is larger by
/// as much, so that it holds all of the focus until then.
const SLACK: f32 = 0.125;

impl Session {
    /// What this peer wants to be kept up to date about: objects within a ball, or everything, as long as nothing else
    /// is said. Objects that have no place, or whose changes are reliable, are always told.
    ///
    /// All members hear of it when it has moved by an eighth of its radius, so it may be called with every frame.
    /// [`Event::ObjectEntered`](super::Event::ObjectEntered) and `ObjectLeft` follow. That there is an object, who
    /// owns it, and that it is gone, is told about all objects in any case: any member may have to take them over.
    ///
    /// A focus that is not made of numbers, or has a negative radius, changes nothing.
    pub fn set_focus(&mut self, _now: Time, focus: Option<Focus>) {
        self.stir();
        if focus.is_some_and(|focus| !focus.is_valid()) {
            return;
        }
        self.focus = focus;
        let is_told = match (focus, self.told_focus) {
            (None, None) => true,
            (Some(focus), Some(told)) => is_within(&focus, &told),
            _ => false,
        };
        if !is_told {
            self.told_focus = focus.map(|focus| Focus { radius: focus.radius * (1.0 + SLACK), ..focus });
            self.told_focus =
                self.told_focus.map(|told| if told.is_valid() { told } else { focus.unwrap_or(told) });
            let admitted = self.links.iter().filter(|(_, p)| p.admitted).map(|(&peer, _)| peer);
            self.focus_untold = admitted.collect();
            self.tell_focus();
        }
    }

    /// What this peer wants to see; `None` for everything.
    #[must_use]
    pub const fn focus(&self) -> Option<Focus> {
        self.focus
    }

    /// The edge of the cells in which this peer looks for what others want to see, in the unit of the places; 16 unless
    /// set. About the radius of the members' foci serves best.
    pub fn set_interest_cell(&mut self, edge: f32) {
        self.stir();
        self.objects.set_cell(edge);
    }

    /// A member came: it hears what this peer wants to see.
    pub(super) fn tell_focus_to(&mut self, peer: PeerId) {
        if self.told_focus.is_some() {
            self.focus_untold.insert(peer);
        }
    }

    /// Tells whoever has not been told; who has no room is told later.
    pub(super) fn tell_focus(&mut self) {
        let focus = self.told_focus;
        for peer in core::mem::take(&mut self.focus_untold) {
            let is_sent = self.send_about(peer, MessageKind::Focus, |out| Focus::encode(focus.as_ref(), out));
            if !is_sent && self.links.contains_key(&peer) {
                self.focus_untold.insert(peer);
            }
        }
    }
}

/// Whether what was told holds this focus, and not much more.
fn is_within(focus: &Focus, told: &Focus) -> bool {
    let moved = focus.center.iter().zip(told.center).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
    moved + focus.radius <= told.radius && told.radius <= focus.radius * (1.0 + SLACK) * (1.0 + SLACK)
}
