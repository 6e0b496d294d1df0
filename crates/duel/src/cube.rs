//! The flight of a sugar cube.
//!
//! The whole state of a cube is its launch: every peer computes the same path from position, velocity and time of the
//! launch. So a cube in flight needs no updates, and a peer that hears of a cube late shows it at its present place.
//! A cube flies without drag and never bounces.

use crate::angle::sin_cos;
use crate::arena::{Arena, RADIUS_MAX};
use crate::codec::{DecodeError, Reader, Scale};
use crate::motion::Motion;
use crate::plane::{Vec2, Vec3, add, direction, dot, scale, seconds};
use crate::player::PlayerKey;

/// Half the edge of a cube: the distance of its centre from a surface it touches.
pub const CUBE_RADIUS: f32 = 0.15;

/// The speed at which a cube leaves the spout, relative to the teapot, in units per second.
pub const MUZZLE_SPEED: f32 = 16.0;

/// How far in front of the body's axis the spout ends.
pub const SPOUT_REACH: f32 = 1.35;

/// How high above the table the spout ends.
pub const SPOUT_HEIGHT: f32 = 0.9;

/// The upward angle of the spout, in radians: so small that the arc never passes over a teapot.
pub const SPOUT_PITCH: f32 = 0.13;

/// The pull downwards on a cube, in units per second squared: weaker than on earth, so that cubes fly 14 units far.
pub const GRAVITY: f32 = 6.5;

/// The longest flight, in microseconds.
pub const LIFETIME: u64 = 2_500_000;

/// The shortest time between two shots of one teapot, in microseconds: three a second.
pub const COOLDOWN: u64 = 333_333;

/// A shot may be this much earlier than [`COOLDOWN`] allows, in microseconds.
pub(crate) const COOLDOWN_TOLERANCE: u64 = 30_000;

/// A launch may lie this far in the future, in microseconds: the session clocks of two peers never differ by so much.
pub const CLOCK_TOLERANCE: u64 = 1_000_000;

/// A cube that fell off the table ends at this height.
const FLOOR: f32 = -6.0;

/// Positions are written in steps of 0.0013 units. The limit is beyond the largest table's radius, since a spout may
/// reach over the rim.
const PLACES: Scale = Scale::new(42.0, RADIUS_MAX as f64 + 1.5);

/// Heights are written in steps of 0.0006 units.
const HEIGHTS: Scale = Scale::new(20.0, 3.0);

/// Velocities are written in steps of 0.001 units per second. The limit is what a teapot at top speed can give.
const VELOCITIES: Scale = Scale::new(32.0, 25.0);

/// The whole state of a sugar cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch {
    /// The player that fired.
    pub shooter: PlayerKey,
    /// Where the cube left the spout.
    pub position: Vec3,
    /// The cube's velocity then, in units per second.
    pub velocity: Vec3,
    /// The session time then, in microseconds.
    pub launched_at: u64,
}

/// Names a cube on the scoreboard, which outlives the cube's object. The name is unique, since no spout fires twice
/// at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shot {
    /// The player that fired.
    pub shooter: PlayerKey,
    /// The session time of the launch, in microseconds.
    pub launched_at: u64,
}

/// How a flight ends when neither an obstacle nor a teapot stands in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// On the table's top.
    Table,
    /// Against the rim.
    Rim,
    /// Over the rim and down beside the table.
    Floor,
    /// In the air, because its time was up.
    Spent,
}

impl Launch {
    /// The launch of a cube from the spout of a teapot, whose velocity is added to the cube's.
    ///
    /// The numbers are already rounded as for sending, so the shooter sees exactly the path that all others see.
    pub fn from_spout(shooter: PlayerKey, teapot: &Motion, now: u64) -> Self {
        let ahead = direction(teapot.heading);
        let [x, y] = add(teapot.position, scale(ahead, SPOUT_REACH));
        let (up, flat) = sin_cos(SPOUT_PITCH);
        let [vx, vy] = add(teapot.velocity, scale(ahead, MUZZLE_SPEED * flat));
        let exact = Self {
            shooter,
            position: [x, y, SPOUT_HEIGHT],
            velocity: [vx, vy, MUZZLE_SPEED * up],
            launched_at: now,
        };
        Self::decode(&exact.encode()).expect("every encoded launch is in range")
    }

