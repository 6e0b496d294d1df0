//! The object that Samovar replicates, as a game states it.

use samovar_objects::{Kinded, Object, Objects, Replicate, Schemas, State as Numbers};
use samovar_wire::object::{Orphan, Traits};
use samovar_wire::{ObjectId, PeerId, Term, Time};

use crate::state::{Key, State};

/// An object at the precisions of the workload; half a degree is 0.0087 rad.
#[derive(Replicate)]
#[replicate(kind = 1)]
struct Body {
    #[replicate(range = 64.0, precision = 0.001, rate = velocity)]
    position: [f32; 3],
    #[replicate(range = 20.0, precision = 0.01)]
    velocity: [f32; 3],
    #[replicate(rotation, precision = 0.0087, rate = spin)]
    rotation: [f32; 4],
    #[replicate(range = 5.0, precision = 0.01)]
    spin: [f32; 3],
}

impl From<&State> for Body {
    fn from(&State { position, velocity, rotation, spin }: &State) -> Self {
        Self { position, velocity, rotation, spin }
    }
}

/// The objects of one peer.
pub(super) fn objects(me: PeerId, host: PeerId, term: Term) -> Objects {
    Objects::new(me, host, term, Schemas::new().with(Body::schema()))
}

/// Creates an object that ends when its owner goes.
pub(super) fn create(objects: &mut Objects, now: Time, state: &State) -> ObjectId {
    let traits = Traits { orphan: Orphan::Destroy, ..Traits::of(Body::KIND) };
    let mut numbers = Numbers::default();
    Body::from(state).write(&mut numbers);
    objects.create_state(now, traits, &numbers).expect("there is room")
}

/// Sets the state of an object.
pub(super) fn set(objects: &mut Objects, now: Time, id: ObjectId, state: &State, scratch: &mut Numbers) {
    scratch.clear();
    Body::from(state).write(scratch);
    objects.set_state(now, id, scratch).expect("the owner sets its own object");
}

/// Position, velocity and orientation of an object, at the precision of the body; its spin never changes.
pub(super) fn shown(object: &Object) -> Option<Key> {
    key_of(object.numbers())
}

/// The key of a state that was not sent, at the precision of the body.
pub(super) fn key(state: &State) -> Key {
    let mut numbers = Numbers::default();
    Body::from(state).write(&mut numbers);
    key_of(numbers.numbers()).expect("the state was written whole")
}

fn key_of(numbers: &[i32]) -> Option<Key> {
    let position = numbers.first_chunk::<3>()?.map(i32::cast_unsigned);
    let rest = numbers.get(3..)?.first_chunk::<7>()?.map(i32::cast_unsigned);
    Some(Key { position, rest })
}
