//! The reliable messages of lockstep: a member's position, the state for a late joiner, and the field that differs.

use super::run;
use super::{FrameChanges, Run};
use crate::limits::{
    LOCKSTEP_FIELD_NAME_MAX, LOCKSTEP_FIELDS_MAX, LOCKSTEP_INPUT_MAX, LOCKSTEP_STATE_MAX, LOCKSTEP_TOLD_MAX,
    SEATS_MAX,
};
use crate::order::decode_count;
use crate::{DecodeError, Reader, SeatId, Term, Writer};

const TOLD: u8 = 0;
const WANT: u8 = 1;
const LOADING: u8 = 2;
const COMPARE: u8 = 3;
const FIELDS: u8 = 4;
const DIFFERS: u8 = 5;

/// A member's frames, for its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The host's term.
    pub term: Term,
    /// Whether the member has a state at all. Without one the rest is zero.
    pub has_state: bool,
    /// The number of the last frame that the member has.
    pub last: u64,
    /// The digest of all frames up to that one.
    pub digest: u64,
    /// The member's newest frames, up to the last one: [`LOCKSTEP_TOLD_MAX`] at most. The sender makes sure that they
    /// fit a message.
    pub frames: Vec<FrameChanges>,
}

/// A state of the game, for a member without one, or with a wrong one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loading {
    /// The sender's term.
    pub term: Term,
    /// The frame after which the game is in this state.
    pub frame: u64,
    /// The digest of all frames up to that one.
    pub digest: u64,
    /// The chain of checksums after that frame.
    pub chain: u64,
    /// The players in ascending order of seats, and the input of each in that frame.
    pub players: Vec<(SeatId, Vec<u8>)>,
    /// The game's state; only the game reads it.
    pub state: Vec<u8>,
}

/// The host's checksums, for a member whose own differ somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The host's term.
    pub term: Term,
    /// The frame of the first checksum.
    pub first: u64,
    /// The checksum of each frame from there on; [`LOCKSTEP_TOLD_MAX`] at most.
    pub checksums: Vec<u64>,
}

/// A named part of a game's state, and the hash of its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldHash {
    /// The name of the part, at most [`LOCKSTEP_FIELD_NAME_MAX`] bytes.
    pub name: String,
    /// The hash of the part's value.
    pub hash: u64,
}

/// A member's fields in the first frame whose checksums differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The host's term.
    pub term: Term,
    /// The frame.
    pub frame: u64,
    /// The fields in the game's order; none if the game no longer has that state.
    pub fields: Vec<FieldHash>,
}

/// The body of a LOCKSTEP message in the session's lane or in the bulk stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockstepMessage {
    /// A member reports its frames.
    Told(Told),
    /// A host that has no state asks a member for one.
    Want(Term),
    /// The state of the game.
    Loading(Loading),
    /// The host sends its checksums, to find the first frame that differs.
    Compare(Compare),
    /// A member answers [`LockstepMessage::Compare`].
    Fields(Fields),
    /// The host reports a difference: its term, the first frame, and the first field, if known.
    Differs(Term, u64, Option<String>),
}

impl LockstepMessage {
    /// Appends the message.
    pub fn encode(&self, out: &mut Writer<'_>) {
        match self {
            Self::Told(told) => told.encode(out),
            Self::Want(term) => {
                out.u8(WANT);
                out.varint(term.0);
            }
            Self::Loading(loading) => loading.encode(out),
            Self::Compare(compare) => {
                out.u8(COMPARE);
                out.varint(compare.term.0);
                out.varint(compare.first);
                compare.checksums.iter().for_each(|&checksum| out.u64(checksum));
            }
            Self::Fields(answer) => {
                out.u8(FIELDS);
                out.varint(answer.term.0);
                out.varint(answer.frame);
                for field in &answer.fields {
                    out.prefixed(field.name.as_bytes());
                    out.u64(field.hash);
                }
            }
            Self::Differs(term, frame, field) => {
                out.u8(DIFFERS);
                out.varint(term.0);
                out.varint(*frame);
                if let Some(field) = field {
                    out.prefixed(field.as_bytes());
                }
            }
        }
    }

