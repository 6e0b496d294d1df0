//! Floats on a grid of steps.

use super::{Numbers, Quantise, nearest};
use crate::bits::bits_for;
use crate::schema::{Coding, Motion};

/// One to four floats that are rounded alike: `f32`, `f64`, arrays of them, and a game's own vectors.
///
/// ```
/// use samovar_objects::{Replicate, State, quantise::Floats};
///
/// struct Vector { x: f32, y: f32 }
///
/// impl Floats for Vector {
///     const WIDTH: usize = 2;
///     const STEPS_MAX: i32 = <f32 as Floats>::STEPS_MAX;
///
///     fn to_floats(&self) -> [f64; 4] {
///         [self.x.into(), self.y.into(), 0.0, 0.0]
///     }
///
///     fn from_floats([x, y, ..]: [f64; 4]) -> Self {
///         Self { x: x as f32, y: y as f32 }
///     }
/// }
///
/// #[derive(Replicate)]
/// struct Cup {
///     #[replicate(range = 64.0, precision = 0.001)]
///     place: Vector,
/// }
///
/// let mut state = State::default();
/// Cup { place: Vector { x: 1.0, y: -2.0 } }.write(&mut state);
/// assert_eq!(state.numbers(), [1_000, -2_000]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no float that `precision` could round",
    label = "`precision` goes with f32, f64 and arrays of one to four of them",
    note = "integers take `min` and `max` without `precision`; a type of your own can implement `Floats`"
)]
pub trait Floats: Sized {
    /// How many floats it has, 1 to 4.
    const WIDTH: usize;
    /// The most steps from zero that the type can always tell apart.
    const STEPS_MAX: i32;

    /// The floats; those beyond the width are zero.
    fn to_floats(&self) -> [f64; 4];

    /// A value of these floats.
    fn from_floats(floats: [f64; 4]) -> Self;
}

/// Rounds floats to multiples of a step, from a least to a greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    min: i32,
    max: i32,
    step: f64,
}

impl Grid {
    /// Floats of `T` from `min` to `max` in steps of `precision`, all in the game's own unit.
    ///
    /// # Panics
    /// When the range is empty, the precision is not above zero, or the range holds more steps than a `T` or a field
    /// can tell apart. In a `const` this is a compile-time error.
    #[track_caller]
    #[must_use]
    pub const fn of<T: Floats>(min: f64, max: f64, precision: f64) -> Self {
        assert!(
            precision >= 1e-30 && precision <= 1e30,
            "`precision` must be above zero, from 1e-30 to 1e30"
        );
        assert!(min < max, "the range is empty: its least value must lie below its greatest");
        let (low, high, steps) = ((min / precision).round(), (max / precision).round(), T::STEPS_MAX as f64);
        assert!(low < high, "the range is smaller than one step: a finer `precision`, or a wider range");
        assert!(
            low >= -steps && high <= steps,
            "the range has more steps than the type can tell apart: a coarser `precision`, a smaller range, f64, or `exact`"
        );
        Self { min: low as i32, max: high as i32, step: precision }
    }

    /// How many bits `width` floats take when they are packed.
    #[must_use]
    pub const fn bits(self, width: usize) -> usize {
        width * bits_for(self.max.wrapping_sub(self.min) as u32)
    }
}

impl<T: Floats> Quantise<T> for Grid {
    const WIDTH: usize = {
        assert!(T::WIDTH >= 1 && T::WIDTH <= 4, "a field holds one to four floats");
        T::WIDTH
    };

    fn coding(&self, motion: Motion) -> Coding {
        Coding::Grid { width: T::WIDTH as u8, min: self.min, max: self.max, step: self.step, motion }
    }

    fn quantise(&self, value: &T) -> Numbers {
        let floats = value.to_floats();
        let mut numbers = [0; 4];
        for (number, float) in numbers.iter_mut().zip(floats).take(T::WIDTH) {
            *number = nearest(float / self.step).clamp(self.min, self.max);
        }
        numbers
    }

