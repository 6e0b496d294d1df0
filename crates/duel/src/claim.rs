//! Claims: a shooter tells the host what its cube has hit.
//!
//! The shooter sees the hit first, so it claims the hit, as an input of the session. An input that was accepted
//! survives the loss of any single peer, and each host gets it once. The host checks the claim by the cube and by the
//! places of the teapots that it has seen itself, and counts it on the scoreboard. Beside the scores stands the number
//! of the last input of each seat that a host has dealt with ([`Counted`]). So a new host deals only with what its
//! predecessor did not, or told nobody of.

use samovar_wire::SortedMap;

use crate::codec::{DecodeError, Reader};
use crate::cube::{CUBE_RADIUS, Launch, Shot};
use crate::plane::{Vec2, distance, seconds};
use crate::player::PlayerKey;
use crate::teapot::{BODY_HEIGHT, BODY_RADIUS, TOP_SPEED};

/// A cube may have hit a teapot that the host saw this far away at the time, in table units, since the shooter saw it
/// elsewhere.
const TOLERANCE: f32 = 3.0;

/// A claim may be this old, in microseconds: as old as an input that a host passes on to the next.
const CLAIM_MAX: u64 = 10_000_000;

/// A hit may lie this far in the future, in microseconds: clocks differ a little.
const LEAD_MAX: u64 = 250_000;

/// The claim of a shooter that its cube has hit a teapot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The cube.
    pub shot: Shot,
    /// The player whose teapot was hit.
    pub struck: PlayerKey,
    /// The session time of the hit, in microseconds.
    pub at: u64,
}

impl Claim {
    /// The bytes of the input.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 * PlayerKey::ENCODED + 16);
        self.shot.shooter.write(&mut out);
        out.extend(self.shot.launched_at.to_le_bytes());
        self.struck.write(&mut out);
        out.extend(self.at.to_le_bytes());
        out
    }

    /// The claim written in an input.
    ///
    /// # Errors
    /// A [`DecodeError`] when the bytes are not what [`encode`](Self::encode) writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let shot = Shot { shooter: PlayerKey::read(&mut reader)?, launched_at: reader.u64()? };
        let (struck, at) = (PlayerKey::read(&mut reader)?, reader.u64()?);
        reader.finish()?;
        Ok(Self { shot, struck, at })
    }

    /// Whether the claim comes in time, at the session time `now`.
    pub fn is_timely(&self, now: u64) -> bool {
        self.at <= now.saturating_add(LEAD_MAX) && self.at.saturating_add(CLAIM_MAX) >= now
    }

    /// Whether the cube of this launch can have hit a teapot that was seen at this place, `gap` microseconds before or
    /// after the hit.
    pub fn is_possible(&self, launch: &Launch, place: Vec2, gap: u64) -> bool {
        let [x, y, z] = launch.position_at(self.at);
        let reach = BODY_RADIUS + CUBE_RADIUS + TOLERANCE + TOP_SPEED * seconds(gap);
        self.at >= launch.launched_at
            && launch.is_current(self.at)
            && (0.0..=BODY_HEIGHT + CUBE_RADIUS + 0.1).contains(&z)
            && distance([x, y], place) <= reach
    }
}

/// The number of the last input of each seat that a host has dealt with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted(SortedMap<u16, u64>);

impl Counted {
    /// The most seats that are remembered: their field has room for no more.
    const SEATS_MAX: usize = 25;

    /// Notes an input. Returns whether it is new. If there are too many seats, the one whose last input is the oldest
    /// is forgotten.
    pub fn note(&mut self, seat: u16, number: u64) -> bool {
        if self.0.get(&seat).is_some_and(|&last| last >= number) {
            return false;
        }
        if !self.0.contains_key(&seat)
            && self.0.len() == Self::SEATS_MAX
            && let Some((&oldest, _)) = self.0.iter().min_by_key(|(_, last)| **last)
        {
            self.0.remove(&oldest);
        }
        self.0.insert(seat, number);
        true
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(10 * self.0.len());
        for (seat, number) in self.0.iter() {
            out.extend(seat.to_le_bytes());
            out.extend(number.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (mut reader, mut counted) = (Reader::new(bytes), Self::default());
        let mut next = 0;
        while !reader.is_empty() {
            let (seat, number) = (reader.u16()?, reader.u64()?);
            // The seats ascend, so that each list is written in one way only.
            if u32::from(seat) < next || counted.0.len() == Self::SEATS_MAX {
                return Err(DecodeError::OutOfRange);
            }
            counted.0.insert(seat, number);
            next = u32::from(seat) + 1;
        }
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::Motion;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const NOW: u64 = 100_000_000;

    fn claim() -> (Launch, Claim) {
        let launch = Launch::from_spout(PlayerKey::Seat(1), &Motion::default(), NOW);
        (launch, Claim { shot: launch.shot(), struck: PlayerKey::Robot(2), at: NOW + 200_000 })
    }

    #[test]
    fn an_encoded_claim_decodes_to_itself() {
        let (_, claim) = claim();
        let bytes = claim.encode();
        assert_eq!(Claim::decode(&bytes), Ok(claim));
        for end in 0..bytes.len() {
            assert!(Claim::decode(&bytes[..end]).is_err());
        }
        assert!(Claim::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn a_claim_fits_the_place_and_the_time_of_the_flight() {
        let (launch, claim) = claim();
        let [x, y, _] = launch.position_at(claim.at);
        assert!(claim.is_possible(&launch, [x + 1.0, y], 0));
        assert!(!claim.is_possible(&launch, [x + 8.0, y], 0));
        assert!(claim.is_possible(&launch, [x + 8.0, y], 1_000_000), "it may have driven on");
        for at in [NOW - 1, NOW + 60_000_000, 0, u64::MAX] {
            assert!(!Claim { at, ..claim }.is_possible(&launch, [x, y], 0), "{at}");
        }
        assert!(claim.is_timely(claim.at) && claim.is_timely(claim.at + 5_000_000));
        for now in [claim.at - 300_000, claim.at + 11_000_000, 0, u64::MAX] {
            assert!(!claim.is_timely(now), "{now}");
        }
    }

    #[test]
    fn an_input_counts_once_and_old_seats_are_forgotten() {
        let mut counted = Counted::default();
        assert!(counted.note(1, 7) && !counted.note(1, 7) && !counted.note(1, 6) && counted.note(1, 8));
        for seat in 2..60 {
            assert!(counted.note(seat, 100 + u64::from(seat)));
        }
        assert!(!counted.note(59, 159) && counted.note(1, 7), "seat 1 was forgotten");
        assert!(counted.encode().len() <= samovar_wire::limits::FIELD_MAX);
        assert_eq!(Counted::decode(&counted.encode()), Ok(counted.clone()));
        let mut twice = counted.encode();
        twice.splice(10..20, twice[..10].to_vec());
        assert_eq!(Counted::decode(&twice), Err(DecodeError::OutOfRange));
    }
}
