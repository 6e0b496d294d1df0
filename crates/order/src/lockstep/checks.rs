//! Checksums of the game's states, and the chain of them: states that differ once have different chains from then on.

use std::collections::VecDeque;

use samovar_wire::limits::LOCKSTEP_TOLD_MAX;

/// The multiplier of the chain, an odd number with its bits well spread: that of SplitMix64 (G. Steele, D. Lea, C.
/// Flood, 2014).
const SPREAD: u64 = 0xbf58_476d_1ce4_e5b9;

/// The checksums of the newest frames that the game has stepped.
#[derive(Clone, Debug, Default)]
pub(super) struct Checks {
    /// The last frame that the game has stepped.
    last: u64,
    /// The chain up to that frame.
    chain: u64,
    /// Checksum and chain of the newest frames, up to the last.
    known: VecDeque<(u64, u64)>,
}

impl Checks {
    /// Continues from a state that was loaded.
    pub(super) const fn resumed(frame: u64, chain: u64) -> Self {
        Self { last: frame, chain, known: VecDeque::new() }
    }

    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    pub(super) const fn chain(&self) -> u64 {
        self.chain
    }

    /// Notes the checksum after the next frame, which the game has stepped.
    pub(super) fn push(&mut self, checksum: u64) {
        let mixed = (self.chain.rotate_left(1) ^ checksum).wrapping_mul(SPREAD);
        self.chain = mixed ^ mixed >> 32;
        self.last += 1;
        self.known.push_back((checksum, self.chain));
        if self.known.len() > LOCKSTEP_TOLD_MAX {
            self.known.pop_front();
        }
    }

    fn get(&self, frame: u64) -> Option<(u64, u64)> {
        let back = usize::try_from(self.last.checked_sub(frame)?).ok()?;
        self.known.len().checked_sub(back + 1).and_then(|index| self.known.get(index)).copied()
    }

    pub(super) fn checksum(&self, frame: u64) -> Option<u64> {
        self.get(frame).map(|(checksum, _)| checksum)
    }

    /// Bits 32 to 47 of the chain after a frame.
    pub(super) fn check(&self, frame: u64) -> Option<u16> {
        let chain =
            if frame == self.last { Some(self.chain) } else { self.get(frame).map(|(_, chain)| chain) };
        chain.map(|chain| (chain >> 32) as u16)
    }

    /// The first frame whose checksum is known.
    pub(super) fn first(&self) -> u64 {
        self.last + 1 - self.known.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn one_wrong_checksum_shows_in_nearly_every_later_frame() {
        let (mut a, mut b) = (Checks::default(), Checks::default());
        let mut missed = 0;
        for frame in 1..=5_000 {
            a.push(7);
            b.push(if frame == 100 { 8 } else { 7 });
            if frame < 100 {
                assert_eq!(a.check(frame), b.check(frame));
            } else {
                missed += usize::from(a.check(frame) == b.check(frame));
            }
        }
        assert!(missed <= 2, "{missed} of 4,901 truncated chains were equal");
        assert_eq!((a.first(), a.checksum(a.first()), a.checksum(a.first() - 1)), (4_746, Some(7), None));
    }
}
