//! Objects with a schema: they move and spin as in games, and sometimes jump.

use samovar_objects::{Coding, Motion, Schema, SchemaBuilder, Schemas, State};
use samovar_wire::{Kind, PeerId, Stamp};

use samovar_wire::Rng;

pub(crate) const MOVER: Kind = Kind(2);

const PLACE: i32 = 64_000;
const SPEED: i32 = 2_000;
const TURN: i32 = 720;
const LIMIT: i32 = 500;
const SPIN: i32 = 1_000;
const CHOICES: i32 = 5;
/// How many numbers name a state's setter, its stamp (term and counter), and its serial number in this life.
const TAG: usize = 4;

fn mover() -> Schema {
    let grid = |range: i32, step, motion| Coding::Grid { width: 3, min: -range, max: range, step, motion };
    let mut schema = SchemaBuilder::default();
    schema.field("tag", Coding::Exact { width: TAG as u8 });
    schema.field("place", grid(PLACE, 0.001, Motion::Rated(2)));
    schema.field("speed", grid(SPEED, 0.01, Motion::Smooth));
    schema.field("heading", Coding::Angle { turn: TURN, motion: Motion::Smooth });
    schema.field("rotation", Coding::Rotation { limit: LIMIT, motion: Motion::Rated(5) });
    schema.field("spin", grid(SPIN, 0.01, Motion::Held));
    schema.field("mood", Coding::Choice { count: CHOICES });
    schema.field("label", Coding::Text { max: 40 });
    schema.build(MOVER)
}

pub(crate) fn schemas() -> Schemas {
    Schemas::new().with(mover())
}

/// Random numbers of a state, without its tag.
fn anywhere(dice: &mut Rng) -> Vec<i32> {
    let mut within = |range: i32, places: usize| -> Vec<i32> {
        let one = |dice: &mut Rng| match dice.roll(8) {
            0 => range,
            1 => -range,
            _ => dice.roll(2 * range as u64 + 1) as i32 - range,
        };
        (0..places).map(|_| one(dice)).collect()
    };
    let (place, speed, rotation, spin) =
        (within(PLACE, 3), within(SPEED, 3), within(LIMIT, 3), within(SPIN, 3));
    let heading = dice.roll(TURN as u64) as i32;
    let (largest, mood) = (dice.roll(4) as i32, dice.roll(CHOICES as u64) as i32);
    [place, speed, vec![heading, largest], rotation, spin, vec![mood]].concat()
}

/// The numbers of the state a sixtieth of a second later, without its tag.
fn moved(before: &[i32], dice: &mut Rng) -> Vec<i32> {
    let mut numbers = before[TAG..].to_vec();
    let mut nudge = |value: i32, range: i32| (value + dice.roll(5) as i32 - 2).clamp(-range, range);
    for axis in 0..3 {
        let speed = numbers[3 + axis];
        numbers[axis] = (numbers[axis] + speed / 6).clamp(-PLACE, PLACE);
        numbers[3 + axis] = nudge(speed, SPEED);
        numbers[8 + axis] = nudge(numbers[8 + axis] + numbers[11 + axis] / 40, LIMIT);
    }
    numbers[6] = (numbers[6] + 4) % TURN;
    numbers
}

/// The next state of an object with the numbers `before`; its first state if there are none.
pub(crate) fn state(before: &[i32], tag: (PeerId, Stamp, u32), dice: &mut Rng) -> State {
    let is_new = before.is_empty() || dice.chance(150, 1_000);
    let numbers = if is_new { anywhere(dice) } else { moved(before, dice) };
    let (setter, stamp, serial) = tag;
    let mut state = State::default();
    for number in [setter.0 as i32, stamp.term.0 as i32, stamp.counter as i32, serial as i32] {
        state.number(number);
    }
    numbers.into_iter().for_each(|number| state.number(number));
    let length = if dice.chance(100, 1_000) { dice.roll(41) } else { 5 };
    let letter = if dice.chance(100, 1_000) { serial as u8 } else { b'x' };
    state.text(&vec![letter; length as usize]);
    state
}
