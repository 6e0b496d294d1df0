//! The promises that are checked for every peer after every step (docs/recovery.md, promises 2 and 3).

use std::collections::BTreeMap;

use samovar_objects::{Object, Objects};
use samovar_wire::{ObjectId, PeerId, Stamp};

/// A peer's former knowledge of an object.
#[derive(Clone, Debug)]
struct Known {
    stamp: Stamp,
    is_alive: bool,
    /// The serial number of each field's value.
    serials: Vec<u32>,
}

/// A peer's former knowledge of all objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past(BTreeMap<ObjectId, Known>);

/// Everything that was set in this life, for comparison with what peers know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// Every owner that a stamp has named, at any peer at any time.
    owners: BTreeMap<(ObjectId, Stamp), PeerId>,
    /// Every state with a schema that was ever set, by its serial number.
    pub(crate) states: BTreeMap<u32, Vec<i32>>,
}

/// A value that names its setter, its stamp, and its serial number in this life.
pub(crate) fn value(setter: PeerId, stamp: Stamp, serial: u32, padding: usize) -> Vec<u8> {
    let mut bytes = setter.0.to_le_bytes().to_vec();
    bytes.extend((stamp.term.0 as u32).to_le_bytes());
    bytes.extend(stamp.counter.to_le_bytes());
    bytes.extend(serial.to_le_bytes());
    bytes.resize(bytes.len() + padding, serial as u8);
    bytes
}

fn word(value: &[u8], index: usize) -> u32 {
    value.as_chunks::<4>().0[index].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

fn serials(object: &Object) -> Vec<u32> {
    if let &[_, _, _, serial, ..] = object.numbers() {
        return vec![serial as u32];
    }
    (0..object.field_count()).map(|index| word(object.field(index), 3)).collect()
}

impl Past {
    /// Compares the former knowledge with what the peer knows now, and stores the present knowledge.
    pub(crate) fn check(&mut self, me: PeerId, objects: &Objects, ledger: &mut Ledger) -> Result<(), String> {
        for object in objects.iter() {
            let (id, stamp, owner) = (object.id(), object.stamp(), object.owner());
            let named = *ledger.owners.entry((id, stamp)).or_insert(owner);
            if named != owner {
                return Err(format!("{id} under {stamp:?} is {named}'s, and {owner}'s at {me}"));
            }
            // A state must be, as a whole, one that its owner has set, whatever its coding.
            if let &[_, _, _, serial, ..] = object.numbers()
                && ledger.states.get(&(serial as u32)).is_none_or(|set| *set != object.numbers())
            {
                return Err(format!("{me} has a state of {id} that was never set: {:?}", object.numbers()));
            }
            let new = Known { stamp, is_alive: true, serials: serials(object) };
            if let Some(old) = self.0.insert(id, new.clone()) {
                if stamp < old.stamp || stamp == old.stamp && !old.is_alive {
                    return Err(format!("{me} goes back to {stamp:?} from {:?} of {id}", old.stamp));
                }
                if stamp == old.stamp && owner != me {
                    check_values(object, &old, &new)?;
                }
            }
        }
        for (id, known) in &mut self.0 {
            known.is_alive = known.is_alive && objects.get(*id).is_some();
        }
        Ok(())
    }
}

/// Checks that under one stamp new values come only from the owner, and that no older value comes back.
fn check_values(object: &Object, old: &Known, new: &Known) -> Result<(), String> {
    for (index, (before, after)) in old.serials.iter().zip(&new.serials).enumerate() {
        let value = object.field(index);
        let (setter, term, counter) = match *object.numbers() {
            [setter, term, counter, ..] => (setter as u32, term as u32, counter as u32),
            _ => (word(value, 0), word(value, 1), word(value, 2)),
        };
        let stamp = object.stamp();
        let is_own =
            setter == object.owner().0 && u64::from(term) == stamp.term.0 && counter == stamp.counter;
        if after < before || after > before && !is_own {
            return Err(format!("value {after} of {setter} replaces {before} in {object:?}"));
        }
    }
    Ok(())
}
