//! One load, and its costs.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::crowd::Orders;
use crate::probe::{Latency, Probe};
use crate::process::RelayProcess;
use crate::usage::Usage;

/// The time to wait before the memory is read, and between setting a rate and measuring under it.
pub(crate) const SETTLE: Duration = Duration::from_millis(1_500);

/// The time in which packets that are on their way arrive, once nobody sends any more.
const DRAIN: Duration = Duration::from_millis(500);
/// The seconds of a trial.
const TRIAL: u64 = 2;
/// The ticks a second at which the search begins.
const FIRST_RATE: u32 = 8;
/// The highest rate, in ticks a second.
const RATE_MAX: u32 = 1_000;
/// The bounds of a load that a forwarder carries: the most time added at p99, in microseconds, and the largest part of the
/// packets that is lost.
const ADDED_MAX: u32 = 5_000;
const LOST_MAX: f64 = 0.001;
/// How often the rate that trials found is raised by an eighth, as long as whole measurements carry it, or lowered until one
/// does: other work of the machine may have failed a trial, or spared one.
const CORRECTED_MAX: u32 = 6;

/// The usage and the counts of a process up to a moment.
pub(crate) struct Snapshot {
    pub(crate) usage: Usage,
    pub(crate) counts: Option<Counts>,
}

/// The relay's own counts.
pub(crate) struct Counts {
    dropped: f64,
    /// Bounds in seconds, each with the number of messages that spent at most this time in the relay.
    within: Vec<(f64, f64)>,
}

/// The costs of one load.
pub(crate) struct Load {
    seconds: f64,
    sent: u64,
    heard: u64,
    cpu: Duration,
    system: Duration,
    latency: Latency,
    /// The part of the packets that did not arrive.
    lost: f64,
    own: Option<Own>,
}

/// The relay's own figures for a load.
struct Own {
    dropped: u64,
    /// Upper bounds, in microseconds, of the time between reading a message and having written it: at p50 and at p99.
    micros: [u64; 2],
}

impl Snapshot {
    pub(crate) async fn of(relay: &RelayProcess) -> Self {
        let usage = Usage::of(relay.id());
        let (_, text) = relay.get("/metrics").await;
        let value = |line: &str| line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok());
        let dropped =
            text.lines().filter(|line| line.starts_with("samovar_dropped_total{")).filter_map(value).sum();
        let bucket = |line: &str| {
            let (bound, _) = line.strip_prefix("samovar_forward_seconds_bucket{le=\"")?.split_once('"')?;
            Some((bound.parse().unwrap_or(f64::INFINITY), value(line)?))
        };
        let within = text.lines().filter_map(bucket).collect();
        Self { usage, counts: Some(Counts { dropped, within }) }
    }
}

impl Counts {
    fn since(&self, before: &Self) -> Own {
        let counts =
            || self.within.iter().zip(&before.within).map(|((bound, now), (_, then))| (*bound, now - then));
        let all = counts().map(|(_, count)| count).fold(0.0, f64::max);
        let micros = [0.50, 0.99].map(|part| {
            let bound = counts().find(|(_, count)| *count >= all * part);
            bound.map_or(0, |(bound, _)| (bound * 1e6).min(1e9).round() as u64)
        });
        Own { dropped: (self.dropped - before.dropped) as u64, micros }
    }
}

/// Runs a load of this many ticks a second for this many seconds. `snapshot` reads the process that forwards.
async fn load_of(
    snapshot: &impl AsyncFn() -> Snapshot,
    orders: &Orders,
    probe: &Probe,
    rate: u32,
    seconds: u64,
) -> Load {
    let traffic = || (orders.sent.get(), orders.heard.get());
    let quiet = traffic();
    orders.set_rate(rate);
    sleep(SETTLE).await;
    probe.reset();
    let (before, start, (sent, heard)) = (snapshot().await, Instant::now(), traffic());
    sleep(Duration::from_secs(seconds)).await;
    let (now, took, after) = (traffic(), start.elapsed(), snapshot().await);
    let latency = probe.latency();
    orders.set_rate(0);
    // Nothing is on its way before and after, so that what is missing is lost.
    sleep(DRAIN).await;
    let end = traffic();
    let arrived = (end.1 - quiet.1) as f64 / (end.0 - quiet.0).max(1) as f64;
    let own = after.counts.zip(before.counts).map(|(after, before)| after.since(&before));
    Load {
        seconds: took.as_secs_f64(),
        sent: now.0 - sent,
        heard: now.1 - heard,
        cpu: after.usage.cpu - before.usage.cpu,
        system: after.usage.system - before.usage.system,
        latency,
        lost: (1.0 - arrived).max(0.0),
        own,
    }
}

