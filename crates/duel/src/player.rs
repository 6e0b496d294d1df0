//! Players: keys, names and colours.

use std::fmt;

use samovar_wire::name;

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

/// Identifies the player that drives a teapot. The key survives reloads of the page and changes of the teapot's
/// owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlayerKey {
    /// The member in this seat.
    Seat(u16),
    /// The robot with this number, whichever peer is the host.
    Robot(u8),
}

impl PlayerKey {
    /// The bytes a key takes.
    pub(crate) const ENCODED: usize = 3;

    /// The index of the spawn point that this player prefers; different for the first players of each kind.
    pub fn preference(self) -> usize {
        match self {
            // Seats count round the table; robots begin on the opposite side.
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

/// A name that can be shown: it has a visible character, at most 80 bytes, and no character that breaks or reorders
/// the text around it.
///
/// [`fmt::Display`] writes the name isolated, for sentences: a name in Arabic or Hebrew does not reverse the text
/// after it. [`PlayerName::as_str`] is the bare name, for places where the name stands alone. A name may contain
/// markup, which the code that writes it into a page escapes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlayerName(String);

/// A text by somebody else within a sentence, in an isolate of its own (UAX #9, FSI and PDI).
#[derive(Clone, Copy, Debug)]
pub struct Isolated<'a>(pub &'a str);

impl fmt::Display for Isolated<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\u{2068}{}\u{2069}", self.0)
    }
}

impl PlayerName {
    /// The name as a member has it, unchanged; `Teapot` for a name that shows nothing or that no member can have.
    pub fn new(name: &str) -> Self {
        Self(if Self::fits(name) { name } else { "Teapot" }.to_owned())
    }

    fn fits(name: &str) -> bool {
        name::is_valid(name) && name::has_ink(name)
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

    /// Reads a name and refuses any that [`PlayerName::new`] would replace.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = usize::from(reader.u8()?);
        let text = std::str::from_utf8(reader.bytes(count)?).map_err(|_| DecodeError::BadName)?;
        if Self::fits(text) { Ok(Self(text.to_owned())) } else { Err(DecodeError::BadName) }
    }
}

impl fmt::Display for PlayerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Isolated(&self.0).fmt(formatter)
    }
}

impl fmt::Debug for PlayerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn valid_names_stay_and_others_become_teapot() {
        for name in ["Ada Lovelace", "<b>bold</b>", "茶壺🫖", "می\u{200c}خواهم", "👩\u{200d}🚀", " x "]
        {
            assert_eq!(PlayerName::new(name).as_str(), name);
        }
        for name in ["", " \u{200b}", "\u{202e}evil", "a\nb", &"x".repeat(81)] {
            assert_eq!(PlayerName::new(name).as_str(), "Teapot", "from {name:?}");
        }
    }

    #[test]
    fn a_name_in_a_sentence_is_isolated() {
        assert_eq!(
            format!("Host: {} · 148 ms", PlayerName::new("مريم")),
            "Host: \u{2068}مريم\u{2069} · 148 ms"
        );
    }

    #[test]
    fn every_encoded_name_decodes_to_itself() {
        let mut rng = Rng::new(3);
        for _ in 0..5_000 {
            let typed: String = (0..rng.below(25))
                .filter_map(|_| {
                    let range = [0x80, 0x3000, 0x11_0000][rng.below(3) as usize];
                    char::from_u32(rng.below(range))
                })
                .collect();
            let name = PlayerName::new(&typed);
            assert_eq!(PlayerName::new(name.as_str()), name);
            let mut bytes = Vec::new();
            name.write(&mut bytes);
            let mut reader = Reader::new(&bytes);
            assert_eq!(PlayerName::read(&mut reader), Ok(name));
            assert_eq!(reader.finish(), Ok(()));
        }
    }

    #[test]
    fn names_that_no_member_has_are_refused() {
        let with_length = |text: &[u8]| {
            let mut bytes = vec![text.len() as u8];
            bytes.extend(text);
            PlayerName::read(&mut Reader::new(&bytes))
        };
        for text in [&b""[..], b"  ", b"a\nb", b"\xff", &[b'x'; 81], &[b'x'; 200]] {
            assert_eq!(with_length(text), Err(DecodeError::BadName), "{text:?}");
        }
        assert_eq!(PlayerName::read(&mut Reader::new(&[5, b'a'])), Err(DecodeError::WrongLength));
    }

    #[test]
    fn encoded_keys_decode_and_unknown_ones_are_refused() {
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
