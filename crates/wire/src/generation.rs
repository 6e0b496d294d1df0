//! Generations tell which link between two peers a packet belongs to (PROTOCOL §2.2).

use crate::DecodeError;

/// The number of generations. The first one follows the last.
const GENERATIONS: u8 = 15;

/// The number of a peer's link to another peer. It counts from 1 to 15, and then from 1 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u8);

impl Generation {
    /// The first link of a peer to another.
    pub const FIRST: Self = Self(1);

    /// The generation after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 % GENERATIONS + 1)
    }

    /// Whether this generation comes after the other: at most seven later.
    #[must_use]
    pub const fn is_newer_than(self, other: Self) -> bool {
        let ahead = (self.0 + GENERATIONS - other.0) % GENERATIONS;
        ahead > 0 && ahead <= GENERATIONS / 2
    }

    const fn decode(nibble: u8) -> Option<Self> {
        if nibble == 0 { None } else { Some(Self(nibble)) }
    }
}

/// The generations of both ends, as the sender of a packet or chunk knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generations {
    /// The generation of the sender's link; `None` if the sender has no link, and only tells the receiver to close.
    pub sender: Option<Generation>,
    /// The generation of the receiver's link; `None` while the sender has not heard of it.
    pub receiver: Option<Generation>,
}

impl Generations {
    /// The generations of a sender without a link.
    pub const NONE: Self = Self { sender: None, receiver: None };
    /// The generations of a peer's first link before it hears anything.
    pub const FIRST: Self = Self { sender: Some(Generation::FIRST), receiver: None };

    /// The byte that states both generations.
    #[must_use]
    pub fn encode(self) -> u8 {
        let nibble = |generation: Option<Generation>| generation.map_or(0, |generation| generation.0);
        nibble(self.sender) << 4 | nibble(self.receiver)
    }

    /// Reads the byte.
    ///
    /// # Errors
    /// `Invalid` for a receiver's generation without a sender's.
    pub const fn decode(byte: u8) -> Result<Self, DecodeError> {
        if byte > 0 && byte < 0x10 {
            return Err(DecodeError::Invalid);
        }
        Ok(Self { sender: Generation::decode(byte >> 4), receiver: Generation::decode(byte & 0x0f) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn newer_generation_is_recognised_across_the_wrap() {
        let mut generation = Generation::FIRST;
        for _ in 0..40 {
            let mut later = generation;
            assert!(!later.is_newer_than(generation));
            for ahead in 1..15 {
                later = later.next();
                assert_eq!(later.is_newer_than(generation), ahead <= 7, "{later:?} against {generation:?}");
                assert_eq!(generation.is_newer_than(later), ahead > 7);
            }
            assert_eq!(later.next(), generation);
            generation = generation.next();
        }
    }

    #[test]
    fn a_byte_states_both_generations() {
        for byte in 0..=u8::MAX {
            match Generations::decode(byte) {
                Ok(generations) => assert_eq!(generations.encode(), byte),
                Err(_) => assert!((1..16).contains(&byte)),
            }
        }
    }
}
