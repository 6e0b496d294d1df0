//! Consecutive frames, each sent as its changes.

use crate::limits::{LOCKSTEP_INPUT_MAX, SEATS_MAX};
use crate::{DecodeError, Reader, SeatId, Writer};

/// The lower four bits of a change's first byte are its seat; 0 means that the seat follows.
const SEAT: u8 = 0x0f;
/// The three bits above them count the frames since the previous change; 7 means that the rest of the count follows.
const GAP_SHIFT: u32 = 4;
const GAP_MORE: u64 = 7;
/// The highest bit marks a change that is no input.
const SPECIAL: u8 = 0x80;

const LEAVES: u8 = 0;
const JOINS: u8 = 1;

/// A player's change in a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The player plays from this frame on, with an input of zeros.
    Joins,
    /// The player no longer plays from this frame on.
    Leaves,
    /// The player's input differs from the one in the frame before.
    Input(Vec<u8>),
}

/// A change for one seat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeatChange {
    /// The seat.
    pub seat: SeatId,
    /// The change.
    pub change: Change,
}

/// All that changes in a frame, in ascending order of seats.
pub type FrameChanges = Vec<SeatChange>;

/// Consecutive frames, encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    bytes: Vec<u8>,
    frames: usize,
    /// The number of frames since the frame with the last change.
    gap: u64,
    is_full: bool,
}

/// The frames of a run, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frames {
    /// The changes in each frame.
    Changes(Vec<FrameChanges>),
    /// The number of frames, and for each the inputs of all players in ascending order of seats. No player joins or
    /// leaves in these frames.
    Inputs(usize, Vec<u8>),
}

impl Frames {
    /// The number of frames.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Changes(frames) => frames.len(),
            Self::Inputs(count, _) => *count,
        }
    }
}

impl Run {
    /// A run without frames.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), frames: 0, gap: 0, is_full: false }
    }

    /// A full run: for each frame the inputs of all players, in ascending order of seats. No player may join or leave
    /// in these frames.
    #[must_use]
    pub const fn full(frames: usize, inputs: Vec<u8>) -> Self {
        Self { bytes: inputs, frames, gap: 0, is_full: true }
    }

    /// Whether the run holds all inputs rather than changes.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// The number of frames.
    #[must_use]
    pub const fn frames(&self) -> usize {
        self.frames
    }

    /// The run's bytes. They do not state the number of frames.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a frame, unless the run would then exceed `max` bytes. Returns whether it appended the frame.
    pub fn push(&mut self, changes: &[SeatChange], max: usize) -> bool {
        let (len, gap) = (self.bytes.len(), self.gap);
        for change in changes {
            encode(change, core::mem::take(&mut self.gap), &mut Writer::new(&mut self.bytes));
        }
        if self.bytes.len() > max {
            self.bytes.truncate(len);
            self.gap = gap;
            return false;
        }
        self.gap += 1;
        self.frames += 1;
        true
    }
}

fn encode(change: &SeatChange, gap: u64, out: &mut Writer<'_>) {
    let is_small = (1..=u16::from(SEAT)).contains(&change.seat.0);
    let seat = if is_small { change.seat.0 as u8 } else { 0 };
    let special = if matches!(change.change, Change::Input(_)) { 0 } else { SPECIAL };
    out.u8(special | (gap.min(GAP_MORE) as u8) << GAP_SHIFT | seat);
    if !is_small {
        out.u16(change.seat.0);
    }
    if gap >= GAP_MORE {
        out.varint(gap - GAP_MORE);
    }
    match &change.change {
        Change::Leaves => out.u8(LEAVES),
        Change::Joins => out.u8(JOINS),
        Change::Input(input) => out.bytes(input),
    }
}

/// Reads `count` frames, up to the end of the bytes.
pub(super) fn decode(
    reader: &mut Reader<'_>,
    count: usize,
    input_size: usize,
) -> Result<Vec<FrameChanges>, DecodeError> {
    if input_size > LOCKSTEP_INPUT_MAX {
        return Err(DecodeError::TooLarge);
    }
    let mut frames: Vec<FrameChanges> = Vec::new();
    frames.resize_with(count, Vec::new);
    let mut at = 0;
    while !reader.is_empty() {
        let head = reader.u8()?;
        let seat = match head & SEAT {
            0 => SeatId(reader.u16()?),
            seat => SeatId(u16::from(seat)),
        };
        let mut gap = u64::from(head >> GAP_SHIFT) & GAP_MORE;
        if gap == GAP_MORE {
            gap = gap.saturating_add(reader.varint()?);
        }
        let change = match head & SPECIAL {
            0 => Change::Input(reader.bytes(input_size)?.to_vec()),
            _ => match reader.u8()? {
                LEAVES => Change::Leaves,
                JOINS => Change::Joins,
                _ => return Err(DecodeError::Invalid),
            },
        };
        at = usize::try_from(gap).ok().and_then(|gap| gap.checked_add(at)).ok_or(DecodeError::Invalid)?;
        let frame = frames.get_mut(at).ok_or(DecodeError::Invalid)?;
        if frame.last().is_some_and(|last| last.seat >= seat) || frame.len() == 2 * SEATS_MAX {
            return Err(DecodeError::Invalid);
        }
        frame.push(SeatChange { seat, change });
    }
    Ok(frames)
}
