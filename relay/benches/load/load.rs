//! One load, and its costs.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::crowd::Orders;
use crate::probe::{Latency, Probe};
use crate::process::RelayProcess;
use crate::usage::Usage;

/// The time to wait before the memory is read, and between setting a rate and measuring under it.
pub(crate) const SETTLE: Duration = Duration::from_millis(1_500);

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
pub(crate) async fn load_of(
    snapshot: &impl AsyncFn() -> Snapshot,
    orders: &Orders,
    probe: &Probe,
    rate: u32,
    seconds: u64,
) -> Load {
    orders.set_rate(rate);
    sleep(SETTLE).await;
    probe.reset();
    let traffic = || (orders.sent.get(), orders.heard.get());
    let (before, start, (sent, heard)) = (snapshot().await, Instant::now(), traffic());
    sleep(Duration::from_secs(seconds)).await;
    let (now, took, after) = (traffic(), start.elapsed(), snapshot().await);
    let latency = probe.latency();
    orders.set_rate(0);
    let own = after.counts.zip(before.counts).map(|(after, before)| after.since(&before));
    Load {
        seconds: took.as_secs_f64(),
        sent: now.0 - sent,
        heard: now.1 - heard,
        cpu: after.usage.cpu - before.usage.cpu,
        system: after.usage.system - before.usage.system,
        latency,
        own,
    }
}

impl Load {
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
             \"added_p50_us\":{p50},\"added_p99_us\":{p99},\"by_it_us\":{by_it:?},\"without_us\":{without:?}{own}}}",
            self.sent as f64 / self.seconds,
            self.heard as f64 / self.seconds,
            self.micros_per_packet(self.cpu),
            self.micros_per_packet(self.system),
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
             p99: {by_it:?} with it, {without:?} without{own}\n",
            self.heard as f64 / self.seconds,
            self.sent as f64 / self.seconds,
            self.micros_per_packet(self.cpu),
            self.micros_per_packet(self.system),
        )
    }
}