    /// Reads a message. Each input has `input_size` bytes.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>, input_size: usize) -> Result<Self, DecodeError> {
        let kind = reader.u8()?;
        let term = Term(reader.varint()?);
        let message = match kind {
            TOLD => Self::Told(Told::decode(term, reader, input_size)?),
            WANT => Self::Want(term),
            LOADING => Self::Loading(Loading::decode(term, reader, input_size)?),
            COMPARE => {
                let first = decode_count(reader)?;
                let mut checksums = Vec::new();
                while !reader.is_empty() && checksums.len() < LOCKSTEP_TOLD_MAX {
                    checksums.push(reader.u64()?);
                }
                Self::Compare(Compare { term, first, checksums })
            }
            FIELDS => {
                let frame = decode_count(reader)?;
                let mut fields = Vec::new();
                while !reader.is_empty() && fields.len() < LOCKSTEP_FIELDS_MAX {
                    fields.push(FieldHash { name: name(reader)?, hash: reader.u64()? });
                }
                Self::Fields(Fields { term, frame, fields })
            }
            DIFFERS => {
                let frame = decode_count(reader)?;
                let field = if reader.is_empty() { None } else { Some(name(reader)?) };
                Self::Differs(term, frame, field)
            }
            _ => return Err(DecodeError::Invalid),
        };
        reader.end()?;
        Ok(message)
    }
}

fn name(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    let bytes = reader.prefixed(LOCKSTEP_FIELD_NAME_MAX)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| DecodeError::Invalid)
}

impl Told {
    fn encode(&self, out: &mut Writer<'_>) {
        out.u8(TOLD);
        out.varint(self.term.0);
        if !self.has_state {
            return;
        }
        out.varint(self.last);
        out.u64(self.digest);
        let mut run = Run::new();
        for changes in &self.frames {
            run.push(changes, usize::MAX);
        }
        out.u8(run.frames().min(LOCKSTEP_TOLD_MAX) as u8);
        out.bytes(run.bytes());
    }

    fn decode(term: Term, reader: &mut Reader<'_>, input_size: usize) -> Result<Self, DecodeError> {
        if reader.is_empty() {
            return Ok(Self { term, has_state: false, last: 0, digest: 0, frames: Vec::new() });
        }
        let (last, digest) = (decode_count(reader)?, reader.u64()?);
        let count = usize::from(reader.u8()?);
        if count as u64 > last {
            return Err(DecodeError::Invalid);
        }
        let frames = run::decode(reader, count, input_size)?;
        Ok(Self { term, has_state: true, last, digest, frames })
    }
}

impl Loading {
    fn encode(&self, out: &mut Writer<'_>) {
        out.u8(LOADING);
        out.varint(self.term.0);
        out.varint(self.frame);
        out.u64(self.digest);
        out.u64(self.chain);
        out.u8(self.players.len() as u8);
        for (seat, input) in &self.players {
            out.u16(seat.0);
            out.bytes(input);
        }
        out.bytes(&self.state);
    }

    fn decode(term: Term, reader: &mut Reader<'_>, input_size: usize) -> Result<Self, DecodeError> {
        let (frame, digest, chain) = (decode_count(reader)?, reader.u64()?, reader.u64()?);
        let count = usize::from(reader.u8()?);
        if count > SEATS_MAX || input_size > LOCKSTEP_INPUT_MAX {
            return Err(DecodeError::TooLarge);
        }
        let mut players: Vec<(SeatId, Vec<u8>)> = Vec::new();
        for _ in 0..count {
            let seat = SeatId(reader.u16()?);
            if players.last().is_some_and(|(last, _)| *last >= seat) {
                return Err(DecodeError::Invalid);
            }
            players.push((seat, reader.bytes(input_size)?.to_vec()));
        }
        let state = reader.rest();
        if state.len() > LOCKSTEP_STATE_MAX {
            return Err(DecodeError::TooLarge);
        }
        Ok(Self { term, frame, digest, chain, players, state: state.to_vec() })
    }
}
