//! How objects of other members are shown between two updates. The newest sample is extrapolated by its rates for a
//! moment. The error of what was shown before fades by warping ([`samovar_session::objects::warp`]).

use samovar_session::Object;
use samovar_session::objects::warp::Offset;
use samovar_session::objects::{Coding, Field, Motion, Schema};
use samovar_wire::Kind;

/// For how long a sample is extrapolated, in seconds. Owners of moving objects send samples more often than this.
const FULL: f64 = 0.3;
/// The time in which the shown numbers then go back to the sample, in seconds. An owner sends no samples of an object
/// at rest, so the object is shown where it rests. All members show a lost player's object at the same place.
const BACK: f64 = 0.4;
/// How far back a sample from the future is extrapolated, in seconds: the members' clocks differ a little.
const LEAD: f64 = 0.25;
/// A number that was shown wrongly by more than this part of its range jumps.
const JUMP: f64 = 0.125;

/// The numbers of an object of another member, as they are shown.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    kind: Kind,
    revision: u64,
    sampled: f64,
    numbers: Vec<f64>,
    /// The speeds of the numbers, in steps a second.
    rates: Vec<f64>,
    /// The shown numbers minus the extrapolated ones, in steps, when the sample arrived.
    offsets: Vec<Offset>,
    arrived: f64,
}

/// Whether a field of the schema moves between two updates.
pub(crate) fn moves(schema: &Schema) -> bool {
    schema.fields().iter().any(is_moving)
}

const fn is_moving(field: &Field) -> bool {
    !matches!(field.coding.motion(), Motion::Held) && !matches!(field.coding, Coding::Rotation { .. })
}

/// For how many seconds a number moves on at its speed, if its sample is `age` seconds old.
fn carried(age: f64) -> f64 {
    let back = (age - FULL).clamp(0.0, BACK) / BACK;
    age.clamp(-LEAD, FULL) * (1.0 - back)
}

/// How fast a number moves at its speed, if its sample is `age` seconds old: the change of [`carried`].
fn pace(age: f64) -> f64 {
    match age {
        age if (-LEAD..FULL).contains(&age) => 1.0,
        age if (FULL..FULL + BACK).contains(&age) => -FULL / BACK,
        _ => 0.0,
    }
}

/// A number that was shown wrongly by more than this many steps jumps.
fn jump(field: &Field) -> f64 {
    let (least, most) = field.coding.range(0);
    JUMP * (f64::from(most) - f64::from(least))
}

/// The difference of two numbers; for an angle, the shorter way around.
fn difference(field: &Field, from: f64, to: f64) -> f64 {
    let plain = to - from;
    match field.coding {
        Coding::Angle { turn, .. } => {
            let turn = f64::from(turn);
            plain - (plain / turn).round() * turn
        }
        _ => plain,
    }
}

impl Track {
    pub(crate) fn new(schema: &Schema, object: &Object, now: f64) -> Self {
        let numbers: Vec<_> = object.numbers().iter().map(|&number| f64::from(number)).collect();
        let rates = vec![0.0; numbers.len()];
        let mut track = Self {
            kind: object.traits().kind,
            revision: object.revision(),
            sampled: seconds(object),
            offsets: vec![Offset::default(); numbers.len()],
            numbers,
            rates,
            arrived: now,
        };
        track.take_rates(schema, None);
        track
    }

    /// Whether this track follows `object`. A member that breaks the rules may announce an object under another kind
    /// than before.
    pub(crate) fn is_of(&self, object: &Object) -> bool {
        self.kind == object.traits().kind && self.numbers.len() == object.numbers().len()
    }

    /// Takes a newer sample of the object that this track follows ([`Self::is_of`]), if there is one. Returns whether
    /// there was one.
    pub(crate) fn accept(&mut self, schema: &Schema, object: &Object, now: f64) -> bool {
        if self.revision == object.revision() {
            return false;
        }
        let (before, speeds) = (self.show(schema, now), self.speeds(now));
        let (sampled, numbers) = (self.sampled, core::mem::take(&mut self.numbers));
        self.revision = object.revision();
        self.sampled = seconds(object);
        self.numbers = object.numbers().iter().map(|&number| f64::from(number)).collect();
        self.take_rates(schema, Some((sampled, &numbers)));
        self.offsets.fill(Offset::default());
        self.arrived = now;
        let (after, goal_speeds) = (self.show(schema, now), self.speeds(now));
        for field in schema.fields().iter().filter(|field| is_moving(field)) {
            let places = field.at..field.at + field.coding.width();
            let offset = |at: usize| Offset {
                value: difference(field, after[at], before[at]) as f32,
                speed: (speeds[at] - goal_speeds[at]) as f32,
            };
            let offsets: Vec<_> = places.clone().map(offset).collect();
            if offsets.iter().all(|offset| f64::from(offset.value.abs()) <= jump(field)) {
                self.offsets[places].copy_from_slice(&offsets);
            }
        }
        true
    }

