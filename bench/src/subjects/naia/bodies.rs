//! The component that naia replicates, field by field, in two precisions.

use naia_shared::{Property, Replicate, ReplicatedComponent, UnsignedInteger};

use crate::quantise;
use crate::state::{Key, State};

/// A component that holds one object's state.
pub(super) trait Body: ReplicatedComponent {
    fn new(number: u16, state: &State) -> Self;
    /// Writes only the fields that differ, because naia takes every mutable access for a change.
    fn write(&mut self, state: &State);
    fn number(&self) -> u16;
    fn shown(&self) -> Key;
    fn key(state: &State) -> Key;
}

fn set<T: PartialEq + naia_shared::Serde>(property: &mut Property<T>, value: T) {
    if **property != value {
        **property = value;
    }
}

#[derive(Replicate)]
pub(super) struct Exact {
    number: Property<u16>,
    position: Property<[f32; 3]>,
    velocity: Property<[f32; 3]>,
    rotation: Property<[f32; 4]>,
}

impl Body for Exact {
    fn new(number: u16, state: &State) -> Self {
        Self::new_complete(number, state.position, state.velocity, state.rotation)
    }

    fn write(&mut self, state: &State) {
        set(&mut self.position, state.position);
        set(&mut self.velocity, state.velocity);
        set(&mut self.rotation, state.rotation);
    }

    fn number(&self) -> u16 {
        *self.number
    }

    fn shown(&self) -> Key {
        Key::exact(*self.position, *self.velocity, *self.rotation)
    }

    fn key(state: &State) -> Key {
        Key::of(state)
    }
}

type Position = [UnsignedInteger<17>; 3];
type Velocity = [UnsignedInteger<12>; 3];
type Rotation = (UnsignedInteger<2>, [UnsignedInteger<9>; 3]);

#[derive(Replicate)]
pub(super) struct Quantised {
    number: Property<u16>,
    position: Property<Position>,
    velocity: Property<Velocity>,
    rotation: Property<Rotation>,
}

fn quantised(state: &State) -> (Position, Velocity, Rotation) {
    let (largest, rest) = quantise::rotation(state.rotation);
    (
        quantise::position(state.position).map(UnsignedInteger::new),
        quantise::velocity(state.velocity).map(UnsignedInteger::new),
        (UnsignedInteger::new(largest), rest.map(UnsignedInteger::new)),
    )
}

impl Body for Quantised {
    fn new(number: u16, state: &State) -> Self {
        let (position, velocity, rotation) = quantised(state);
        Self::new_complete(number, position, velocity, rotation)
    }

    fn write(&mut self, state: &State) {
        let (position, velocity, rotation) = quantised(state);
        set(&mut self.position, position);
        set(&mut self.velocity, velocity);
        set(&mut self.rotation, rotation);
    }

    fn number(&self) -> u16 {
        *self.number
    }

    fn shown(&self) -> Key {
        let [px, py, pz] = self.position.each_ref().map(|x| x.get() as u32);
        let [vx, vy, vz] = self.velocity.each_ref().map(|x| x.get() as u32);
        let (largest, rest) = &*self.rotation;
        let [ra, rb, rc] = rest.each_ref().map(|x| x.get() as u32);
        Key { position: [px, py, pz], rest: [vx, vy, vz, largest.get() as u32, ra, rb, rc] }
    }

    fn key(state: &State) -> Key {
        let [vx, vy, vz] = quantise::velocity(state.velocity);
        let (largest, [ra, rb, rc]) = quantise::rotation(state.rotation);
        Key { position: quantise::position(state.position), rest: [vx, vy, vz, largest, ra, rb, rc] }
    }
}
