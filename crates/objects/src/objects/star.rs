//! The star: members speak with the host only, and the host speaks for everybody (PROTOCOL §4.11).
//!
//! The host tells each member of all objects that it knows but the member's own, under their owners' stamps, in frames
//! of its own: each way from peer to peer has its own baselines and acks, as in a mesh.

use samovar_wire::{ObjectId, PeerId, SortedSet};

use super::Objects;
use crate::object::Object;
use crate::schema::Coding;

/// What of an object is another than before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// Its numbers, or when they were sampled.
    pub(super) numbers: bool,
    /// By bits, which texts.
    pub(super) texts: u64,
    /// By bits, which fields; only where changes are reliable.
    pub(super) fields: u64,
}

impl Change {
    pub(super) const fn is_any(&self) -> bool {
        self.numbers || self.texts != 0 || self.fields != 0
    }
}

impl Objects {
    /// The same objects in a star. It is said before anything else.
    #[must_use]
    pub const fn in_star(mut self) -> Self {
        self.star = true;
        self
    }

    /// Whether this peer hosts a star.
    pub(super) fn is_center(&self) -> bool {
        self.star && self.is_host()
    }

    /// Whether this peer tells others of an object.
    pub(super) fn tells_of(&self, object: &Object) -> bool {
        object.owner == self.me || object.heard.is_some()
    }

    /// Whether this peer says anything about objects to another.
    pub(super) fn speaks_to(&self, peer: PeerId) -> bool {
        !self.star || self.is_host() || peer == self.host
    }

    /// Whether a peer may tell this one of an object of `owner` (DESIGN §5.3).
    pub(super) fn may_tell(&self, from: PeerId, owner: PeerId) -> bool {
        if self.star && !self.is_host() { owner != self.me } else { from == owner }
    }

    /// Whether what a peer says of objects counts at all: to a member of a star its host's does, and nobody else's.
    pub(super) fn listens_to(&self, from: PeerId) -> bool {
        !self.star || self.is_host() || from == self.host
    }

    /// Whether it is the host's word that `owner` owns something.
    pub(super) fn host_says(&self, from: PeerId, owner: PeerId) -> bool {
        owner == self.host || (self.star && from == self.host)
    }

    /// The host of a star passes on an object that its owner announced to it.
    pub(super) fn pass_on(&mut self, id: ObjectId) {
        if let Some(object) = self.slots.get_mut(id) {
            object.begin_passing_on();
            self.begin_to_tell(id);
        }
    }

    /// The host of a star passes on what it heard of a change.
    pub(super) fn pass_on_change(&mut self, slot: u32, change: Change) {
        if !change.is_any() {
            return;
        }
        let next = self.frame + 1;
        let Some(object) = self.slots.at_mut(slot) else { return };
        if change.numbers {
            object.frame = next;
        }
        for (index, text) in object.texts.iter_mut().enumerate() {
            if change.texts >> index & 1 == 1 {
                text.frame = next;
            }
        }
        self.spread(slot, change.fields);
    }

    /// Somebody announces again what the host of a star passes on.
    pub(super) fn refresh_passed_on(&mut self, slot: u32, new: Object) {
        let Some(change) = self.slots.at(slot).map(|known| self.change_between(known, &new)) else { return };
        let Some(known) = self.slots.at_mut(slot) else { return };
        known.swap_frames();
        let is_news = new.frame >= known.frame || known.voice != new.voice;
        if is_news {
            (known.frame, known.since, known.past) = (new.frame, new.since, new.past);
            (known.voice, known.sampled, known.revision) = (new.voice, new.sampled, new.revision);
            (known.numbers, known.texts) = (new.numbers, new.texts);
        }
        known.swap_frames();
        if is_news {
            self.pass_on_change(slot, change);
            self.refresh_claim(new.id);
        }
    }

    /// What of an object is another than what was announced of it now.
    fn change_between(&self, known: &Object, new: &Object) -> Change {
        let numbers = known.sampled != new.sampled || known.numbers != new.numbers;
        let mut change = Change { numbers, ..Change::default() };
        for (index, (old, new)) in known.texts.iter().zip(&new.texts).enumerate() {
            change.texts |= u64::from(old.bytes != new.bytes) << index;
        }
        if known.traits.reliable {
            let Some(schema) = self.schema(known.traits.kind) else {
                change.fields = change.texts;
                return change;
            };
            for (index, field) in schema.fields().iter().enumerate() {
                let part = field.at..field.at + field.coding.width();
                let is_other = match field.coding {
                    Coding::Text { .. } => change.texts >> field.at & 1 == 1,
                    _ => known.numbers[part.clone()] != new.numbers[part],
                };
                change.fields |= u64::from(is_other) << index;
            }
        }
        change
    }

    /// There is another term: everybody speaks to its host, of everything, and it to everybody. Of what others own it
    /// speaks when they have: what it heard of that before may be older than what a former host told.
    pub(super) fn turn_to_host(&mut self) {
        let members: SortedSet<PeerId> = self.replicas.keys().chain(self.aside.iter()).copied().collect();
        self.replicas = Default::default();
        self.aside = SortedSet::new();
        let ids: Vec<_> = self.slots.iter().filter(|object| object.owner != self.me).map(|o| o.id).collect();
        for id in ids {
            let slot = self.slots.slot(id);
            self.touched.retain(|&touched| Some(touched) != slot);
            let Some(object) = self.slots.get_mut(id) else { continue };
            object.touched = false;
            object.end_passing_on();
        }
        for &peer in &members {
            // What others want to see they told the former host; the new one hears it, too.
            self.interest.forget(peer);
            self.add_peer(peer);
            if let Some(replica) = self.replicas.get_mut(&peer) {
                // Members play on while they are told: no slow stream.
                replica.greeted = true;
            }
        }
    }
}
