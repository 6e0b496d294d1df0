//! Values of a varying form, carried whole as one text of an object: options, lists, strings, enums with data.
//!
//! They are packed bit by bit, each byte from its lowest bit on, and the last byte is filled up with zeros:
//!
//! | form | bits |
//! |---|---|
//! | a number of a field | its excess over its least value, in as many bits as its range needs; if exact, 32 bits |
//! | an option | one bit that says whether there is a value, then the value |
//! | an enum | the variant's index, in as many bits as the last index needs, then the variant's fields |
//! | a list | how many items, in as many bits as its bound needs, then the items |
//! | a string among others | how many bytes, in as many bits as its bound needs, then the bytes |
//! | a struct, an array, a tuple | one part after the other |
//!
//! A string that is a field by itself is its own bytes. The decoder is as strict as the encoder: it checks lengths
//! before it allocates, and refuses numbers out of range, missing bits and left-over bits. So the decoder accepts
//! exactly one text for each value.

mod packers;

pub use crate::bits::{BitReader, BitWriter, bits_for};
pub(crate) use packers::each;
pub use packers::{Each, List, Number, Own, Packer, Perhaps, Words};

use samovar_wire::limits::FIELD_MAX;
use samovar_wire::{Duration, ObjectId, PeerId, SeatId, Term, Time};

use crate::quantise::{Choice, Choices, Exact, Exactly, Quantise, Whole};
use crate::shape::Shape;
use crate::state::StateError;

/// The most items that a list can hold.
pub const ITEMS_MAX: usize = 8 * FIELD_MAX;

/// A callback for values beyond a limit. It gets the field, such as `Cursor.position`, and what happens to the value.
pub type Tell<'a> = &'a mut dyn FnMut(&'static str, String);

/// A type that can be packed without further attributes. `#[derive(Replicate)]` implements it beside `Replicate`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be packed",
    label = "derive `Replicate` for it (`Value` of the crate `samovar`), or state `range` and `precision`, `exact`, or a `bound`"
)]
pub trait Pack: Sized {
    /// The most bits that a value takes.
    const BITS_MAX: usize;

    /// Appends the value.
    fn pack(&self, bits: &mut BitWriter);

    /// Reads a value.
    ///
    /// # Errors
    /// `Invalid` for bits that [`Pack::pack`] does not write.
    fn unpack(bits: &mut BitReader<'_>) -> Result<Self, StateError>;

    /// Appends everything that the bits depend on, and the names of the parts.
    fn shape(shape: &mut Shape);

    /// Reports each part of the value that goes beyond its limits, so that others get a changed value.
    fn tell_beyond(&self, tell: Tell<'_>) {
        let _ = tell;
    }
}

/// How many bytes a field needs for this many bits.
///
/// # Panics
/// When that is more than a field can hold. In a `const` this is a compile-time error.
#[track_caller]
#[must_use]
pub const fn text_max(bits: usize) -> u8 {
    assert!(
        bits.div_ceil(8) <= FIELD_MAX,
        "a field that is packed holds 255 bytes: lower its `bound` or split it into several fields"
    );
    bits.div_ceil(8) as u8
}

/// Checks the bound of a list.
///
/// # Panics
/// When it is zero or beyond [`ITEMS_MAX`]. In a `const` this is a compile-time error.
#[doc(hidden)]
#[track_caller]
#[must_use]
pub const fn list_bound(bound: usize) -> u32 {
    assert!(bound >= 1 && bound <= ITEMS_MAX, "the `bound` of a list lies from 1 to 2040 items");
    bound as u32
}

/// The larger of two numbers, for constants.
#[doc(hidden)]
#[must_use]
pub const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

macro_rules! pack_by {
    ($($type:ty, $coder:expr, $bits:expr;)*) => {$(
        impl Pack for $type {
            const BITS_MAX: usize = $bits;

            fn pack(&self, bits: &mut BitWriter) {
                Quantise::<Self>::pack(&const { $coder }, self, bits);
            }

            fn unpack(bits: &mut BitReader<'_>) -> Result<Self, StateError> {
                Quantise::<Self>::unpack(&const { $coder }, bits)
            }

            fn shape(shape: &mut Shape) {
                shape.word(stringify!($type));
            }
        }
    )*};
}

pack_by! {
    bool, Choice, Choice::bits(<Self as Choices>::COUNT);
    u8, Whole::of(u8::MIN as i128, u8::MAX as i128), 8;
    i8, Whole::of(i8::MIN as i128, i8::MAX as i128), 8;
    u16, Whole::of(u16::MIN as i128, u16::MAX as i128), 16;
    i16, Whole::of(i16::MIN as i128, i16::MAX as i128), 16;
    u32, Exact, 32;
    i32, Exact, 32;
    u64, Exact, 64;
    i64, Exact, 64;
    PeerId, Exact, Exact.bits(<Self as Exactly>::WIDTH);
    Term, Exact, Exact.bits(<Self as Exactly>::WIDTH);
    ObjectId, Exact, Exact.bits(<Self as Exactly>::WIDTH);
    Time, Exact, Exact.bits(<Self as Exactly>::WIDTH);
    Duration, Exact, Exact.bits(<Self as Exactly>::WIDTH);
}

impl Pack for SeatId {
    const BITS_MAX: usize = u16::BITS_MAX;

    fn pack(&self, bits: &mut BitWriter) {
        self.0.pack(bits);
    }

    fn unpack(bits: &mut BitReader<'_>) -> Result<Self, StateError> {
        u16::unpack(bits).map(Self)
    }

    fn shape(shape: &mut Shape) {
        shape.word("SeatId");
    }
}

impl Pack for () {
    const BITS_MAX: usize = 0;

    fn pack(&self, _bits: &mut BitWriter) {}

    fn unpack(_bits: &mut BitReader<'_>) -> Result<Self, StateError> {
        Ok(())
    }

    fn shape(shape: &mut Shape) {
        shape.word("()");
    }
}

impl<T: Pack> Pack for Option<T> {
    const BITS_MAX: usize = 1 + T::BITS_MAX;

    fn pack(&self, bits: &mut BitWriter) {
        Perhaps(Own).pack(self, bits);
    }

    fn unpack(bits: &mut BitReader<'_>) -> Result<Self, StateError> {
        Perhaps(Own).unpack(bits)
    }

    fn shape(shape: &mut Shape) {
        Packer::<Self>::shape(&Perhaps(Own), shape);
    }
}

impl<T: Pack, const N: usize> Pack for [T; N] {
    const BITS_MAX: usize = N * T::BITS_MAX;

    fn pack(&self, bits: &mut BitWriter) {
        Each(Own).pack(self, bits);
    }

    fn unpack(bits: &mut BitReader<'_>) -> Result<Self, StateError> {
        Each(Own).unpack(bits)
    }

    fn shape(shape: &mut Shape) {
        Packer::<Self>::shape(&Each(Own), shape);
    }
}

macro_rules! pack_tuples {
    ($($($type:ident $place:tt),+;)*) => {$(
        impl<$($type: Pack),+> Pack for ($($type,)+) {
            const BITS_MAX: usize = 0 $(+ $type::BITS_MAX)+;

            fn pack(&self, bits: &mut BitWriter) {
                $(self.$place.pack(bits);)+
            }

            fn unpack(bits: &mut BitReader<'_>) -> Result<Self, StateError> {
                Ok(($($type::unpack(bits)?,)+))
            }

            fn shape(shape: &mut Shape) {
                shape.word("tuple");
                $($type::shape(shape);)+
            }
        }
    )*};
}

pack_tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
}
