//! Randomness as an input: a generator of secrets that replays from its seed.

use sha2::{Digest as _, Sha256};

/// SHA-256 over the parts, each preceded by its length so that no two lists of parts collide.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A generator good enough for tickets and ids: SHA-256 of the seed and a counter (NIST SP 800-90A's Hash_DRBG
/// without reseeding). It is as unpredictable as its seed, which the driver takes from the system's randomness.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Entropy {
    seed: [u8; 32],
    drawn: u64,
}

impl Entropy {
    /// A generator that replays from `seed`.
    #[must_use]
    pub const fn new(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// The next 32 bytes.
    pub fn bytes(&mut self) -> [u8; 32] {
        self.drawn += 1;
        digest(&[b"samovar entropy", &self.seed, &self.drawn.to_le_bytes()])
    }

    /// The next 16 bytes.
    pub fn half(&mut self) -> [u8; 16] {
        let [half, _] = *self.bytes().as_chunks::<16>().0 else { unreachable!("32 bytes are two halves") };
        half
    }

    /// The next 64-bit number.
    pub fn number(&mut self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl core::fmt::Debug for Entropy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Entropy(secret)")
    }
}