    fn take_rates(&mut self, schema: &Schema, former: Option<(f64, &[f64])>) {
        for field in schema.fields().iter().filter(|field| is_moving(field)) {
            for place in 0..field.coding.width() {
                let at = field.at + place;
                self.rates[at] = match (schema.rate_of(field), former) {
                    (Some((rate_at, scale)), _) => self.numbers[rate_at + place] * scale,
                    (None, Some((sampled, numbers))) if self.sampled > sampled => {
                        // A former sample that is too old says little about the speed now, so no speed is assumed.
                        let span = (self.sampled - sampled).max(0.02);
                        if span > FULL {
                            0.0
                        } else {
                            difference(field, numbers[at], self.numbers[at]) / span
                        }
                    }
                    _ => 0.0,
                };
            }
        }
    }

    /// The numbers to show at session time `now`, as an object holds them.
    pub(crate) fn steps(&self, schema: &Schema, now: f64) -> impl Iterator<Item = i32> {
        let mut steps: Vec<_> = self.show(schema, now).into_iter().map(|step| step.round() as i32).collect();
        for field in schema.fields() {
            // A whole turn is the same as no turn.
            if let Coding::Angle { turn, .. } = field.coding {
                steps[field.at] = steps[field.at].rem_euclid(turn);
            }
        }
        steps.into_iter()
    }

    /// The speeds of the shown numbers at session time `now`, in steps a second.
    fn speeds(&self, now: f64) -> Vec<f64> {
        let (pace, elapsed) = (pace(now - self.sampled), (now - self.arrived) as f32);
        let offsets = self.offsets.iter().map(|offset| f64::from(offset.after(elapsed).speed));
        self.rates.iter().zip(offsets).map(|(rate, offset)| rate * pace + offset).collect()
    }

    /// The numbers to show at session time `now`, in fractions of a step.
    fn show(&self, schema: &Schema, now: f64) -> Vec<f64> {
        let mut shown = self.numbers.clone();
        let ahead = carried(now - self.sampled);
        let elapsed = (now - self.arrived) as f32;
        for field in schema.fields().iter().filter(|field| is_moving(field)) {
            for place in 0..field.coding.width() {
                let at = field.at + place;
                let value =
                    shown[at] + self.rates[at] * ahead + f64::from(self.offsets[at].after(elapsed).value);
                let (least, most) = field.coding.range(place);
                shown[at] = match field.coding {
                    Coding::Angle { turn, .. } => value.rem_euclid(f64::from(turn)),
                    _ => value.max(f64::from(least)).min(f64::from(most)),
                };
            }
        }
        shown
    }
}

fn seconds(object: &Object) -> f64 {
    object.sampled().as_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_without_new_samples_returns_to_its_last_one() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(carried(0.1), 0.1) && close(carried(FULL), FULL));
        assert!(close(carried(FULL + BACK / 2.0), FULL / 2.0));
        assert!(close(carried(FULL + BACK), 0.0) && close(carried(60.0), 0.0));
        assert!(close(carried(-60.0), -LEAD));
    }

    #[test]
    fn angle_that_rounds_to_a_whole_turn_is_shown_as_zero() {
        let mut fields = samovar_session::objects::SchemaBuilder::default();
        fields.field("heading", Coding::Angle { turn: 100, motion: Motion::Smooth });
        let schema = fields.build(Kind(1));
        let numbers = vec![99.8];
        let track = Track {
            kind: Kind(1),
            revision: 0,
            sampled: 0.0,
            numbers,
            rates: vec![0.0],
            offsets: vec![Offset::default()],
            arrived: 0.0,
        };
        assert_eq!(track.steps(&schema, 0.0).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn angles_turn_the_shorter_way() {
        let coding = Coding::Angle { turn: 100, motion: Motion::Smooth };
        let mut fields = samovar_session::objects::SchemaBuilder::default();
        fields.field("heading", coding);
        let schema = fields.build(Kind(1));
        let field = &schema.fields()[0];
        assert_eq!(difference(field, 95.0, 5.0), 10.0);
        assert_eq!(difference(field, 5.0, 95.0), -10.0);
        assert!(moves(&schema));
    }
}
