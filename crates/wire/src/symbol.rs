//! Symbols whose frequencies are learned while they are coded, and whole numbers coded as symbols (PROTOCOL §1.4).
//!
//! The model of sixteen symbols follows F. Giesen's adaptive nibbles ("Mixing discrete probability distributions",
//! 2015): each symbol moves all cumulative frequencies a step towards itself, and no frequency falls to zero.

use crate::range_coder::{RangeDecoder, RangeEncoder};

/// The number of symbols of a model.
pub const SYMBOLS: usize = 16;

/// The frequencies of a model sum to 2 to this power.
const BITS: u32 = 15;
const TOTAL: u16 = 1 << BITS;

/// For each symbol, the values that the cumulative frequencies approach when only this symbol is coded.
const TARGETS: [[u16; SYMBOLS]; SYMBOLS] = targets();

/// The shift of a learning step, indexed by the number of symbols coded before. The last value holds from then on.
const PACE: [u32; 17] = [3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5];

const fn targets() -> [[u16; SYMBOLS]; SYMBOLS] {
    let mut targets = [[0; SYMBOLS]; SYMBOLS];
    let mut symbol = 0;
    while symbol < SYMBOLS {
        let mut i = 0;
        while i < SYMBOLS {
            targets[symbol][i] = if i <= symbol { i as u16 } else { TOTAL - (SYMBOLS - i) as u16 };
            i += 1;
        }
        symbol += 1;
    }
    targets
}

/// The frequencies of sixteen symbols, as learned so far.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Cumulative frequencies: for each symbol the sum over all symbols below it, and at the end the total.
    below: [u16; SYMBOLS + 1],
    /// The number of symbols coded so far, at most the last index of `PACE`.
    seen: u8,
}

impl Model {
    /// A new model in which each symbol is half as likely as the one before it.
    pub const FALLING: Self = Self { below: falling(), seen: 0 };

    /// A new model for whole numbers whose mean size is that of `scale`, from 0 to 15.
    #[must_use]
    pub const fn of_scale(scale: u8) -> Self {
        Self { below: SCALES[(scale & 15) as usize], seen: 0 }
    }

    fn learn(&mut self, symbol: usize) {
        let pace = PACE[usize::from(self.seen)];
        self.seen += u8::from(usize::from(self.seen) + 1 < PACE.len());
        for (below, target) in self.below.iter_mut().zip(&TARGETS[symbol]) {
            let step = target.wrapping_sub(*below).cast_signed() >> pace;
            *below = below.wrapping_add_signed(step);
        }
    }

    const fn part(&self, symbol: usize) -> (u32, u32) {
        let from = self.below[symbol];
        (from as u32, (self.below[symbol + 1] - from) as u32)
    }

    /// Codes a symbol, below [`SYMBOLS`].
    pub fn encode(&mut self, symbol: usize, out: &mut RangeEncoder<'_>) {
        let symbol = symbol & (SYMBOLS - 1);
        let (from, size) = self.part(symbol);
        out.part(from, size, BITS);
        self.learn(symbol);
    }

    /// Reads a symbol.
    pub fn decode(&mut self, from: &mut RangeDecoder<'_>) -> usize {
        let value = from.peek(BITS);
        let below = &self.below[1..SYMBOLS];
        let symbol = below.iter().filter(|&&below| u32::from(below) <= value).count();
        let (start, size) = self.part(symbol);
        from.consume(start, size, BITS);
        self.learn(symbol);
        symbol
    }

    /// Codes a whole number: its class by this model, its other bits unchanged.
    pub fn encode_number(&mut self, number: i32, out: &mut RangeEncoder<'_>) {
        let size = number.unsigned_abs();
        let class = class_of(size);
        self.encode(class, out);
        if size == 0 {
            return;
        }
        let (first, bits) = CLASSES[class];
        let sign = u32::from(number < 0);
        if class < ESCAPE {
            // One step of the coder takes the sign and the bits below the class.
            out.bits(sign << bits | (size - first), bits + 1);
        } else {
            out.bits(sign, 1);
            encode_wide(size - first, out);
        }
    }

