//! Unit quaternions by their smallest three.

use core::f64::consts::FRAC_1_SQRT_2;

use super::{Numbers, Quantise, nearest};
use crate::bits::bits_for;
use crate::schema::{Coding, Motion};

/// Rounds a unit quaternion (x, y, z, w) by its smallest three components.
///
/// Numbers are *canonical* when the left-out component, computed from the other three, is the largest: at least as
/// large as those after it, and larger by a step than those before it. Only canonical numbers are written and
/// accepted. So each rotation has one form, and a restored one is written as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    limit: i32,
}

impl Rotation {
    /// Rotations to about `precision` radians: one step of a component is half of that. The error after restoring is
    /// 0.6 times the precision on average. It is at most 2.5 times the precision, where two components are equally
    /// large.
    ///
    /// # Panics
    /// When the precision is coarser than 1.4 or finer than 0.0000014. In a `const` this is a compile-time error.
    #[track_caller]
    #[must_use]
    pub const fn of(precision: f64) -> Self {
        let limit = (2.0 * FRAC_1_SQRT_2 / precision).round();
        assert!(
            limit >= 1.0 && limit <= 1_048_576.0,
            "the `precision` of a rotation is in radians, from 0.0000014 to 1.4"
        );
        Self { limit: limit as i32 }
    }

    /// How many bits it takes when it is packed.
    #[must_use]
    pub const fn bits(self, _width: usize) -> usize {
        2 + 3 * bits_for((2 * self.limit) as u32)
    }

    /// The square of the left-out component, in steps. All four squares add up to 1, which in steps is twice the
    /// limit squared.
    fn left_out(self, rest: [i32; 3]) -> i64 {
        let square = |n: i32| i64::from(n) * i64::from(n);
        2 * square(self.limit) - rest.into_iter().map(square).sum::<i64>()
    }

    /// Whether the component at `place` of the three is small enough beside a left-out component with this square.
    fn is_canonical(largest: usize, left_out: i64, place: usize, number: i32) -> bool {
        let margin = i64::from(place < largest);
        let least = i64::from(number.abs()) + margin;
        left_out >= least * least
    }
}

impl Quantise<[f32; 4]> for Rotation {
    const WIDTH: usize = 4;
    const RATE_WIDTH: usize = 3;

    fn coding(&self, motion: Motion) -> Coding {
        Coding::Rotation { limit: self.limit, motion }
    }

    fn quantise(&self, value: &[f32; 4]) -> Numbers {
        let q = value.map(f64::from);
        let norm = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
        let unit =
            if norm > 0.0 && norm < f64::INFINITY { q.map(|c| c / norm) } else { [0.0, 0.0, 0.0, 1.0] };
        let largest = (1..4).fold(0, |best, i| if unit[i].abs() > unit[best].abs() { i } else { best });
        let scale = f64::from(self.limit) / FRAC_1_SQRT_2;
        let scale = if unit[largest] < 0.0 { -scale } else { scale };
        let mut rest = [0; 3];
        let others = (0..4).filter(|&i| i != largest);
        for (number, i) in rest.iter_mut().zip(others) {
            *number = nearest(unit[i] * scale).clamp(-self.limit, self.limit);
        }
        // After rounding, another component may be too large beside the left-out one. A step or two towards zero
        // corrects this. Each step makes the sum of squares smaller, so the loop ends.
        while let Some(place) = (0..3)
            .filter(|&place| !Self::is_canonical(largest, self.left_out(rest), place, rest[place]))
            .max_by_key(|&place| rest[place].abs())
        {
            rest[place] -= rest[place].signum();
        }
        [largest as i32, rest[0], rest[1], rest[2]]
    }

