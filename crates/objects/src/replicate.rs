//! The traits that a game's own types implement to be objects. They name the fields, and write and read them.

use samovar_wire::{Duration, Kind, ObjectId, PeerId, SeatId, Term, Time};

use crate::pack::{Own, Pack, Packer, each, text_max};
use crate::quantise::{Choice, Exact, Quantise, Whole};
use crate::schema::{Coding, Motion, Schema, SchemaBuilder};
use crate::state::{State, StateError, StateReader};

/// A value that fills some fields of an object.
///
/// Derive this trait; the attributes are described at the macro of the same name. A type that implements the trait by
/// hand must implement [`Pack`] as well if it is a field of a type that derives the trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be replicated as it is",
    label = "derive `Replicate` for it (`Value` of the crate `samovar`), or state how it is coded",
    note = "floats state `range` and `precision`, or `exact`; a String or a Vec states its `bound`"
)]
pub trait Replicate: Sized {
    /// How many fields of a schema the value fills.
    const FIELDS: usize;

    /// Adds the fields to a schema. A type with one field uses `name` for it; a type with several fields names them
    /// itself.
    fn describe(schema: &mut SchemaBuilder, name: &'static str);

    /// Appends the numbers and texts to a state. Every value can be written: NaN, infinities and values out of range
    /// or too long become the nearest possible value.
    fn write(&self, state: &mut State);

    /// Reads a value.
    ///
    /// # Errors
    /// `Missing` when the state is too short, `Invalid` when [`Replicate::write`] cannot have written it.
    fn read(state: &mut StateReader<'_>) -> Result<Self, StateError>;
}

/// A type that is an object by itself: `#[replicate(kind = 3)]`.
pub trait Kinded: Replicate {
    /// The kind of its objects.
    const KIND: Kind;

    /// The schema of its objects.
    ///
    /// # Panics
    /// When the type has more fields or numbers than an object can have; see [`SchemaBuilder::build`].
    #[must_use]
    fn schema() -> Schema {
        let mut builder = SchemaBuilder::default();
        Self::describe(&mut builder, "");
        builder.build(Self::KIND)
    }
}

macro_rules! replicate_by {
    ($($type:ty, $coder:expr;)*) => {$(
        impl Replicate for $type {
            const FIELDS: usize = 1;

            fn describe(schema: &mut SchemaBuilder, name: &'static str) {
                Quantise::<Self>::describe(&const { $coder }, schema, name, Motion::Held);
            }

            fn write(&self, state: &mut State) {
                Quantise::<Self>::write(&const { $coder }, self, state);
            }

            fn read(state: &mut StateReader<'_>) -> Result<Self, StateError> {
                Quantise::<Self>::read(&const { $coder }, state)
            }
        }
    )*};
}

replicate_by! {
    bool, Choice;
    u8, Whole::of(u8::MIN as i128, u8::MAX as i128);
    i8, Whole::of(i8::MIN as i128, i8::MAX as i128);
    u16, Whole::of(u16::MIN as i128, u16::MAX as i128);
    i16, Whole::of(i16::MIN as i128, i16::MAX as i128);
    u32, Exact;
    i32, Exact;
    u64, Exact;
    i64, Exact;
    PeerId, Exact;
    Term, Exact;
    ObjectId, Exact;
    Time, Exact;
    Duration, Exact;
}

impl Replicate for SeatId {
    const FIELDS: usize = u16::FIELDS;

    fn describe(schema: &mut SchemaBuilder, name: &'static str) {
        u16::describe(schema, name);
    }

    fn write(&self, state: &mut State) {
        self.0.write(state);
    }

    fn read(state: &mut StateReader<'_>) -> Result<Self, StateError> {
        u16::read(state).map(Self)
    }
}

/// A value without fields, for a game that keeps no state of a certain sort.
impl Replicate for () {
    const FIELDS: usize = 0;

    fn describe(_schema: &mut SchemaBuilder, _name: &'static str) {}

    fn write(&self, _state: &mut State) {}

    fn read(_state: &mut StateReader<'_>) -> Result<Self, StateError> {
        Ok(())
    }
}

impl<T: Pack> Replicate for Option<T> {
    const FIELDS: usize = 1;

    fn describe(schema: &mut SchemaBuilder, name: &'static str) {
        schema.field(name, Coding::Text { max: const { text_max(<Self as Pack>::BITS_MAX) } });
    }

    fn write(&self, state: &mut State) {
        Own.write(self, state);
    }

    fn read(state: &mut StateReader<'_>) -> Result<Self, StateError> {
        Own.read(state)
    }
}

impl<T: Replicate, const N: usize> Replicate for [T; N] {
    const FIELDS: usize = N * T::FIELDS;

    fn describe(schema: &mut SchemaBuilder, name: &'static str) {
        (0..N).for_each(|_| T::describe(schema, name));
    }

    fn write(&self, state: &mut State) {
        self.iter().for_each(|item| item.write(state));
    }

    fn read(state: &mut StateReader<'_>) -> Result<Self, StateError> {
        each(|| T::read(state))
    }
}

macro_rules! replicate_tuples {
    ($($($type:ident $place:tt),+;)*) => {$(
        impl<$($type: Replicate),+> Replicate for ($($type,)+) {
            const FIELDS: usize = 0 $(+ $type::FIELDS)+;

            fn describe(schema: &mut SchemaBuilder, name: &'static str) {
                $($type::describe(schema, name);)+
            }

            fn write(&self, state: &mut State) {
                $(self.$place.write(state);)+
            }

            fn read(state: &mut StateReader<'_>) -> Result<Self, StateError> {
                Ok(($($type::read(state)?,)+))
            }
        }
    )*};
}

replicate_tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
}
