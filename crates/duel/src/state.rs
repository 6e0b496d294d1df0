//! The fields of the replicated objects.
//!
//! Replication works by field: a field that did not change does not travel. So a field holds what changes together.
//!
//! | object | owner | field | bytes | holds |
//! |---|---|---|---|---|
//! | teapot | its player; the host for robots | 0 [`IDENTITY`] | 5 to 85 | key, colour, name |
//! | | | 1 [`MOTION`] | 12 | position, velocity, heading, spin |
//! | | | 2 [`PHASE`] | 1 or 9 | alive, hit or shielded, until when |
//! | cube | its shooter; the host for robots | 0 [`LAUNCH`] | 23 | shooter and launch, see [`Launch`](crate::cube::Launch) |
//! | scoreboard | the host | 0 to 31 | 0 to 111 | one row each, see [`Scoreboard`](crate::scores::Scoreboard) |
//!
//! All numbers are little-endian. A key is a kind (0 seat, 1 robot) and 16 bits; a name is a length and UTF-8.
//! Decoding accepts exactly the bytes that encoding writes. Whether an object's owner may speak for the player it
//! names is for whoever knows the members to check.

use std::f32::consts::TAU;

use crate::codec::{DecodeError, Reader, Scale};
use crate::motion::Motion;
use crate::phase::Phase;
use crate::plane::wrap_angle;
use crate::player::{Glaze, PlayerKey, PlayerName};

/// The field of a teapot that says who drives it.
pub const IDENTITY: usize = 0;

/// The field of a teapot that says how it moves; the only one that changes often.
pub const MOTION: usize = 1;

/// The field of a teapot that says whether it is on the table.
pub const PHASE: usize = 2;

/// How many fields a teapot has.
pub const TEAPOT_FIELDS: usize = 3;

/// The only field of a cube.
pub const LAUNCH: usize = 0;

/// Positions are written in steps of 0.6 mm of a unit, up to the rim.
const PLACES: Scale = Scale::new(20.0, 16.0);

/// Velocities are written in steps of 0.5 mm of a unit per second.
const VELOCITIES: Scale = Scale::new(16.0, 10.0);

/// Spins are written in steps of 0.2 mrad per second.
const SPINS: Scale = Scale::new(8.0, 8.0);

/// A heading is written in steps of a 65,536th of a turn.
const HEADINGS: f32 = 65_536.0;

/// Who drives a teapot, and how it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The driver.
    pub driver: PlayerKey,
    /// The colour.
    pub glaze: Glaze,
    /// The name to show.
    pub name: PlayerName,
}

impl Identity {
    /// The bytes of the field.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        self.driver.write(&mut out);
        out.push(self.glaze.number());
        self.name.write(&mut out);
        out
    }

    /// The identity written in a field.
    ///
    /// # Errors
    /// A [`DecodeError`] when the bytes are not what [`encode`](Self::encode) writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let driver = PlayerKey::read(&mut reader)?;
        let glaze = Glaze::read(&mut reader)?;
        let name = PlayerName::read(&mut reader)?;
        reader.finish()?;
        Ok(Self { driver, glaze, name })
    }
}

impl Motion {
    /// The bytes of the field, 12 of them. Numbers are rounded, and vectors that are too long shortened.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(12);
        PLACES.write(self.position, &mut out);
        VELOCITIES.write(self.velocity, &mut out);
        // Through i64, so that rounding up to a whole turn becomes zero; not-a-number becomes zero as well.
        let heading = (self.heading.rem_euclid(TAU) / TAU * HEADINGS).round() as i64 as u16;
        out.extend(heading.to_le_bytes());
        SPINS.write([self.spin], &mut out);
        out
    }

    /// The motion written in a field.
    ///
    /// # Errors
    /// A [`DecodeError`] when the bytes are not what [`encode`](Self::encode) writes: for instance a place beyond
    /// the rim, or a speed that no teapot reaches.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let position = reader.vector(PLACES)?;
        let velocity = reader.vector(VELOCITIES)?;
        let heading = wrap_angle(f32::from(reader.u16()?) / HEADINGS * TAU);
        let [spin] = reader.vector(SPINS)?;
        reader.finish()?;
        Ok(Self { position, velocity, heading, spin })
    }
}

impl Phase {
    /// The bytes of the field.
    pub fn encode(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9);
        self.write(&mut out);
        out
    }

    /// The phase written in a field. It is for display: whether a hit counts is on the scoreboard.
    ///
    /// # Errors
    /// A [`DecodeError`] when the bytes are not what [`encode`](Self::encode) writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let phase = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(phase)
    }
}

/// The whole state of a teapot object.
#[derive(Clone, Debug, PartialEq)]
pub struct TeapotState {
    /// Who drives it.
    pub identity: Identity,
    /// How it moved when it was sampled.
    pub motion: Motion,
    /// What can be done to it.
    pub phase: Phase,
}

impl TeapotState {
    /// All fields, in the order of their indices.
    pub fn to_fields(&self) -> [Vec<u8>; TEAPOT_FIELDS] {
        [self.identity.encode(), self.motion.encode(), self.phase.encode()]
    }

