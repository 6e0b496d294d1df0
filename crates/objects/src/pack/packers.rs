//! Packers: each says how values of one form are packed. Packers are composed as the forms are.

use samovar_wire::limits::FIELD_MAX;

use super::{Pack, Tell};
use crate::bits::{BitReader, BitWriter, bits_for};
use crate::quantise::Quantise;
use crate::schema::Motion;
use crate::shape::Shape;
use crate::state::{State, StateError, StateReader};

/// How a value of `T` is packed.
pub trait Packer<T> {
    /// Appends the value, cut to what the packer allows.
    fn pack(&self, value: &T, bits: &mut BitWriter);

    /// Reads a value.
    ///
    /// # Errors
    /// `Invalid` for bits that [`Packer::pack`] does not write.
    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<T, StateError>;

    /// Appends everything that the bits depend on.
    fn shape(&self, shape: &mut Shape);

    /// Reports where the value goes beyond its limits, so that others get a changed value. `field` names the field.
    fn tell_beyond(&self, value: &T, field: &'static str, tell: Tell<'_>) {
        let _ = (value, field, tell);
    }

    /// Appends the value to a state, as one text.
    fn write(&self, value: &T, state: &mut State) {
        let mut bits = BitWriter::default();
        self.pack(value, &mut bits);
        state.text(bits.bytes());
    }

    /// Reads the value from the next text of a state.
    ///
    /// # Errors
    /// `Missing` when there is none, `Invalid` when [`Packer::write`] does not write it.
    fn read(&self, state: &mut StateReader<'_>) -> Result<T, StateError> {
        let mut bits = BitReader::new(state.text()?);
        let value = self.unpack(&mut bits)?;
        bits.finish()?;
        Ok(value)
    }
}

/// Packs a value as its type's own [`Pack`] says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own;

impl<T: Pack> Packer<T> for Own {
    fn pack(&self, value: &T, bits: &mut BitWriter) {
        value.pack(bits);
    }

    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<T, StateError> {
        T::unpack(bits)
    }

    fn shape(&self, shape: &mut Shape) {
        T::shape(shape);
    }

    fn tell_beyond(&self, value: &T, _: &'static str, tell: Tell<'_>) {
        value.tell_beyond(tell);
    }
}

/// Packs a value as numbers, by a coder.
#[derive(Clone, Copy, Debug)]
pub struct Number<Q>(pub Q);

impl<T, Q: Quantise<T>> Packer<T> for Number<Q> {
    fn pack(&self, value: &T, bits: &mut BitWriter) {
        self.0.pack(value, bits);
    }

    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<T, StateError> {
        self.0.unpack(bits)
    }

    fn shape(&self, shape: &mut Shape) {
        shape.coding(&self.0.coding(Motion::Held));
    }

    fn tell_beyond(&self, value: &T, field: &'static str, tell: Tell<'_>) {
        if let Some(what) = self.0.beyond(value) {
            tell(field, what);
        }
    }
}

/// Packs an option: one bit, then the value if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Perhaps<P>(pub P);

impl<T, P: Packer<T>> Packer<Option<T>> for Perhaps<P> {
    fn pack(&self, value: &Option<T>, bits: &mut BitWriter) {
        bits.write(value.is_some().into(), 1);
        if let Some(value) = value {
            self.0.pack(value, bits);
        }
    }

    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<Option<T>, StateError> {
        if bits.read(1)? == 0 { Ok(None) } else { self.0.unpack(bits).map(Some) }
    }

    fn shape(&self, shape: &mut Shape) {
        shape.word("option");
        self.0.shape(shape);
    }

    fn tell_beyond(&self, value: &Option<T>, field: &'static str, tell: Tell<'_>) {
        if let Some(value) = value {
            self.0.tell_beyond(value, field, tell);
        }
    }
}

/// Packs each item of an array.
#[derive(Clone, Copy, Debug)]
pub struct Each<P>(pub P);

impl<T, P: Packer<T>, const N: usize> Packer<[T; N]> for Each<P> {
    fn pack(&self, value: &[T; N], bits: &mut BitWriter) {
        for item in value {
            self.0.pack(item, bits);
        }
    }

    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<[T; N], StateError> {
        each(|| self.0.unpack(bits))
    }

    fn shape(&self, shape: &mut Shape) {
        shape.word("array");
        shape.number(N as u32);
        self.0.shape(shape);
    }

    fn tell_beyond(&self, value: &[T; N], field: &'static str, tell: Tell<'_>) {
        value.iter().for_each(|item| self.0.tell_beyond(item, field, &mut *tell));
    }
}

/// An array of the values that `next` returns; its first error if it fails.
pub(crate) fn each<T, const N: usize>(
    mut next: impl FnMut() -> Result<T, StateError>,
) -> Result<[T; N], StateError> {
    let mut items = [const { None }; N];
    for item in &mut items {
        *item = Some(next()?);
    }
    Ok(items.map(|item| item.expect("every item was read, or this line is not reached")))
}

