//! The object that Samovar replicates.

use samovar_objects::schema::{Coding, Motion};
use samovar_objects::{Object, Objects, SchemaBuilder, Schemas, State as Numbers};
use samovar_wire::object::Traits;
use samovar_wire::{Kind, ObjectId, PeerId, Term, Time};

use crate::state::{Key, State};

const KIND: Kind = Kind(1);
/// Half a degree: the largest of the three smaller components of an orientation in steps.
const ROTATION_LIMIT: i32 = 162;

/// The objects of one peer.
pub(super) fn objects(me: PeerId, host: PeerId, term: Term) -> Objects {
    let grid = |limit: i32, step, motion| Coding::Grid { width: 3, min: -limit, max: limit, step, motion };
    let mut builder = SchemaBuilder::default();
    builder.field("position", grid(64_000, 0.001, Motion::Rated(1)));
    builder.field("velocity", grid(2_048, 0.01, Motion::Smooth));
    builder.field("rotation", Coding::Rotation { limit: ROTATION_LIMIT, motion: Motion::Rated(3) });
    builder.field("spin", grid(500, 0.01, Motion::Smooth));
    Objects::new(me, host, term, Schemas::new().with(builder.build(KIND)))
}

fn rounded(values: [f32; 3], per_unit: f32, limit: i32) -> [i32; 3] {
    values.map(|value| ((value * per_unit).round() as i32).clamp(-limit, limit))
}

/// The number of the largest component, and the others in steps.
fn smallest_three(rotation: [f32; 4]) -> [i32; 4] {
    let largest = (0..4).max_by(|&a, &b| rotation[a].abs().total_cmp(&rotation[b].abs())).unwrap_or(3);
    let scale = ROTATION_LIMIT as f32 * std::f32::consts::SQRT_2 * rotation[largest].signum();
    let mut numbers = [largest as i32, 0, 0, 0];
    for (number, k) in numbers[1..].iter_mut().zip((0..4).filter(|&k| k != largest)) {
        *number = ((rotation[k] * scale).round() as i32).clamp(-ROTATION_LIMIT, ROTATION_LIMIT);
    }
    numbers
}

fn write(state: &State, numbers: &mut Numbers) {
    numbers.clear();
    rounded(state.position, 1_000.0, 64_000).into_iter().for_each(|n| numbers.number(n));
    rounded(state.velocity, 100.0, 2_048).into_iter().for_each(|n| numbers.number(n));
    smallest_three(state.rotation).into_iter().for_each(|n| numbers.number(n));
    rounded(state.spin, 100.0, 500).into_iter().for_each(|n| numbers.number(n));
}

pub(super) fn create(objects: &mut Objects, now: Time, state: &State) -> ObjectId {
    let traits = Traits { kind: KIND, reliable: false, dies_with_owner: true };
    let mut numbers = Numbers::default();
    write(state, &mut numbers);
    objects.create_state(now, traits, &numbers).expect("there is room")
}

pub(super) fn set(objects: &mut Objects, now: Time, id: ObjectId, state: &State, scratch: &mut Numbers) {
    write(state, scratch);
    objects.set_state(now, id, scratch).expect("the owner sets its own object");
}

fn key_of(numbers: &[i32]) -> Option<Key> {
    let position = numbers.first_chunk::<3>()?.map(i32::cast_unsigned);
    let rest = numbers.get(3..)?.first_chunk::<7>()?.map(i32::cast_unsigned);
    Some(Key { position, rest })
}

pub(super) fn shown(object: &Object) -> Option<Key> {
    key_of(object.numbers())
}

pub(super) fn key(state: &State) -> Key {
    let mut numbers = Numbers::default();
    write(state, &mut numbers);
    key_of(numbers.numbers()).expect("the state was written whole")
}
