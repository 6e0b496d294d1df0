//! Interest: which objects of others this peer wants to see (PROTOCOL §4.9).

use samovar_objects::Focus;
use samovar_wire::object::MessageKind;
use samovar_wire::{PeerId, SortedSet};

use crate::core::Core;

/// How far the focus may move, as a part of its radius, before this peer tells the others. It tells them a focus that
/// is larger by this part. So the told focus contains the true one until it is told again.
const SLACK: f32 = 0.125;

/// This peer's focus, and which members know it.
#[derive(Debug, Default)]
pub(crate) struct InterestState {
    focus: Option<Focus>,
    /// The focus that the others were told.
    told: Option<Focus>,
    untold: SortedSet<PeerId>,
}

impl InterestState {
    pub(crate) const fn focus(&self) -> Option<Focus> {
        self.focus
    }

    pub(crate) fn set(&mut self, core: &mut Core, focus: Option<Focus>) {
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

    /// Notes that a link to a member begins, so this peer must tell that member the focus.
    pub(crate) fn on_linked(&mut self, peer: PeerId) {
        if self.told.is_some() {
            self.untold.insert(peer);
        }
    }

    /// Tells the focus to members that do not know it. A member whose lane has no room is told later.
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

/// Whether the told focus contains the present one, and is not much larger.
fn is_within(focus: &Focus, told: &Focus) -> bool {
    let moved = focus.center.iter().zip(told.center).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
    moved + focus.radius <= told.radius && told.radius <= focus.radius * (1.0 + SLACK) * (1.0 + SLACK)
}
