//! What one peer has, and lacks, of the objects that this peer owns.

use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::{ObjectId, Receipt, Stamp};

/// Packets whose fate may be open; the oldest is taken for lost beyond it. A link holds no more.
const IN_FLIGHT_MAX: usize = 1_024;

/// A field's value in a packet under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InFlight {
    pub(crate) id: ObjectId,
    pub(crate) field: u8,
    pub(crate) version: u64,
}

/// How far a peer's copy of one field has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Progress {
    /// The newest version sent and not known to be lost.
    pub(crate) sent: u64,
    /// The newest version known to have arrived.
    pub(crate) acked: u64,
}

/// How far a peer's copy of one object has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Known {
    /// The announcement; updates wait until it is delivered (first seed: "wait for ack").
    pub(crate) announced: Receipt,
    pub(crate) ready: bool,
    pub(crate) fields: Vec<Progress>,
}

/// One peer's view of what this peer owns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Replica {
    pub(crate) known: BTreeMap<ObjectId, Known>,
    /// Objects to announce.
    pub(crate) unannounced: BTreeSet<ObjectId>,
    /// Announced objects with fields that the peer may lack.
    pub(crate) dirty: BTreeSet<ObjectId>,
    /// Deaths to tell.
    pub(crate) destroys: BTreeMap<ObjectId, Stamp>,
    /// Objects to give to the peer, with the stamp it shall own them under.
    pub(crate) grants: BTreeMap<ObjectId, Stamp>,
    /// Objects of a peer that is gone, to show to this peer, the host.
    pub(crate) orphans: BTreeSet<ObjectId>,
    /// Whether the first announcements went out, which for a newcomer may be one snapshot.
    pub(crate) greeted: bool,
    pub(crate) in_flight: BTreeMap<u64, Vec<InFlight>>,
    /// Where the next packet's updates begin, so that what did not fit goes first next time.
    pub(crate) cursor: Option<ObjectId>,
}

impl Replica {
    /// Drops everything about an object that this peer no longer owns.
    pub(crate) fn forget(&mut self, id: ObjectId) {
        self.known.remove(&id);
        self.unannounced.remove(&id);
        self.dirty.remove(&id);
        self.grants.remove(&id);
        self.orphans.remove(&id);
    }

    pub(crate) fn on_packet(&mut self, packet: u64, contents: Vec<InFlight>) {
        self.in_flight.insert(packet, contents);
        if self.in_flight.len() > IN_FLIGHT_MAX
            && let Some((oldest, _)) = self.in_flight.first_key_value()
        {
            self.on_fate(*oldest, false);
        }
    }

    /// A packet of updates arrived, or was lost: then its fields go again unless newer ones are under way.
    pub(crate) fn on_fate(&mut self, packet: u64, delivered: bool) {
        for item in self.in_flight.remove(&packet).unwrap_or_default() {
            let Some(progress) =
                self.known.get_mut(&item.id).and_then(|k| k.fields.get_mut(usize::from(item.field)))
            else {
                continue;
            };
            if delivered {
                progress.acked = progress.acked.max(item.version);
            } else if progress.sent == item.version {
                progress.sent = progress.acked;
                self.dirty.insert(item.id);
            }
        }
    }
}
