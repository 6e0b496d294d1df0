//! Chance that replays from its seed.

/// SplitMix64 (G. Steele, D. Lea, C. Flood, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
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
}
