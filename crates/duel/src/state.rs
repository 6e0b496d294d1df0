//! The fields of the replicated objects.
//!
//! Replication works by field: an unchanged field is not sent. So a field holds values that change together. Texts
//! are sent whole when they change. Numbers are rounded and predicted, and only the error of the prediction is sent.
//!
//! | object | owner | field | bytes | holds |
//! |---|---|---|---|---|
//! | teapot | its player; any member for robots | identity, text 0 [`IDENTITY`] | 5 to 85 | key, colour, name |
//! | | | position, velocity, heading, spin | numbers | see [`Motion`] |
//! | | | phase, text 1 [`PHASE`] | 1 or 9 | alive, hit or shielded, until when |
//! | cube | its shooter; the driver of a robot | 0 [`LAUNCH`] | 23 | shooter, launch: [`Launch`](crate::cube::Launch) |
//! | scoreboard | the host | 0 to 31 | 0 to 111 | one row each: [`Scoreboard`](crate::scores::Scoreboard) |
//! | | | 32 | 20 or 23 | the match: [`Course`](crate::course::Course) |
//! | | | 33 | 13 or 24 | the bowl: [`Bowl`](crate::bowl::Bowl) |
//! | | | 34 | 9 each | which object is which cup or bowl: [`Named`](crate::named::Named) |
//! | | | 35 | 9 each | which object is which robot's teapot |
//! | | | 36 | 10 each | the inputs that were dealt with: [`Counted`](crate::claim::Counted) |
//! | thing | whoever touched it last | all of it | numbers | [`Motion`] |
//!
//! All numbers in bytes are little-endian. A key is a kind (0 seat, 1 robot) and 16 bits; a name is a length and UTF-8.
//! Decoding accepts exactly what encoding writes. A caller that knows the members must check whether an object's
//! owner may speak for the player it names.

use samovar_session::State;
use samovar_session::objects::{Coding, Replicate, Schema, SchemaBuilder, StateReader};
use samovar_wire::Kind;

use crate::arena::RADIUS_MAX;
use crate::codec::{DecodeError, Reader, Scale};
use crate::motion::{Motion, PLACE_STEP, SPEED_STEP};
use crate::phase::Phase;
use crate::player::{Glaze, PlayerKey, PlayerName};

/// The index of the text that holds a teapot's [`Identity`].
pub const IDENTITY: usize = 0;

/// The index of the text that holds a teapot's phase.
pub const PHASE: usize = 1;

/// The index of the only field of a cube.
pub const LAUNCH: usize = 0;

/// The most bytes of an identity: key, colour, and a name with its length.
const IDENTITY_MAX: u8 = 85;

/// The most bytes of a phase: a kind, and the time until which it lasts.
const PHASE_MAX: u8 = 9;

/// The scale of positions, which are within the rim of the largest table.
const PLACES: Scale = Scale::stepped(PLACE_STEP, RADIUS_MAX as f64);

/// The scale of velocities. No teapot is faster than its limit, in table units per second.
const VELOCITIES: Scale = Scale::stepped(SPEED_STEP, 10.0);

/// The player that drives a teapot, and the teapot's looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The player that drives the teapot.
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
    /// Appends the motion's numbers to a state. They are rounded, and vectors that are too long are shortened.
    pub fn encode(&self, state: &mut State) {
        self.possible().write(state);
    }

    /// The motion whose numbers come next in a state.
    ///
    /// # Errors
    /// A [`DecodeError`] when [`encode`](Self::encode) cannot have written them: for instance a place beyond the rim,
    /// or a speed that no teapot reaches.
    pub fn decode(state: &mut StateReader<'_>) -> Result<Self, DecodeError> {
        let motion = Self::read(state)?;
        if motion == motion.possible() { Ok(motion) } else { Err(DecodeError::OutOfRange) }
    }

    /// The nearest motion within the rim and not too fast. Vectors are rounded before they are limited, so rounding
    /// cannot exceed the limits.
    fn possible(&self) -> Self {
        Self { position: PLACES.rounded(self.position), velocity: VELOCITIES.rounded(self.velocity), ..*self }
    }
}

impl Phase {
    /// The bytes of the field.
    pub fn encode(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9);
        self.write(&mut out);
        out
    }

    /// The phase written in a field. It is for display only: the scoreboard decides whether a hit counts.
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
    /// The teapot's player and looks.
    pub identity: Identity,
    /// The teapot's motion at the time of the sample.
    pub motion: Motion,
    /// The teapot's phase.
    pub phase: Phase,
}

