//! What this peer wants to see of others' objects (PROTOCOL §4.9).

use samovar_objects::Focus;
use samovar_wire::object::MessageKind;
use samovar_wire::{PeerId, SortedSet, Time};

use crate::Session;
use crate::core::Core;

/// How far the focus may move, in parts of its radius, before the others are told. What they are told is larger by
/// as much, so that it holds all of the focus until then.
const SLACK: f32 = 0.125;

/// What this peer wants to see, and who knows that.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    focus: Option<Focus>,
    /// What the others were told of it.
    told: Option<Focus>,
    untold: SortedSet<PeerId>,
}

impl Interest {
    pub(crate) const fn focus(&self) -> Option<Focus> {
        self.focus
    }

    fn set(&mut self, core: &mut Core, focus: Option<Focus>) {
        self.focus = focus;
        let is_told = match (focus, self.told) {
            (None, None) => true,
            (Some(focus), Some(told)) => is_within(&focus, &told),
            _ => false,
        };
        if !is_told {
            let told = focus.map(|focus| Focus { radius: focus.radius * (1.0 + SLACK), ..focus });
            self.told = told.map(|told| if told.is_valid() { told } else { focus.unwrap_or(told) });
            self.untold = core.net.admitted().into_iter().collect();
            self.tell(core);
        }
    }

    /// A member came: it hears what this peer wants to see.
    pub(crate) fn on_linked(&mut self, peer: PeerId) {
        if self.told.is_some() {
            self.untold.insert(peer);
        }
    }

    /// Tells whoever has not been told; who has no room is told later.
    pub(crate) fn tell(&mut self, core: &mut Core) {
        let focus = self.told;
        for peer in core::mem::take(&mut self.untold) {
            let is_sent =
                core.net.send_about(peer, MessageKind::Focus, |out| Focus::encode(focus.as_ref(), out));
            if !is_sent && core.net.is_linked(peer) {
                self.untold.insert(peer);
            }
        }
    }
}

/// Whether what was told holds this focus, and not much more.
fn is_within(focus: &Focus, told: &Focus) -> bool {
    let moved = focus.center.iter().zip(told.center).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
    moved + focus.radius <= told.radius && told.radius <= focus.radius * (1.0 + SLACK) * (1.0 + SLACK)
}

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
        self.core.stir();
        if focus.is_none_or(|focus| focus.is_valid()) {
            self.interest.set(&mut self.core, focus);
        }
    }

    /// What this peer wants to see; `None` for everything.
    #[must_use]
    pub const fn focus(&self) -> Option<Focus> {
        self.interest.focus()
    }

    /// The edge of the cells in which this peer looks for what others want to see, in the unit of the places; 16 unless
    /// set. About the radius of the members' foci serves best.
    pub fn set_interest_cell(&mut self, edge: f32) {
        self.core.stir();
        self.objects.set_cell(edge);
    }
}
