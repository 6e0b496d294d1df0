//! Chance that replays from its seed.

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and good enough to throw dice.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `sides`.
    pub(crate) const fn roll(&mut self, sides: u64) -> u64 {
        self.number() % sides
    }

    /// Whether something happens that does so `permille` times in a thousand.
    pub(crate) const fn chance(&mut self, permille: u64) -> bool {
        self.roll(1_000) < permille
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.roll(from.len() as u64) as usize])
    }
}
