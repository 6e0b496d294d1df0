//! Angles.

use core::f64::consts::TAU;

use super::{Floats, Numbers, Quantise, nearest};
use crate::bits::bits_for;
use crate::schema::{Coding, Motion};

/// Rounds an angle in radians to one of equal parts of a turn. Restored angles lie above −π and up to π.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Angle {
    turn: i32,
}

impl Angle {
    /// Angles in steps of about `precision` radians. The step is changed a little so that it divides a turn evenly.
    ///
    /// # Panics
    /// When the precision is coarser than a quarter turn or finer than a millionth of a turn. In a `const` this is a
    /// compile-time error.
    #[track_caller]
    #[must_use]
    pub const fn of(precision: f64) -> Self {
        let turn = (TAU / precision).round();
        assert!(
            turn >= 4.0 && turn <= 1_048_576.0,
            "the `precision` of an angle is in radians, from 0.000006 to 1.57"
        );
        Self { turn: turn as i32 }
    }

    /// How many bits it takes when it is packed.
    #[must_use]
    pub const fn bits(self, _width: usize) -> usize {
        bits_for((self.turn - 1) as u32)
    }
}

impl<T: Floats> Quantise<T> for Angle {
    const WIDTH: usize = {
        assert!(T::WIDTH == 1, "an angle is one float");
        1
    };

    fn coding(&self, motion: Motion) -> Coding {
        Coding::Angle { turn: self.turn, motion }
    }

    fn quantise(&self, value: &T) -> Numbers {
        let turns = value.to_floats()[0] / TAU;
        // A value that is NaN or infinite leaves no fraction, and so becomes zero.
        let number = nearest((turns - turns.floor()) * f64::from(self.turn));
        [if number >= self.turn { 0 } else { number }, 0, 0, 0]
    }

    fn restore(&self, numbers: Numbers) -> Option<T> {
        let steps = if numbers[0] > self.turn / 2 { numbers[0] - self.turn } else { numbers[0] };
        Some(T::from_floats([f64::from(steps) * TAU / f64::from(self.turn), 0.0, 0.0, 0.0]))
    }
}

#[cfg(test)]
mod tests {
    use core::f32::consts::PI;

    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const HEADING: Angle = Angle::of(0.001);

    #[test]
    fn angle_has_the_step_nearest_to_its_precision() {
        assert_eq!(
            [Angle::of(0.001), Angle::of(1.57), Angle::of(0.1)].map(|angle| angle.turn),
            [6_283, 4, 63]
        );
    }

    #[test]
    fn angles_are_wrapped_and_rounded_alike_on_every_machine() {
        let quantised = |value: f32| HEADING.quantise(&value)[0];
        assert_eq!(
            [0.0, 1.0, -1.0, PI, -PI, 7.0, 700.0, -1e9, 1e30].map(quantised),
            [0, 1_000, 5_283, 3_142, 3_141, 717, 2_566, 5_706, 0]
        );
        assert_eq!([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1e-9].map(quantised), [0; 4]);
        let restored: Option<f32> = HEADING.restore([5_283, 0, 0, 0]);
        assert_eq!(restored.map(f32::to_bits), Some(0xbf80_00f7));
    }

    #[test]
    fn every_number_restores_to_an_angle_that_quantises_to_it() {
        for angle in [HEADING, Angle::of(1.57), Angle::of(0.1), Angle::of(6e-6)] {
            for number in (0..angle.turn).step_by(1 + angle.turn as usize / 10_000).chain([angle.turn / 2]) {
                let value: f32 = angle.restore([number, 0, 0, 0]).unwrap();
                assert!(value > -PI && value <= PI, "{value}");
                assert_eq!(angle.quantise(&value)[0], number);
            }
        }
    }
}
