//! A tiny seeded generator of pseudo-random numbers.
//!
//! The algorithm is SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014, with the constants of S. Vigna's public domain `splitmix64.c`. The generator is for robots and
//! property tests; it must never make keys or tickets.

/// A seeded generator. Equal seeds give equal sequences on every platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator for `seed`; every value is as good as any other.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The seed of a generator that continues this one's sequence.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 (inclusive) to 1 (exclusive), with 24 random bits: as many as an `f32` holds.
    pub fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// A number from `low` to `high`; a range that is empty or not finite gives `low`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        let value = low + (high - low) * self.unit();
        if value >= low && value <= high { value } else { low }
    }

    /// A whole number below `count`, or 0 when `count` is 0.
    ///
    /// This is the high half of a product (Lemire, "Fast random integer generation in an interval", 2019) without the
    /// rejection step: the bias is below `count` in 2^64, which is too small to matter to a robot.
    pub fn below(&mut self, count: u32) -> u32 {
        ((u128::from(self.next_u64()) * u128::from(count)) >> 64) as u32
    }

    /// Either sign with equal chance: −1 or 1.
    pub fn sign(&mut self) -> f32 {
        if self.below(2) == 0 { -1.0 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut rng = Rng::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| rng.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn numbers_stay_in_their_range_and_fill_it() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 6];
        let mut sum = 0.0;
        for _ in 0..6_000 {
            seen[rng.below(6) as usize] += 1;
            let unit = rng.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += unit;
            assert!((-3.0..=2.0).contains(&rng.between(-3.0, 2.0)));
        }
        assert!(seen.iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
        assert!((sum / 6_000.0 - 0.5).abs() < 0.02);
    }

    #[test]
    fn empty_and_broken_ranges_give_their_low_end() {
        let mut rng = Rng::new(1);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.between(2.0, 1.0), 2.0);
        assert_eq!(rng.between(2.0, f32::NAN), 2.0);
    }
}
