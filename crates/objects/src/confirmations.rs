//! The changes of owner that the host confirmed to a member, and the announcements that the member holds back until
//! the host confirms them (PROTOCOL §4.2, rules 13 to 16).

use samovar_wire::{ObjectId, PeerId, SortedMap, Stamp};

use crate::object::Object;

/// A member's knowledge of grants to others; empty at the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Confirmations {
    /// Grants that the host reported under stamps above those that this peer knows. The value is the new owner.
    pub(crate) granted: SortedMap<(ObjectId, Stamp), PeerId>,
    /// Announcements and ends that the host has not confirmed, by sender and object.
    pub(crate) held: SortedMap<(PeerId, ObjectId), Held>,
}

/// An announcement or an end that the host has not confirmed yet. `object` is `None` for an end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) stamp: Stamp,
    pub(crate) object: Option<Box<Object>>,
}

impl Confirmations {
    /// The object that `from` announced under this stamp, while the announcement is held back.
    pub(crate) fn held_mut(&mut self, from: PeerId, id: ObjectId, stamp: Stamp) -> Option<&mut Object> {
        if self.held.is_empty() {
            return None;
        }
        let held = self.held.get_mut(&(from, id)).filter(|held| held.stamp == stamp)?;
        held.object.as_deref_mut()
    }

    /// Drops the grants and the held announcements of an object up to this stamp. This peer now knows the object, or
    /// its end, under this stamp.
    pub(crate) fn settle(&mut self, id: ObjectId, stamp: Stamp) {
        let old = self.granted.range(&(id, Stamp::default()), &(id, stamp)).map(|(&key, _)| key);
        let old: Vec<_> = old.collect();
        for key in old {
            self.granted.remove(&key);
        }
        self.held.retain(|&(_, of), held| of != id || held.stamp > stamp);
    }

    /// Drops the held announcements of a peer that is gone.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.held.retain(|&(from, _), _| from != peer);
    }

    pub(crate) fn held_of(&self, peer: PeerId) -> usize {
        let first = ObjectId { creator: PeerId(0), number: 0 };
        let last = ObjectId { creator: PeerId(u32::MAX), number: u32::MAX };
        self.held.range(&(peer, first), &(peer, last)).count()
    }
}