    /// The teapot written in these fields.
    ///
    /// # Errors
    /// A [`DecodeError`] when there are not [`TEAPOT_FIELDS`] fields or one of them is not what an encoder writes.
    pub fn from_fields<F: AsRef<[u8]>>(fields: &[F]) -> Result<Self, DecodeError> {
        let [identity, motion, phase] = fields else { return Err(DecodeError::WrongLength) };
        Ok(Self {
            identity: Identity::decode(identity.as_ref())?,
            motion: Motion::decode(motion.as_ref())?,
            phase: Phase::decode(phase.as_ref())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::plane::{direction, distance, scale};
    use crate::rng::Rng;
    use crate::teapot::{BODY_RADIUS, TOP_SPEED, TOP_SPIN};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn motion(rng: &mut Rng) -> Motion {
        Motion {
            position: TEA_TABLE.push_out([rng.between(-16.0, 16.0), rng.between(-16.0, 16.0)], BODY_RADIUS),
            velocity: scale(direction(rng.between(-3.1, 3.1)), rng.between(0.0, TOP_SPEED)),
            heading: rng.between(-3.2, 3.2),
            spin: rng.between(-TOP_SPIN, TOP_SPIN),
        }
    }

    fn teapot(rng: &mut Rng) -> TeapotState {
        let until = rng.next_u64();
        let phases = [Phase::Alive, Phase::Hit { until }, Phase::Shielded { until }];
        TeapotState {
            identity: Identity {
                driver: PlayerKey::Robot(rng.below(256) as u8),
                glaze: Glaze::new(rng.below(100) as usize),
                name: PlayerName::new(&"Tea ".repeat(rng.below(9) as usize)),
            },
            motion: motion(rng),
            phase: phases[rng.below(3) as usize],
        }
    }

    #[test]
    fn motion_survives_within_its_steps_and_then_exactly() {
        let mut rng = Rng::new(61);
        for _ in 0..20_000 {
            let exact = motion(&mut rng);
            let bytes = exact.encode();
            assert_eq!(bytes.len(), 12);
            let back = Motion::decode(&bytes).unwrap();
            assert!(distance(exact.position, back.position) < 0.000_7);
            assert!(distance(exact.velocity, back.velocity) < 0.000_7);
            assert!(wrap_angle(exact.heading - back.heading).abs() < 0.000_1);
            assert!((exact.spin - back.spin).abs() < 0.000_3);
            assert_eq!(back.encode(), bytes);
        }
    }

    #[test]
    fn every_heading_is_written_as_itself() {
        for heading in 0..=u16::MAX {
            let mut bytes = Motion::default().encode();
            bytes[8..10].copy_from_slice(&heading.to_le_bytes());
            assert_eq!(Motion::decode(&bytes).unwrap().encode(), bytes);
        }
    }

    #[test]
    fn wild_motion_is_written_as_something_possible() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e9, f32::MIN_POSITIVE] {
            let wild = Motion { position: [value, 1.0], velocity: [2.0, value], heading: value, spin: value };
            let back = Motion::decode(&wild.encode()).unwrap();
            assert!(crate::plane::length(back.position) < 16.001);
        }
        let turned = Motion { heading: -1e-9, ..Motion::default() };
        assert_eq!(Motion::decode(&turned.encode()).unwrap().heading, 0.0);
    }

    #[test]
    fn impossible_motion_is_refused() {
        let with = |index: usize, value: i16| {
            let mut bytes = Motion::default().encode();
            bytes[index..index + 2].copy_from_slice(&value.to_le_bytes());
            Motion::decode(&bytes)
        };
        assert_eq!(with(0, i16::MAX), Err(DecodeError::OutOfRange), "beyond the rim");
        assert_eq!(with(4, i16::MAX), Err(DecodeError::OutOfRange), "too fast");
        assert_eq!(with(10, i16::MIN), Err(DecodeError::OutOfRange), "no encoder writes this spin");
        assert_eq!(Motion::decode(&[0; 11]), Err(DecodeError::WrongLength));
        assert_eq!(Motion::decode(&[0; 13]), Err(DecodeError::WrongLength));
    }

    #[test]
    fn a_teapot_is_the_same_after_its_travels() {
        let mut rng = Rng::new(62);
        for _ in 0..5_000 {
            let fields = teapot(&mut rng).to_fields();
            assert!(fields.iter().all(|field| field.len() <= 85));
            assert_eq!(TeapotState::from_fields(&fields).unwrap().to_fields(), fields);
        }
    }

    #[test]
    fn garbage_never_panics_and_what_is_accepted_is_canonical() {
        let mut rng = Rng::new(63);
        let mut accepted = 0;
        for _ in 0..50_000 {
            let mut fields = teapot(&mut rng).to_fields();
            let field = &mut fields[rng.below(3) as usize];
            match rng.below(3) {
                0 => *field = (0..rng.below(100)).map(|_| rng.next_u64() as u8).collect(),
                1 => field.truncate(rng.below(12) as usize),
                _ => {
                    let index = rng.below(field.len() as u32) as usize;
                    field[index] = rng.next_u64() as u8;
                }
            }
            if let Ok(state) = TeapotState::from_fields(&fields) {
                accepted += 1;
                assert_eq!(state.to_fields(), fields);
            }
        }
        assert!((5_000..45_000).contains(&accepted), "{accepted}");
    }

    #[test]
    fn a_teapot_has_exactly_its_fields() {
        let fields = teapot(&mut Rng::new(64)).to_fields();
        assert_eq!(TeapotState::from_fields(&fields[..2]), Err(DecodeError::WrongLength));
        assert_eq!(Phase::decode(&[1, 0]), Err(DecodeError::WrongLength));
        assert_eq!(Phase::decode(&[3]), Err(DecodeError::UnknownTag(3)));
        assert_eq!(Phase::decode(&[0, 0]), Err(DecodeError::WrongLength));
    }
}
