//! Guesses of an object's present numbers from those that a peer has (PROTOCOL §4.6).
//!
//! Both ends must guess the same to the last bit, natively and in a browser: only operations that IEEE 754 defines
//! exactly are used (+, −, ×, ÷, √), never a library's sine.

use crate::past::Moment;
use crate::schema::{Coding, Field, Motion};

/// Seconds in a unit of the wire's sampling times.
pub(crate) const UNIT: f64 = 128e-6;

/// Moments older than this are not extrapolated: one second, in units.
const CARRIED_MAX: f64 = 7_812.0;

/// √½. Only the largest component of a unit quaternion can be larger.
const ROOT_HALF: f64 = core::f64::consts::FRAC_1_SQRT_2;

/// The weight of each of an object's past moments, which depends on their times alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weights {
    /// How many moments count.
    order: usize,
    /// The time from the second newest moment to the newest, and from there to now, in units.
    gap: f64,
    ahead: f64,
    /// Weights of a polynomial through the moments, evaluated now; newest moment first.
    value: [f64; 3],
    /// Weights, in seconds, of the integral of a rate from the newest moment to now. They belong to the rate now, at
    /// the newest moment and at the one before.
    ahead_of: [f64; 3],
    /// Weights, in seconds, of the integral of a rate from the second newest moment to the newest.
    before: [f64; 3],
}

/// The times of a guess, in units: the present, those of the moments (newest first), and how many moments count.
pub(crate) type Times = (u64, [u64; 3], usize);

impl Weights {
    /// The weights for a guess at these times.
    pub(crate) fn new((now, moments, count): Times) -> Self {
        let since = |earlier: u64, later: u64| later.wrapping_sub(earlier) as i64 as f64;
        let (ahead, gap) = (since(moments[0], now), since(moments[1], moments[0]));
        let far = since(moments[2], moments[0]);
        let fits = |from: f64, to: f64| to > from && to <= CARRIED_MAX;
        let mut weights = Self { order: 1, gap, ahead: 0.0, value: [1.0, 0.0, 0.0], ..Self::default() };
        if !fits(0.0, ahead) {
            return weights;
        }
        let (x, h) = (ahead, gap);
        weights.ahead = ahead;
        weights.ahead_of = [x / 2.0 * UNIT, x / 2.0 * UNIT, 0.0];
        if count < 2 || !fits(0.0, gap) {
            return weights;
        }
        weights.order = 2;
        weights.value = [1.0 + x / h, -x / h, 0.0];
        weights.ahead_of = [
            x * (2.0 * x + 3.0 * h) / (6.0 * (x + h)) * UNIT,
            x * (x + 3.0 * h) / (6.0 * h) * UNIT,
            -(x * x * x) / (6.0 * h * (h + x)) * UNIT,
        ];
        weights.before = [
            -(h * h * h) / (6.0 * x * (x + h)) * UNIT,
            h * (h + 3.0 * x) / (6.0 * x) * UNIT,
            h * (2.0 * h + 3.0 * x) / (6.0 * (x + h)) * UNIT,
        ];
        if count > 2 && fits(gap, far) {
            weights.order = 3;
            weights.value = [
                (x + h) * (x + far) / (h * far),
                -(x * (x + far)) / (h * (far - h)),
                x * (x + h) / (far * (far - h)),
            ];
        }
        weights
    }
}

/// The newest moments that a peer has of an object, newest first, and how much each counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis<'a> {
    moments: [Moment<'a>; 3],
    weights: Weights,
}

