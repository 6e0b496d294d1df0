//! Names of objects on the scoreboard.
//!
//! Any member may own a cup or a robot's teapot, so the owner alone does not show that an object is what it claims to
//! be. The host makes these objects and names them on the scoreboard, which only the host can write. All members
//! follow the names, also those who join later. Everything else of these kinds is ignored.

use samovar_wire::{ObjectId, PeerId, SortedMap};

use crate::codec::{DecodeError, Reader};

/// The most names in one list: its field has room for no more.
pub const NAMES_MAX: usize = 28;

/// The objects with a number each, at most [`NAMES_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named(SortedMap<u8, ObjectId>);

impl Named {
    /// The object with this number.
    pub fn get(&self, number: u8) -> Option<ObjectId> {
        self.0.get(&number).copied()
    }

    /// The number of this object.
    pub fn number(&self, id: ObjectId) -> Option<u8> {
        self.0.iter().find(|(_, named)| **named == id).map(|(&number, _)| number)
    }

    /// All names, sorted by number.
    pub fn iter(&self) -> impl Iterator<Item = (u8, ObjectId)> {
        self.0.iter().map(|(&number, &id)| (number, id))
    }

    /// Names an object. Returns `false`, and names none, if the list is full.
    pub fn set(&mut self, number: u8, id: ObjectId) -> bool {
        let has_room = self.0.contains_key(&number) || self.0.len() < NAMES_MAX;
        if has_room {
            self.0.insert(number, id);
        }
        has_room
    }

    /// Keeps the names that `is_kept` holds for.
    pub fn retain(&mut self, mut is_kept: impl FnMut(u8, ObjectId) -> bool) {
        self.0.retain(|&number, id| is_kept(number, *id));
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 * self.0.len());
        for (number, id) in self.iter() {
            out.push(number);
            out.extend(id.creator.0.to_le_bytes());
            out.extend(id.number.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (mut reader, mut named) = (Reader::new(bytes), Self::default());
        let mut next = 0;
        while !reader.is_empty() {
            let number = reader.u8()?;
            let id = ObjectId { creator: PeerId(reader.u32()?), number: reader.u32()? };
            // The numbers ascend, so that each list is written in one way only.
            if u16::from(number) < next || !named.set(number, id) {
                return Err(DecodeError::OutOfRange);
            }
            next = u16::from(number) + 1;
        }
        Ok(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn id(number: u32) -> ObjectId {
        ObjectId { creator: PeerId(9), number }
    }

    #[test]
    fn encoded_names_decode_to_themselves_and_fit_a_field() {
        let mut named = Named::default();
        assert_eq!(Named::decode(&named.encode()), Ok(named.clone()));
        for number in 0..=u8::MAX {
            assert_eq!(named.set(255 - number, id(u32::from(number))), usize::from(number) < NAMES_MAX);
        }
        assert!(named.set(255, id(77)), "a name in a full list can change");
        assert_eq!(
            (named.get(255), named.number(id(77)), named.number(id(0))),
            (Some(id(77)), Some(255), None)
        );
        assert!(named.encode().len() <= samovar_wire::limits::FIELD_MAX);
        assert_eq!(Named::decode(&named.encode()), Ok(named.clone()));
        let mut twice = named.encode();
        twice.splice(9..18, twice[..9].to_vec());
        assert_eq!(Named::decode(&twice), Err(DecodeError::OutOfRange));
        assert_eq!(Named::decode(&[1; 8]), Err(DecodeError::WrongLength));
        named.retain(|number, _| number == 255);
        assert_eq!(named.iter().collect::<Vec<_>>(), [(255, id(77))]);
    }
}
