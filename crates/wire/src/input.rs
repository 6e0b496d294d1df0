//! Inputs: members' requests to the host's game, and the peers that hold them (PROTOCOL §4.12).

use crate::limits::INPUT_MAX;
use crate::{DecodeError, Duration, Reader, SeatId, Term, Writer};

/// The time for which the holders keep an input: long before its end its effect is in the host's objects, and these
/// have reached the backups.
pub const INPUT_KEPT_FOR: Duration = Duration::from_millis(10_000);

/// One input; the body of INPUT is one or more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The seat of the input.
    pub seat: SeatId,
    /// The time for which the receiver keeps it, in milliseconds; at most [`INPUT_KEPT_FOR`].
    pub left: u16,
    /// Its number; above all earlier ones of its seat, whoever sat there. At least 1.
    pub number: u64,
    /// The game's own.
    pub bytes: &'a [u8],
}

impl<'a> Input<'a> {
    /// Appends it.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.u16(self.seat.0);
        out.u16(self.left);
        out.varint(self.number);
        out.prefixed(self.bytes);
    }

    /// Reads it.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let input = Self {
            seat: SeatId(reader.u16()?),
            left: reader.u16()?,
            number: reader.varint()?,
            bytes: reader.prefixed(INPUT_MAX)?,
        };
        let is_valid = input.number > 0 && u64::from(input.left) * 1_000 <= INPUT_KEPT_FOR.as_micros();
        if is_valid { Ok(input) } else { Err(DecodeError::Invalid) }
    }
}

/// The body of HELD: the sender holds all inputs that the receiver has sent it under this term, up to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The sender's present term. A host sends this only while it may act as host.
    pub term: Term,
    /// The number of the sender's view. A sender with an older view does not know yet which backup the host has named.
    /// It counts a host's HELD only once it does.
    pub view: u64,
    /// The number of the last held input.
    pub number: u64,
}

impl Held {
    /// Appends it.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.term.0);
        out.varint(self.view);
        out.varint(self.number);
    }

    /// Reads it.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let held = Self { term: Term(reader.varint()?), view: reader.varint()?, number: reader.varint()? };
        reader.end()?;
        Ok(held)
    }
}

/// The body of TOLD: a member has sent the host of this term all inputs that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The term.
    pub term: Term,
}

impl Told {
    /// Appends it.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.term.0);
    }

    /// Reads it.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let told = Self { term: Term(reader.varint()?) };
        reader.end()?;
        Ok(told)
    }
}
