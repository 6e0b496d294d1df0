//! Calls and their replies (PROTOCOL §4.8).

use crate::limits::APP_MESSAGE_MAX;
use crate::{DecodeError, Reader, Writer};

/// The body of CALL: asks another peer's game for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The number that the caller gave the call. The caller uses each number once.
    pub number: u64,
    /// The method; the game's own numbering.
    pub method: u16,
    /// The arguments; only the game reads them.
    pub bytes: &'a [u8],
}

impl<'a> Call<'a> {
    /// Appends the call.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.number);
        out.u16(self.method);
        out.bytes(self.bytes);
    }

    /// Reads the call.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (number, method, bytes) = (reader.varint()?, reader.u16()?, reader.rest());
        if bytes.len() > APP_MESSAGE_MAX {
            Err(DecodeError::TooLarge)
        } else {
            Ok(Self { number, method, bytes })
        }
    }
}

/// The outcome of a call, as the called peer reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The game's answer.
    Done(&'a [u8]),
    /// The game refused, with a reason code of its own.
    Refused(u16),
    /// The called peer's game has no such method.
    NoSuchMethod,
    /// Too many calls of this caller are open.
    Busy,
}

impl<'a> Reply<'a> {
    /// Appends the body of REPLY.
    pub fn encode(&self, number: u64, out: &mut Writer<'_>) {
        out.varint(number);
        match self {
            Self::Done(bytes) => {
                out.u8(0);
                out.bytes(bytes);
            }
            Self::Refused(code) => {
                out.u8(1);
                out.u16(*code);
            }
            Self::NoSuchMethod => out.u8(2),
            Self::Busy => out.u8(3),
        }
    }

    /// Reads the body of REPLY: the call's number and its outcome.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'a>) -> Result<(u64, Self), DecodeError> {
        let number = reader.varint()?;
        let reply = match reader.u8()? {
            0 => {
                let bytes = reader.rest();
                if bytes.len() > APP_MESSAGE_MAX {
                    return Err(DecodeError::TooLarge);
                }
                Self::Done(bytes)
            }
            1 => Self::Refused(reader.u16()?),
            2 => Self::NoSuchMethod,
            3 => Self::Busy,
            _ => return Err(DecodeError::Invalid),
        };
        reader.end()?;
        Ok((number, reply))
    }
}
