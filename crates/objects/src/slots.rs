//! Slots: an object has a slot number while it exists, so that lists kept per peer find it without a search.

use samovar_wire::{ObjectId, PeerId, SortedMap};

use crate::object::Object;

/// Objects by id and by slot, and how many each peer owns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Slots {
    slots: Vec<Option<Object>>,
    free: Vec<u32>,
    index: SortedMap<ObjectId, u32>,
    owned: SortedMap<PeerId, usize>,
}

impl Slots {
    pub(crate) fn slot(&self, id: ObjectId) -> Option<u32> {
        self.index.get(&id).copied()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<&Object> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(crate) fn at_mut(&mut self, slot: u32) -> Option<&mut Object> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn get(&self, id: ObjectId) -> Option<&Object> {
        self.at(self.slot(id)?)
    }

    /// The object, to be changed. Its owner may be changed by [`Slots::set_owner`] only, which keeps the counts
    /// right.
    pub(crate) fn get_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.at_mut(self.slot(id)?)
    }

    /// All objects, by id.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Object> {
        self.index.values().filter_map(|&slot| self.at(slot))
    }

    /// All objects of a creator in the order of their numbers, so the newest comes last.
    pub(crate) fn of_creator(&self, creator: PeerId) -> impl DoubleEndedIterator<Item = &Object> {
        self.between(creator, 0, u32::MAX)
    }

    /// A creator's objects numbered from `first` to `last`, both included. `first` must not be above `last`.
    pub(crate) fn between(
        &self,
        creator: PeerId,
        first: u32,
        last: u32,
    ) -> impl DoubleEndedIterator<Item = &Object> {
        let (first, last) = (ObjectId { creator, number: first }, ObjectId { creator, number: last });
        self.index.range(&first, &last).filter_map(|(_, &slot)| self.at(slot))
    }

    /// How many objects a peer owns.
    pub(crate) fn owned_by(&self, peer: PeerId) -> usize {
        self.owned.get(&peer).copied().unwrap_or(0)
    }

    /// Adds an object, or replaces the one with the same id. Returns its slot.
    pub(crate) fn insert(&mut self, object: Object) -> u32 {
        self.remove(object.id);
        *self.owned.entry(object.owner).or_insert(0) += 1;
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        if slot as usize == self.slots.len() {
            self.slots.push(None);
        }
        self.index.insert(object.id, slot);
        self.slots[slot as usize] = Some(object);
        slot
    }

    pub(crate) fn remove(&mut self, id: ObjectId) -> Option<Object> {
        let slot = self.index.remove(&id)?;
        self.free.push(slot);
        let object = self.slots[slot as usize].take()?;
        self.disown(object.owner);
        Some(object)
    }

    fn disown(&mut self, owner: PeerId) {
        if let Some(count) = self.owned.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.owned.remove(&owner);
            }
        }
    }

    /// Gives an object to another peer. Returns the former owner.
    pub(crate) fn set_owner(&mut self, id: ObjectId, owner: PeerId) -> Option<PeerId> {
        let former = core::mem::replace(&mut self.get_mut(id)?.owner, owner);
        *self.owned.entry(owner).or_insert(0) += 1;
        self.disown(former);
        Some(former)
    }
}

/// A set of slots. Iterating takes a step for each slot in it, and one for each 64 slots below the highest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SlotSet {
    words: Vec<u64>,
    len: usize,
}

impl SlotSet {
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn insert(&mut self, slot: u32) {
        let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.len += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
        if let Some(word) = self.words.get_mut(word)
            && *word & bit != 0
        {
            *word &= !bit;
            self.len -= 1;
        }
    }

    /// The slots, lowest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            core::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
                .take_while(|&word| word != 0)
                .map(move |word| index as u32 * 64 + word.trailing_zeros())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_set_holds_inserted_slots_until_they_are_removed() {
        let mut set = SlotSet::default();
        [700, 3, 64, 3, 0, 63].iter().for_each(|&slot| set.insert(slot));
        set.remove(64);
        set.remove(9_999);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 3, 63, 700]);
        [700, 3, 0, 63].iter().for_each(|&slot| set.remove(slot));
        assert!(set.is_empty() && set.iter().next().is_none());
    }
}