    /// Reads a whole number.
    pub fn decode_number(&mut self, from: &mut RangeDecoder<'_>) -> i32 {
        let class = self.decode(from);
        if class == 0 {
            return 0;
        }
        let (first, bits) = CLASSES[class];
        let (is_negative, size) = if class < ESCAPE {
            let rest = from.bits(bits + 1);
            (rest >> bits == 1, first + (rest & ((1 << bits) - 1)))
        } else {
            (from.bits(1) == 1, decode_wide(from).saturating_add(first))
        };
        if is_negative { 0_i32.wrapping_sub_unsigned(size) } else { size as i32 }
    }
}

/// Codes any number of 32 bits: its length in bits, then the bits below the highest one.
pub fn encode_wide(number: u32, out: &mut RangeEncoder<'_>) {
    let len = u32::BITS - number.leading_zeros();
    out.bits(len, 6);
    if len > 1 {
        out.bits(number, len - 1);
    }
}

/// Reads a number that [`encode_wide`] coded. A code that `encode_wide` cannot have written counts as the largest
/// number.
pub fn decode_wide(from: &mut RangeDecoder<'_>) -> u32 {
    match from.bits(6) {
        0 => 0,
        1 => 1,
        len @ 2..=32 => 1 << (len - 1) | from.bits(len - 1),
        _ => u32::MAX,
    }
}

/// The class of the largest sizes, which has no upper end.
const ESCAPE: usize = 15;

/// The smallest size of each class, and the number of bits that the class leaves open.
const CLASSES: [(u32, u32); SYMBOLS] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 1),
    (6, 1),
    (8, 2),
    (12, 2),
    (16, 3),
    (24, 3),
    (32, 4),
    (48, 4),
    (64, 6),
    (128, 7),
    (256, 8),
    (512, 0),
];

const fn class_of(size: u32) -> usize {
    if size < 4 {
        return size as usize;
    }
    let len = u32::BITS - size.leading_zeros();
    if len <= 6 {
        // Two classes for each length from 3 to 6.
        return (2 * len - 2 + (size >> (len - 2) & 1)) as usize;
    }
    let class = len + 5;
    if class < ESCAPE as u32 { class as usize } else { ESCAPE }
}

/// The start frequencies of the scales. Their mean sizes begin at 1/20; each is 9/5 of the one before.
const SCALES: [[u16; SYMBOLS + 1]; SYMBOLS] = scales();

const fn scales() -> [[u16; SYMBOLS + 1]; SYMBOLS] {
    let mut scales = [[TOTAL; SYMBOLS + 1]; SYMBOLS];
    // The means are in units of 2^-32. A geometric distribution of mean m has the ratio m / (1 + m).
    let mut mean: u128 = (1 << 32) / 20;
    let mut scale = 0;
    while scale < SYMBOLS {
        let ratio = (mean << 32) / ((1 << 32) + mean);
        let mut class = 0;
        while class < SYMBOLS {
            let above = power(ratio, CLASSES[class].0);
            let free = TOTAL as u128 - SYMBOLS as u128;
            // Each class keeps one part of its own, so that none becomes impossible.
            scales[scale][class] = ((((1 << 32) - above) * free) >> 32) as u16 + class as u16;
            class += 1;
        }
        mean = mean * 9 / 5;
        scale += 1;
    }
    scales
}

/// A power of a ratio below one. Both are in units of 2^-32.
const fn power(ratio: u128, mut exponent: u32) -> u128 {
    let mut result: u128 = 1 << 32;
    let mut square = ratio;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = (result * square) >> 32;
        }
        square = (square * square) >> 32;
        exponent >>= 1;
    }
    result
}

