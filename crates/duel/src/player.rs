//! Who drives: keys, names and colours.

use std::fmt;

use crate::codec::{DecodeError, Reader};

/// The glazes a teapot can have, as red, green and blue from 0 to 255. A colour is an index into this table.
pub const GLAZES: [[u8; 3]; 12] = [
    [244, 236, 221],
    [226, 51, 20],
    [250, 194, 38],
    [129, 181, 96],
    [64, 194, 250],
    [30, 70, 183],
    [221, 104, 154],
    [56, 63, 41],
    [196, 160, 84],
    [96, 100, 112],
    [178, 104, 66],
    [160, 164, 172],
];

/// The longest name, in characters.
pub const NAME_CHARACTERS: usize = 20;

/// The longest name in bytes: a character takes at most four.
const NAME_BYTES: usize = 4 * NAME_CHARACTERS;

/// Whoever drives a teapot, for as long as the game knows them: it survives reloads and changes of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlayerKey {
    /// The member in this seat.
    Seat(u16),
    /// This robot, whoever hosts it.
    Robot(u8),
}

impl PlayerKey {
    /// The bytes a key takes.
    pub(crate) const ENCODED: usize = 3;

    /// A small number to prefer a place to appear at by; different for the first players of a kind.
    pub fn preference(self) -> usize {
        match self {
            // Seats count round the table, robots start opposite.
            Self::Seat(seat) => usize::from(seat),
            Self::Robot(robot) => usize::from(robot) + crate::arena::SPAWN_POINTS / 2,
        }
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let (kind, number) = match self {
            Self::Seat(seat) => (0, seat),
            Self::Robot(robot) => (1, u16::from(robot)),
        };
        out.push(kind);
        out.extend(number.to_le_bytes());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.u8()?;
        let number = reader.u16()?;
        match kind {
            0 => Ok(Self::Seat(number)),
            1 => u8::try_from(number).map(Self::Robot).map_err(|_| DecodeError::OutOfRange),
            other => Err(DecodeError::UnknownTag(other)),
        }
    }
}

/// A colour that exists: an index into [`GLAZES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glaze(u8);

impl Glaze {
    /// The colour with this number; numbers past the table start again.
    pub fn new(number: usize) -> Self {
        Self((number % GLAZES.len()) as u8)
    }

    /// The index into [`GLAZES`].
    pub fn number(self) -> u8 {
        self.0
    }

    /// Red, green and blue, from 0 to 255.
    pub fn rgb(self) -> [u8; 3] {
        GLAZES[usize::from(self.0)]
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u8()?;
        if usize::from(number) < GLAZES.len() { Ok(Self(number)) } else { Err(DecodeError::OutOfRange) }
    }
}

/// A name that is safe to draw: 1 to 20 visible characters on one line that cannot reorder the text around them.
///
/// It may still contain markup, which whoever writes it into a page escapes.
#[derive(Clone, PartialEq, Eq)]
pub struct PlayerName(String);

impl PlayerName {
    /// Makes a name of whatever was typed: invisible characters go, runs of white space become one space, the rest
    /// is cut after 20 characters, and nothing at all becomes `Teapot`. Reads at most the first 4,096 characters.
    pub fn new(typed: &str) -> Self {
        let mut name = String::new();
        let mut count = 0;
        let mut is_gap = false;
        for character in typed.chars().take(4_096) {
            if character.is_whitespace() {
                is_gap = count > 0;
                continue;
            }
            if is_invisible(character) {
                continue;
            }
            if is_gap && count + 2 <= NAME_CHARACTERS {
                name.push(' ');
                count += 1;
            } else if is_gap {
                break;
            }
            is_gap = false;
            if count == NAME_CHARACTERS {
                break;
            }
            name.push(character);
            count += 1;
        }
        if name.is_empty() { Self("Teapot".into()) } else { Self(name) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        // A name has at most 80 bytes, so its length fits.
        out.push(self.0.len() as u8);
        out.extend(self.0.as_bytes());
    }

    /// Reads a name and refuses any that [`PlayerName::new`] would have changed.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = usize::from(reader.u8()?);
        if count > NAME_BYTES {
            return Err(DecodeError::BadName);
        }
        let text = std::str::from_utf8(reader.bytes(count)?).map_err(|_| DecodeError::BadName)?;
        let name = Self::new(text);
        if name.0 == text { Ok(name) } else { Err(DecodeError::BadName) }
    }
}