impl<'a> Basis<'a> {
    /// The basis for a guess at `sampled`. Only the first `count` of `moments` are used, one to three. `last` caches
    /// the weights, which mostly stay the same.
    pub(crate) fn new(
        moments: [Moment<'a>; 3],
        count: usize,
        sampled: u64,
        last: &mut Option<(Times, Weights)>,
    ) -> Self {
        let times = (sampled, moments.map(|moment| moment.sampled), count);
        let weights = match last {
            Some((known, weights)) if *known == times => *weights,
            _ => last.insert((times, Weights::new(times))).1,
        };
        Self { moments, weights }
    }

    fn number(&self, age: usize, at: usize) -> f64 {
        f64::from(self.moments[age].numbers[at])
    }

    /// A number of the newest moment.
    pub(crate) const fn then(&self, at: usize) -> i32 {
        self.moments[0].numbers[at]
    }

    fn extrapolate(&self, at: usize) -> f64 {
        let value = &self.weights.value;
        let newest = self.number(0, at) * value[0];
        match self.weights.order {
            1 => newest,
            2 => newest + self.number(1, at) * value[1],
            _ => newest + self.number(1, at) * value[1] + self.number(2, at) * value[2],
        }
    }

    /// The integral of a rate, in its steps times seconds. The rate is assumed to follow the polynomial through its
    /// values now and at the newest moments.
    fn integral(&self, weights: &[f64; 3], at: usize, now: i32) -> f64 {
        let two = f64::from(now) * weights[0] + self.number(0, at) * weights[1];
        if self.weights.order < 2 { two } else { two + self.number(1, at) * weights[2] }
    }

    /// How far a field with this rate moved from the newest moment to now, in steps of the rate times seconds.
    fn went(&self, rate_at: usize, now: i32) -> f64 {
        self.integral(&self.weights.ahead_of, rate_at, now)
    }

    /// The present value of a field that moves at a rate; `scale` is one step of the rate in the field's steps. With
    /// two moments it is the mean of the predictions from each, because an owner uses two when a single one is noisy.
    fn carried(&self, at: usize, rate_at: usize, now: i32, scale: f64) -> f64 {
        let went = self.went(rate_at, now);
        let newest = self.number(0, at) + went * scale;
        if self.weights.order != 2 {
            return newest;
        }
        let before = self.integral(&self.weights.before, rate_at, now);
        (newest + self.number(1, at) + (before + went) * scale) / 2.0
    }
}

/// The nearest whole number, saturated to `i32`; NaN becomes zero.
fn nearest(value: f64) -> i32 {
    (if value < 0.0 { value - 0.5 } else { value + 0.5 }) as i32
}

/// Guesses the numbers of a field other than a rotation. `now` holds the present numbers that are known already,
/// among them the field's rate.
pub(crate) fn predict(field: &Field, basis: &Basis<'_>, now: &[i32], guess: &mut [i32; 4]) {
    let guesses = guess.iter_mut().zip(field.at..field.at + field.coding.width());
    match field.coding {
        Coding::Grid { min, max, motion: Motion::Smooth, .. } => {
            guesses.for_each(|(guess, at)| *guess = nearest(basis.extrapolate(at)).clamp(min, max));
        }
        Coding::Grid { min, max, motion: Motion::Rated(_), .. } => {
            let rates = field.rate.at..;
            for ((guess, at), rate) in guesses.zip(rates) {
                *guess = nearest(basis.carried(at, rate, now[rate], field.rate.scale)).clamp(min, max);
            }
        }
        Coding::Angle { turn, motion: Motion::Rated(_) } => {
            let rate = field.rate.at;
            let steps = nearest(basis.went(rate, now[rate]) * field.rate.scale);
            guess[0] = basis.then(field.at).wrapping_add(steps).rem_euclid(turn);
        }
        Coding::Angle { turn, motion: Motion::Smooth } if basis.weights.order > 1 => {
            let (then, before) = (basis.then(field.at), basis.moments[1].numbers[field.at]);
            let went = f64::from(wrap(then.wrapping_sub(before), turn));
            guess[0] =
                then.wrapping_add(nearest(went * (basis.weights.ahead / basis.weights.gap))).rem_euclid(turn);
        }
        _ => guesses.for_each(|(guess, at)| *guess = basis.then(at)),
    }
}

/// A difference of angles, wrapped to the shorter way round.
pub(crate) fn wrap(difference: i32, turn: i32) -> i32 {
    let ahead = difference.rem_euclid(turn);
    if ahead > turn / 2 { ahead - turn } else { ahead }
}

/// Guesses a rotation as a quaternion, not yet rounded to steps.
pub(crate) fn predict_rotation(field: &Field, basis: &Basis<'_>, now: &[i32]) -> [f64; 4] {
    let Coding::Rotation { limit, motion } = field.coding else { return [0.0, 0.0, 0.0, 1.0] };
    let then = unfold(&basis.moments[0].numbers[field.at..][..4], limit);
    let Motion::Rated(_) = motion else { return then };
    let half = |axis: usize| {
        let rate = field.rate.at + axis;
        basis.went(rate, now[rate]) * field.rate.scale
    };
    let [x, y, z] = [half(0), half(1), half(2)];
    let angle = x * x + y * y + z * z;
    // A guess that turns by about half a turn or more is not used.
    if angle > 2.5 {
        return then;
    }
    // The sine divided by its angle, and the cosine, by their series. `angle` is the square of half the angle turned.
    let sine = 1.0 - angle / 6.0 * (1.0 - angle / 20.0 * (1.0 - angle / 42.0 * (1.0 - angle / 72.0)));
    let cosine = 1.0 - angle / 2.0 * (1.0 - angle / 12.0 * (1.0 - angle / 30.0 * (1.0 - angle / 56.0)));
    multiply([x * sine, y * sine, z * sine, cosine], then)
}

fn multiply(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (a, b);
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// The quaternion for which four numbers of a rotation stand.
fn unfold(numbers: &[i32], limit: i32) -> [f64; 4] {
    let largest = (numbers[0] & 3) as usize;
    let mut rest = numbers[1..].iter().map(|&n| f64::from(n) / f64::from(limit) * ROOT_HALF);
    let mut quaternion = [0.0; 4];
    let mut squares = 0.0;
    for (index, component) in quaternion.iter_mut().enumerate() {
        if index != largest {
            *component = rest.next().unwrap_or(0.0);
            squares += *component * *component;
        }
    }
    quaternion[largest] = (1.0_f64 - squares).max(0.0).sqrt();
    quaternion
}

/// The index of the component with the largest absolute value.
pub(crate) fn largest(quaternion: &[f64; 4]) -> i32 {
    let mut largest = 0;
    for index in 1..4 {
        if quaternion[index].abs() > quaternion[largest].abs() {
            largest = index;
        }
    }
    largest as i32
}

/// The three numbers of a guess when `left_out` is the component that is left out.
pub(crate) fn fold(quaternion: &[f64; 4], left_out: i32, limit: i32) -> [i32; 3] {
    let left_out = (left_out & 3) as usize;
    let sign = if quaternion[left_out] < 0.0 { -1.0 } else { 1.0 };
    let scale = sign * f64::from(limit) / ROOT_HALF;
    let mut numbers = [0; 3];
    let rest = quaternion.iter().enumerate().filter(|&(index, _)| index != left_out);
    for (number, (_, component)) in numbers.iter_mut().zip(rest) {
        *number = nearest(component * scale).clamp(-limit, limit);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Schema, SchemaBuilder};
    use samovar_wire::Kind;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn schema() -> Schema {
        let grid = |width, step, motion| Coding::Grid { width, min: -100_000, max: 100_000, step, motion };
        let mut builder = SchemaBuilder::default();
        builder.field("place", grid(1, 0.001, Motion::Rated(1)));
        builder.field("velocity", grid(1, 0.01, Motion::Smooth));
        builder.field("heading", Coding::Angle { turn: 3_600, motion: Motion::Rated(3) });
        builder.field("turning", grid(1, 0.01, Motion::Held));
        builder.field("pose", Coding::Rotation { limit: 1_000, motion: Motion::Rated(5) });
        builder.field("spin", grid(3, 0.01, Motion::Held));
        builder.build(Kind(1))
    }

    /// The numbers, after `ms` milliseconds, of an object that brakes from 10 m/s by 5 m/s², turns by 2 rad/s and
    /// spins about z by 3 rad/s.
    fn numbers(ms: f64) -> Vec<i32> {
        let t = ms / 1_000.0;
        let heading = nearest(2.0 * t / core::f64::consts::TAU * 3_600.0).rem_euclid(3_600);
        let half = 1.5 * t;
        let pose = fold(&[0.0, 0.0, half.sin(), half.cos()], 3, 1_000);
        let mut numbers = vec![
            nearest((10.0 * t - 2.5 * t * t) * 1_000.0),
            nearest((10.0 - 5.0 * t) * 100.0),
            heading,
            200,
            3,
        ];
        numbers.extend(pose);
        numbers.extend([0, 0, 300]);
        numbers
    }

    fn unit(ms: f64) -> u64 {
        (ms / 1_000.0 / UNIT).round() as u64
    }

    #[test]
    fn motion_by_a_rate_is_guessed_within_a_step() {
        let schema = schema();
        let past: Vec<_> = [160.0, 80.0, 0.0].iter().map(|&ms| (unit(ms), numbers(ms))).collect();
        let moments = core::array::from_fn(|i| Moment { sampled: past[i].0, numbers: &past[i].1 });
        let truth = numbers(240.0);
        for count in 1..=3 {
            let basis = Basis::new(moments, count, unit(240.0), &mut None);
            let mut now = vec![0; truth.len()];
            for (_, field) in schema.coded() {
                let slack = if field.name == "velocity" && count == 1 { 40 } else { 2 };
                let mut guess = [0; 4];
                if let Coding::Rotation { limit, .. } = field.coding {
                    let quaternion = predict_rotation(field, &basis, &now);
                    assert_eq!(largest(&quaternion), 3);
                    guess = [3, 0, 0, 0];
                    guess[1..].copy_from_slice(&fold(&quaternion, 3, limit));
                } else {
                    predict(field, &basis, &now, &mut guess);
                }
                for place in 0..field.coding.width() {
                    let at = field.at + place;
                    assert!(
                        (guess[place] - truth[at]).abs() <= slack,
                        "{} by {count}: {guess:?}",
                        field.name
                    );
                    now[at] = truth[at];
                }
            }
        }
    }

    #[test]
    fn old_or_future_moments_are_not_extrapolated() {
        let schema = schema();
        let (now, before) = (numbers(100.0), numbers(0.0));
        for sampled in [0, 50, unit(5_000.0), u64::MAX] {
            let moment = |sampled, numbers| Moment { sampled, numbers };
            let moments = [moment(unit(100.0), &now[..]), moment(0, &before[..]), moment(0, &before[..])];
            let mut guess = [0; 4];
            let basis = Basis::new(moments, 3, sampled, &mut None);
            predict(&schema.fields()[0], &basis, &now, &mut guess);
            assert_eq!(guess[0], now[0]);
        }
    }

    #[test]
    fn wrap_takes_the_shorter_way_round() {
        assert_eq!((wrap(3_599, 3_600), wrap(-3_599, 3_600), wrap(1_800, 3_600)), (-1, 1, 1_800));
        assert_eq!(wrap(i32::MIN, i32::MAX), -1);
    }
}
