//! The fields of the session object: the agreed member list (PROTOCOL §4.4).

use bincode::{Decode, Encode};

use crate::control::{Message, decode, encode};
use crate::id::is_clean_name;
use crate::limits::{FIELD_MAX, MEMBERS_MAX};
use crate::{DecodeError, PeerId, SeatId, TicketHash};

/// Field 0 of the session object.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ViewHeader {
    /// Grows with every change of the view.
    pub number: u64,
    /// Who takes over first.
    pub backup: Option<PeerId>,
    /// Members at most.
    pub capacity: u8,
    /// The number of the next new seat.
    pub next_seat: u16,
}

/// A further field of the session object: one seat. An empty field is no seat.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SeatRecord {
    /// Which seat.
    pub seat: SeatId,
    /// Who sits on it; nobody while its member is away.
    pub peer: Option<PeerId>,
    /// The member's name.
    pub name: String,
    /// The application's own bits.
    pub attributes: u32,
    /// Whether the member's page is visible.
    pub visible: bool,
    /// What its ticket must hash to.
    pub ticket: TicketHash,
    /// Session time in microseconds at which the member was lost or came.
    pub since: u64,
}

impl Message for ViewHeader {
    fn check(&self) -> Result<(), DecodeError> {
        if usize::from(self.capacity) > MEMBERS_MAX { Err(DecodeError::TooLarge) } else { Ok(()) }
    }
}

impl Message for SeatRecord {
    fn check(&self) -> Result<(), DecodeError> {
        if is_clean_name(&self.name) { Ok(()) } else { Err(DecodeError::Invalid) }
    }
}

macro_rules! field_codec {
    ($($name:ident),*) => { $(
        impl $name {
            /// Reads the field.
            ///
            /// # Errors
            /// As [`decode`].
            pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
                decode::<Self, FIELD_MAX>(bytes)
            }

            /// The field's bytes; never more than `FIELD_MAX` for a record that passes its own check.
            #[must_use]
            pub fn encode(&self) -> Vec<u8> {
                let mut bytes = Vec::new();
                encode(self, &mut bytes);
                bytes
            }
        }
    )* };
}
field_codec!(ViewHeader, SeatRecord);