    fn beyond(&self, value: &T) -> Option<String> {
        let [min, max] = [self.min, self.max].map(|number| f64::from(number) * self.step);
        let fits = |float: &f64| *float >= min - self.step && *float <= max + self.step;
        let odd = value.to_floats().into_iter().take(T::WIDTH).find(|float| !fits(float))?;
        Some(format!("{odd} is sent as the nearest number from {min} to {max}"))
    }

    fn restore(&self, numbers: Numbers) -> Option<T> {
        Some(T::from_floats(numbers.map(|number| f64::from(number) * self.step)))
    }
}

macro_rules! floats {
    ($float:ty, $steps:expr) => {
        impl Floats for $float {
            const WIDTH: usize = 1;
            const STEPS_MAX: i32 = $steps;

            fn to_floats(&self) -> [f64; 4] {
                [f64::from(*self), 0.0, 0.0, 0.0]
            }

            fn from_floats(floats: [f64; 4]) -> Self {
                floats[0] as Self
            }
        }

        impl<const N: usize> Floats for [$float; N] {
            const WIDTH: usize = N;
            const STEPS_MAX: i32 = $steps;

            fn to_floats(&self) -> [f64; 4] {
                let mut floats = [0.0; 4];
                floats.iter_mut().zip(self).for_each(|(float, &value)| *float = f64::from(value));
                floats
            }

            fn from_floats(floats: [f64; 4]) -> Self {
                let mut values = [0.0; N];
                values.iter_mut().zip(floats).for_each(|(value, float)| *value = float as $float);
                values
            }
        }
    };
}

// An f32 has 24 significant bits: up to 2^22 steps its rounding stays below a quarter of a step. The limit of f64
// keeps any difference of two numbers within an i32.
floats!(f32, 1 << 22);
floats!(f64, (1 << 30) - 1);

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const METRES: Grid = Grid::of::<f32>(-64.0, 64.0, 0.001);

    #[test]
    fn floats_are_rounded_to_the_same_numbers_on_every_machine() {
        let quantised = |value: f32| METRES.quantise(&value)[0];
        assert_eq!(
            [0.0, 0.0004, 0.0006, -0.0006, 1.0, 12.3456, -63.9999].map(quantised),
            [0, 0, 1, -1, 1_000, 12_346, -64_000]
        );
        let restored: Option<f32> = METRES.restore([12_346, 0, 0, 0]);
        assert_eq!(restored.map(f32::to_bits), Some(0x4145_8937));
        assert_eq!(METRES.quantise(&[1.0_f32, -2.0, 3.0]), [1_000, -2_000, 3_000, 0]);
    }

    #[test]
    fn nan_and_values_out_of_range_become_valid_numbers() {
        let quantised = |value: f32| METRES.quantise(&value)[0];
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -0.0, f32::MIN_POSITIVE];
        assert_eq!(odd.map(quantised), [0, 64_000, -64_000, 64_000, -64_000, 0, 0]);
        assert_eq!(Grid::of::<f32>(10.0, 20.0, 0.5).quantise(&f32::NAN)[0], 20);
    }

    #[test]
    fn every_number_restores_to_floats_that_quantise_to_it() {
        let finest = (1 << 22) as f64 * 0.001;
        let coarse = Grid::of::<f32>(-finest, finest, 0.001);
        for number in (-(1 << 22)..=1 << 22).step_by(37) {
            let value: f32 = coarse.restore([number, 0, 0, 0]).unwrap();
            assert_eq!(coarse.quantise(&value)[0], number);
        }
        let wide = Grid::of::<f64>(-1e9, 1e9, 1.0 / 3.0 * 3.0);
        for number in [-1_000_000_000, -999_999_999, 333_333_333, 1_000_000_000] {
            let value: f64 = wide.restore([number, 0, 0, 0]).unwrap();
            assert_eq!(wide.quantise(&value)[0], number);
        }
    }
}
