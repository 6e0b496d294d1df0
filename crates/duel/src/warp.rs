//! How a remote teapot is shown between two updates: its last sample is extrapolated to a goal, and the difference to
//! what was shown before fades by warping ([`samovar_session::objects::warp`]). Without it, every update that finds the
//! owner off the predicted path would make the teapot jump.
//!
//! The result does not depend on the frame rate, exactly on a straight path. On curves, and where extrapolation fades
//! out, what is shown follows the bends of the goal.

use samovar_session::objects::warp::Offset;

use crate::motion::Motion;
use crate::plane::{Vec2, add, distance, scale, seconds_between, sub, wrap_angle};

/// For how long a sample is extrapolated at full speed, in seconds.
pub const FULL_EXTRAPOLATION: f32 = 0.6;

/// How long the extrapolated speed then takes to fade to nothing, in seconds. So a dead owner's teapot rolls to a
/// stop instead of flying away.
pub const FADE: f32 = 0.3;

/// If the goal is farther away than this, in table units, the teapot jumps to it instead of approaching it.
pub const SNAP_DISTANCE: f32 = 8.0;

/// A sample from the future is extrapolated back by at most this, in seconds: session clocks differ a little.
const LARGEST_LEAD: f32 = 0.25;

/// A sample that is older than the last by less than this is late, in microseconds. If it is older by more, the clock
/// was set back, and the sample counts as new.
const CLOCK_SET_BACK: u64 = 600_000;

/// The shown state of one remote teapot.
#[derive(Clone, Debug)]
pub struct Warp {
    /// The last sample from the owner.
    sample: Motion,
    /// The session time at which the sample was taken.
    sampled_at: u64,
    /// The shown motion minus the goal when the sample arrived: along both axes, and of the heading.
    offsets: [Offset; 3],
    /// The session time at which the sample arrived.
    arrived_at: u64,
}

impl Warp {
    /// A teapot that is first heard of at session time `now` with a sample taken at `sampled_at`, both in
    /// microseconds. The teapot is shown at its goal.
    pub fn new(now: u64, sample: Motion, sampled_at: u64) -> Self {
        Self { sample, sampled_at, offsets: Default::default(), arrived_at: now }
    }

    /// Takes a sample that arrived at session time `now`. A sample that is not newer than the last changes nothing,
    /// so this may be called every frame with the newest known one.
    ///
    /// If the new goal is farther than [`SNAP_DISTANCE`] from the shown place, the teapot jumps there.
    pub fn accept(&mut self, now: u64, sample: Motion, sampled_at: u64) {
        let is_late = sampled_at <= self.sampled_at && self.sampled_at - sampled_at < CLOCK_SET_BACK;
        if is_late {
            return;
        }
        // The shown motion must not change at this instant; only its goal does.
        let shown = self.at(now);
        self.snap(now, sample, sampled_at);
        let goal = self.goal(now);
        if distance(shown.position, goal.position) <= SNAP_DISTANCE {
            self.offsets = offsets(&shown, &goal);
        }
    }

    /// Takes a sample that the teapot did not reach by driving, for instance because it appears at another place. The
    /// teapot is shown at its goal at once, even if the goal is near.
    pub fn snap(&mut self, now: u64, sample: Motion, sampled_at: u64) {
        *self = Self::new(now, sample, sampled_at);
    }

    /// The motion to show at session time `now`, in microseconds.
    pub fn at(&self, now: u64) -> Motion {
        let elapsed = seconds_between(self.arrived_at, now);
        let ([x, y, heading], goal) = (self.offsets.map(|offset| offset.after(elapsed)), self.goal(now));
        Motion {
            position: add(goal.position, [x.value, y.value]),
            velocity: add(goal.velocity, [x.speed, y.speed]),
            heading: wrap_angle(goal.heading + heading.value),
            spin: goal.spin + heading.speed,
        }
    }

    /// The last sample, extrapolated to `now`: at full speed first, then fading.
    fn goal(&self, now: u64) -> Motion {
        let age = seconds_between(self.sampled_at, now).max(-LARGEST_LEAD);
        let faded = (age - FULL_EXTRAPOLATION).clamp(0.0, FADE);
        let speed = 1.0 - faded / FADE;
        // The integral of the speed over the age.
        let travelled = age.min(FULL_EXTRAPOLATION) + faded - 0.5 * faded * faded / FADE;
        let goal = self.sample.extrapolated(travelled);
        Motion {
            position: goal.position,
            velocity: scale(goal.velocity, speed),
            heading: goal.heading,
            spin: goal.spin * speed,
        }
    }
}

