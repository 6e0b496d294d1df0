//! Small counts in few bits: the delivery report in a causal message (PROTOCOL §4.13).
//!
//! When all members send equally often, each other member sends one message on average between two of this member's,
//! and none in half of the cases. Unary coding is best for such counts, at two bits each. When few members send and
//! most only listen, Elias' gamma code is shorter. The first bit says which of the two codes follows.

use crate::{DecodeError, Reader};

/// The largest increment that can be coded; no member is ever that far behind.
pub const INCREMENT_MAX: u32 = u32::MAX - 1;

/// Bits packed into bytes, the highest first.
#[derive(Debug, Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if bit && let Some(last) = self.bytes.last_mut() {
            *last |= 0x80 >> (self.len % 8);
        }
        self.len += 1;
    }

    fn unary(&mut self, value: u32) {
        (0..value).for_each(|_| self.push(true));
        self.push(false);
    }

    fn gamma(&mut self, value: u32) {
        let number = u64::from(value) + 1;
        let bits = number.ilog2();
        (0..bits).for_each(|_| self.push(false));
        (0..=bits).rev().for_each(|bit| self.push(number >> bit & 1 == 1));
    }
}

/// Bits read from bytes, the highest first.
struct Source<'r, 'a> {
    reader: &'r mut Reader<'a>,
    byte: u8,
    left: u32,
}

impl Source<'_, '_> {
    fn bit(&mut self) -> Result<bool, DecodeError> {
        if self.left == 0 {
            (self.byte, self.left) = (self.reader.u8()?, 8);
        }
        self.left -= 1;
        Ok(self.byte >> self.left & 1 == 1)
    }

    fn unary(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0;
        while self.bit()? {
            value += 1;
            if value > INCREMENT_MAX {
                return Err(DecodeError::Invalid);
            }
        }
        Ok(value)
    }

    fn gamma(&mut self) -> Result<u32, DecodeError> {
        let mut bits = 0;
        while !self.bit()? {
            bits += 1;
            if bits > INCREMENT_MAX.ilog2() {
                return Err(DecodeError::Invalid);
            }
        }
        let mut number = 1_u32;
        for _ in 0..bits {
            number = number << 1 | u32::from(self.bit()?);
        }
        Ok(number - 1)
    }

    /// Checks that the remaining bits of the last byte are zero.
    fn end(self) -> Result<(), DecodeError> {
        let padding = self.byte & ((1_u16 << self.left) - 1) as u8;
        if padding == 0 { Ok(()) } else { Err(DecodeError::Invalid) }
    }
}

const fn unary_bits(value: u32) -> u64 {
    value as u64 + 1
}

const fn gamma_bits(value: u32) -> u64 {
    2 * (value as u64 + 1).ilog2() as u64 + 1
}

/// Appends a list of numbers of at most [`INCREMENT_MAX`], without their count.
pub fn encode(increments: &[u32], out: &mut Vec<u8>) {
    if increments.is_empty() {
        return;
    }
    let sum = |bits: fn(u32) -> u64| increments.iter().map(|&value| bits(value)).sum::<u64>();
    let is_gamma = sum(gamma_bits) < sum(unary_bits);
    let mut bits = Bits::default();
    bits.push(is_gamma);
    increments.iter().for_each(|&value| if is_gamma { bits.gamma(value) } else { bits.unary(value) });
    out.append(&mut bits.bytes);
}

/// Reads a list of `count` numbers; allocates at most in proportion to `count`.
///
/// # Errors
/// `Truncated`, or `Invalid` for a number above [`INCREMENT_MAX`] or a bit that is set behind the last number.
pub fn decode(count: usize, reader: &mut Reader<'_>) -> Result<Vec<u32>, DecodeError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut source = Source { reader, byte: 0, left: 0 };
    let is_gamma = source.bit()?;
    let read = |_| if is_gamma { source.gamma() } else { source.unary() };
    let increments = (0..count).map(read).collect::<Result<_, _>>()?;
    source.end()?;
    Ok(increments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entropy;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn round_trip(increments: &[u32]) -> usize {
        let mut bytes = Vec::new();
        encode(increments, &mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(decode(increments.len(), &mut reader).as_deref(), Ok(increments));
        assert_eq!(reader.end(), Ok(()));
        bytes.len()
    }

    #[test]
    fn every_list_round_trips_in_the_shorter_code() {
        assert_eq!(round_trip(&[]), 0);
        assert_eq!(round_trip(&[0; 7]), 1);
        assert_eq!(round_trip(&[0; 15]), 2);
        assert_eq!(round_trip(&[100]), 2, "gamma takes 13 bits where unary takes 101");
        assert_eq!(round_trip(&[INCREMENT_MAX; 31]), (1 + 31 * 63_usize).div_ceil(8));
        let mut entropy = Entropy::new([1; 32]);
        for _ in 0..500 {
            let count = entropy.number() % 31 + 1;
            let shift = entropy.number() % 32;
            let mut draw = || (entropy.number() as u32 & INCREMENT_MAX) >> shift;
            let increments: Vec<_> = (0..count).map(|_| draw()).collect();
            if increments.iter().map(|&n| u64::from(n)).sum::<u64>() < 100_000 {
                round_trip(&increments);
            }
        }
    }

    #[test]
    fn any_bytes_decode_to_a_list_or_are_refused() {
        let mut entropy = Entropy::new([2; 32]);
        for _ in 0..2_000 {
            let bytes = entropy.bytes();
            let _ = decode((bytes[31] % 32).into(), &mut Reader::new(&bytes[..usize::from(bytes[30] % 30)]));
        }
        assert_eq!(decode(1, &mut Reader::new(&[])), Err(DecodeError::Truncated));
        assert_eq!(decode(1, &mut Reader::new(&[0x7f, 0xff])), Err(DecodeError::Truncated));
        assert_eq!(
            decode(1, &mut Reader::new(&[0x80, 0, 0, 0, 0, 0xff])),
            Err(DecodeError::Invalid),
            "too large"
        );
        assert_eq!(decode(1, &mut Reader::new(&[0x01])), Err(DecodeError::Invalid), "padding");
    }
}
