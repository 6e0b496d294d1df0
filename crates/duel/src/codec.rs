//! Decoding of fields that any peer may have written, and quantisation.
//!
//! Every number is little-endian. A decoder takes all of its bytes or refuses them, allocates nothing before it has
//! checked a length, and accepts only what an encoder of this crate writes: for all accepted bytes, encoding what
//! was decoded gives the same bytes again.

use std::fmt;

use samovar_session::objects::StateError;

/// Why the bytes of a field were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are too few bytes, or too many, or too few or too many fields.
    WrongLength,
    /// A kind that this version does not know.
    UnknownTag(u8),
    /// A number that no encoder writes.
    OutOfRange,
    /// A name that is not text, too long, or not in its sanitised form.
    BadName,
    /// One player has two rows.
    DuplicatePlayer,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongLength => formatter.write_str("wrong length"),
            Self::UnknownTag(tag) => write!(formatter, "unknown tag {tag}"),
            Self::OutOfRange => formatter.write_str("number out of range"),
            Self::BadName => formatter.write_str("not a valid name"),
            Self::DuplicatePlayer => formatter.write_str("two rows for one player"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<StateError> for DecodeError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Missing => Self::WrongLength,
            _ => Self::OutOfRange,
        }
    }
}

/// The unread part of a field.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::WrongLength)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(DecodeError::WrongLength)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a vector that [`Scale::write`] wrote.
    pub(crate) fn vector<const N: usize>(&mut self, scale: Scale) -> Result<[f32; N], DecodeError> {
        let mut quanta = [0_i16; N];
        for quantum in &mut quanta {
            *quantum = i16::from_le_bytes(self.array()?);
        }
        scale.dequantise(quanta)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Confirms that everything was read.
    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::WrongLength) }
    }
}

/// How a vector is written: each component as a 16-bit number of steps, and no vector longer than a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// The size of one quantum.
    step: f64,
    /// The longest vector, in quanta.
    limit: i64,
}

impl Scale {
    /// The largest component, in quanta. The most negative `i16` is never written, so that the range is symmetric.
    const LARGEST: f64 = i16::MAX as f64;

    /// A scale whose components span ±`range` and whose vectors are at most `limit` long.
    pub(crate) const fn new(range: f64, limit: f64) -> Self {
        Self::stepped(range / Self::LARGEST, limit)
    }

    /// A scale in steps of `step` whose vectors are at most `limit` long. The limit may be at most 32,767 steps.
    pub(crate) const fn stepped(step: f64, limit: f64) -> Self {
        Self { step, limit: (limit / step) as i64 }
    }

    /// The nearest vector that can be written, in quanta. A vector that is too long is shortened; a component that is
    /// not finite becomes zero.
    pub(crate) fn quantise<const N: usize>(self, vector: [f32; N]) -> [i16; N] {
        // The cast maps not-a-number to zero and saturates infinities.
        let quanta = vector.map(|each| ((f64::from(each) / self.step).round() as i64).clamp(-32_767, 32_767));
        let squared: i64 = quanta.iter().map(|each| each * each).sum();
        let shorten =
            if squared > self.limit * self.limit { self.limit as f64 / (squared as f64).sqrt() } else { 1.0 };
        // The cast drops fractions towards zero, so that a shortened vector cannot become too long again.
        quanta.map(|each| (each as f64 * shorten) as i16)
    }

    /// The vector that these quanta stand for; an error when it is too long.
    pub(crate) fn dequantise<const N: usize>(self, quanta: [i16; N]) -> Result<[f32; N], DecodeError> {
        let squared: i64 = quanta.iter().map(|&each| i64::from(each) * i64::from(each)).sum();
        // The limit is at most 32,767 quanta, so this check refuses the most negative `i16` as well.
        if squared > self.limit * self.limit {
            return Err(DecodeError::OutOfRange);
        }
        Ok(self.vector(quanta))
    }

    /// The nearest vector that can be written.
    pub(crate) fn rounded<const N: usize>(self, vector: [f32; N]) -> [f32; N] {
        self.vector(self.quantise(vector))
    }

    fn vector<const N: usize>(self, quanta: [i16; N]) -> [f32; N] {
        quanta.map(|each| (f64::from(each) * self.step) as f32)
    }

    pub(crate) fn write<const N: usize>(self, vector: [f32; N], out: &mut Vec<u8>) {
        out.extend(self.quantise(vector).into_iter().flat_map(i16::to_le_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const SCALE: Scale = Scale::new(20.0, 17.0);

    #[test]
    fn every_accepted_vector_is_quantised_to_itself() {
        let mut rng = Rng::new(21);
        let mut accepted = 0;
        for _ in 0..100_000 {
            let quanta = [rng.next_u64() as i16, rng.next_u64() as i16];
            if let Ok(vector) = SCALE.dequantise(quanta) {
                accepted += 1;
                assert_eq!(SCALE.quantise(vector), quanta);
            }
        }
        assert!(accepted > 30_000);
        assert_eq!(SCALE.dequantise([i16::MIN, 0]), Err(DecodeError::OutOfRange));
    }

    #[test]
    fn quantised_vectors_are_accepted_and_close() {
        let mut rng = Rng::new(22);
        for _ in 0..100_000 {
            let vector = [rng.between(-30.0, 30.0), rng.between(-30.0, 30.0)];
            let back = SCALE.dequantise(SCALE.quantise(vector)).unwrap();
            if vector[0].hypot(vector[1]) < 16.9 {
                assert!((back[0] - vector[0]).abs() < 0.000_4 && (back[1] - vector[1]).abs() < 0.000_4);
            } else {
                assert!(back[0].hypot(back[1]) < 17.001);
            }
        }
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE] {
            assert!(SCALE.dequantise(SCALE.quantise([value, value, -value])).is_ok());
        }
    }
}
