//! How controls move a teapot.
//!
//! A teapot is simulated by its owner only, in fixed steps of 1/120 s with the remainder carried over: the same
//! controls lead to the same place at 30, 60 and 144 frames a second (G. Fiedler, "Fix your timestep!", 2004).
//! The step is semi-implicit Euler: velocities first, then places with the new velocities.

use crate::arena::{Arena, Spawn, push_from};
use crate::motion::Motion;
use crate::plane::{Vec2, add, clamp_length, direction, dot, scale, sub, wrap_angle};

/// The radius of the body, for driving and for hits.
pub const BODY_RADIUS: f32 = 1.0;

/// The height of the body: cubes above it miss.
pub const BODY_HEIGHT: f32 = 1.2;

/// The speed that full throttle approaches, in units per second.
pub const TOP_SPEED: f32 = 7.0;

/// The speed that full reverse approaches, in units per second.
pub const REVERSE_SPEED: f32 = 4.2;

/// The spin that the full turn control approaches, in radians per second.
pub const TOP_SPIN: f32 = 2.8;

/// How quickly the speed approaches the one that the throttle asks for, per second. Multiplied by [`TOP_SPEED`] it is
/// the acceleration from rest at full throttle.
const DRAG: f32 = 2.0;

/// How quickly the spin approaches the one that the turn control asks for, per second.
const TURN_RESPONSE: f32 = 10.0;

/// How quickly pushing against an obstacle reduces the blocked speed, per second.
const SCRAPE: f32 = 3.0;

/// Steps of the simulation per second.
const STEPS_PER_SECOND: u64 = 120;

/// The length of a step in seconds.
const STEP: f32 = 1.0 / STEPS_PER_SECOND as f32;

/// The longest time one call simulates, in microseconds. A tab that slept does not drive on blindly for minutes.
const LONGEST_ADVANCE: u64 = 250_000;

/// The controls of a teapot. The numbers are analogue; a keyboard uses −1, 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Controls {
    /// From −1, full reverse, to 1, full ahead.
    pub throttle: f32,
    /// From −1, clockwise (to the right), to 1, counter-clockwise (to the left).
    pub turn: f32,
    /// Whether the trigger is held.
    pub fire: bool,
}

impl Controls {
    /// The same controls with every number in range; NaN and infinities become 0.
    pub fn sanitised(self) -> Self {
        let axis = |value: f32| if value.is_finite() { value.clamp(-1.0, 1.0) } else { 0.0 };
        Self { throttle: axis(self.throttle), turn: axis(self.turn), fire: self.fire }
    }
}

/// The bodies that a teapot can touch.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The table.
    pub arena: &'a Arena<'a>,
    /// Where the other teapots on the table are shown. Each owner moves only its own teapot out of an overlap.
    pub others: &'a [Vec2],
}

impl Surroundings<'_> {
    /// The place to which the body moves: out of the other teapots and of the things that can be pushed by a limited
    /// distance, and then out of the other obstacles and the rim.
    fn push_out(&self, position: Vec2) -> Vec2 {
        let apart =
            self.others.iter().fold(position, |place, &other| push_from(place, other, 2.0 * BODY_RADIUS));
        let apart = self.arena.push_from_all(apart, BODY_RADIUS, |each| each.kind.yields() > 0.0);
        // The shift is limited, so two teapots that appear in one place part within a few steps, without a jump. Others
        // move the things, and can carry no teapot away with one.
        let apart = add(position, clamp_length(sub(apart, position), 2.0 * TOP_SPEED * STEP));
        let free = self.arena.push_from_all(apart, BODY_RADIUS, |each| each.kind.yields() == 0.0);
        self.arena.push_inside(free, BODY_RADIUS)
    }
}

/// The state of the simulation of one teapot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drive {
    /// The centre of the body, in table units.
    pub position: Vec2,
    /// Where the spout points, in radians from −π to π.
    pub heading: f32,
    /// The speed along the heading that the drive provides, in units per second, negative in reverse.
    pub speed: f32,
    /// How the heading changes, in radians per second.
    pub spin: f32,
    /// How the position changed in the last step, in units per second. It differs from the speed along the heading
    /// while the teapot slides on something.
    pub velocity: Vec2,
}

impl Drive {
    /// Continues a known motion, for instance of a dead owner's teapot.
    pub fn from_motion(motion: &Motion) -> Self {
        Self {
            position: motion.position,
            heading: motion.heading,
            speed: dot(motion.velocity, direction(motion.heading)).clamp(-REVERSE_SPEED, TOP_SPEED),
            spin: motion.spin.clamp(-TOP_SPIN, TOP_SPIN),
            velocity: clamp_length(motion.velocity, TOP_SPEED),
        }
    }