    fn restore(&self, numbers: Numbers) -> Option<[f32; 4]> {
        let rest = [numbers[1], numbers[2], numbers[3]];
        let largest = usize::try_from(numbers[0]).ok().filter(|&largest| largest < 4)?;
        let left_out = self.left_out(rest);
        if (0..3).any(|place| !Self::is_canonical(largest, left_out, place, rest[place])) {
            return None;
        }
        let step = FRAC_1_SQRT_2 / f64::from(self.limit);
        let mut value = [0.0; 4];
        value[largest] = ((left_out as f64).sqrt() * step) as f32;
        let others = (0..4).filter(|&i| i != largest);
        for (i, number) in others.zip(rest) {
            value[i] = (f64::from(number) * step) as f32;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const HALF_A_DEGREE: Rotation = Rotation::of(0.0087);

    /// The angle between two rotations; both are normalised first.
    fn angle(a: [f32; 4], b: [f32; 4]) -> f64 {
        let (a, b) = (a.map(f64::from), b.map(f64::from));
        let dot = |a: [f64; 4], b: [f64; 4]| (0..4).map(|i| a[i] * b[i]).sum::<f64>();
        let cosine = dot(a, b).abs() / (dot(a, a) * dot(b, b)).sqrt();
        // The arc cosine of nearly 1 is inexact, so the angle comes from the chord.
        2.0 * (2.0 * (1.0 - cosine.min(1.0))).sqrt()
    }

    /// Rotations of all kinds, many of them where two components are about equally large.
    fn rotations(count: usize) -> impl Iterator<Item = [f32; 4]> {
        let mut state = 7_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f32 / (1_u64 << 30) as f32 - 1.0
        };
        (0..count).map(move |i| {
            let mut q = [next(), next(), next(), next()];
            match i % 4 {
                0 => q = [0.5, -0.5, 0.5, 0.5].map(|c| c + next() * 0.01),
                1 => q[i / 4 % 4] = q[i / 16 % 4],
                2 => q[i / 4 % 4] *= 0.001,
                _ => {}
            }
            q
        })
    }

    #[test]
    fn rotations_are_rounded_to_the_same_numbers_on_every_machine() {
        assert_eq!(HALF_A_DEGREE.limit, 163);
        let quantised = |q: [f32; 4]| HALF_A_DEGREE.quantise(&q);
        assert_eq!(quantised([0.0, 0.0, 0.0, 1.0]), [3, 0, 0, 0]);
        assert_eq!(quantised([0.0, 0.0, 0.0, -1.0]), [3, 0, 0, 0]);
        assert_eq!(quantised([0.2, -0.4, 0.4, 0.8]), [3, 46, -92, 92]);
        assert_eq!(quantised([-0.8, 0.4, -0.4, 0.2]), [0, -92, 92, -46]);
        let restored = HALF_A_DEGREE.restore([3, 46, -92, 92]).unwrap();
        assert_eq!(restored.map(f32::to_bits), [0x3e4c_5742, 0xbecc_5742, 0x3ecc_5742, 0x3f4d_0ecd]);
    }

    #[test]
    fn invalid_quaternions_quantise_to_valid_rotations() {
        let identity = [3, 0, 0, 0];
        for q in [[0.0; 4], [f32::NAN, 0.0, 0.0, 1.0], [f32::INFINITY, 0.0, 0.0, 1.0]] {
            assert_eq!(HALF_A_DEGREE.quantise(&q), identity);
        }
        assert_eq!(HALF_A_DEGREE.quantise(&[f32::MAX, 0.0, 0.0, 0.0]), [0, 0, 0, 0]);
        assert_eq!(HALF_A_DEGREE.quantise(&[0.0, 1e-44, 0.0, 0.0]), [1, 0, 0, 0]);
    }

    #[test]
    fn restored_rotations_are_near_and_quantise_to_the_same() {
        for precision in [1.4, 0.1, 0.0087, 0.0005, 1.4e-6] {
            let rotation = Rotation::of(precision);
            let mut worst = 0.0_f64;
            for q in rotations(20_000) {
                let numbers = rotation.quantise(&q);
                let restored = rotation.restore(numbers).expect("what was quantised can be restored");
                assert_eq!(rotation.quantise(&restored), numbers, "{q:?} at {precision}");
                worst = worst.max(angle(q, restored));
            }
            // An f32 quaternion itself is exact to some ten-millionths only.
            assert!(worst < 2.5 * precision + 2e-6, "{worst} at {precision}");
        }
    }

    #[test]
    fn numbers_that_no_rotation_has_are_refused() {
        let coarse = Rotation::of(0.2);
        let limit = coarse.limit;
        let mut accepted = 0;
        for largest in 0..4 {
            for index in 0..(2 * limit + 1).pow(3) {
                let part = |power: u32| index / (2 * limit + 1).pow(power) % (2 * limit + 1) - limit;
                let numbers = [largest, part(0), part(1), part(2)];
                if let Some(q) = coarse.restore(numbers) {
                    assert_eq!(coarse.quantise(&q), numbers);
                    accepted += 1;
                }
            }
        }
        assert!(accepted > 1_000, "{accepted}");
        assert_eq!(coarse.restore([4, 0, 0, 0]), None);
        assert_eq!(coarse.restore([3, limit, limit, limit]), None);
    }
}