/// Measures a forwarder at the highest rate that it carries, and at half of it; or at a given rate. Returns the rate, too.
pub(crate) async fn full_and_half(
    snapshot: &impl AsyncFn() -> Snapshot,
    orders: &Orders,
    probe: &Probe,
    (given, seconds): (Option<u32>, u64),
) -> (u32, [Load; 2]) {
    let mut rate = match given {
        Some(rate) => rate,
        None => highest_rate(snapshot, orders, probe, FIRST_RATE).await,
    };
    let mut full = load_of(snapshot, orders, probe, rate, seconds).await;
    if given.is_none() {
        let was_carried = full.is_carried();
        for _ in 0..CORRECTED_MAX {
            let step = (rate / 8).max(1);
            let other = if was_carried { rate + step } else { rate.saturating_sub(step).max(1) };
            let load = load_of(snapshot, orders, probe, other, seconds).await;
            let is_carried = load.is_carried();
            if !was_carried || is_carried {
                (rate, full) = (other, load);
            }
            if is_carried != was_carried {
                break;
            }
        }
    }
    let half = load_of(snapshot, orders, probe, (rate / 2).max(1), seconds).await;
    (rate, [full, half])
}

/// Finds the highest rate at which a forwarder carries the load, to a sixteenth. It begins at `first`, doubles, and halves the
/// interval. A rate is too high if two trials say so.
async fn highest_rate(
    snapshot: &impl AsyncFn() -> Snapshot,
    orders: &Orders,
    probe: &Probe,
    first: u32,
) -> u32 {
    let carries = async |rate| {
        for _ in 0..2 {
            if load_of(snapshot, orders, probe, rate, TRIAL).await.is_carried() {
                return true;
            }
        }
        false
    };
    let (mut carried, mut too_high, mut rate) = (0, RATE_MAX + 1, first);
    while too_high - carried > 1 + carried / 16 {
        if carries(rate).await {
            carried = rate;
        } else {
            too_high = rate;
        }
        rate = if too_high > RATE_MAX { (2 * carried).min(RATE_MAX) } else { carried.midpoint(too_high) };
    }
    carried.max(1)
}

impl Load {
    /// Whether the forwarder keeps to the bounds of a load that it carries.
    fn is_carried(&self) -> bool {
        self.latency.added()[1] < ADDED_MAX && self.lost < LOST_MAX
    }

    /// The microseconds of CPU for each packet.
    pub(crate) fn cost(&self) -> f64 {
        self.micros_per_packet(self.cpu)
    }

    fn micros_per_packet(&self, cpu: Duration) -> f64 {
        cpu.as_secs_f64() * 1e6 / self.heard.max(1) as f64
    }

    pub(crate) fn json(&self) -> String {
        let [p50, p99] = self.latency.added();
        let Latency { by_it, without } = self.latency;
        let own = self.own.as_ref().map_or(String::new(), |Own { dropped, micros: [p50, p99] }| {
            format!(",\"dropped\":{dropped},\"own_p50_us_below\":{p50},\"own_p99_us_below\":{p99}")
        });
        format!(
            "{{\"sent_per_second\":{:.0},\"packets_per_second\":{:.0},\"cpu_us_per_packet\":{:.2},\"system_us_per_packet\":{:.2},\
             \"lost\":{:.5},\"added_p50_us\":{p50},\"added_p99_us\":{p99},\"by_it_us\":{by_it:?},\"without_us\":{without:?}{own}}}",
            self.sent as f64 / self.seconds,
            self.heard as f64 / self.seconds,
            self.micros_per_packet(self.cpu),
            self.micros_per_packet(self.system),
            self.lost,
        )
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let [p50, p99] = self.latency.added();
        let Latency { by_it, without } = self.latency;
        let own = self.own.as_ref().map_or(String::new(), |Own { dropped, micros: [p50, p99] }| {
            format!("; by its own clock below {p50} and {p99} us, {dropped} dropped")
        });
        format!(
            "  {name:5} {:8.0} packets/s of {:.0}  {:6.2} us CPU each, {:.2} of it the system's\n        adds {p50} us at p50 and {p99} at \
             p99: {by_it:?} with it, {without:?} without; {:.2} % lost{own}\n",
            self.heard as f64 / self.seconds,
            self.sent as f64 / self.seconds,
            self.micros_per_packet(self.cpu),
            self.micros_per_packet(self.system),
            self.lost * 100.0,
        )
    }
}
