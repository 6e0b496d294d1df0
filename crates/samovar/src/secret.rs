//! The secret of a private game, behind the dot in `TEA-4.K7M2QXW9PRTD`. It enters the hash of all that members agree on,
//! so the relay and the host refuse those who lack it. The relay knows the hash, and can let anybody in.

use core::fmt;

use samovar_wire::{Entropy, digest};

/// The letters and digits of a drawn secret: none looks like another.
const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ*";
/// Letters of a drawn secret: 59 bits.
const DRAWN: usize = 12;
/// Letters of any secret.
const LETTERS_MAX: usize = 32;

/// A secret: letters and digits, capitals only.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// The secret that a person typed. Small letters are as good as capitals.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_fine =
            (1..=LETTERS_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
        is_fine.then(|| Self(text.to_ascii_uppercase()))
    }

    /// A secret that nobody guesses.
    pub(crate) fn draw(seed: [u8; 32]) -> Self {
        let mut entropy = Entropy::new(seed);
        let mut text = String::new();
        while text.len() < DRAWN {
            let [byte, ..] = entropy.bytes();
            // One of the 32 is no letter, so that each is as likely as the others.
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
    fn other_secret_gives_other_params_and_a_bad_one_is_none() {
        let params = |text| Secret::parse(text).map(|secret| secret.params(7));
        assert_eq!(params("tea"), params("TEA"));
        assert_ne!(params("tea"), params("tee"));
        for bad in ["", "a b", "a.b", "ä", &"x".repeat(33)] {
            assert_eq!(params(bad), None, "{bad}");
        }
    }
}
