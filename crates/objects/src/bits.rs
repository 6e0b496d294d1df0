//! Writing and reading of single bits.

use samovar_wire::limits::FIELD_MAX;

use crate::state::StateError;

/// How many bits the numbers from 0 to `max` take.
#[must_use]
pub const fn bits_for(max: u32) -> usize {
    (u32::BITS - max.leading_zeros()) as usize
}

/// Collects the bits of one text, the low ones of each byte first, without allocating.
#[derive(Clone, Debug)]
pub struct BitWriter {
    bytes: [u8; FIELD_MAX],
    count: usize,
}

impl Default for BitWriter {
    fn default() -> Self {
        Self { bytes: [0; FIELD_MAX], count: 0 }
    }
}

impl BitWriter {
    /// Appends the low `width` bits of `number`, 32 at most. Bits beyond the text's capacity are dropped.
    pub fn write(&mut self, number: u32, width: usize) {
        for bit in 0..width.min(32) {
            let Some(byte) = self.bytes.get_mut(self.count / 8) else { return };
            *byte |= ((number >> bit & 1) as u8) << (self.count % 8);
            self.count += 1;
        }
    }

    /// The text so far. Unused bits of its last byte are zero.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.count.div_ceil(8)]
    }
}

/// Reads the bits of one text in order.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Reads a text from its beginning.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `width` bits, 32 at most.
    ///
    /// # Errors
    /// `Invalid` when there are fewer.
    pub fn read(&mut self, width: usize) -> Result<u32, StateError> {
        let mut number = 0;
        for bit in 0..width.min(32) {
            let byte = self.bytes.get(self.at / 8).ok_or(StateError::Invalid)?;
            number |= u32::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Ok(number)
    }

    /// Checks that the text ends here.
    ///
    /// # Errors
    /// `Invalid` when a byte is left, or a left-over bit is not zero.
    pub fn finish(self) -> Result<(), StateError> {
        let fill = match self.at % 8 {
            0 => 0,
            used => self.bytes.get(self.at / 8).map_or(0, |byte| byte >> used),
        };
        if fill == 0 && self.at.div_ceil(8) == self.bytes.len() { Ok(()) } else { Err(StateError::Invalid) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn numbers_take_the_bits_of_their_range() {
        assert_eq!([0, 1, 2, 255, 256, u32::MAX].map(bits_for), [0, 1, 2, 8, 9, 32]);
    }

    #[test]
    fn missing_and_left_over_bits_are_refused() {
        let mut bits = BitWriter::default();
        bits.write(1, 1);
        bits.write(0x1234, 13);
        bits.write(u32::MAX, 32);
        assert_eq!(bits.bytes(), [0x69, 0xe4, 0xff, 0xff, 0xff, 0x3f]);
        let mut reader = BitReader::new(bits.bytes());
        assert_eq!((reader.read(1), reader.read(13), reader.read(32)), (Ok(1), Ok(0x1234), Ok(u32::MAX)));
        assert_eq!(reader.clone().finish(), Ok(()));
        assert_eq!(reader.read(3), Err(StateError::Invalid));
        let ended = |bytes: &[u8]| {
            let mut reader = BitReader::new(bytes);
            reader.read(3)?;
            reader.finish()
        };
        assert_eq!(ended(&[7]), Ok(()));
        assert_eq!(ended(&[8]), Err(StateError::Invalid));
        assert_eq!(ended(&[0, 0]), Err(StateError::Invalid));
        assert_eq!(ended(&[]), Err(StateError::Invalid));
    }

    #[test]
    fn a_full_text_drops_further_bits() {
        let mut bits = BitWriter::default();
        (0..100).for_each(|_| bits.write(u32::MAX, 32));
        assert_eq!(bits.bytes(), [255; FIELD_MAX]);
    }
}
