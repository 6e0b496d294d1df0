//! How old the states of others' teapots are when this peer takes and draws them (docs/sources.md, "Teapots", figure
//! 20).

use samovar_session::RecentSpread;
use samovar_wire::{Duration, Time};

/// A state that is older than this is one of a teapot at rest, so its age says nothing.
const RESTS_AFTER: Duration = Duration::from_millis(1_000);

/// The ages of the states of others' teapots.
#[derive(Clone, Debug, Default)]
pub struct ShownAges {
    /// Their ages in the first step that shows them.
    pub applied: RecentSpread,
    /// Their ages in each step.
    pub drawn: RecentSpread,
}

impl ShownAges {
    /// Notes that a step at session time `now` shows a state that was sampled at `sampled`. `is_new` tells whether this
    /// is the first step that shows the state.
    pub(crate) fn note(&mut self, now: Time, sampled: Time, is_new: bool) {
        let age = now.since(sampled);
        if is_new {
            self.applied.note(now, age);
        }
        if age < RESTS_AFTER {
            self.drawn.note(now, age);
        }
    }
}
