//! Integers within bounds, and choices.

use super::{Numbers, Quantise};
use crate::bits::bits_for;
use crate::schema::{Coding, Motion};

/// A primitive integer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no integer that `min` and `max` alone could bound",
    label = "`min` and `max` without `precision` go with integers",
    note = "a float takes `precision` as well"
)]
pub trait Integer: Copy {
    /// The integer as an `i128`, which holds those of all types.
    fn widen(self) -> i128;

    /// The integer of that value, if the type has it.
    fn narrow(wide: i32) -> Option<Self>;
}

/// Codes an integer within bounds, in steps of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    min: i32,
    max: i32,
}

impl Whole {
    /// Integers from `min` to `max`, both included.
    ///
    /// # Panics
    /// When the range holds fewer than two integers, or the bounds or their difference do not fit into an `i32`. In a
    /// `const` this is a compile-time error.
    #[track_caller]
    #[must_use]
    pub const fn of(min: i128, max: i128) -> Self {
        assert!(min < max, "the range is empty: `min` must lie below `max`");
        assert!(
            min >= i32::MIN as i128 && max <= i32::MAX as i128 && max - min <= i32::MAX as i128,
            "`min` and `max` must lie within an i32, and so must their difference; leave them out to send all bits"
        );
        Self { min: min as i32, max: max as i32 }
    }

    /// How many bits it takes when it is packed.
    #[must_use]
    pub const fn bits(self, _width: usize) -> usize {
        bits_for(self.max.wrapping_sub(self.min) as u32)
    }
}

impl<T: Integer> Quantise<T> for Whole {
    const WIDTH: usize = 1;

    fn coding(&self, motion: Motion) -> Coding {
        Coding::Grid { width: 1, min: self.min, max: self.max, step: 1.0, motion }
    }

    fn quantise(&self, value: &T) -> Numbers {
        // An integer within the bounds fits into an `i32`.
        [value.widen().clamp(self.min.into(), self.max.into()) as i32, 0, 0, 0]
    }

    fn beyond(&self, value: &T) -> Option<String> {
        let (wide, Self { min, max }) = (value.widen(), self);
        let fits = (i128::from(*min)..=i128::from(*max)).contains(&wide);
        (!fits).then(|| format!("{wide} is sent as the nearest number from {min} to {max}"))
    }

    fn restore(&self, numbers: Numbers) -> Option<T> {
        T::narrow(numbers[0])
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            fn widen(self) -> i128 {
                self as i128
            }

            fn narrow(wide: i32) -> Option<Self> {
                Self::try_from(wide).ok()
            }
        }
    )*};
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);

/// A type with a few values: `bool`, and enums without data that derive `Replicate`.
pub trait Choices: Sized {
    /// How many values there are.
    const COUNT: i32;

    /// The index of this value among all, from 0.
    fn index(&self) -> i32;

    /// The value of that index, if there is one.
    fn of_index(index: i32) -> Option<Self>;
}

impl Choices for bool {
    const COUNT: i32 = 2;

    fn index(&self) -> i32 {
        i32::from(*self)
    }

    fn of_index(index: i32) -> Option<Self> {
        match index {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// Codes a choice by its index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice;

impl Choice {
    /// How many bits one of `count` values takes when it is packed.
    #[must_use]
    pub const fn bits(count: i32) -> usize {
        bits_for((count - 1) as u32)
    }
}

impl<T: Choices> Quantise<T> for Choice {
    const WIDTH: usize = 1;

    fn coding(&self, _motion: Motion) -> Coding {
        Coding::Choice { count: T::COUNT }
    }

    fn quantise(&self, value: &T) -> Numbers {
        [value.index(), 0, 0, 0]
    }

    fn restore(&self, numbers: Numbers) -> Option<T> {
        T::of_index(numbers[0])
    }
}
