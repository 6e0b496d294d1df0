//! The paths that the objects of workload W follow.

use crate::rng::Rng;
use crate::state::State;

/// Ticks per second.
pub const TICK_RATE: f64 = 60.0;

/// The arena reaches this far from its centre along each axis, in metres.
const ARENA: f64 = 64.0;
const AMPLITUDE: (f64, f64) = (10.0, 20.0);
const SPEED_MAX: f64 = 15.0;
/// Radians per second.
const SPIN: (f64, f64) = (0.5, 3.0);

/// Standard deviations of the noise in the noisy variant, which is drawn anew each tick: metres and metres per second
/// along each axis, radians about a random axis.
const NOISE_POSITION: f64 = 0.01;
const NOISE_VELOCITY: f64 = 0.01;
const NOISE_ROTATION: f64 = 0.01;

/// The path of one object: along each axis a sine of its own amplitude and frequency, and a spin about a fixed axis.
#[derive(Clone, Debug)]
struct Path {
    centre: [f64; 3],
    amplitude: [f64; 3],
    frequency: [f64; 3],
    phase: [f64; 3],
    axis: [f64; 3],
    spin: f64,
}

impl Path {
    fn new(rng: &mut Rng) -> Self {
        let amplitude = [(); 3].map(|()| rng.between(AMPLITUDE.0, AMPLITUDE.1));
        // The speed along each axis is bounded so that all three together stay below the maximum.
        let frequency = amplitude.map(|a| rng.between(0.4, 1.0) * SPEED_MAX / (a * 3_f64.sqrt()));
        Self {
            centre: amplitude.map(|a| rng.between(a - ARENA + 1.0, ARENA - 1.0 - a)),
            amplitude,
            frequency,
            phase: [(); 3].map(|()| rng.between(0.0, std::f64::consts::TAU)),
            axis: rng.direction(),
            spin: rng.between(SPIN.0, SPIN.1),
        }
    }

    fn at(&self, seconds: f64) -> ([f64; 3], [f64; 3], [f64; 4]) {
        let angle = |k: usize| self.frequency[k] * seconds + self.phase[k];
        let position = [0, 1, 2].map(|k| self.centre[k] + self.amplitude[k] * angle(k).sin());
        let velocity = [0, 1, 2].map(|k| self.amplitude[k] * self.frequency[k] * angle(k).cos());
        (position, velocity, turn(self.axis, self.spin * seconds))
    }
}

/// All objects of one run.
#[derive(Clone, Debug)]
pub struct Motion {
    paths: Vec<Path>,
    noise: Option<Rng>,
}

impl Motion {
    /// The paths of a seed.
    #[must_use]
    pub fn new(seed: u64, objects: usize, is_noisy: bool) -> Self {
        let mut rng = Rng::new(seed, 1);
        let paths = (0..objects).map(|_| Path::new(&mut rng)).collect();
        Self { paths, noise: is_noisy.then(|| Rng::new(seed, 2)) }
    }

    /// Writes the states of the first objects at a tick, as many as `states` has room for.
    pub fn write(&mut self, tick: u64, states: &mut [State]) {
        for (path, state) in self.paths.iter().zip(states) {
            let (mut position, mut velocity, mut rotation) = path.at(tick as f64 / TICK_RATE);
            if let Some(rng) = &mut self.noise {
                position = position.map(|p| p + NOISE_POSITION * rng.normal());
                velocity = velocity.map(|v| v + NOISE_VELOCITY * rng.normal());
                rotation = product(turn(rng.direction(), NOISE_ROTATION * rng.normal()), rotation);
            }
            *state = State {
                position: position.map(|x| x as f32),
                velocity: velocity.map(|x| x as f32),
                rotation: rotation.map(|x| x as f32),
                spin: path.axis.map(|x| (x * path.spin) as f32),
            };
        }
    }

    /// The states of all objects at a tick.
    #[must_use]
    pub fn states(&mut self, tick: u64) -> Vec<State> {
        let nothing = State { position: [0.0; 3], velocity: [0.0; 3], rotation: [0.0; 4], spin: [0.0; 3] };
        let mut states = vec![nothing; self.paths.len()];
        self.write(tick, &mut states);
        states
    }
}

fn turn(axis: [f64; 3], angle: f64) -> [f64; 4] {
    let (sin, cos) = (angle / 2.0).sin_cos();
    [axis[0] * sin, axis[1] * sin, axis[2] * sin, cos]
}

fn product([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_arena_and_below_the_top_speed() {
        let mut motion = Motion::new(7, 64, false);
        for tick in 0..2_000 {
            for state in motion.states(tick) {
                assert!(state.position.iter().all(|x| x.abs() <= 64.0));
                assert!(state.velocity.iter().map(|v| v * v).sum::<f32>().sqrt() <= 15.01);
                assert!((state.rotation.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn velocity_is_the_derivative_of_the_position() {
        let mut motion = Motion::new(7, 4, false);
        for (before, after) in motion.states(100).iter().zip(motion.states(101)) {
            for k in 0..3 {
                let moved = (after.position[k] - before.position[k]) * TICK_RATE as f32;
                assert!((moved - (before.velocity[k] + after.velocity[k]) / 2.0).abs() < 0.02);
            }
        }
    }
}