impl TeapotState {
    /// The schema of a game's teapots, as objects of this kind.
    pub(crate) fn schema(kind: Kind) -> Schema {
        let mut fields = SchemaBuilder::default();
        fields.field("identity", Coding::Text { max: IDENTITY_MAX });
        Motion::describe(&mut fields, "motion");
        fields.field("phase", Coding::Text { max: PHASE_MAX });
        fields.build(kind)
    }

    /// Appends the teapot to a state.
    pub fn write(&self, state: &mut State) {
        state.text(&self.identity.encode());
        self.motion.encode(state);
        state.text(&self.phase.encode());
    }

    /// Reads a teapot from a state.
    ///
    /// # Errors
    /// A [`DecodeError`] when something is missing, or one of its fields is not what an encoder writes.
    pub fn read(state: &mut StateReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            identity: Identity::decode(state.text()?)?,
            motion: Motion::decode(state)?,
            phase: Phase::decode(state.text()?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::plane::{direction, scale, wrap_angle};
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

    fn written(state: &TeapotState) -> State {
        let mut out = State::default();
        state.write(&mut out);
        out
    }

    fn numbers_of(motion: &Motion) -> Vec<i32> {
        let mut state = State::default();
        motion.encode(&mut state);
        state.numbers().to_vec()
    }

    fn state_of(numbers: &[i32], texts: &[Vec<u8>]) -> State {
        let mut state = State::default();
        numbers.iter().for_each(|&number| state.number(number));
        texts.iter().for_each(|text| state.text(text));
        state
    }

    fn motion_of(numbers: &[i32]) -> Result<Motion, DecodeError> {
        Motion::decode(&mut state_of(numbers, &[]).reader())
    }

    #[test]
    fn motion_is_rounded_once_by_at_most_half_a_step() {
        let mut rng = Rng::new(61);
        // Numbers may differ by half a step and by the error of `f32`.
        let is_near = |one: f32, other: f32, step: f64| f64::from((one - other).abs()) < 0.5 * step + 2e-6;
        for _ in 0..20_000 {
            let exact = motion(&mut rng);
            let numbers = numbers_of(&exact);
            assert_eq!(numbers.len(), 6);
            let back = motion_of(&numbers).unwrap();
            for axis in 0..2 {
                assert!(is_near(exact.position[axis], back.position[axis], PLACE_STEP), "{exact:?} {back:?}");
                assert!(is_near(exact.velocity[axis], back.velocity[axis], SPEED_STEP), "{exact:?} {back:?}");
            }
            assert!(is_near(wrap_angle(exact.heading - back.heading), 0.0, 0.002), "{exact:?} {back:?}");
            assert!(is_near(exact.spin, back.spin, 0.005), "{exact:?} {back:?}");
            assert_eq!(numbers_of(&back), numbers);
        }
    }

    #[test]
    fn every_accepted_heading_is_encoded_as_itself() {
        let Some(Coding::Angle { turn, .. }) =
            TeapotState::schema(Kind(1)).fields().iter().map(|field| field.coding).nth(3)
        else {
            panic!("the heading is an angle");
        };
        assert_eq!(turn, 3_142);
        for heading in 0..turn {
            let numbers = [0, 0, 0, 0, heading, 0];
            assert_eq!(numbers_of(&motion_of(&numbers).unwrap()), numbers);
        }
        assert_eq!(motion_of(&[0, 0, 0, 0, turn, 0]), Err(DecodeError::OutOfRange));
    }

    #[test]
    fn impossible_motion_is_encoded_as_possible_motion() {
        let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e9, f32::MIN_POSITIVE];
        let close = [39.9996, 40.0, 40.0004, 40.0011, 28.2843, 9.9976, 10.0, 10.0024, 7.0711];
        for value in values.into_iter().chain(close) {
            for other in [0.0, 1.0, value, -value] {
                let wild = Motion {
                    position: [value, other],
                    velocity: [other, value],
                    heading: value,
                    spin: value,
                };
                let back = motion_of(&numbers_of(&wild)).unwrap();
                assert!(crate::plane::length(back.position) < 40.000_01, "{wild:?} {back:?}");
                assert!(crate::plane::length(back.velocity) < 10.000_01, "{wild:?} {back:?}");
                assert!(back.spin.abs() <= 8.0);
            }
        }
        let turned = Motion { heading: -1e-9, ..Motion::default() };
        assert_eq!(motion_of(&numbers_of(&turned)).unwrap().heading, 0.0);
    }

    #[test]
    fn impossible_motion_is_refused() {
        let with = |index: usize, value: i32| {
            let mut numbers = [0; 6];
            numbers[index] = value;
            motion_of(&numbers)
        };
        assert!(with(0, 32_000).is_ok() && with(2, -2_000).is_ok() && with(5, 1_600).is_ok());
        assert_eq!(with(0, 32_001), Err(DecodeError::OutOfRange), "beyond the rim");
        assert_eq!(with(1, i32::MIN), Err(DecodeError::OutOfRange), "beyond what a field can say");
        assert_eq!(with(2, 2_001), Err(DecodeError::OutOfRange), "too fast");
        assert_eq!(with(4, -1), Err(DecodeError::OutOfRange), "no encoder writes this heading");
        assert_eq!(with(5, -1_601), Err(DecodeError::OutOfRange), "no encoder writes this spin");
        assert_eq!(motion_of(&[22_800, 22_800, 0, 0, 0, 0]), Err(DecodeError::OutOfRange), "off a corner");
        assert_eq!(motion_of(&[0; 5]), Err(DecodeError::WrongLength));
    }

    #[test]
    fn an_encoded_teapot_decodes_to_itself() {
        let mut rng = Rng::new(62);
        for _ in 0..5_000 {
            let state = written(&teapot(&mut rng));
            let sizes: Vec<_> = state.texts().map(<[u8]>::len).collect();
            assert!(sizes[IDENTITY] <= IDENTITY_MAX.into() && sizes[PHASE] <= PHASE_MAX.into());
            assert_eq!(written(&TeapotState::read(&mut state.reader()).unwrap()), state);
        }
    }

    #[test]
    fn the_longest_name_fits_its_field() {
        let name = PlayerName::new(&"🫖".repeat(20));
        let identity = Identity { driver: PlayerKey::Seat(u16::MAX), glaze: Glaze::default(), name };
        assert_eq!(identity.encode().len(), usize::from(IDENTITY_MAX));
    }

    #[test]
    fn garbage_never_panics_and_accepted_states_are_canonical() {
        let mut rng = Rng::new(63);
        let mut accepted = 0;
        for _ in 0..50_000 {
            let state = written(&teapot(&mut rng));
            let mut numbers = state.numbers().to_vec();
            let mut texts: Vec<_> = state.texts().map(<[u8]>::to_vec).collect();
            let text = &mut texts[rng.below(2) as usize];
            match rng.below(6) {
                0 => *text = (0..rng.below(100)).map(|_| rng.next_u64() as u8).collect(),
                1 => text.truncate(rng.below(12) as usize),
                2 => {
                    let index = rng.below(text.len() as u32) as usize;
                    text[index] = rng.next_u64() as u8;
                }
                3 => numbers[rng.below(6) as usize] = rng.next_u64() as i32,
                4 => numbers.truncate(rng.below(7) as usize),
                _ => numbers[rng.below(6) as usize] = rng.below(50_000) as i32 - 25_000,
            }
            let state = state_of(&numbers, &texts);
            if let Ok(teapot) = TeapotState::read(&mut state.reader()) {
                accepted += 1;
                assert_eq!(written(&teapot), state);
            }
        }
        assert!((5_000..45_000).contains(&accepted), "{accepted}");
    }

    #[test]
    fn a_teapot_with_missing_fields_is_refused() {
        let state = written(&teapot(&mut Rng::new(64)));
        let texts: Vec<_> = state.texts().map(<[u8]>::to_vec).collect();
        let refused = |numbers: &[i32], texts: &[Vec<u8>]| {
            TeapotState::read(&mut state_of(numbers, texts).reader()).unwrap_err()
        };
        assert_eq!(refused(state.numbers(), &texts[..1]), DecodeError::WrongLength);
        assert_eq!(refused(&state.numbers()[..5], &texts), DecodeError::WrongLength);
        let schema = TeapotState::schema(Kind(1));
        assert_eq!((schema.numbers(), schema.texts()), (state.numbers().len(), texts.len()));
        assert_eq!(Phase::decode(&[1, 0]), Err(DecodeError::WrongLength));
        assert_eq!(Phase::decode(&[3]), Err(DecodeError::UnknownTag(3)));
        assert_eq!(Phase::decode(&[0, 0]), Err(DecodeError::WrongLength));
    }
}