macro_rules! packers_of_tuples {
    ($($($packer:ident $type:ident $place:tt),+;)*) => {$(
        impl<$($type, $packer: Packer<$type>),+> Packer<($($type,)+)> for ($($packer,)+) {
            fn pack(&self, value: &($($type,)+), bits: &mut BitWriter) {
                $(self.$place.pack(&value.$place, bits);)+
            }

            fn unpack(&self, bits: &mut BitReader<'_>) -> Result<($($type,)+), StateError> {
                Ok(($(self.$place.unpack(bits)?,)+))
            }

            fn shape(&self, shape: &mut Shape) {
                shape.word("tuple");
                $(self.$place.shape(shape);)+
            }

            fn tell_beyond(&self, value: &($($type,)+), field: &'static str, tell: Tell<'_>) {
                $(self.$place.tell_beyond(&value.$place, field, &mut *tell);)+
            }
        }
    )*};
}

packers_of_tuples! {
    P A 0;
    P A 0, Q B 1;
    P A 0, Q B 1, R C 2;
    P A 0, Q B 1, R C 2, S D 3;
}

/// Packs a list: the number of items, then each item.
#[derive(Clone, Copy, Debug)]
pub struct List<P> {
    bound: u32,
    item: P,
}

impl<P> List<P> {
    /// A list of up to `bound` items, each packed by `item`. Further items are left off.
    pub const fn new(bound: u32, item: P) -> Self {
        Self { bound, item }
    }
}

impl<T, P: Packer<T>> Packer<Vec<T>> for List<P> {
    fn pack(&self, value: &Vec<T>, bits: &mut BitWriter) {
        let count = value.len().min(self.bound as usize);
        bits.write(count as u32, bits_for(self.bound));
        value[..count].iter().for_each(|item| self.item.pack(item, bits));
    }

    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<Vec<T>, StateError> {
        let count = bits.read(bits_for(self.bound))?;
        if count > self.bound {
            return Err(StateError::Invalid);
        }
        (0..count).map(|_| self.item.unpack(bits)).collect()
    }

    fn shape(&self, shape: &mut Shape) {
        shape.word("list");
        shape.number(self.bound);
        self.item.shape(shape);
    }

    fn tell_beyond(&self, value: &Vec<T>, field: &'static str, tell: Tell<'_>) {
        if value.len() > self.bound as usize {
            tell(field, format!("a list of {} items is cut to {}", value.len(), self.bound));
        }
        let kept = value.iter().take(self.bound as usize);
        kept.for_each(|item| self.item.tell_beyond(item, field, &mut *tell));
    }
}

/// Packs a string of at most `bound` bytes. A string alone in a field is its own bytes; otherwise its length goes
/// first.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    bound: u8,
}

impl Words {
    /// A string of up to `bound` bytes of UTF-8. A longer one is cut off between two characters.
    ///
    /// # Panics
    /// When the bound is zero or beyond 255. In a `const` this is a compile-time error.
    #[track_caller]
    #[must_use]
    pub const fn of(bound: usize) -> Self {
        assert!(bound >= 1 && bound <= FIELD_MAX, "the `bound` of a string lies from 1 to 255 bytes");
        Self { bound: bound as u8 }
    }

    /// The most bytes that the string takes.
    #[must_use]
    pub const fn bound(self) -> u8 {
        self.bound
    }

    /// The most bits that the string takes when it is packed.
    #[must_use]
    pub const fn bits(self) -> usize {
        bits_for(self.bound as u32) + 8 * self.bound as usize
    }

    fn cut(self, text: &str) -> &str {
        &text[..text.floor_char_boundary(self.bound.into())]
    }
}

impl Packer<String> for Words {
    fn pack(&self, value: &String, bits: &mut BitWriter) {
        let text = self.cut(value);
        bits.write(text.len() as u32, bits_for(self.bound.into()));
        text.bytes().for_each(|byte| bits.write(byte.into(), 8));
    }

    fn unpack(&self, bits: &mut BitReader<'_>) -> Result<String, StateError> {
        let length = bits.read(bits_for(self.bound.into()))?;
        if length > self.bound.into() {
            return Err(StateError::Invalid);
        }
        let bytes =
            (0..length).map(|_| bits.read(8).map(|byte| byte as u8)).collect::<Result<Vec<_>, _>>()?;
        String::from_utf8(bytes).map_err(|_| StateError::Invalid)
    }

    fn shape(&self, shape: &mut Shape) {
        shape.word("string");
        shape.number(self.bound.into());
    }

    fn tell_beyond(&self, value: &String, field: &'static str, tell: Tell<'_>) {
        if value.len() > self.bound.into() {
            tell(field, format!("a text of {} bytes is cut to {}", value.len(), self.bound));
        }
    }

    fn write(&self, value: &String, state: &mut State) {
        state.text(self.cut(value).as_bytes());
    }

    fn read(&self, state: &mut StateReader<'_>) -> Result<String, StateError> {
        let bytes = state.text()?;
        let text = core::str::from_utf8(bytes).map_err(|_| StateError::Invalid)?;
        if bytes.len() <= self.bound.into() { Ok(text.to_owned()) } else { Err(StateError::Invalid) }
    }
}
