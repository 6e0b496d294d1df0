//! The secret of a private game, behind the dot in `TEA-4.K7M2QXW9PRTD`. It enters the hash of all that members agree
//! on, so the relay and the host refuse those who lack it. The relay knows the hash, and can let anybody in.

use core::fmt;
use core::ops::RangeInclusive;

use samovar_wire::{Entropy, digest};

/// The letters and digits of a drawn secret, none of which looks like another. The `*` only fills the list up to 32:
/// it is never part of a secret.
const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ*";
/// The number of characters of a drawn secret: 59 bits.
const DRAWN: usize = 12;
/// The number of characters of any secret. The relay answers many guesses a second, so a short one would soon be found.
const LENGTHS: RangeInclusive<usize> = 8..=32;

/// A secret: digits and capital letters.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// The secret that a person typed, or `None` if it has other characters or a wrong length. Small letters are as
    /// good as capitals.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_fine = LENGTHS.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
        is_fine.then(|| Self(text.to_ascii_uppercase()))
    }

    /// Draws a random secret, which nobody can guess.
    pub(crate) fn draw(seed: [u8; 32]) -> Self {
        let mut entropy = Entropy::new(seed);
        let mut text = String::new();
        while text.len() < DRAWN {
            let [byte, ..] = entropy.bytes();
            // A `*` is skipped and another byte drawn, so that each of the 31 other characters is equally likely.
            let letter = LETTERS[usize::from(byte % 32)];
            if letter != b'*' {
                text.push(char::from(letter));
            }
        }
        Self(text)
    }

    /// The hash of all that the members agree on, this secret included.
    pub(crate) fn params(&self, params: u64) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] =
            digest(&[b"samovar private game", &params.to_le_bytes(), self.0.as_bytes()]);
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_secret_is_one_that_can_be_typed() {
        let drawn = [1, 2].map(|seed| Secret::draw([seed; 32]).to_string());
        assert_ne!(drawn[0], drawn[1]);
        for text in drawn {
            assert_eq!(text.len(), DRAWN);
            assert_eq!(
                Secret::parse(&text.to_ascii_lowercase()).map(|secret| secret.to_string()),
                Some(text)
            );
        }
    }

    #[test]
    fn another_secret_gives_other_params_and_bad_text_none() {
        let params = |text| Secret::parse(text).map(|secret| secret.params(7));
        assert_eq!(params("earlgrey"), params("EarlGrey"));
        assert_ne!(params("earlgrey"), params("earlgray"));
        for bad in ["", "earlgre", "earl grey", "earl.grey", "ärlgreyy", &"x".repeat(33)] {
            assert_eq!(params(bad), None, "{bad}");
        }
    }
}