impl fmt::Display for PlayerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for PlayerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.0)
    }
}

/// Whether a character draws nothing of its own: controls, joiners, direction marks, tags, blank letters.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn names_are_trimmed_cut_and_never_empty() {
        for (typed, expected) in [
            ("  Ada \t  Lovelace\n", "Ada Lovelace"),
            ("", "Teapot"),
            (" \u{200b}\u{feff}\0 ", "Teapot"),
            ("<b>bold</b>", "<b>bold</b>"),
            ("\u{202e}evil", "evil"),
            ("01234567890123456789xyz", "01234567890123456789"),
            ("0123456789012345678 x", "0123456789012345678"),
            ("012345678901234567 xy", "012345678901234567 x"),
            ("茶壺🫖", "茶壺🫖"),
        ] {
            assert_eq!(PlayerName::new(typed).as_str(), expected, "from {typed:?}");
        }
        assert_eq!(PlayerName::new(&"x".repeat(10_000)).as_str().len(), NAME_CHARACTERS);
    }

    #[test]
    fn sanitising_twice_changes_nothing_and_every_name_travels() {
        let mut rng = Rng::new(3);
        for _ in 0..5_000 {
            let typed: String = (0..rng.below(40))
                .filter_map(|_| {
                    let range = [0x80, 0x3000, 0x11_0000][rng.below(3) as usize];
                    char::from_u32(rng.below(range))
                })
                .collect();
            let name = PlayerName::new(&typed);
            assert_eq!(PlayerName::new(name.as_str()), name);
            assert!((1..=NAME_CHARACTERS).contains(&name.as_str().chars().count()));
            let mut bytes = Vec::new();
            name.write(&mut bytes);
            let mut reader = Reader::new(&bytes);
            assert_eq!(PlayerName::read(&mut reader), Ok(name));
            assert_eq!(reader.finish(), Ok(()));
        }
    }

    #[test]
    fn names_that_were_not_sanitised_are_refused() {
        let with_length = |text: &[u8]| {
            let mut bytes = vec![text.len() as u8];
            bytes.extend(text);
            PlayerName::read(&mut Reader::new(&bytes))
        };
        for text in [&b""[..], b" x", b"x ", b"a  b", b"a\nb", b"\xff", &[b'x'; 21], &[b'x'; 200]] {
            assert_eq!(with_length(text), Err(DecodeError::BadName), "{text:?}");
        }
        assert_eq!(PlayerName::read(&mut Reader::new(&[5, b'a'])), Err(DecodeError::WrongLength));
    }

    #[test]
    fn keys_travel_and_strange_ones_are_refused() {
        for key in [PlayerKey::Seat(0), PlayerKey::Seat(u16::MAX), PlayerKey::Robot(0), PlayerKey::Robot(255)]
        {
            let mut bytes = Vec::new();
            key.write(&mut bytes);
            assert_eq!(bytes.len(), PlayerKey::ENCODED);
            assert_eq!(PlayerKey::read(&mut Reader::new(&bytes)), Ok(key));
        }
        assert_eq!(PlayerKey::read(&mut Reader::new(&[2, 0, 0])), Err(DecodeError::UnknownTag(2)));
        assert_eq!(PlayerKey::read(&mut Reader::new(&[1, 0, 1])), Err(DecodeError::OutOfRange));
        assert_eq!(PlayerKey::read(&mut Reader::new(&[0, 0])), Err(DecodeError::WrongLength));
    }

    #[test]
    fn colours_start_again_after_the_last() {
        assert_eq!(Glaze::new(GLAZES.len() + 2), Glaze::new(2));
        assert_eq!(Glaze::read(&mut Reader::new(&[GLAZES.len() as u8])), Err(DecodeError::OutOfRange));
    }
}
