//! A range coder: codes numbers of known probability in as few bytes as possible (PROTOCOL §1.4).
//!
//! Carries are resolved as in LZMA's coder (I. Pavlov, LZMA specification, "Range Encoder"), without its first byte,
//! which is always zero. Bytes after the end count as zero, so an encoder leaves out up to four zeros there.

use crate::DecodeError;

/// When the range falls below this, the coder multiplies it by 256 and moves on by a byte.
const RANGE_MIN: u32 = 1 << 24;

/// Zeros that an encoder may leave out at the end, and that a decoder then reads.
const ZEROS_MAX: u32 = 4;

/// Appends coded numbers to a buffer.
#[derive(Debug)]
pub struct RangeEncoder<'a> {
    out: &'a mut Vec<u8>,
    state: Mark,
}

/// A position of the encoder, to go back to with [`RangeEncoder::rewind`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    len: usize,
    low: u64,
    range: u32,
    /// The last byte, which a carry may still change; `pending` bytes `ff` follow it.
    cache: u8,
    pending: u32,
    /// Whether `cache` holds a byte of the output. Its first value does not, because the coder leaves out the first
    /// byte.
    started: bool,
}

impl<'a> RangeEncoder<'a> {
    /// Appends to `out`.
    pub const fn new(out: &'a mut Vec<u8>) -> Self {
        let len = out.len();
        let state = Mark { len, low: 0, range: u32::MAX, cache: 0, pending: 0, started: false };
        Self { out, state }
    }

    /// Codes the part of 2^`bits` that begins at `from` and is `size` long; `size` is at least 1, `bits` at most 16.
    pub fn part(&mut self, from: u32, size: u32, bits: u32) {
        let unit = self.state.range >> bits;
        self.state.low += u64::from(unit) * u64::from(from);
        self.state.range = unit * size;
        self.widen();
    }

    /// Codes the low `bits` bits of a number unchanged, up to 32.
    pub fn bits(&mut self, value: u32, bits: u32) {
        if bits > 16 {
            self.part(value >> 16 & ((1 << (bits - 16)) - 1), 1, bits - 16);
        }
        let low = bits.min(16);
        self.part(value & ((1 << low) - 1), 1, low);
    }

    fn widen(&mut self) {
        while self.state.range < RANGE_MIN {
            self.state.range <<= 8;
            self.shift();
        }
    }

    fn shift(&mut self) {
        let state = &mut self.state;
        if state.low < 0xff00_0000 || state.low > 0xffff_ffff {
            let carry = (state.low >> 32) as u8;
            if state.started {
                self.out.push(state.cache.wrapping_add(carry));
            }
            state.started = true;
            for _ in 0..core::mem::take(&mut state.pending) {
                self.out.push(0xff_u8.wrapping_add(carry));
            }
            state.cache = (state.low >> 24) as u8;
        } else {
            state.pending += 1;
        }
        state.low = (state.low & 0x00ff_ffff) << 8;
    }

    /// The most bytes in the buffer if the coder ends now.
    #[must_use]
    pub const fn len_at_most(&self) -> usize {
        self.out.len() + self.state.pending as usize + 5
    }

    /// The present position, for [`RangeEncoder::rewind`].
    #[must_use]
    pub const fn mark(&self) -> Mark {
        Mark { len: self.out.len(), ..self.state }
    }

    /// Removes everything since `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.out.truncate(mark.len);
        self.state = mark;
    }

    /// Ends the coder, with as few bytes as possible. Bytes before `start` are not the coder's.
    pub fn finish(mut self, start: usize) {
        // Takes the number in the range that has the most zero bits at its end.
        let last = self.state.low + u64::from(self.state.range) - 1;
        let zeros = (0..=33).rev().find(|&n| last >> n << n >= self.state.low).unwrap_or(0);
        self.state.low = last >> zeros << zeros;
        for _ in 0..5 {
            self.shift();
        }
        for _ in 0..ZEROS_MAX {
            if self.out.len() > start && self.out.last() == Some(&0) {
                self.out.pop();
            }
        }
    }
}

/// Reads coded numbers.
#[derive(Clone, Copy, Debug)]
pub struct RangeDecoder<'a> {
    rest: &'a [u8],
    code: u32,
    range: u32,
    zeros: u32,
}

