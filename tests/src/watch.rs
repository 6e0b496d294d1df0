//! A tab's observations of another player, made in the page itself every few milliseconds. They are the path, the
//! silence, the age of the player's state, and the reliable messages in each direction.

use std::time::Duration;

use serde::Deserialize;

use crate::player::Player;
use crate::wait;

/// The observations of the other player since [`start`].
#[derive(Clone, Debug, Deserialize)]
pub struct Watch {
    /// Each path and its start, in milliseconds since 1970 by the machine's clock. The newest is the last.
    pub paths: Vec<(f64, String)>,
    /// All observations, the oldest first.
    pub looks: Vec<Look>,
}

/// One observation. All times are in milliseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Look {
    /// The time, by the machine's clock.
    pub at: f64,
    /// The time that the observation took. If the page was suspended meanwhile, its values are not exact.
    pub took: f64,
    /// The session time.
    pub session: f64,
    /// The age of the newest update of the other's teapot; `None` while it has no teapot.
    pub age: Option<f64>,
    /// The time since this player's teapot was sampled.
    pub own: Option<f64>,
    /// The time since the other was last heard.
    pub silence: f64,
    /// The round trip.
    pub rtt: Option<f64>,
}

impl Watch {
    /// The path now.
    #[must_use]
    pub fn path(&self) -> &str {
        self.paths.last().map_or("none", |(_, path)| path)
    }

    /// The first time since `from` at which the path was another than this one.
    #[must_use]
    pub fn left(&self, path: &str, from: f64) -> Option<f64> {
        self.paths.iter().find(|(at, each)| *at >= from && each != path).map(|(at, _)| *at)
    }

    /// The longest silence of the other player since `from`.
    #[must_use]
    pub fn silence(&self, from: f64) -> f64 {
        self.looks.iter().filter(|look| look.at >= from).map(|look| look.silence).fold(0.0, f64::max)
    }
}

/// Observes the other player every 10 ms. The time comes from the page's own clock, which counts from its start,
/// because the system's clock may be set meanwhile.
const START: &str = r"(name => {
clearInterval(window.__watcher);
window.__watch = {paths: [], looks: []};
window.__watcher = setInterval(() => {
  const began = performance.now();
  const {members, objects, peer, sessionTimeMs: session} = samovar.status();
  const other = members.find(each => each.name === name);
  const youngest = owner => {
    const ages = objects.filter(each => each.kind === 'teapot' && each.owner === owner).map(each => each.ageMs);
    return ages.length ? Math.min(...ages) : null;
  };
  const took = performance.now() - began, at = performance.timeOrigin + began + took / 2;
  const {paths, looks} = window.__watch;
  const path = other ? other.path : 'none';
  if (!paths.length || paths[paths.length - 1][1] !== path) paths.push([at, path]);
  if (other) looks.push({at, took, session, age: youngest(other.peer), own: youngest(peer), silence: other.silenceMs ?? 0, rtt: other.rttMs});
  if (looks.length > 20000) looks.shift();
}, 10); })";

/// Begins to observe the member with this name.
///
/// # Panics
/// The page cannot be asked.
pub async fn start(player: &Player, name: &str) {
    player.tab().evaluate(&format!("{START}({name:?}), null")).await;
}

/// Returns all observations so far.
///
/// # Panics
/// The page cannot be asked, or [`start`] was not called.
pub async fn seen(player: &Player) -> Watch {
    let seen = player.tab().evaluate("window.__watch").await;
    serde_json::from_value(seen).expect("a watch")
}

/// Waits until each player reaches the other by one of these paths.
///
/// # Panics
/// The paths are not as wanted in time.
pub async fn paths_become(pair: (&Player, &Player), wanted: &[&str], within: Duration) {
    wait::until(&format!("the paths are of {wanted:?}"), within, async || {
        let (one, other) = tokio::join!(seen(pair.0), seen(pair.1));
        let is_wanted = |watch: &Watch| wanted.contains(&watch.path());
        if is_wanted(&one) && is_wanted(&other) {
            return Ok(());
        }
        Err(format!("{:?} and {:?}", one.paths, other.paths))
    })
    .await;
}

/// The numbers of reliable messages that this player has sent to the only other member, and received from it.
async fn reliable(player: &Player) -> (u64, u64) {
    let status = player.status().await;
    let counts = status.others().find_map(|other| other.reliable);
    counts.unwrap_or_else(|| panic!("no link in {status}"))
}

/// Checks that neither has received more reliable messages than the other has sent.
///
/// # Panics
/// A message came twice.
pub async fn nothing_came_twice(pair: (&Player, &Player)) {
    for (receiver, sender) in [pair, (pair.1, pair.0)] {
        // The receiver is asked first. In the other order, a message that is sent meanwhile would count as one too
        // many.
        let (_, received) = reliable(receiver).await;
        let (sent, _) = reliable(sender).await;
        assert!(received <= sent, "{received} messages came of {sent}");
    }
}

/// Waits until each player has received exactly as many reliable messages as the other has sent. Returns the two
/// numbers.
///
/// # Panics
/// A message was lost, or came twice.
pub async fn everything_came_once(pair: (&Player, &Player), within: Duration) -> (u64, u64) {
    wait::until("each has all that the other has sent", within, async || {
        let (one, other) = (reliable(pair.0).await, reliable(pair.1).await);
        if one == (other.1, other.0) { Ok(one) } else { Err(format!("{one:?} and {other:?}")) }
    })
    .await
}