const fn falling() -> [u16; SYMBOLS + 1] {
    let mut below = [TOTAL; SYMBOLS + 1];
    let mut left: u32 = (1 << BITS) - SYMBOLS as u32;
    let mut symbol = 0;
    let mut at = 0;
    while symbol < SYMBOLS {
        below[symbol] = at as u16;
        at += left / 2 + 1;
        left -= left / 2;
        symbol += 1;
    }
    below
}

/// The scale whose mean size is nearest to `mean` sixteenths.
#[must_use]
pub const fn scale_of(mean: u32) -> u8 {
    // The border between two scales is their geometric mean.
    let mut border: u64 = 16 * 1_342 / 20;
    let mut scale = 0;
    while scale < 15 && (mean as u64) * 1_000 > border {
        border = border * 9 / 5;
        scale += 1;
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entropy;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn coded(numbers: &[i32], scale: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = RangeEncoder::new(&mut bytes);
        let mut model = Model::of_scale(scale);
        numbers.iter().for_each(|&number| model.encode_number(number, &mut encoder));
        encoder.finish(0);
        bytes
    }

    #[test]
    fn every_number_round_trips_under_every_scale() {
        let mut dice = Entropy::new([9; 32]);
        let edges = [0, 1, -1, 3, 4, 63, 64, 255, 256, 511, 512, -512, 513, i32::MAX, i32::MIN, i32::MIN + 1];
        let random = (0..2_000).map(|_| (dice.number() as i32) >> (dice.number() % 32));
        let numbers: Vec<i32> = edges.into_iter().chain(random).collect();
        for scale in 0..16 {
            let bytes = coded(&numbers, scale);
            let (mut decoder, mut model) = (RangeDecoder::new(&bytes), Model::of_scale(scale));
            for &number in &numbers {
                assert_eq!(model.decode_number(&mut decoder), number);
            }
            assert_eq!(decoder.end(), Ok(()));
        }
    }

    #[test]
    fn no_symbol_becomes_impossible() {
        let mut model = Model::FALLING;
        for symbol in [0, 15, 7] {
            (0..5_000).for_each(|_| model.learn(symbol));
            let sizes: u32 = (0..SYMBOLS).map(|s| model.part(s).1).inspect(|&size| assert!(size > 0)).sum();
            assert_eq!(sizes, 1 << BITS);
        }
        for scale in 0..16 {
            assert!((0..SYMBOLS).all(|s| Model::of_scale(scale).part(s).1 > 0), "{scale}");
        }
    }

    #[test]
    fn the_chosen_scale_is_near_the_best_and_zeros_cost_little() {
        let mut dice = Entropy::new([4; 32]);
        let mut geometric = |mean: f64| {
            let mut size = 0;
            while (dice.number() % 1_000_000) as f64 / 1e6 < mean / (1.0 + mean) {
                size += 1;
            }
            if dice.number().is_multiple_of(2) { size } else { -size }
        };
        for mean in [0.1, 1.0, 10.0, 100.0] {
            let numbers: Vec<i32> = (0..200).map(|_| geometric(mean)).collect();
            let sum: u32 = numbers.iter().map(|n| n.unsigned_abs()).sum();
            let chosen = scale_of(sum * 16 / 200);
            let lens: Vec<usize> = (0..16).map(|scale| coded(&numbers, scale).len()).collect();
            let best = lens.iter().min().copied().unwrap_or(0);
            assert!(lens[usize::from(chosen)] <= best + best / 50 + 2, "{mean}: {chosen} of {lens:?}");
        }
        assert!(coded(&[0; 1_000], 0).len() <= 8);
    }

    #[test]
    fn tables_code_to_the_same_bytes_on_every_platform() {
        assert_eq!(coded(&[0, -3, 70, 9_999, 1, 0, 0, -1, 2_000_000_000], 6), GOLDEN);
    }

    const GOLDEN: [u8; 15] = [81, 173, 77, 28, 61, 228, 191, 160, 142, 173, 7, 7, 190, 99, 96];
}
