//! Messages between members of a star, which go through its host (PROTOCOL §4.11).

use crate::lane::{RELIABLE_LANES, SEQUENCED_CHANNELS};
use crate::{DecodeError, Lane, PeerId, Reader, Term, Writer};

/// On which part of its way a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From a member to the host, for everybody else.
    ToAll,
    /// From a member to the host, for this member, which may be the host.
    To(PeerId),
    /// From the host to a member; this member sent it.
    From(PeerId),
}

/// The body of VIA: a message of one member for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via<'a> {
    /// From or to whom it is.
    pub way: Way,
    /// Under which whoever sends this takes its host for that.
    pub term: Term,
    /// How the sender wants it to travel; both ways that it takes are like that.
    pub lane: Lane,
    /// Which message of its sender in this lane it is, counted from 1; 0 when nobody counts.
    pub number: u64,
    /// The message, which begins with its own kind.
    pub message: &'a [u8],
}

/// The body of PASSED: all receivers have a member's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The lane.
    pub lane: Lane,
    /// Up to this one of that lane.
    pub number: u64,
}

/// The first code behind the reliable lanes.
const BULK: u8 = RELIABLE_LANES;
const UNRELIABLE: u8 = BULK + 1;
const SEQUENCED: u8 = UNRELIABLE + 1;

/// Above the lane's code stands which way it is.
const WAY_SHIFT: u32 = 4;

const fn code_of(lane: Lane) -> u8 {
    match lane {
        Lane::Reliable(lane) => lane,
        Lane::Bulk => BULK,
        Lane::Unreliable => UNRELIABLE,
        Lane::Sequenced(channel) => SEQUENCED + channel,
    }
}

const fn lane_of(code: u8) -> Result<Lane, DecodeError> {
    match code {
        BULK => Ok(Lane::Bulk),
        UNRELIABLE => Ok(Lane::Unreliable),
        lane if lane < RELIABLE_LANES => Ok(Lane::Reliable(lane)),
        code if code < SEQUENCED + SEQUENCED_CHANNELS => Ok(Lane::Sequenced(code - SEQUENCED)),
        _ => Err(DecodeError::Invalid),
    }
}

impl<'a> Via<'a> {
    /// Appends it.
    pub fn encode(&self, out: &mut Writer<'_>) {
        let (way, peer) = match self.way {
            Way::ToAll => (0, None),
            Way::To(peer) => (1, Some(peer)),
            Way::From(peer) => (2, Some(peer)),
        };
        out.u8(code_of(self.lane) | way << WAY_SHIFT);
        if let Some(peer) = peer {
            out.u32(peer.0);
        }
        out.varint(self.term.0);
        out.varint(self.number);
        out.bytes(self.message);
    }

    /// Reads it.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let code = reader.u8()?;
        let lane = lane_of(code & ((1 << WAY_SHIFT) - 1))?;
        let way = match code >> WAY_SHIFT {
            0 => Way::ToAll,
            1 => Way::To(PeerId(reader.u32()?)),
            2 => Way::From(PeerId(reader.u32()?)),
            _ => return Err(DecodeError::Invalid),
        };
        let (term, number) = (Term(reader.varint()?), reader.varint()?);
        Ok(Self { way, term, lane, number, message: reader.rest() })
    }
}

impl Passed {
    /// Appends it.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.u8(code_of(self.lane));
        out.varint(self.number);
    }

    /// Reads it.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let passed = Self { lane: lane_of(reader.u8()?)?, number: reader.varint()? };
        reader.end()?;
        Ok(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn every_lane_has_its_code_and_no_other_code_is_one() {
        let mut lanes = Vec::new();
        for code in 0..=255_u8 {
            match lane_of(code) {
                Ok(lane) => {
                    assert!(code_of(lane) == code && lane.is_valid());
                    lanes.push(lane);
                }
                Err(error) => assert_eq!(error, DecodeError::Invalid),
            }
        }
        lanes.dedup();
        assert_eq!(lanes.len(), 10);
    }
}
