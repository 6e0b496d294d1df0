//! Reading and writing of bytes, for the frames that are laid out by hand.

use crate::{ObjectId, PeerId, Stamp, Term};

/// The error of bytes that do not decode. Their sender is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the value does.
    Truncated,
    /// Bytes are left after the value.
    Trailing,
    /// A size, length or count exceeds its limit.
    TooLarge,
    /// A value that its type cannot have.
    Invalid,
}

impl core::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the bytes end too early",
            Self::Trailing => "bytes are left over",
            Self::TooLarge => "a limit is exceeded",
            Self::Invalid => "a value is out of range",
        })
    }
}

impl core::error::Error for DecodeError {}

/// A cursor over received bytes. Numbers are little-endian, and variable-length integers are LEB128.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether all bytes are read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// `Truncated` when fewer are left. All reading methods give this error.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A variable-length integer of at most ten bytes.
    ///
    /// # Errors
    /// `Truncated`, or `Invalid` when it does not fit 64 bits.
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                return Err(DecodeError::Invalid);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::Invalid)
    }

    /// A variable-length integer that fits 32 bits.
    ///
    /// # Errors
    /// `Truncated`, or `Invalid`.
    pub fn varint_u32(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.varint()?).map_err(|_| DecodeError::Invalid)
    }

    /// Bytes preceded by their number, at most `max`.
    ///
    /// # Errors
    /// `Truncated`, or `TooLarge`.
    pub fn prefixed(&mut self, max: usize) -> Result<&'a [u8], DecodeError> {
        let n = usize::try_from(self.varint()?).map_err(|_| DecodeError::TooLarge)?;
        if n > max {
            return Err(DecodeError::TooLarge);
        }
        self.bytes(n)
    }

    /// An object's id.
    ///
    /// # Errors
    /// `Truncated`, or `Invalid`.
    pub fn object_id(&mut self) -> Result<ObjectId, DecodeError> {
        Ok(ObjectId { creator: PeerId(self.u32()?), number: self.varint_u32()? })
    }

    /// A stamp.
    ///
    /// # Errors
    /// `Truncated`, or `Invalid`.
    pub fn stamp(&mut self) -> Result<Stamp, DecodeError> {
        Ok(Stamp { term: Term(self.varint()?), counter: self.varint_u32()? })
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    /// `Trailing`.
    pub const fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

/// Appends values to a buffer that it borrows, so that a packet is composed in place.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub const fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// The number of bytes in the buffer, including those from before this writer.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether the buffer is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Removes everything after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    /// Appends two bytes.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends four bytes.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a variable-length integer.
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.u8(value as u8);
    }

    /// Appends bytes preceded by their number.
    pub fn prefixed(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes(bytes);
    }

    /// Appends an object's id.
    pub fn object_id(&mut self, id: ObjectId) {
        self.u32(id.creator.0);
        self.varint(u64::from(id.number));
    }

    /// Appends a stamp.
    pub fn stamp(&mut self, stamp: Stamp) {
        self.varint(stamp.term.0);
        self.varint(u64::from(stamp.counter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn varints_round_trip_and_overlong_ones_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            Writer::new(&mut bytes).varint(value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.varint(), Ok(value));
            assert_eq!(reader.end(), Ok(()));
        }
        assert_eq!(Reader::new(&[0xff; 11]).varint(), Err(DecodeError::Invalid));
        assert_eq!(Reader::new(&[0x80]).varint(), Err(DecodeError::Truncated));
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_reading() {
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).varint(u64::MAX);
        assert_eq!(Reader::new(&bytes).prefixed(100), Err(DecodeError::TooLarge));
    }
}