/// The differences of two motions: along both axes, and of the heading.
fn offsets(shown: &Motion, goal: &Motion) -> [Offset; 3] {
    let [x, y]: Vec2 = sub(shown.position, goal.position);
    let [vx, vy] = sub(shown.velocity, goal.velocity);
    [
        Offset { value: x, speed: vx },
        Offset { value: y, speed: vy },
        Offset { value: wrap_angle(shown.heading - goal.heading), speed: shown.spin - goal.spin },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::plane::{direction, length};
    use crate::rng::Rng;
    use crate::teapot::{Controls, Surroundings, TOP_SPEED, Teapot};
    use samovar_session::objects::warp::TIME_CONSTANT;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const NOW: u64 = 1_000_000_000;

    /// Samples of a seeded course as (arrived at, motion, sampled at), 20 a second with jittered delays.
    fn course(seed: u64, length_seconds: u64) -> Vec<(u64, Motion, u64)> {
        let mut rng = Rng::new(seed);
        let mut teapot = Teapot::new(TEA_TABLE.spawn(0));
        let mut controls = Controls::default();
        let around = Surroundings { arena: &TEA_TABLE, others: &[] };
        (0..length_seconds * 20)
            .map(|step| {
                if step % 10 == 0 {
                    controls = Controls { throttle: 1.0, turn: rng.between(-1.0, 1.0), fire: false };
                }
                teapot.step(50_000, controls, &around);
                let sampled_at = NOW + (step + 1) * 50_000;
                (sampled_at + 50_000 + u64::from(rng.below(40_000)), teapot.motion(), sampled_at)
            })
            .collect()
    }

    /// The shown motion at every half second when drawing at a frame rate.
    fn shown(course: &[(u64, Motion, u64)], frames_per_second: u64, at_frames_only: bool) -> Vec<Motion> {
        let mut warp = Warp::new(NOW, Motion::at_rest(TEA_TABLE.spawn(0)), NOW);
        let mut arrivals = course.iter().peekable();
        let mut shown = Vec::new();
        for frame in 1..=9 * frames_per_second {
            let now = NOW + frame * 1_000_000 / frames_per_second;
            while let Some(&(arrived, motion, sampled)) = arrivals.next_if(|(arrived, ..)| *arrived <= now) {
                warp.accept(if at_frames_only { now } else { arrived }, motion, sampled);
            }
            let motion = warp.at(now);
            if frame % (frames_per_second / 2) == 0 {
                shown.push(motion);
            }
        }
        shown
    }

    fn largest_difference(one: &[Motion], other: &[Motion]) -> (f32, f32) {
        assert_eq!(one.len(), other.len());
        one.iter().zip(other).fold((0.0, 0.0), |(place, heading), (one, other)| {
            (
                distance(one.position, other.position).max(place),
                wrap_angle(one.heading - other.heading).abs().max(heading),
            )
        })
    }

    #[test]
    fn the_shown_curve_is_the_same_at_every_frame_rate() {
        for seed in 0..10 {
            let course = course(seed, 9);
            let reference = shown(&course, 60, false);
            for rate in [10, 30, 144, 240] {
                let (place, heading) = largest_difference(&reference, &shown(&course, rate, false));
                assert!(
                    place < 0.01 && heading < 0.01,
                    "{place} and {heading} apart at {rate} frames a second"
                );
                // A game that looks for updates only when it draws adds up to a frame of delay, no more.
                let (place, heading) = largest_difference(&reference, &shown(&course, rate, true));
                assert!(
                    place < 0.5 && heading < 0.3,
                    "{place} and {heading} apart at {rate} frames a second"
                );
            }
        }
    }

    #[test]
    fn a_straight_path_follows_the_warping_formula() {
        let goal = Motion { velocity: [3.0, 0.0], ..Motion::default() };
        let mut warp = Warp::new(NOW, Motion { velocity: [0.0, 4.0], ..Motion::default() }, NOW);
        warp.at(NOW + 200_000);
        warp.accept(NOW + 200_000, goal, NOW + 200_000);
        let (mut place, mut velocity) = ([0.0, 0.8], [0.0, 4.0]);
        for frame in 1..=30_u64 {
            let dt = 0.016;
            let factor = (-dt / TIME_CONSTANT).exp();
            let blend = |w: Vec2, g: Vec2| add(scale(w, factor), scale(g, 1.0 - factor));
            place = blend(add(place, scale(velocity, dt)), [3.0 * dt * frame as f32, 0.0]);
            velocity = blend(velocity, goal.velocity);
            let shown = warp.at(NOW + 200_000 + frame * 16_000);
            assert!(distance(shown.position, place) < 1e-3, "{shown:?} but the formula says {place:?}");
            assert!(distance(shown.velocity, velocity) < 1e-3);
        }
    }

    #[test]
    fn a_new_sample_causes_no_jump_and_its_difference_fades() {
        let mut rng = Rng::new(71);
        for _ in 0..300 {
            let mut any = || Motion {
                position: [rng.between(-2.0, 2.0), rng.between(-2.0, 2.0)],
                velocity: scale(direction(rng.between(-3.1, 3.1)), TOP_SPEED),
                heading: rng.between(-3.1, 3.1),
                spin: rng.between(-2.8, 2.8),
            };
            let mut warp = Warp::new(NOW, any(), NOW);
            let goal = any();
            let before = warp.at(NOW + 30_000);
            warp.accept(NOW + 30_000, goal, NOW + 20_000);
            let after = warp.at(NOW + 30_000);
            assert!(distance(before.position, after.position) < 1e-4);
            assert!(wrap_angle(before.heading - after.heading).abs() < 1e-4);
            let late = warp.at(NOW + 1_030_000);
            let expected = warp.goal(NOW + 1_030_000);
            assert!(distance(late.position, expected.position) < 0.01);
            assert!(wrap_angle(late.heading - expected.heading).abs() < 0.01);
        }
    }

    #[test]
    fn the_heading_turns_the_short_way_round() {
        let mut warp = Warp::new(NOW, Motion { heading: 3.0, ..Motion::default() }, NOW);
        warp.accept(NOW, Motion { heading: -3.0, ..Motion::default() }, NOW + 1);
        for frame in 1..60 {
            let heading = warp.at(NOW + frame * 10_000).heading;
            assert!(heading.abs() >= 2.999, "it swept through {heading}");
        }
    }

    #[test]
    fn a_teapot_that_appears_elsewhere_jumps_there() {
        let here = Motion { position: [0.0, 12.5], ..Motion::default() };
        let there = Motion { position: [0.0, -12.5], ..Motion::default() };
        let mut warp = Warp::new(NOW, here, NOW);
        warp.accept(NOW + 50_000, there, NOW + 10_000);
        assert_eq!(warp.at(NOW + 50_000).position, there.position);
        let near = Motion { position: [1.0, -12.5], ..Motion::default() };
        warp.snap(NOW + 60_000, near, NOW + 20_000);
        assert_eq!(warp.at(NOW + 60_000).position, near.position);
    }

    #[test]
    fn a_dead_owners_teapot_rolls_to_a_stop() {
        let start = Motion { velocity: [TOP_SPEED, 0.0], spin: 1.0, ..Motion::default() };
        let warp = Warp::new(NOW, start, NOW);
        let mut last = warp.at(NOW);
        let mut travelled = 0.0;
        for frame in 1..=1_000 {
            let shown = warp.at(NOW + frame * 16_667);
            let step = distance(shown.position, last.position);
            assert!(step <= TOP_SPEED * 0.017 && length(shown.velocity) <= TOP_SPEED + 1e-3);
            travelled += step;
            last = shown;
        }
        assert!(travelled < TOP_SPEED * (FULL_EXTRAPOLATION + 0.5 * FADE) + 0.1, "{travelled}");
        assert!(length(last.velocity) < 1e-3 && last.spin.abs() < 1e-3);
    }

    #[test]
    fn only_new_samples_and_a_clock_set_back_change_the_goal() {
        let newest = Motion { position: [1.0, 0.0], ..Motion::default() };
        let old = Motion { position: [5.0, 0.0], ..Motion::default() };
        let mut warp = Warp::new(NOW, newest, NOW);
        warp.accept(NOW + 10_000, old, NOW - 100_000);
        warp.accept(NOW + 10_000, old, NOW);
        assert_eq!((warp.sample, warp.sampled_at), (newest, NOW));
        warp.accept(NOW + 10_000, old, NOW - 5_000_000);
        assert_eq!((warp.sample, warp.sampled_at), (old, NOW - 5_000_000));
    }

    #[test]
    fn extreme_clock_values_move_a_teapot_less_than_a_unit() {
        let warp = Warp::new(0, Motion { velocity: [1.0, 0.0], ..Motion::default() }, u64::MAX);
        for now in [0, u64::MAX, 5, u64::MAX] {
            let shown = warp.at(now);
            assert!(length(shown.position) < 1.0, "{shown:?}");
        }
    }
}
