//! How a cup or a bowl slides when teapots push it.
//!
//! Its owner alone computes this. A pusher gives the thing a part of its own speed, so that pushing slows a teapot
//! down: the teapot cannot drive through the thing. Friction takes the same speed from it in each second, so it stops
//! at the same place at any frame rate.

use crate::arena::{Arena, Obstacle, push_from};
use crate::motion::Motion;
use crate::plane::{
    Vec2, add, clamp_length, direction, distance, dot, length, perpendicular, scale, sub, unit_or, wrap_angle,
};
use crate::teapot::{BODY_RADIUS, TOP_SPEED};

/// A teapot that is nearer than this pushes, in table units between the surfaces.
pub const REACH: f32 = 0.12;

/// The room between a thing and the rim, in table units: a teapot can always drive round the thing and push it back.
pub const RIM_ROOM: f32 = 2.0 * BODY_RADIUS + 0.2;

/// The speed that friction takes from a sliding thing in each second.
const FRICTION: f32 = 5.0;

/// The spin that friction takes from it in each second, in radians.
const SPIN_FRICTION: f32 = 6.0;

/// The spin of a thing along whose side a teapot scrapes, per speed of the teapot and radius of the thing.
const SCRAPE: f32 = 0.4;

/// The longest time that one step computes, in seconds.
const STEP_MAX: f32 = 0.25;

/// A teapot that may push things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pusher {
    /// The middle of the teapot.
    pub position: Vec2,
    /// The velocity that the teapot would have with nothing in its way, in units per second.
    pub velocity: Vec2,
}

impl Pusher {
    /// Whether the teapot drives against this obstacle.
    pub fn pushes(&self, obstacle: &Obstacle) -> bool {
        let towards = sub(obstacle.centre, self.position);
        distance(self.position, obstacle.centre) < obstacle.radius + BODY_RADIUS + REACH
            && dot(self.velocity, towards) > 0.0
    }
}

/// The motion of a thing `seconds` later, at most a quarter of a second. `thing` says what it is, and `around` is the
/// part of the table in which it can be, without it.
pub fn slide(
    motion: Motion,
    seconds: f32,
    thing: &Obstacle,
    pushers: &[Pusher],
    around: &Arena<'_>,
) -> Motion {
    let seconds = seconds.clamp(0.0, STEP_MAX);
    let mut next = rubbed(motion, seconds);
    for pusher in pushers {
        let clearance = thing.radius + BODY_RADIUS;
        if distance(next.position, pusher.position) < clearance + REACH {
            let away = unit_or(sub(next.position, pusher.position), direction(next.heading));
            let gain = dot(pusher.velocity, away) * thing.kind.yields() - dot(next.velocity, away);
            if gain > 0.0 {
                next.velocity = clamp_length(add(next.velocity, scale(away, gain)), TOP_SPEED);
                next.spin = SCRAPE * dot(pusher.velocity, perpendicular(away)) / thing.radius;
            }
            next.position = push_from(next.position, pusher.position, clearance);
        }
    }
    let place = around.push_out(next.position, thing.radius);
    let back = sub(place, next.position);
    if length(back) > 1e-4 {
        let out = unit_or(back, [0.0, 0.0]);
        next.velocity = sub(next.velocity, scale(out, dot(next.velocity, out).min(0.0)));
    }
    next.position = place;
    next
}

