//! How old the states of other members' objects are, stage by stage (docs/sources.md, "Teapots", figure 20).

use samovar_objects::Objects;
use samovar_wire::{Duration, Time};

use crate::RecentSpread;

/// A state that is older than this is one of an object at rest, so its age says nothing.
const RESTS_AFTER: Duration = Duration::from_millis(1_000);

/// The ages of the states that arrived in datagrams, since their owners sampled them. Reliable updates do not count,
/// for example those of objects that rest. The clocks of two members differ by some milliseconds, so the ages of
/// another member's data are inexact by that much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataAges {
    /// Their ages when the owner sent them.
    pub sent: RecentSpread,
    /// Their ages when they arrived here.
    pub received: RecentSpread,
}

impl DataAges {
    /// Counts the states of the datagram that the objects have just taken, at session time `now`.
    pub(crate) fn note(&mut self, now: Time, objects: &Objects) {
        for arrival in objects.arrivals() {
            self.sent.note(now, arrival.sent.since(arrival.sampled));
            self.received.note(now, now.since(arrival.sampled));
        }
    }
}

/// The ages of the states of others' objects when a game shows them. The game notes them, since the session does not
/// know when it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownAges {
    /// Their ages in the first frame that shows them.
    pub applied: RecentSpread,
    /// Their ages in each frame.
    pub drawn: RecentSpread,
}

impl ShownAges {
    /// Notes that a frame at session time `now` shows a state that was sampled at `sampled`. `is_new` tells whether
    /// this is the first frame that shows the state.
    pub fn note(&mut self, now: Time, sampled: Time, is_new: bool) {
        let age = now.since(sampled);
        if is_new {
            self.applied.note(now, age);
        }
        if age < RESTS_AFTER {
            self.drawn.note(now, age);
        }
    }
}