    /// The motion that others need to extrapolate this teapot.
    pub fn motion(&self) -> Motion {
        Motion { position: self.position, velocity: self.velocity, heading: self.heading, spin: self.spin }
    }

    /// One fixed step with sanitised controls.
    fn step(&mut self, controls: Controls, around: &Surroundings<'_>) {
        let wanted = controls.throttle * if controls.throttle < 0.0 { REVERSE_SPEED } else { TOP_SPEED };
        self.speed += (wanted - self.speed) * DRAG * STEP;
        self.spin += (controls.turn * TOP_SPIN - self.spin) * TURN_RESPONSE * STEP;
        self.heading = wrap_angle(self.heading + self.spin * STEP);

        let ahead = direction(self.heading);
        let driven = add(self.position, scale(ahead, self.speed * STEP));
        let reached = around.push_out(driven);
        if reached != driven {
            let along = dot(sub(reached, self.position), ahead) / STEP;
            // `clamp` is not used here: it checks its bounds, and the text of its panic would add the code that
            // formats floats to the page.
            let useful = along.max(self.speed.min(0.0)).min(self.speed.max(0.0));
            self.speed += (useful - self.speed) * SCRAPE * STEP;
        }
        self.velocity = clamp_length(scale(sub(reached, self.position), 1.0 / STEP), TOP_SPEED);
        self.position = reached;
    }
}

/// One simulated teapot: a [`Drive`] and the time that no step has used yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Teapot {
    drive: Drive,
    /// Unused time in units of 1/120 µs, always less than one step. It is a whole number, so that no time is lost.
    carried: u64,
}

impl Teapot {
    /// A teapot at rest at a spawn point.
    pub fn new(spawn: Spawn) -> Self {
        Self::continued(&Motion::at_rest(spawn))
    }

    /// A teapot that continues a motion that another peer published.
    pub fn continued(motion: &Motion) -> Self {
        Self { drive: Drive::from_motion(motion), carried: 0 }
    }

    /// Simulates `elapsed` microseconds under `controls`, at most a quarter of a second.
    ///
    /// Controls may be anything; see [`Controls::sanitised`].
    pub fn step(&mut self, elapsed: u64, controls: Controls, around: &Surroundings<'_>) {
        const STEP_COST: u64 = 1_000_000;
        let controls = controls.sanitised();
        self.carried += elapsed.min(LONGEST_ADVANCE) * STEPS_PER_SECOND;
        while self.carried >= STEP_COST {
            self.carried -= STEP_COST;
            self.drive.step(controls, around);
        }
    }

    /// The simulation's state after its last whole step.
    pub fn drive(&self) -> &Drive {
        &self.drive
    }

    /// The motion now, for drawing and for publishing: the last whole step, extrapolated by the remainder.
    ///
    /// Without the remainder a screen of 144 frames a second would see the teapot stand still every sixth frame.
    pub fn motion(&self) -> Motion {
        let remainder = self.carried as f32 / (STEPS_PER_SECOND * 1_000_000) as f32;
        self.drive.motion().extrapolated(remainder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::plane::{distance, length};
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const ALONE: Surroundings<'static> = Surroundings { arena: &TEA_TABLE, others: &[] };

    const AHEAD: Controls = Controls { throttle: 1.0, turn: 0.0, fire: false };

    /// Drives a seeded course at a frame rate. The controls change every half second.
    fn course(frames_per_second: u64, seed: u64) -> Teapot {
        let mut rng = Rng::new(seed);
        let mut teapot = Teapot::new(TEA_TABLE.spawn(seed as usize));
        let mut controls = Controls::default();
        for frame in 0..20 * frames_per_second {
            if frame % (frames_per_second / 2) == 0 {
                controls =
                    Controls { throttle: rng.between(-0.4, 1.0), turn: rng.between(-1.0, 1.0), fire: false };
            }
            let time = |frame: u64| frame * 1_000_000 / frames_per_second;
            teapot.step(time(frame + 1) - time(frame), controls, &ALONE);
        }
        teapot
    }

    #[test]
    fn the_course_is_the_same_at_every_frame_rate() {
        for seed in 0..10 {
            let reference = course(60, seed);
            for rate in [30, 120, 144, 240] {
                assert_eq!(course(rate, seed), reference, "at {rate} frames a second, seed {seed}");
            }
        }
    }

    #[test]
    fn drawn_motion_is_even_on_a_fast_screen() {
        let open = Surroundings { arena: &Arena { radius: 1e3, obstacles: &[], ..TEA_TABLE }, others: &[] };
        let mut teapot = Teapot::default();
        for _ in 0..500 {
            teapot.step(6_944, AHEAD, &open);
        }
        for _ in 0..100 {
            let last = teapot.motion().position;
            teapot.step(6_944, AHEAD, &open);
            let speed = distance(teapot.motion().position, last) / 0.006_944;
            assert!((speed - TOP_SPEED).abs() < 0.02 * TOP_SPEED, "{speed}");
        }
    }

    #[test]
    fn top_speeds_are_approached_and_never_passed() {
        let open = Surroundings { arena: &Arena { radius: 1e3, obstacles: &[], ..TEA_TABLE }, others: &[] };
        for (throttle, top) in [(1.0, TOP_SPEED), (-1.0, -REVERSE_SPEED)] {
            let mut teapot = Teapot::default();
            for _ in 0..300 {
                teapot.step(16_667, Controls { throttle, ..AHEAD }, &open);
                assert!(teapot.drive().speed.abs() <= top.abs());
            }
            assert!((teapot.drive().speed - top).abs() < 0.05);
            for _ in 0..300 {
                teapot.step(16_667, Controls::default(), &open);
            }
            assert!(teapot.drive().speed.abs() < 0.01, "it rolls on without throttle");
        }
    }

    #[test]
    fn invalid_controls_keep_the_teapot_on_the_table() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30] {
            let mut teapot = Teapot::new(TEA_TABLE.spawn(4));
            for _ in 0..120 {
                teapot.step(u64::MAX, Controls { throttle: value, turn: value, fire: true }, &ALONE);
                assert!(TEA_TABLE.is_free(teapot.drive().position, BODY_RADIUS - 1e-2));
                assert!(teapot.drive().heading.is_finite() && teapot.drive().speed.abs() <= TOP_SPEED);
            }
        }
        let wild = Controls { throttle: 7.0, turn: f32::NAN, fire: true };
        assert_eq!(wild.sanitised(), Controls { throttle: 1.0, turn: 0.0, fire: true });
    }

