//! Random numbers that can be replayed. One seed gives a stream of its own to each part that rolls dice.
//!
//! [`Entropy`] makes the seeds of the streams. The rolls are xoroshiro128++ (Blackman and Vigna 2018), because a
//! packet may cost ten rolls, and a hash for each would cost more than the packet. Floating point is limited to sums,
//! products and comparisons of IEEE 754, so that all machines roll the same.

use samovar_wire::{Duration, Entropy};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Dice {
    state: [u64; 2],
}

impl Dice {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self::from_entropy(&mut Entropy::new(bytes))
    }

    /// The next stream of a generator of seeds.
    #[must_use]
    pub fn from_entropy(entropy: &mut Entropy) -> Self {
        let half = entropy.half();
        let (low, high) = half.split_at(8);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        // All zeros is the one state that xoroshiro cannot leave.
        Self { state: [number(low) | 1, number(high)] }
    }

    /// Another stream, independent of what this one rolls later.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::new(self.number())
    }

    /// 64 random bits.
    pub const fn number(&mut self) -> u64 {
        let [a, mut b] = self.state;
        let sum = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        b ^= a;
        self.state = [a.rotate_left(49) ^ b ^ (b << 21), b.rotate_left(28)];
        sum
    }

    /// A number from 0 to 1, 1 excluded.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Whether an event of this probability happens. Rolls no number if the probability is zero.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.fraction() < probability
    }

    /// A number below `sides`; zero if `sides` is zero.
    pub const fn below(&mut self, sides: u64) -> u64 {
        if sides == 0 { 0 } else { ((self.number() as u128 * sides as u128) >> 64) as u64 }
    }

    /// A number from `least` to `most`, both included.
    pub const fn range(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least).saturating_add(1))
    }

    /// A random span below `most`.
    pub const fn span(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.below(most.as_micros()))
    }

    /// A random span of whole milliseconds from `least` to `most`, both included.
    pub const fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.range(least, most))
    }

    /// One of several, at random; `None` if there are none.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn seed_repeats_its_rolls_and_another_seed_differs() {
        let rolls = |seed| -> Vec<u64> {
            let mut dice = Dice::new(seed);
            (0..100).map(|_| dice.below(6)).collect()
        };
        assert_eq!(rolls(1), rolls(1));
        assert_ne!(rolls(1), rolls(2));
    }

    #[test]
    fn rolls_are_as_frequent_as_their_probabilities() {
        let mut dice = Dice::new(7);
        let mut counts = [0u32; 6];
        (0..60_000).for_each(|_| counts[dice.below(6) as usize] += 1);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        let hits = (0..100_000).filter(|_| dice.chance(0.05)).count();
        assert!((4_700..5_300).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| (3..=5).contains(&dice.range(3, 5))));
    }
}
