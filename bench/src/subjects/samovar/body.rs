//! The object that Samovar replicates.

use samovar_objects::{Object, Objects};
use samovar_wire::object::Traits;
use samovar_wire::{Kind, ObjectId, PeerId, Term, Time};

use crate::state::{Key, PLAIN_LEN, State, read_plain, write_plain};

/// The objects of one peer.
pub(super) fn objects(me: PeerId, host: PeerId, term: Term) -> Objects {
    Objects::new(me, host, term)
}

fn fields(state: &State, bytes: &mut Vec<u8>) {
    bytes.clear();
    write_plain(state, bytes);
}

pub(super) fn create(objects: &mut Objects, now: Time, state: &State) -> ObjectId {
    let mut bytes = Vec::with_capacity(PLAIN_LEN);
    fields(state, &mut bytes);
    let traits = Traits { kind: Kind(1), reliable: false, dies_with_owner: true };
    objects.create(now, traits, &[&bytes[..12], &bytes[12..24], &bytes[24..]]).expect("there is room")
}

pub(super) fn set(objects: &mut Objects, now: Time, id: ObjectId, state: &State) {
    let mut bytes = Vec::with_capacity(PLAIN_LEN);
    fields(state, &mut bytes);
    for (index, field) in [&bytes[..12], &bytes[12..24], &bytes[24..]].into_iter().enumerate() {
        objects.set(now, id, index, field).expect("the owner sets its own object");
    }
}

pub(super) fn shown(object: &Object) -> Option<Key> {
    read_plain(&[object.field(0), object.field(1), object.field(2)].concat())
}

pub(super) fn key(state: &State) -> Key {
    Key::of(state)
}
