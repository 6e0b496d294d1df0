//! Values that must not be rounded.

use samovar_wire::{Duration, ObjectId, PeerId, Term, Time};

use super::{Numbers, Quantise};
use crate::schema::{Coding, Motion};

/// A value that one to four numbers of 32 bits hold exactly.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no exact form of 32 to 128 bits",
    label = "`exact` goes with floats, arrays of up to 128 bits of them, and integers of 32 and 64 bits"
)]
pub trait Exactly: Sized {
    /// How many numbers it takes, 1 to 4.
    const WIDTH: usize;

    /// The value's bits, low ones first.
    fn to_numbers(&self) -> Numbers;

    /// The value of these bits.
    fn from_numbers(numbers: Numbers) -> Self;
}

/// Keeps every bit, even those of floats that are NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact;

impl Exact {
    /// How many bits `width` numbers take when they are packed.
    #[must_use]
    pub const fn bits(self, width: usize) -> usize {
        width * 32
    }
}

impl<T: Exactly> Quantise<T> for Exact {
    const WIDTH: usize = {
        assert!(T::WIDTH >= 1 && T::WIDTH <= 4, "a field holds up to 128 exact bits: four f32 or two f64");
        T::WIDTH
    };

    fn coding(&self, _motion: Motion) -> Coding {
        Coding::Exact { width: T::WIDTH as u8 }
    }

    fn quantise(&self, value: &T) -> Numbers {
        value.to_numbers()
    }

    fn restore(&self, numbers: Numbers) -> Option<T> {
        Some(T::from_numbers(numbers))
    }
}

const fn halves(wide: u64) -> [i32; 2] {
    [wide as i32, (wide >> 32) as i32]
}

const fn whole(low: i32, high: i32) -> u64 {
    low as u32 as u64 | (high as u32 as u64) << 32
}

impl<const N: usize> Exactly for [f32; N] {
    const WIDTH: usize = N;

    fn to_numbers(&self) -> Numbers {
        let mut numbers = [0; 4];
        numbers.iter_mut().zip(self).for_each(|(number, value)| *number = value.to_bits() as i32);
        numbers
    }

    fn from_numbers(numbers: Numbers) -> Self {
        let mut values = [0.0; N];
        values.iter_mut().zip(numbers).for_each(|(value, number)| *value = f32::from_bits(number as u32));
        values
    }
}

impl<const N: usize> Exactly for [f64; N] {
    const WIDTH: usize = 2 * N;

    fn to_numbers(&self) -> Numbers {
        let mut numbers = [0; 4];
        for (pair, value) in numbers.chunks_exact_mut(2).zip(self) {
            pair.copy_from_slice(&halves(value.to_bits()));
        }
        numbers
    }

    fn from_numbers(numbers: Numbers) -> Self {
        let mut values = [0.0; N];
        for (value, pair) in values.iter_mut().zip(numbers.chunks_exact(2)) {
            *value = f64::from_bits(whole(pair[0], pair[1]));
        }
        values
    }
}

macro_rules! exactly {
    ($($type:ty, $width:literal: |$value:ident| $to:expr, |$numbers:ident| $from:expr;)*) => {$(
        impl Exactly for $type {
            const WIDTH: usize = $width;

            fn to_numbers(&self) -> Numbers {
                let $value = self;
                $to
            }

            fn from_numbers($numbers: Numbers) -> Self {
                $from
            }
        }
    )*};
}

const fn wide(wide: u64) -> Numbers {
    let [low, high] = halves(wide);
    [low, high, 0, 0]
}

exactly! {
    f32, 1: |value| [value.to_bits() as i32, 0, 0, 0], |n| Self::from_bits(n[0] as u32);
    f64, 2: |value| wide(value.to_bits()), |n| Self::from_bits(whole(n[0], n[1]));
    u32, 1: |value| [*value as i32, 0, 0, 0], |n| n[0] as Self;
    i32, 1: |value| [*value, 0, 0, 0], |n| n[0];
    u64, 2: |value| wide(*value), |n| whole(n[0], n[1]);
    i64, 2: |value| wide(*value as u64), |n| whole(n[0], n[1]) as Self;
    PeerId, 1: |value| [value.0 as i32, 0, 0, 0], |n| Self(n[0] as u32);
    Term, 2: |value| wide(value.0), |n| Self(whole(n[0], n[1]));
    ObjectId, 2: |value| [value.creator.0 as i32, value.number as i32, 0, 0],
        |n| Self { creator: PeerId(n[0] as u32), number: n[1] as u32 };
    Time, 2: |value| wide(value.as_micros()), |n| Self::from_micros(whole(n[0], n[1]));
    Duration, 2: |value| wide(value.as_micros()), |n| Self::from_micros(whole(n[0], n[1]));
}
