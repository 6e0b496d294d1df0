//! A member's knowledge of the host's word for changes of owner, and the announcements that it holds back until that
//! word comes (PROTOCOL §4.2, rules 13 to 16).

use samovar_wire::{ObjectId, PeerId, SortedMap, Stamp};

use crate::object::Object;

/// A member's knowledge of grants to others; empty at the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Confirmations {
    /// Grants that the host told of, above the stamps that are known here.
    pub(crate) granted: SortedMap<(ObjectId, Stamp), PeerId>,
    /// Ownerships that the host has not told of, by the peer that claims them.
    pub(crate) held: SortedMap<(PeerId, ObjectId), Held>,
}

/// An ownership that the host has not told of: of its object, or of the object's end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) stamp: Stamp,
    pub(crate) object: Option<Box<Object>>,
}

impl Confirmations {
    /// The object as its owner announced it, while that is held back.
    pub(crate) fn held_mut(&mut self, from: PeerId, id: ObjectId, stamp: Stamp) -> Option<&mut Object> {
        if self.held.is_empty() {
            return None;
        }
        let held = self.held.get_mut(&(from, id)).filter(|held| held.stamp == stamp)?;
        held.object.as_deref_mut()
    }

    /// An object is known under this stamp, or its end: nothing below it counts any more.
    pub(crate) fn settle(&mut self, id: ObjectId, stamp: Stamp) {
        let old = self.granted.range(&(id, Stamp::default()), &(id, stamp)).map(|(&key, _)| key);
        let old: Vec<_> = old.collect();
        for key in old {
            self.granted.remove(&key);
        }
        self.held.retain(|&(_, of), held| of != id || held.stamp > stamp);
    }

    /// A peer is gone.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.held.retain(|&(from, _), _| from != peer);
    }

    pub(crate) fn held_of(&self, peer: PeerId) -> usize {
        let first = ObjectId { creator: PeerId(0), number: 0 };
        let last = ObjectId { creator: PeerId(u32::MAX), number: u32::MAX };
        self.held.range(&(peer, first), &(peer, last)).count()
    }
}
