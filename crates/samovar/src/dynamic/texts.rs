//! Texts as the state, the messages and the asks of a dynamic game. With them programs in different languages play in
//! one room: those in JavaScript write plain data as JSON.
//!
//! | what | its text, as the package for JavaScript writes it |
//! |---|---|
//! | the state | a JSON value; empty before the first ask, which stands for the state at the beginning |
//! | a message | a JSON value |
//! | an ask | a JSON list of its name and its argument |
//!
//! The example `visitor` is a program in Rust that plays in such a room.

use samovar_derive::{Message, Value};

/// The most bytes of an ask.
pub const ASK_MAX: usize = 250;
/// The most bytes of the state.
pub const STATE_MAX: usize = TextState::PARTS * PART;
/// The bytes of a part of the state.
const PART: usize = 250;

/// A message. It has at most 16 KiB: it goes by [`Room::tell_bytes`](crate::Room::tell_bytes).
#[derive(Message, Clone, Debug)]
#[object(crate = crate)]
pub struct TextMessage {
    // The bound does not count for bytes.
    #[field(bound = 1)]
    text: Vec<u8>,
}

impl TextMessage {
    /// The message in these bytes, for [`Agreed::message_from`](crate::Agreed::message_from). `None` if they are no text.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        core::str::from_utf8(bytes).ok()?;
        Some(Self { text: bytes.to_vec() })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        core::str::from_utf8(&self.text).unwrap_or_default()
    }
}

/// A request to the host.
#[derive(Message, Clone, Debug)]
#[object(crate = crate)]
pub struct TextAsk {
    #[field(bound = 250)]
    text: Vec<u8>,
}

impl TextAsk {
    /// The ask with this text; `None` for one of more than [`ASK_MAX`] bytes.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (text.len() <= ASK_MAX).then(|| Self { text: text.as_bytes().to_vec() })
    }

    /// The text; empty for bytes that are none.
    #[must_use]
    pub fn text(&self) -> &str {
        core::str::from_utf8(&self.text).unwrap_or_default()
    }
}

/// Makes the state: a text in parts. One change of the text sends the parts that differ.
macro_rules! state_of_parts {
    ($($part:ident)*) => {
        /// The state that the host keeps for all.
        #[derive(Value, Clone, Debug, Default)]
        #[object(crate = crate)]
        pub struct TextState {
            $(#[field(bound = 250)] $part: Vec<u8>,)*
        }

        impl TextState {
            const PARTS: usize = [$(stringify!($part)),*].len();

            fn parts(&self) -> [&[u8]; Self::PARTS] {
                [$(&self.$part),*]
            }

            fn parts_mut(&mut self) -> [&mut Vec<u8>; Self::PARTS] {
                [$(&mut self.$part),*]
            }
        }
    };
}

state_of_parts!(a b c d e f g h i j k l m n o p);

impl TextState {
    /// The text; empty before a host has written one.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.parts().concat()).into_owned()
    }

    /// Writes another text. Returns whether it fits into [`STATE_MAX`] bytes; one that does not changes nothing.
    #[must_use]
    pub fn set(&mut self, text: &str) -> bool {
        let fits = text.len() <= STATE_MAX;
        if fits {
            let mut parts = text.as_bytes().chunks(PART);
            for part in self.parts_mut() {
                *part = parts.next().map(<[u8]>::to_vec).unwrap_or_default();
            }
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_holds_any_text_that_fits() {
        let mut state = TextState::default();
        assert_eq!(state.text(), "");
        let long = "ä".repeat(STATE_MAX / 2);
        assert!(state.set(&long));
        assert_eq!(state.text(), long);
        assert!(!state.set(&"x".repeat(STATE_MAX + 1)));
        assert_eq!(state.text(), long, "nothing changed");
        assert!(state.set("tea"));
        assert_eq!(state.text(), "tea");
    }

    #[test]
    fn ask_that_is_too_long_is_none() {
        assert!(TextAsk::new(&"x".repeat(ASK_MAX)).is_some());
        assert!(TextAsk::new(&"x".repeat(ASK_MAX + 1)).is_none());
        assert!(TextMessage::from_bytes(&[0xff]).is_none());
    }
}
