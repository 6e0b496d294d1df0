//! A state on its way between a game's own types and an object.

use samovar_wire::limits::FIELD_MAX;

use crate::text::Text;

/// The numbers and texts of one object. It can be filled again and again without allocating.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    numbers: Vec<i32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl State {
    /// Removes all numbers and texts.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a number.
    pub fn number(&mut self, number: i32) {
        self.numbers.push(number);
    }

    /// Appends a text; bytes beyond `FIELD_MAX` are cut off.
    pub fn text(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(&text[..text.len().min(FIELD_MAX)]);
        self.ends.push(self.bytes.len());
    }

    /// The numbers.
    #[must_use]
    pub fn numbers(&self) -> &[i32] {
        &self.numbers
    }

    /// The texts.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.ends.iter().enumerate().map(|(i, &end)| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            &self.bytes[start..end]
        })
    }

    /// Reads the state from the beginning.
    #[must_use]
    pub fn reader(&self) -> StateReader<'_> {
        StateReader { numbers: &self.numbers, texts: Texts::State(self, 0) }
    }
}

/// Why a state is invalid: its writer broke the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// There are too few numbers or texts: the state belongs to another kind of object.
    Missing,
    /// A number or text that no writer of this type writes.
    Invalid,
}

impl core::fmt::Display for StateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Missing => "the object has too few fields for this type",
            Self::Invalid => "a field holds what this type cannot",
        })
    }
}

impl core::error::Error for StateError {}

/// Reads the numbers and texts of an object in order.
#[derive(Clone, Debug)]
pub struct StateReader<'a> {
    numbers: &'a [i32],
    texts: Texts<'a>,
}

#[derive(Clone, Debug)]
enum Texts<'a> {
    State(&'a State, usize),
    Object(&'a [Text]),
}

impl<'a> StateReader<'a> {
    pub(crate) const fn of(numbers: &'a [i32], texts: &'a [Text]) -> Self {
        Self { numbers, texts: Texts::Object(texts) }
    }

    /// The next number.
    ///
    /// # Errors
    /// `Missing` when there are no more.
    pub fn number(&mut self) -> Result<i32, StateError> {
        let (&number, rest) = self.numbers.split_first().ok_or(StateError::Missing)?;
        self.numbers = rest;
        Ok(number)
    }

    /// The next text.
    ///
    /// # Errors
    /// `Missing` when there are no more.
    pub fn text(&mut self) -> Result<&'a [u8], StateError> {
        match &mut self.texts {
            Texts::State(state, next) => {
                let end = *state.ends.get(*next).ok_or(StateError::Missing)?;
                let start = if *next == 0 { 0 } else { state.ends[*next - 1] };
                *next += 1;
                Ok(&state.bytes[start..end])
            }
            Texts::Object(texts) => {
                let (text, rest) = texts.split_first().ok_or(StateError::Missing)?;
                *texts = rest;
                Ok(&text.bytes)
            }
        }
    }
}
