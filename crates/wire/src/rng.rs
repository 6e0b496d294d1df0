//! Random numbers that replay from a seed, for simulations, tests and robots; never for keys, ids or tickets.

/// SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, with
/// the constants of S. Vigna's public domain `splitmix64.c`. Equal seeds give equal sequences on every platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed; all seeds are equally good.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed of a generator that continues this sequence.
    #[must_use]
    pub const fn state(&self) -> u64 {
        self.0
    }

    /// The next 64 bits.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`, or 0 if `sides` is 0. The bias towards small numbers is at most `sides` in 2^64.
    pub const fn roll(&mut self, sides: u64) -> u64 {
        let number = self.number();
        if sides == 0 { 0 } else { number % sides }
    }

    /// An index below `parts`; 0 if there are none.
    pub const fn index(&mut self, parts: usize) -> usize {
        self.roll(parts as u64) as usize
    }

    /// True with a probability of `times` in `of`.
    pub const fn chance(&mut self, times: u64, of: u64) -> bool {
        self.roll(of) < times
    }

    /// One element, each as likely as the others; `None` if the list is empty.
    pub fn pick<T: Clone>(&mut self, among: &[T]) -> Option<T> {
        among.get(self.index(among.len())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn sequence_equals_the_published_one() {
        let mut rng = Rng::new(1_234_567);
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(published.map(|_| rng.number()), published);
    }

    #[test]
    fn rolls_stay_below_their_sides() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 6];
        (0..6_000).for_each(|_| seen[rng.roll(6) as usize] += 1);
        assert!(seen.iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
        assert_eq!((rng.roll(0), rng.pick::<u8>(&[])), (0, None));
        assert!(!rng.chance(0, 100) && rng.chance(100, 100));
    }
}
