//! The part of a status about the ages of others' data.

use samovar_session::{Session, Spread};
use samovar_wire::{Duration, Time};

use super::json::Json;
use crate::game::Duel;

/// The ages at the four stages.
#[derive(Clone, Copy, Debug)]
pub struct AgeStatus([Stage; 4]);

/// The ages at one stage, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Stage {
    samples: u32,
    mean: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
}

/// The stages of a state on its way to the screen.
const STAGES: [&str; 4] = ["sent", "received", "applied", "drawn"];

impl Stage {
    fn of(spread: &Spread) -> Self {
        let millis = |time: Option<Duration>| time.map(Duration::as_millis_f64);
        Self {
            samples: spread.samples(),
            mean: millis(spread.mean()),
            p50: millis(spread.percentile(0.5)),
            p99: millis(spread.percentile(0.99)),
        }
    }
}

impl AgeStatus {
    pub(super) fn of(session: &Session, duel: &Duel, now: Time) -> Self {
        let (ages, shown) = (session.ages(), duel.ages());
        let stages = [&ages.sent, &ages.received, &shown.applied, &shown.drawn];
        Self(stages.map(|ages| Stage::of(&ages.over(now))))
    }

    pub(super) fn write(&self, json: &mut Json) {
        for (name, stage) in STAGES.into_iter().zip(self.0) {
            json.key(name).object(|json| {
                json.key("samples").count(stage.samples);
                json.key("meanMs").maybe(stage.mean, Json::number);
                json.key("p50Ms").maybe(stage.p50, Json::number);
                json.key("p99Ms").maybe(stage.p99, Json::number);
            });
        }
    }
}
