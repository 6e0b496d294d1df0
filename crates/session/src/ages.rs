//! How old the states of other members' objects are, stage by stage (docs/sources.md, "Teapots", figure 20).

use samovar_objects::Objects;
use samovar_wire::Time;

use crate::RecentSpread;

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