    #[test]
    fn a_teapot_never_leaves_the_table_and_slides_along_the_rim() {
        let mut teapot = Teapot::new(TEA_TABLE.spawn(0));
        // This teapot drives backwards into the rim. A second one then drives along the rim with a slanting heading.
        for _ in 0..120 {
            teapot.step(16_667, Controls { throttle: -1.0, turn: 0.0, fire: false }, &ALONE);
            assert!(TEA_TABLE.is_free(teapot.motion().position, BODY_RADIUS - 0.05));
        }
        assert!(length(teapot.drive().velocity) < 0.5, "it stands against the rim");
        let spawn = Spawn { position: [14.9, 0.0], heading: std::f32::consts::FRAC_PI_4 };
        let mut sliding = Teapot::new(spawn);
        for _ in 0..60 {
            sliding.step(16_667, AHEAD, &ALONE);
        }
        assert!(sliding.drive().position[1] > 1.0, "{:?}", sliding.drive());
    }

    #[test]
    fn teapots_push_each_other_apart_without_a_jump() {
        let mut teapot = Teapot::new(TEA_TABLE.spawn(0));
        let other = add(teapot.drive().position, [0.3, 0.0]);
        let around = Surroundings { arena: &TEA_TABLE, others: &[other] };
        let mut last = teapot.drive().position;
        for _ in 0..60 {
            teapot.step(8_334, Controls::default(), &around);
            assert!(distance(teapot.drive().position, last) < 0.3);
            last = teapot.drive().position;
        }
        assert!(distance(last, other) > 2.0 * BODY_RADIUS - 1e-3);
    }

    #[test]
    fn a_continued_teapot_keeps_its_motion() {
        let mut teapot = Teapot::new(TEA_TABLE.spawn(2));
        for _ in 0..40 {
            teapot.step(16_667, Controls { turn: 0.3, ..AHEAD }, &ALONE);
        }
        let heir = Teapot::continued(&teapot.motion());
        assert!(distance(heir.drive().position, teapot.drive().position) < 0.1);
        assert!((heir.drive().speed - teapot.drive().speed).abs() < 0.3);
    }

    #[test]
    fn a_thing_that_is_put_onto_a_teapot_carries_it_nowhere() {
        let mut teapot = Teapot::new(TEA_TABLE.spawn(0));
        let before = teapot.motion().position;
        let bowl = crate::arena::Obstacle { centre: add(before, [0.1, 0.0]), ..TEA_TABLE.obstacles[0] };
        let arena = Arena { obstacles: &[bowl], ..TEA_TABLE };
        teapot.step(
            1_000_000 / STEPS_PER_SECOND + 1,
            Controls::default(),
            &Surroundings { arena: &arena, others: &[] },
        );
        let moved = distance(teapot.drive().position, before);
        assert!(moved > 0.0 && moved <= 2.0 * TOP_SPEED * STEP + 1e-4, "{moved}");
    }
}
