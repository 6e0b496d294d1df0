//! A tab's view of the game every few milliseconds, collected in the page itself, for measurements.
//!
//! Asking over the protocol of DevTools would cost a round trip for each sample, and measure the test's own machine.

use std::time::{Duration, SystemTime};

use serde::Deserialize;

use crate::player::Player;
use crate::status::{Id, distance};

/// Id, owner, stamp and place of an object.
pub type Placed = (Id, Id, (u64, u64), Vec<f64>);

/// One sample of the game.
#[derive(Clone, Debug, Deserialize)]
pub struct Sample {
    /// The time, in milliseconds since 1970 by the machine's clock, which all its processes share.
    pub at: f64,
    /// The session time then, in milliseconds.
    pub session: f64,
    /// The host's term.
    pub term: u64,
    /// The host.
    pub host: Id,
    /// The objects with a place: id, owner, stamp, position.
    pub objects: Vec<Placed>,
}

/// The least movement that counts, in table units. Smaller ones come from rounding, or from a picture that settles.
const MOVED: f64 = 0.02;

const START: &str = r"
clearInterval(window.__sampler);
window.__samples = [];
window.__sampler = setInterval(() => {
  const {term, host, objects, sessionTimeMs} = samovar.status();
  const seen = objects.filter(each => each.position).map(each => [each.id, each.owner, each.stamp, each.position]);
  window.__samples.push({at: performance.timeOrigin + performance.now(), session: sessionTimeMs, term, host, objects: seen});
  if (window.__samples.length > 2000) window.__samples.shift();
}, 15), null";

/// Begins to take samples of a page.
///
/// # Panics
/// The page cannot be asked.
pub async fn start(player: &Player) {
    player.tab().evaluate(START).await;
}

/// All samples so far, the oldest first.
///
/// # Panics
/// The page cannot be asked, or [`start`] was not called.
pub async fn samples(player: &Player) -> Vec<Sample> {
    let samples = player.tab().evaluate("window.__samples").await;
    serde_json::from_value(samples).expect("samples")
}

/// The machine's clock, as [`Sample::at`] counts.
#[must_use]
pub fn now() -> f64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_secs_f64() * 1_000.0
}

/// Returns the time at which a host of a later term than `former` was first seen to move an object that it had taken
/// over. Such an object has a stamp of the new term, and another place than in its first sample with that stamp.
#[must_use]
pub fn moves_under_a_new_host(samples: &[Sample], former: u64) -> Option<f64> {
    let later = || samples.iter().filter(|sample| sample.term > former);
    let moved = |sample: &&Sample| {
        sample.objects.iter().any(|(id, owner, stamp, place)| {
            let first = later().flat_map(|each| &each.objects).find(|each| each.0 == *id && each.2 == *stamp);
            let since = first.map_or(0.0, |first| distance(&first.3, place));
            sample.host == *owner && stamp.0 > former && since > MOVED
        })
    };
    later().find(moved).map(|sample| sample.at)
}

/// The machine's clock at a session time, as [`Sample::at`] counts.
///
/// # Panics
/// There are no samples.
#[must_use]
pub fn wall_clock(samples: &[Sample], session: f64) -> f64 {
    let nearest = samples
        .iter()
        .min_by(|one, other| (one.session - session).abs().total_cmp(&(other.session - session).abs()));
    let nearest = nearest.expect("samples");
    nearest.at + session - nearest.session
}

/// The median. If there are two values in the middle, the lower of them.
///
/// # Panics
/// `values` is empty.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}
