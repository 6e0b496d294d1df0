//! How values of a game's own types become the numbers of a field, and which numbers are valid.
//!
//! A *coder* says how: [`Grid`] for floats, [`Angle`], [`Rotation`], [`Whole`] for bounded integers, [`Choice`] for
//! enums, [`Exact`] for values that must not be rounded. `#[derive(Replicate)]` makes them from a field's attributes.
//!
//! Invariants: quantising is total (NaN, infinities and values out of range become the nearest possible value);
//! restored values quantise to the same numbers again; numbers that no value has are refused. Only sums, products,
//! quotients, square roots and roundings of IEEE 754 are used, so that all machines agree to the last bit.

mod angle;
mod exact;
mod grid;
mod rotation;
mod whole;

pub use angle::Angle;
pub use exact::{Exact, Exactly};
pub use grid::{Floats, Grid};
pub use rotation::Rotation;
pub use whole::{Choice, Choices, Integer, Whole};

use crate::bits::{BitReader, BitWriter, bits_for};
use crate::schema::{Coding, Motion, SchemaBuilder};
use crate::state::{State, StateError, StateReader};

/// The numbers of one field; those beyond its width are zero.
pub type Numbers = [i32; 4];

/// A coder: how a value of `T` becomes the numbers of one field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot code `{T}`",
    label = "this type does not go with the attributes",
    note = "a rotation is a [f32; 4], an angle an f32 or f64; floats take a range and a precision, integers a range"
)]
pub trait Quantise<T> {
    /// How many numbers a value becomes, 1 to 4.
    const WIDTH: usize;
    /// How many numbers the rate of such a field has.
    const RATE_WIDTH: usize = Self::WIDTH;

    /// How the field is coded.
    fn coding(&self, motion: Motion) -> Coding;

    /// The numbers nearest to the value. Every value has such numbers, also NaN.
    fn quantise(&self, value: &T) -> Numbers;

    /// The value that has these numbers, which lie within their ranges; `None` when no value has them.
    fn restore(&self, numbers: Numbers) -> Option<T>;

    /// Says in words what happens to a value beyond the limits; `None` for a value that is only rounded.
    fn beyond(&self, value: &T) -> Option<String> {
        let _ = value;
        None
    }

    /// Adds the field to a schema.
    fn describe(&self, schema: &mut SchemaBuilder, name: &'static str, motion: Motion) {
        schema.field(name, self.coding(motion));
    }

    /// Appends the numbers of a value to a state.
    fn write(&self, value: &T, state: &mut State) {
        for &number in &self.quantise(value)[..Self::WIDTH] {
            state.number(number);
        }
    }

    /// Reads a value from a state.
    ///
    /// # Errors
    /// `Missing` when numbers are missing, `Invalid` when no value has these.
    fn read(&self, state: &mut StateReader<'_>) -> Result<T, StateError> {
        read(self, |_| state.number())
    }

    /// Appends a value in as few bits as its range needs.
    fn pack(&self, value: &T, bits: &mut BitWriter) {
        let coding = self.coding(Motion::Held);
        for (place, &number) in self.quantise(value)[..Self::WIDTH].iter().enumerate() {
            let (min, max) = coding.range(place);
            bits.write(number.wrapping_sub(min) as u32, bits_for(max.wrapping_sub(min) as u32));
        }
    }

    /// Reads a value that [`Quantise::pack`] has written.
    ///
    /// # Errors
    /// `Invalid` when the bits end, or no value has such numbers.
    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<T, StateError> {
        read(self, |(min, max)| {
            let span = max.wrapping_sub(min) as u32;
            let above = bits.read(bits_for(span))?;
            if above <= span { Ok(min.wrapping_add(above as i32)) } else { Err(StateError::Invalid) }
        })
    }
}

/// The nearest integer. Halves go away from zero, values out of range become the nearest `i32`, and NaN becomes zero.
/// This takes a few instructions on every machine. It differs from `f64::round` only where adding the half rounds.
fn nearest(value: f64) -> i32 {
    (value + if value < 0.0 { -0.5 } else { 0.5 }) as i32
}

fn read<T, Q: Quantise<T> + ?Sized>(
    coder: &Q,
    mut next: impl FnMut((i32, i32)) -> Result<i32, StateError>,
) -> Result<T, StateError> {
    let coding = coder.coding(Motion::Held);
    let mut numbers = [0; 4];
    for (place, number) in numbers[..Q::WIDTH].iter_mut().enumerate() {
        let (min, max) = coding.range(place);
        *number = next((min, max))?;
        if !(min..=max).contains(number) {
            return Err(StateError::Invalid);
        }
    }
    coder.restore(numbers).ok_or(StateError::Invalid)
}

/// Refuses, at compile time, a rate that does not have one number for each number that moves by it.
#[doc(hidden)]
#[track_caller]
pub const fn assert_rate(rate: usize, wanted: usize) {
    assert!(
        rate == wanted,
        "the field named by `rate` must have as many numbers as this one; a rotation's has three"
    );
}