    /// The name of this cube on the scoreboard.
    pub fn shot(&self) -> Shot {
        Shot { shooter: self.shooter, launched_at: self.launched_at }
    }

    /// The position at a session time. Before the launch it is the position of the launch.
    pub fn position_at(&self, now: u64) -> Vec3 {
        self.position_after(self.age(now))
    }

    /// The velocity at a session time.
    pub fn velocity_at(&self, now: u64) -> Vec3 {
        let [x, y, z] = self.velocity;
        [x, y, z - GRAVITY * self.age(now)]
    }

    /// The session time, in microseconds, at which the flight ends, and how, if the cube meets neither obstacle nor
    /// teapot.
    pub fn landing(&self, arena: &Arena<'_>) -> (u64, Landing) {
        let (after, landing) = self.landing_after(arena);
        (self.time_after(after), landing)
    }

    /// Whether the cube can be in flight at `now`: its time is not up, and its launch is not further in the future
    /// than clocks can differ.
    ///
    /// The owner may destroy the cube's object when this is false.
    pub fn is_current(&self, now: u64) -> bool {
        now <= self.launched_at.saturating_add(LIFETIME)
            && self.launched_at <= now.saturating_add(CLOCK_TOLERANCE)
    }

    /// The bytes of the one field of a cube object.
    pub fn encode(&self) -> Vec<u8> {
        let [x, y, z] = self.position;
        let mut out = Vec::with_capacity(PlayerKey::ENCODED + 20);
        self.shooter.write(&mut out);
        PLACES.write([x, y], &mut out);
        HEIGHTS.write([z.max(0.0)], &mut out);
        VELOCITIES.write(self.velocity, &mut out);
        out.extend(self.launched_at.to_le_bytes());
        out
    }

    /// The launch written in the field of a cube object.
    ///
    /// # Errors
    /// A [`DecodeError`] when the bytes are not what [`encode`](Self::encode) writes. The caller must still check
    /// that the object's owner may speak for the shooter.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let shooter = PlayerKey::read(&mut reader)?;
        let [x, y] = reader.vector(PLACES)?;
        let [z] = reader.vector(HEIGHTS)?;
        let velocity = reader.vector(VELOCITIES)?;
        let launched_at = reader.u64()?;
        reader.finish()?;
        if z < 0.0 {
            return Err(DecodeError::OutOfRange);
        }
        Ok(Self { shooter, position: [x, y, z], velocity, launched_at })
    }

    /// Seconds since the launch, zero before it.
    fn age(&self, now: u64) -> f32 {
        seconds(now.saturating_sub(self.launched_at))
    }

    /// The session time `after` seconds after the launch.
    pub(crate) fn time_after(&self, after: f32) -> u64 {
        self.launched_at.saturating_add((after * 1e6).round() as u64)
    }

    /// The position `after` seconds after the launch.
    pub(crate) fn position_after(&self, after: f32) -> Vec3 {
        let [x, y, z] = self.position;
        let [vx, vy, vz] = self.velocity;
        [x + vx * after, y + vy * after, z + (vz - 0.5 * GRAVITY * after) * after]
    }

    /// The position of the launch, without its height.
    pub(crate) fn place(&self) -> Vec2 {
        [self.position[0], self.position[1]]
    }

    /// The velocity along the table, which nothing changes in flight.
    pub(crate) fn drift(&self) -> Vec2 {
        [self.velocity[0], self.velocity[1]]
    }

    /// The two times, in seconds after the launch, between which the cube is above `level`, if it ever is.
    pub(crate) fn time_above(&self, level: f32) -> Option<(f32, f32)> {
        let rise = self.velocity[2];
        let discriminant = rise * rise + 2.0 * GRAVITY * (self.position[2] - level);
        if discriminant <= 0.0 {
            return None;
        }
        let half = discriminant.sqrt();
        Some(((rise - half) / GRAVITY, (rise + half) / GRAVITY))
    }

    pub(crate) fn landing_after(&self, arena: &Arena<'_>) -> (f32, Landing) {
        let touches_table = self.falls_below(CUBE_RADIUS);
        let leaves = self.leaves(arena.radius);
        let (after, landing) = if touches_table <= leaves {
            (touches_table, Landing::Table)
        } else if self.position_after(leaves)[2] < arena.rim_height + CUBE_RADIUS {
            (leaves, Landing::Rim)
        } else {
            (self.falls_below(FLOOR), Landing::Floor)
        };
        let lifetime = seconds(LIFETIME);
        if after > lifetime { (lifetime, Landing::Spent) } else { (after, landing) }
    }

    /// When the cube passes `level` downwards, in seconds after the launch; 0 if it starts below.
    fn falls_below(&self, level: f32) -> f32 {
        if self.position[2] < level {
            return 0.0;
        }
        self.time_above(level).map_or(0.0, |(_, down)| down.max(0.0))
    }

    /// When the cube passes a circle round the centre outwards, in seconds after the launch; 0 if it starts outside.
    fn leaves(&self, radius: f32) -> f32 {
        let (place, drift) = (self.place(), self.drift());
        let outside = dot(place, place) - radius * radius;
        if outside >= 0.0 {
            return 0.0;
        }
        let squared = dot(drift, drift);
        let along = dot(place, drift);
        if squared < 1e-6 {
            return f32::INFINITY;
        }
        // The start is inside, so the discriminant is positive and this root is the only one ahead.
        (-along + (along * along - squared * outside).sqrt()) / squared
    }
}

