//! Lockstep: the players' inputs, the frames that the host makes of them, and the checks that keep members alike
//! (PROTOCOL §4.15).
//!
//! Frames are sent as changes, because nearly all inputs equal those of the frame before.

mod message;
mod run;

pub use message::{Compare, FieldHash, Fields, Loading, LockstepMessage, Told};
pub use run::{Change, FrameChanges, Frames, Run, SeatChange};

use crate::limits::LOCKSTEP_RUN_MAX;
use crate::{DecodeError, Reader, Term, Writer};

/// Marks frames from the host. The lower six bits of a datagram's first byte hold the number of its frames; this flag
/// and [`CHECK`] are the bits above them.
const FRAMES: u8 = 0x80;
/// In a member's inputs: a check follows.
const CHECK: u8 = 0x40;
/// In frames from the host, the same bit says that the run is full.
const FULL: u8 = CHECK;

/// The largest distance between two frames that a datagram can state.
const APART_MAX: i64 = 1 << 20;

/// The head of a lockstep datagram, before its run. Frame numbers are truncated; a receiver expands them around the
/// last frame that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// A member sends its inputs to the host, and says which frame it has last.
    Inputs {
        /// The member's present term.
        term: Term,
        /// The newest frame for which the member has given an input. It is the last frame of the run. Truncated.
        newest: u16,
        /// How many frames `newest` is ahead of the last frame that the member knows.
        ahead: i32,
        /// Bits 32 to 47 of the member's chain of checksums after that last frame; `None` until its game has stepped
        /// that frame.
        check: Option<u16>,
    },
    /// The host sends frames to a member.
    Frames {
        /// The host's present term.
        term: Term,
        /// The last frame of the run; truncated.
        last: u16,
        /// By how many frames the member's inputs that the host has are ahead of the last decided frame. Negative
        /// when the member is late.
        lead: i32,
    },
}

impl Datagram {
    /// Appends the body of a LOCKSTEP datagram.
    pub fn encode(&self, run: &Run, out: &mut Writer<'_>) {
        let frames = run.frames().min(LOCKSTEP_RUN_MAX) as u8;
        match *self {
            Self::Inputs { term, newest, ahead, check } => {
                out.u8(frames | if check.is_some() { CHECK } else { 0 });
                out.varint(term.0);
                out.u16(newest);
                encode_apart(ahead, out);
                if let Some(check) = check {
                    out.u16(check);
                }
            }
            Self::Frames { term, last, lead } => {
                out.u8(FRAMES | frames | if run.is_full() { FULL } else { 0 });
                out.varint(term.0);
                out.u16(last);
                encode_apart(lead, out);
            }
        }
        out.bytes(run.bytes());
    }

    /// Reads the body of a LOCKSTEP datagram: its head, and the frames of its run. The last frame has the number
    /// `newest` or `last`. Each input has `input_size` bytes.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>, input_size: usize) -> Result<(Self, Frames), DecodeError> {
        let head = reader.u8()?;
        let term = Term(reader.varint()?);
        let number = reader.u16()?;
        let apart = decode_apart(reader)?;
        let datagram = if head & FRAMES != 0 {
            Self::Frames { term, last: number, lead: apart }
        } else {
            let check = (head & CHECK != 0).then(|| reader.u16()).transpose()?;
            Self::Inputs { term, newest: number, ahead: apart, check }
        };
        let count = usize::from(head & LOCKSTEP_RUN_MAX as u8);
        let frames = if head & (FRAMES | FULL) == FRAMES | FULL {
            Frames::Inputs(count, reader.rest().to_vec())
        } else {
            Frames::Changes(run::decode(reader, count, input_size)?)
        };
        reader.end()?;
        Ok((datagram, frames))
    }
}

/// Appends a signed number as an unsigned one: 0, −1, 1, −2, … become 0, 1, 2, 3, …
fn encode_apart(apart: i32, out: &mut Writer<'_>) {
    let apart = i64::from(apart).clamp(-APART_MAX, APART_MAX);
    out.varint(((apart << 1) ^ (apart >> 63)).cast_unsigned());
}

fn decode_apart(reader: &mut Reader<'_>) -> Result<i32, DecodeError> {
    let folded = reader.varint()?;
    let apart = (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed();
    if (-APART_MAX..=APART_MAX).contains(&apart) { Ok(apart as i32) } else { Err(DecodeError::Invalid) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeatId;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn frames() -> Vec<FrameChanges> {
        let input = |seat, byte| SeatChange { seat: SeatId(seat), change: Change::Input(vec![byte]) };
        let change = |seat, change| SeatChange { seat: SeatId(seat), change };
        let mut frames = vec![Vec::new(); 20];
        frames[0] = vec![input(1, 7), input(2, 0), change(15, Change::Joins), input(300, 9)];
        frames[1] = vec![input(2, 255)];
        frames[19] = vec![change(1, Change::Leaves), input(16, 1)];
        frames
    }

    #[test]
    fn datagrams_round_trip_and_truncated_ones_do_not() {
        let mut run = Run::new();
        assert!(frames().iter().all(|changes| run.push(changes, 1_000)));
        let inputs = Datagram::Inputs { term: Term(256), newest: 65_535, ahead: 40_000, check: Some(9) };
        let told = Datagram::Frames { term: Term(1 << 40), last: 3, lead: -2 };
        for datagram in [inputs, told] {
            let mut bytes = Vec::new();
            datagram.encode(&run, &mut Writer::new(&mut bytes));
            assert_eq!(
                Datagram::decode(&mut Reader::new(&bytes), 1),
                Ok((datagram, Frames::Changes(frames())))
            );
            for end in 0..bytes.len() {
                if let Ok((_, read)) = Datagram::decode(&mut Reader::new(&bytes[..end]), 1) {
                    assert_ne!(read, Frames::Changes(frames()), "cut behind {end}");
                }
            }
        }
    }

    #[test]
    fn full_runs_round_trip() {
        let told = Datagram::Frames { term: Term(256), last: 3, lead: 1 };
        let mut bytes = Vec::new();
        told.encode(&Run::full(2, vec![1, 2, 3, 4]), &mut Writer::new(&mut bytes));
        let read = Datagram::decode(&mut Reader::new(&bytes), 1);
        assert_eq!(read, Ok((told, Frames::Inputs(2, vec![1, 2, 3, 4]))));
    }

    #[test]
    fn unchanged_frames_take_no_bytes_and_a_change_takes_two() {
        let mut run = Run::new();
        (0..6).for_each(|_| assert!(run.push(&[], 100)));
        assert_eq!(run.bytes().len(), 0);
        assert!(run.push(&[SeatChange { seat: SeatId(4), change: Change::Input(vec![3]) }], 100));
        assert_eq!(run.bytes().len(), 2);
    }
}
