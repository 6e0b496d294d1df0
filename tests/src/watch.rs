//! A tab's observations of another player, made in the page itself every few milliseconds: the path, the silence, the
//! age of its state, and the reliable messages each way.

use std::time::Duration;

use serde::Deserialize;

use crate::player::Player;
use crate::wait;

/// The observations of the other player since [`start`].
#[derive(Clone, Debug, Deserialize)]
pub struct Watch {
    /// Each path and its start, in milliseconds since 1970 by the machine's clock. The newest is the last.
    pub paths: Vec<(f64, String)>,
    /// The looks.
    pub looks: Vec<Look>,
}

/// One look; all times in milliseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Look {
    /// The time, by the machine's clock.
    pub at: f64,
    /// Its duration: a page that was suspended meanwhile has seen nothing exact.
    pub took: f64,
    /// The session time.
    pub session: f64,
    /// The age of the newest update of the other's teapot; `None` while it has no teapot.
    pub age: Option<f64>,
    /// The time since the own teapot was sampled.
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

    /// When the path first differed from this one, since `from`.
    #[must_use]
    pub fn left(&self, path: &str, from: f64) -> Option<f64> {
        self.paths.iter().find(|(at, each)| *at >= from && each != path).map(|(at, _)| *at)
    }

    /// For how long nothing was heard of the other since `from`, at most.
    #[must_use]
    pub fn silence(&self, from: f64) -> f64 {
        self.looks.iter().filter(|look| look.at >= from).map(|look| look.silence).fold(0.0, f64::max)
    }
}

/// The clock of one process may be set while that of another is not, so the page's own one counts from its start.
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

/// Begins to look at the member of this name.
///
/// # Panics
/// When the page cannot be asked.
pub async fn start(player: &Player, name: &str) {
    player.tab().evaluate(&format!("{START}({name:?}), null")).await;
}

/// Everything seen so far.
///
/// # Panics
/// When the page cannot be asked, or [`start`] was not called.
pub async fn seen(player: &Player) -> Watch {
    let seen = player.tab().evaluate("window.__watch").await;
    serde_json::from_value(seen).expect("a watch")
}

/// Waits until both see the other by a path of these.
///
/// # Panics
/// When they do not in time.
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

/// Reliable messages that the only other member has sent, and received.
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
        // In this order: messages sent meanwhile excuse nothing.
        let (_, received) = reliable(receiver).await;
        let (sent, _) = reliable(sender).await;
        assert!(received <= sent, "{received} messages came of {sent}");
    }
}

/// Waits until each has received exactly as many reliable messages as the other has sent; their numbers.
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