impl<'a> RangeDecoder<'a> {
    /// Reads from the start of `bytes`; all of them belong to the coder.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { rest: bytes, code: 0, range: u32::MAX, zeros: 0 };
        for _ in 0..4 {
            decoder.take_byte();
        }
        decoder
    }

    fn take_byte(&mut self) {
        let byte = match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                byte
            }
            None => {
                self.zeros += 1;
                0
            }
        };
        self.code = self.code << 8 | u32::from(byte);
    }

    /// The next value, below 2^`bits`. The caller must then call [`RangeDecoder::consume`] with the part that the
    /// value is in.
    #[must_use]
    pub const fn peek(&self, bits: u32) -> u32 {
        let value = self.code / (self.range >> bits);
        let last = (1 << bits) - 1;
        if value < last { value } else { last }
    }

    /// Skips a part that [`RangeEncoder::part`] coded.
    pub fn consume(&mut self, from: u32, size: u32, bits: u32) {
        let unit = self.range >> bits;
        // A code beyond the range comes only from bytes that no encoder wrote; any meaning is fine for those.
        self.code = self.code.wrapping_sub(unit.wrapping_mul(from));
        self.range = unit * size;
        while self.range < RANGE_MIN {
            self.range <<= 8;
            self.take_byte();
        }
    }

    /// Reads a number that [`RangeEncoder::bits`] coded.
    pub fn bits(&mut self, bits: u32) -> u32 {
        let mut value = 0;
        if bits > 16 {
            value = self.peek(bits - 16) << 16;
            self.consume(value >> 16, 1, bits - 16);
        }
        let count = bits.min(16);
        let low = self.peek(count);
        self.consume(low, 1, count);
        value | low
    }

    /// Checks that all bits read so far were there.
    ///
    /// # Errors
    /// `Truncated`.
    pub const fn check(&self) -> Result<(), DecodeError> {
        if self.zeros > ZEROS_MAX { Err(DecodeError::Truncated) } else { Ok(()) }
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    /// `Trailing`, or `Truncated`.
    pub const fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { self.check() } else { Err(DecodeError::Trailing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entropy;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn coded_numbers_round_trip_and_use_all_bytes() {
        let mut dice = Entropy::new([3; 32]);
        for round in 0..2_000 {
            let parts: Vec<(u32, u32, u32)> = (0..dice.number() % 60)
                .map(|_| {
                    let bits = dice.number() as u32 % 16 + 1;
                    let from = dice.number() as u32 % (1 << bits);
                    let size =
                        if round % 3 == 0 { 1 } else { dice.number() as u32 % ((1 << bits) - from) + 1 };
                    (from, size, bits)
                })
                .collect();
            let mut bytes = vec![7];
            let mut encoder = RangeEncoder::new(&mut bytes);
            for &(from, size, bits) in &parts {
                let mark = encoder.mark();
                encoder.bits(0xdead_beef, 32);
                encoder.rewind(mark);
                encoder.part(from, size, bits);
                encoder.bits(from.wrapping_mul(77_777), 29);
            }
            encoder.finish(1);
            let mut decoder = RangeDecoder::new(&bytes[1..]);
            for &(from, size, bits) in &parts {
                assert!((from..from + size).contains(&decoder.peek(bits)));
                decoder.consume(from, size, bits);
                assert_eq!(decoder.bits(29), from.wrapping_mul(77_777) & ((1 << 29) - 1));
                assert_eq!(decoder.check(), Ok(()));
            }
            assert_eq!(decoder.end(), Ok(()), "round {round}");
        }
    }

    #[test]
    fn parts_of_probability_one_take_no_bytes() {
        let mut bytes = Vec::new();
        let mut encoder = RangeEncoder::new(&mut bytes);
        (0..1_000).for_each(|_| encoder.part(0, 1 << 15, 15));
        encoder.finish(0);
        assert!(bytes.is_empty(), "{bytes:?}");
    }

    #[test]
    fn reading_past_the_end_is_detected() {
        let mut decoder = RangeDecoder::new(&[]);
        for _ in 0..100 {
            let _ = decoder.bits(16);
        }
        assert_eq!(decoder.check(), Err(DecodeError::Truncated));
        assert_eq!(RangeDecoder::new(&[1; 40]).end(), Err(DecodeError::Trailing));
    }
}