/// The motion after friction worked on it for this long.
fn rubbed(motion: Motion, seconds: f32) -> Motion {
    let speed = length(motion.velocity);
    let slower = (speed - FRICTION * seconds).max(0.0);
    // A thing that stops within the step slides for a part of it only.
    let sliding = seconds.min(speed / FRICTION);
    let ahead = unit_or(motion.velocity, [0.0, 0.0]);
    let turning = seconds.min(motion.spin.abs() / SPIN_FRICTION);
    let spin = motion.spin.signum() * (motion.spin.abs() - SPIN_FRICTION * seconds).max(0.0);
    Motion {
        position: add(motion.position, scale(ahead, 0.5 * (speed + slower) * sliding)),
        velocity: scale(ahead, slower),
        heading: wrap_angle(motion.heading + 0.5 * (motion.spin + spin) * turning),
        spin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const CUP: Obstacle = TEA_TABLE.obstacles[1];

    fn at_rest(place: Vec2) -> Motion {
        Motion { position: place, ..Motion::default() }
    }

    #[test]
    fn a_thing_stops_at_the_same_place_at_every_frame_rate() {
        let start = Motion { velocity: [4.0, 1.0], spin: 2.0, ..at_rest([-4.0, 5.0]) };
        let bare = Arena { obstacles: &[], ..TEA_TABLE };
        let slid = |frames: u16| {
            let step = 1.0 / f32::from(frames);
            (0..2 * frames).fold(start, |motion, _| slide(motion, step, &CUP, &[], &bare))
        };
        let reference = slid(60);
        assert_eq!((reference.velocity, reference.spin), ([0.0, 0.0], 0.0));
        assert!(reference.position[0] > -3.0, "{reference:?}");
        for frames in [5, 10, 30, 144] {
            let other = slid(frames);
            assert!(distance(other.position, reference.position) < 0.01, "{frames}: {other:?}");
            assert!(wrap_angle(other.heading - reference.heading).abs() < 0.01);
        }
    }

    #[test]
    fn a_teapot_pushes_a_cup_ahead_of_it_and_not_through_others() {
        let mut rng = Rng::new(7);
        for _ in 0..200 {
            let mut motion = at_rest([0.0, 5.0]);
            let others: Vec<_> = TEA_TABLE.obstacles.iter().filter(|each| **each != CUP).copied().collect();
            let around = Arena { obstacles: &others, ..TEA_TABLE };
            motion.position = around.push_out(motion.position, CUP.radius);
            let ahead = direction(rng.between(-3.1, 3.1));
            let mut place = sub(motion.position, scale(ahead, CUP.radius + BODY_RADIUS + 0.3));
            for _ in 0..240 {
                place = add(place, scale(ahead, 4.0 / 60.0));
                let pusher = Pusher { position: place, velocity: scale(ahead, 5.0) };
                motion = slide(motion, 1.0 / 60.0, &CUP, &[pusher], &around);
                // The teapot's owner moves the teapot out of what it overlaps.
                place = push_from(place, motion.position, CUP.radius + BODY_RADIUS);
                assert!(length(motion.position) <= TEA_TABLE.radius - CUP.radius + 1e-3);
                assert!(length(motion.velocity) <= TOP_SPEED + 1e-3, "{motion:?}");
            }
            assert!(distance(motion.position, [0.0, 5.0]) > 1.0, "{motion:?}");
        }
    }

    #[test]
    fn only_a_teapot_that_drives_against_a_thing_pushes_it() {
        let beside = add(CUP.centre, [CUP.radius + BODY_RADIUS + 0.05, 0.0]);
        let pusher = |velocity| Pusher { position: beside, velocity };
        assert!(pusher([-1.0, 0.5]).pushes(&CUP));
        assert!(!pusher([1.0, 0.0]).pushes(&CUP) && !pusher([0.0, 0.0]).pushes(&CUP));
        let far = Pusher { position: add(beside, [1.0, 0.0]), velocity: [-1.0, 0.0] };
        assert!(!far.pushes(&CUP));
        let motion = slide(at_rest(CUP.centre), 0.1, &CUP, &[pusher([3.0, 0.0])], &TEA_TABLE_BARE);
        assert_eq!(motion, at_rest(CUP.centre));
    }

    const TEA_TABLE_BARE: Arena<'static> = Arena { obstacles: &[], ..TEA_TABLE };

    #[test]
    fn a_bowl_is_heavier_than_a_cup() {
        let speed = |thing: &Obstacle| {
            let pusher = Pusher { position: [-thing.radius - BODY_RADIUS, 0.0], velocity: [5.0, 0.0] };
            slide(at_rest([0.0, 0.0]), 0.1, thing, &[pusher], &TEA_TABLE_BARE).velocity[0]
        };
        let bowl = TEA_TABLE.obstacles[0];
        assert!(speed(&CUP) > speed(&bowl) && speed(&bowl) > 1.0);
        assert_eq!(speed(&TEA_TABLE.obstacles[5]), 0.0, "a plate stays");
    }
}
