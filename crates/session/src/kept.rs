//! The state that a member keeps in case all members go at once: the seats and the time.
//!
//! The first member to come back founds the session anew from it. It holds the hashes of tickets and no ticket, so it
//! takes no seat back by itself.

use samovar_roster::{VIEW_FIELDS, View};
use samovar_wire::limits::FIELD_MAX;
use samovar_wire::{DecodeError, SessionId, Time};

/// The version of the layout of [`Kept::to_bytes`]. Bytes of another version are not read.
const VERSION: u8 = 4;
/// The highest session time that is read, in microseconds: 285 years.
const TIME_MAX: u64 = 1 << 53;

/// The seats of a session and its time, as a member knew them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The session that this state is from. In a session with another id, members show the hashes of their tickets
    /// only.
    pub(crate) session: SessionId,
    pub(crate) view: View,
    pub(crate) time: Time,
}

impl Kept {
    /// The bytes to store: 49 fields of at most 255 bytes, and 17 bytes more.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.session.0.to_le_bytes());
        bytes.extend(self.time.as_micros().to_le_bytes());
        for field in self.view.to_fields() {
            // A field has at most 255 bytes.
            bytes.push(u8::try_from(field.len()).unwrap_or(u8::MAX));
            bytes.extend(field.iter().take(FIELD_MAX));
        }
        bytes
    }

    /// Reads the bytes of [`Kept::to_bytes`].
    ///
    /// # Errors
    /// Any [`DecodeError`]: the bytes are of another version, damaged, or no view.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (&version, rest) = bytes.split_first().ok_or(DecodeError::Truncated)?;
        let (session, rest) = rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        let (time, mut rest) = rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        let session = SessionId(u64::from_le_bytes(*session));
        let time = u64::from_le_bytes(*time);
        if version != VERSION || time > TIME_MAX {
            return Err(DecodeError::Invalid);
        }
        let mut fields = Vec::with_capacity(VIEW_FIELDS);
        while let Some((&length, after)) = rest.split_first() {
            let field = after.get(..usize::from(length)).ok_or(DecodeError::Truncated)?;
            if fields.len() == VIEW_FIELDS {
                return Err(DecodeError::TooLarge);
            }
            fields.push(field);
            rest = &after[usize::from(length)..];
        }
        let view = View::from_fields(fields.into_iter())?;
        Ok(Self { session, view, time: Time::from_micros(time) })
    }
}

#[cfg(test)]
mod tests {
    use samovar_wire::control::Hello;
    use samovar_wire::{PeerId, SessionId, ShownTicket, Ticket};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn ticket(secret: u8) -> Ticket {
        Ticket { session: SessionId(1), secret: [secret; 16] }
    }

    fn hello(name: &str, next: u8, resume: Option<ShownTicket>) -> Hello {
        let (name, ticket) = (name.to_owned(), ticket(next).hash());
        Hello {
            version: 3,
            params: 0,
            name,
            attributes: 5,
            ticket,
            resume: [resume, None, None, None],
            voucher: None,
        }
    }

    fn kept() -> Kept {
        let mut view = View::founding(8);
        for (peer, name) in [(7_u8, "Ann"), (8, "مريم")] {
            view.admit(Time::ZERO, PeerId(u32::from(peer)), &hello(name, peer, None)).unwrap();
        }
        Kept { session: SessionId(1), view, time: Time::from_micros(77_000_000) }
    }

    #[test]
    fn kept_state_survives_its_encoding() {
        let bytes = kept().to_bytes();
        assert_eq!(Kept::from_bytes(&bytes), Ok(kept()));
        assert!(bytes.len() < 400);
    }

    #[test]
    fn damaged_bytes_are_an_error_and_no_panic() {
        let bytes = kept().to_bytes();
        for length in 0..bytes.len() {
            assert!(Kept::from_bytes(&bytes[..length]).is_err(), "{length} bytes are not enough");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Kept::from_bytes(&longer).is_err());
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x55;
            let _ = Kept::from_bytes(&damaged);
        }
        assert_eq!(Kept::from_bytes(&[1; 400]), Err(DecodeError::Invalid), "another version");
    }

    #[test]
    fn kept_seat_is_empty_and_a_ticket_takes_it_back() {
        let mut view = View::founding(8);
        let first = view.admit(Time::ZERO, PeerId(7), &hello("Ann", 7, None)).unwrap();
        view.admit(Time::ZERO, PeerId(8), &hello("Ann", 8, None)).unwrap();
        let mut again = view.founded_anew(Time::from_micros(9), 4, false);
        assert_eq!((again.members().count(), again.seats().count(), again.capacity()), (0, 2, 4));
        assert!(again.backups().is_empty() && again.electorate().peers.is_empty());
        let shown = ticket(7).shown_to(SessionId(2));
        let back = again.admit(Time::ZERO, PeerId(99), &hello("Ann", 9, Some(shown))).unwrap();
        assert_eq!((back.seat, back.yields), (first.seat, None));
        let thief = again.admit(Time::ZERO, PeerId(98), &hello("Ann", 10, Some(shown))).unwrap();
        assert_ne!(thief.seat, first.seat);
    }

    #[test]
    fn a_session_that_keeps_its_id_keeps_its_tickets() {
        let mut view = View::founding(8);
        let first = view.admit(Time::ZERO, PeerId(7), &hello("Ann", 7, None)).unwrap();
        let mut again = view.founded_anew(Time::from_micros(9), 4, true);
        let shown = ticket(7).shown_to(SessionId(1));
        let back = again.admit(Time::ZERO, PeerId(99), &hello("Ann", 9, Some(shown))).unwrap();
        assert_eq!((back.seat, back.yields), (first.seat, None));
    }

    #[test]
    fn hash_shown_to_another_session_opens_no_seat() {
        let mut view = View::founding(8);
        let first = view.admit(Time::ZERO, PeerId(7), &hello("Ann", 7, None)).unwrap();
        let learnt = ticket(7).shown_to(SessionId(2));
        let thief = view.admit(Time::ZERO, PeerId(8), &hello("Eve", 8, Some(learnt))).unwrap();
        assert_ne!(thief.seat, first.seat);
        let own = ticket(7).shown_to(SessionId(1));
        let back = view.admit(Time::ZERO, PeerId(9), &hello("Ann", 9, Some(own))).unwrap();
        assert_eq!((back.seat, back.yields), (first.seat, Some(PeerId(7))));
    }
}
