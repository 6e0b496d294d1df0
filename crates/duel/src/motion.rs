//! Position and velocities of a teapot at one moment, published by its owner and extrapolated by all others.

use samovar_session::objects::Replicate;

use crate::angle::sin;
use crate::arena::Spawn;
use crate::plane::{Vec2, add, rotate, scale, wrap_angle};

/// The step in which positions are sent, in table units.
pub(crate) const PLACE_STEP: f64 = 0.00125;

/// The step in which velocities are sent, in table units per second.
pub(crate) const SPEED_STEP: f64 = 0.005;

/// Where a teapot is, where it points, and how both change.
///
/// The derive attributes set the encoding: the numbers are rounded, and predicted from what the receiver has. The
/// ranges are wider than a teapot's limits; [`Motion::encode`] and [`Motion::decode`] enforce the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
#[replicate(crate = samovar_session::objects)]
pub struct Motion {
    /// The centre of the body, in table units.
    #[replicate(range = 41.0, precision = PLACE_STEP, rate = velocity, place)]
    pub position: Vec2,
    /// How the position really changes, in units per second: along the wall while the teapot slides on one.
    #[replicate(range = 16.0, precision = SPEED_STEP, smooth)]
    pub velocity: Vec2,
    /// Where the spout points, in radians from −π to π.
    #[replicate(angle, precision = 0.002, rate = spin)]
    pub heading: f32,
    /// How the heading changes, in radians per second.
    #[replicate(range = 8.0, precision = 0.005, smooth)]
    pub spin: f32,
}

impl Motion {
    /// The motion of a teapot that stands still at a spawn point.
    pub fn at_rest(spawn: Spawn) -> Self {
        Self { position: spawn.position, heading: spawn.heading, ..Self::default() }
    }

    /// The motion `seconds` later (or earlier, when negative) if the controls stay the same.
    ///
    /// This is dead reckoning with both velocities: the velocity turns with the spin, so a teapot in a curve is
    /// expected further along its circle and not on the tangent.
    pub fn extrapolated(&self, seconds: f32) -> Self {
        let angle = self.spin * seconds;
        // The chord of an arc is turned by half the arc's angle, and is a little shorter than the arc. Without a
        // turn, chord and arc are equal.
        let half = 0.5 * angle;
        let chord = if half.abs() > 1e-4 { sin(half) / half } else { 1.0 };
        let travelled = rotate(scale(self.velocity, seconds * chord), half);
        Self {
            position: add(self.position, travelled),
            velocity: rotate(self.velocity, angle),
            heading: wrap_angle(self.heading + angle),
            spin: self.spin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::{distance, length};
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn any(rng: &mut Rng) -> Motion {
        Motion {
            position: [rng.between(-15.0, 15.0), rng.between(-15.0, 15.0)],
            velocity: [rng.between(-7.0, 7.0), rng.between(-7.0, 7.0)],
            heading: rng.between(-3.0, 3.0),
            spin: rng.between(-3.0, 3.0),
        }
    }

    #[test]
    fn many_small_extrapolations_equal_one_large_one() {
        let mut rng = Rng::new(11);
        for _ in 0..500 {
            let start = any(&mut rng);
            let seconds = rng.between(-0.6, 0.6);
            let whole = start.extrapolated(seconds);
            let parts = (0..10).fold(start, |motion, _| motion.extrapolated(seconds / 10.0));
            assert!(distance(whole.position, parts.position) < 1e-3, "{start:?} over {seconds}");
            assert!(distance(whole.velocity, parts.velocity) < 1e-3);
            assert!(wrap_angle(whole.heading - parts.heading).abs() < 1e-4);
            assert!((length(whole.velocity) - length(start.velocity)).abs() < 1e-3);
        }
    }

    #[test]
    fn extrapolating_there_and_back_keeps_the_position() {
        let mut rng = Rng::new(12);
        for _ in 0..500 {
            let start = any(&mut rng);
            let back = start.extrapolated(0.5).extrapolated(-0.5);
            assert!(distance(start.position, back.position) < 1e-3);
        }
    }

    #[test]
    fn a_full_circle_leads_back_to_its_start() {
        let circling = Motion { velocity: [7.0, 0.0], spin: std::f32::consts::TAU, ..Motion::default() };
        assert!(distance(circling.extrapolated(1.0).position, [0.0, 0.0]) < 1e-4);
        // After half a circle the teapot is a diameter away.
        let across = circling.extrapolated(0.5);
        assert!(distance(across.position, [0.0, 7.0 / std::f32::consts::PI]) < 1e-3, "{across:?}");
        assert!(distance(across.velocity, [-7.0, 0.0]) < 1e-3);
    }
}
