//! The values of the toy's objects. Each is a function of its writer and a count.

use samovar_session::objects::{Coding, Motion, Schema, SchemaBuilder, State};
use samovar_wire::{Kind, PeerId};

/// The length of a lap, in counts.
const LAP: i32 = 256;
/// How far an object goes in one count.
const STEP: i32 = 8;

/// The schema of every kind of object: writer, count, position, velocity.
pub(super) fn schema(kind: Kind) -> Schema {
    let mut builder = SchemaBuilder::default();
    builder.field("writer", Coding::Exact { width: 1 });
    let count = Coding::Grid { width: 1, min: 0, max: i32::MAX, step: 1.0, motion: Motion::Smooth };
    builder.field("count", count);
    let place = |motion| Coding::Grid { width: 2, min: -4_096, max: 4_096, step: 0.0625, motion };
    builder.field("position", place(Motion::Rated(3)));
    builder.field("velocity", place(Motion::Held));
    builder.build(kind)
}

/// The numbers of the value that a writer writes at this count.
pub(super) fn value(writer: PeerId, count: i32) -> [i32; 6] {
    let shift = (writer.0 % 64) as i32;
    let (x, vx) = wave(count.wrapping_add(shift));
    let (y, vy) = wave(count.wrapping_add(3 * shift + LAP / 4));
    [writer.0.cast_signed(), count, x, y, vx, vy]
}

/// A triangle wave: the place and the velocity at a count.
const fn wave(at: i32) -> (i32, i32) {
    let place = at.rem_euclid(LAP);
    if place < LAP / 2 { (place * STEP, STEP * 30) } else { ((LAP - place) * STEP, -STEP * 30) }
}

/// Fills `state` with a writer's value of this count.
pub(super) fn write_value(state: &mut State, writer: PeerId, count: i32) {
    state.clear();
    value(writer, count).into_iter().for_each(|number| state.number(number));
}
