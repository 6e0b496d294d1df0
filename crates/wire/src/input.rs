//! Inputs: members' requests to the host's game, and the peers that hold them (PROTOCOL §4.12).

use crate::limits::INPUT_MAX;
use crate::{DecodeError, Duration, Reader, SeatId, Term, Writer};

/// The time for which the holders keep an input. Long before this time is over, the host's objects show the input's
/// effect, and the backups have those objects.
pub const INPUT_KEPT_FOR: Duration = Duration::from_millis(10_000);

/// One input; the body of INPUT is one or more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The seat of the input.
    pub seat: SeatId,
    /// The time for which the receiver keeps the input, in milliseconds; at most [`INPUT_KEPT_FOR`].
    pub left: u16,
    /// The input's number, at least 1. It is above all earlier numbers of the seat, also above those of members that
    /// sat there before.
    pub number: u64,
    /// The content; only the game reads it.
    pub bytes: &'a [u8],
}

impl<'a> Input<'a> {
    /// Appends the input.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.u16(self.seat.0);
        out.u16(self.left);
        out.varint(self.number);
        out.prefixed(self.bytes);
    }

    /// Reads the input.
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
    /// The number of the sender's view. A member counts a HELD of the host only if this view is not newer than its
    /// own. A newer view may name a backup that the member does not know yet.
    pub view: u64,
    /// The number of the last input that the sender holds.
    pub number: u64,
}

impl Held {
    /// Appends the body.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.term.0);
        out.varint(self.view);
        out.varint(self.number);
    }

    /// Reads the body.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let held = Self { term: Term(reader.varint()?), view: reader.varint()?, number: reader.varint()? };
        reader.end()?;
        Ok(held)
    }
}

/// The body of TOLD: a member has sent the host of this term all inputs that the member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The term.
    pub term: Term,
}

impl Told {
    /// Appends the body.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.term.0);
    }

    /// Reads the body.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let told = Self { term: Term(reader.varint()?) };
        reader.end()?;
        Ok(told)
    }
}