/// The cooldown of one teapot: it allows three shots a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cooldown {
    ready_at: u64,
}

impl Cooldown {
    /// Whether a shot may go off at `now`, in microseconds of session time.
    pub fn is_ready(&self, now: u64) -> bool {
        // A session clock that was set back must not silence the spout for long.
        now >= self.ready_at || self.ready_at - now > COOLDOWN
    }

    /// Fires if the teapot is ready. Returns whether it fired; if so, the next shot has to wait.
    pub fn try_fire(&mut self, now: u64) -> bool {
        let is_ready = self.is_ready(now);
        if is_ready {
            self.ready_at = now.saturating_add(COOLDOWN);
        }
        is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::plane::{distance, length};
    use crate::rng::Rng;
    use crate::teapot::{BODY_HEIGHT, TOP_SPEED};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const NOW: u64 = 60_000_000;

    fn teapot(rng: &mut Rng) -> Motion {
        let place = TEA_TABLE.push_out([rng.between(-15.0, 15.0), rng.between(-15.0, 15.0)], 1.0);
        let heading = rng.between(-3.1, 3.1);
        let speed = rng.between(-4.0, TOP_SPEED);
        Motion { position: place, velocity: scale(direction(heading), speed), heading, spin: 0.0 }
    }

    #[test]
    fn every_encoded_launch_decodes_to_itself() {
        let mut rng = Rng::new(31);
        for shot in 0..2_000 {
            let launch = Launch::from_spout(PlayerKey::Seat(shot), &teapot(&mut rng), rng.next_u64());
            assert_eq!(Launch::decode(&launch.encode()), Ok(launch));
        }
    }

    #[test]
    fn garbage_is_refused_and_accepted_bytes_are_canonical() {
        let mut rng = Rng::new(32);
        let sample = Launch::from_spout(PlayerKey::Robot(3), &teapot(&mut rng), NOW).encode();
        for round in 0..50_000_u32 {
            let mut bytes = sample.clone();
            for _ in 0..1 + rng.below(4) {
                let index = rng.below(bytes.len() as u32) as usize;
                bytes[index] = rng.next_u64() as u8;
            }
            bytes.truncate(rng.below(60) as usize);
            if round % 7 == 0 {
                bytes.push(0);
            }
            if let Ok(launch) = Launch::decode(&bytes) {
                assert_eq!(launch.encode(), bytes);
                let (end, _) = launch.landing(&TEA_TABLE);
                assert!(end <= launch.launched_at.saturating_add(LIFETIME));
                assert!(launch.position_at(u64::MAX).iter().all(|each| each.is_finite()));
            }
        }
        let mut below = sample.clone();
        below[7..9].copy_from_slice(&(-1_i16).to_le_bytes());
        assert_eq!(Launch::decode(&below), Err(DecodeError::OutOfRange));
        let mut fast = sample;
        fast[9..11].copy_from_slice(&30_000_i16.to_le_bytes());
        assert_eq!(Launch::decode(&fast), Err(DecodeError::OutOfRange));
    }

    #[test]
    fn a_cube_leaves_the_spout_with_the_teapots_velocity_added() {
        let still = Motion { position: [1.0, 2.0], ..Motion::default() };
        let driving = Motion { velocity: [5.0, 0.0], ..still };
        let (slow, fast) = (
            Launch::from_spout(PlayerKey::Seat(1), &still, NOW),
            Launch::from_spout(PlayerKey::Seat(1), &driving, NOW),
        );
        assert!(distance(slow.place(), [1.0 + SPOUT_REACH, 2.0]) < 1e-3);
        assert!((length(slow.drift()).hypot(slow.velocity[2]) - MUZZLE_SPEED).abs() < 0.01);
        assert!((fast.velocity[0] - slow.velocity[0] - 5.0).abs() < 0.01);
        assert_eq!(slow.position_at(NOW), slow.position);
        assert_eq!(slow.position_at(0), slow.position);
    }

    #[test]
    fn the_arc_stays_below_a_teapots_top_for_13_units() {
        let launch = Launch::from_spout(PlayerKey::Seat(1), &Motion::default(), NOW);
        let (end, landing) = launch.landing(&Arena { radius: 100.0, ..TEA_TABLE });
        assert_eq!(landing, Landing::Table);
        assert!((13.0..16.0).contains(&launch.position_at(end)[0]), "{:?}", launch.position_at(end));
        for now in (NOW..end).step_by(1_000) {
            assert!(launch.position_at(now)[2] < BODY_HEIGHT + CUBE_RADIUS);
        }
    }

    #[test]
    fn flights_end_on_table_rim_or_floor_or_when_time_is_up() {
        let from = |x: f32, z: f32, vx: f32, vz: f32| {
            let launch = Launch {
                shooter: PlayerKey::Seat(1),
                position: [x, 0.0, z],
                velocity: [vx, 0.0, vz],
                launched_at: NOW,
            };
            let (end, landing) = launch.landing(&TEA_TABLE);
            (launch.position_at(end), landing)
        };
        let (place, landing) = from(0.0, 0.9, 10.0, 0.0);
        assert_eq!(landing, Landing::Table);
        assert!((place[2] - CUBE_RADIUS).abs() < 1e-3);
        let (place, landing) = from(13.0, 0.4, 16.0, 0.0);
        assert_eq!(landing, Landing::Rim);
        assert!((place[0] - TEA_TABLE.radius).abs() < 1e-3);
        let (place, landing) = from(14.0, 0.9, 16.0, 2.0);
        assert_eq!(landing, Landing::Floor);
        assert!((place[2] - FLOOR).abs() < 1e-2 && place[0] > TEA_TABLE.radius);
        assert_eq!(from(0.0, 3.0, 0.0, 24.0).1, Landing::Spent);
        assert_eq!(from(0.0, 0.0, 5.0, 5.0), ([0.0, 0.0, 0.0], Landing::Table));
        assert_eq!(from(17.0, 0.2, 5.0, 0.0).1, Landing::Rim);
    }

    #[test]
    fn old_cubes_and_cubes_from_the_future_are_not_current() {
        let launch = Launch::from_spout(PlayerKey::Seat(1), &Motion::default(), NOW);
        assert!(launch.is_current(NOW) && launch.is_current(NOW + LIFETIME));
        assert!(launch.is_current(NOW - CLOCK_TOLERANCE));
        assert!(!launch.is_current(NOW + LIFETIME + 1) && !launch.is_current(NOW - CLOCK_TOLERANCE - 1));
        let forever = Launch { launched_at: u64::MAX, ..launch };
        assert!(!forever.is_current(NOW) && forever.landing(&TEA_TABLE).0 == u64::MAX);
    }

    #[test]
    fn a_held_trigger_fires_three_times_a_second() {
        for frame in [1_000, 6_944, 16_667, 33_333] {
            let mut cooldown = Cooldown::default();
            let shots =
                (0..10_000_000_u64).step_by(frame).filter(|&now| cooldown.try_fire(NOW + now)).count();
            assert!((28..=31).contains(&shots), "{shots} shots with frames of {frame} µs");
        }
    }

    #[test]
    fn a_clock_set_back_does_not_jam_the_trigger() {
        let mut cooldown = Cooldown::default();
        assert!(cooldown.try_fire(NOW));
        assert!(!cooldown.is_ready(NOW + COOLDOWN - 1));
        assert!(cooldown.try_fire(NOW - 10_000_000));
    }
}
