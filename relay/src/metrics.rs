//! The relay's counts, for `GET /metrics` (the text format of Prometheus, version 0.0.4).
//!
//! Events of each packet are counted in one of a few shards, so that tasks on different processors do not wait for
//! each other's cache lines; a connection always counts in the same one. All counters are relaxed atomics. A scrape
//! reads them one after the other, so they may be of slightly different moments, but no single counter runs
//! backwards.

mod histogram;
mod label;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use samovar_directory::{CloseReason, HostChange, Usage};

use crate::processors::ThreadId;
use crate::room::Depth;
use histogram::Histogram;
use label::{Changed, Refused};
pub(crate) use label::{Dropped, Ended, Kind, Offered, Turned, Undelivered, Way};
use text::Text;

/// The number of shards.
const SHARDS: usize = 16;

/// Bounds of the buckets for the time that a message spends in the relay, in microseconds.
const FORWARD_BOUNDS: [u64; 13] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];
/// Bounds of the buckets for the time that a session has no host, in microseconds.
const RECOVERY_BOUNDS: [u64; 10] =
    [100_000, 250_000, 500_000, 750_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 5_000_000, 10_000_000];

/// A number that only grows.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one shard, for the events of every packet. The alignment keeps shards out of each other's cache
/// lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    packets_in: [[Counter; Kind::COUNT]; Way::COUNT],
    bytes_in: [[Counter; Kind::COUNT]; Way::COUNT],
    packets_out: [[Counter; Kind::COUNT]; Way::COUNT],
    bytes_out: [[Counter; Kind::COUNT]; Way::COUNT],
    dropped: [Counter; Dropped::COUNT],
    forward: Histogram<13>,
}

/// The counters of datagrams of one thread of the endpoint, or of a few.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Datagrams {
    count: [Counter; 2],
    bytes: [Counter; 2],
    passed: Counter,
}

/// All counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    shards: [Shard; SHARDS],
    datagrams: [Datagrams; SHARDS],
    undelivered: [Counter; Undelivered::COUNT],
    offers: [Counter; Offered::COUNT],
    joins: Counter,
    refused: [Counter; Refused::COUNT],
    turned: [Counter; Turned::COUNT],
    ended: [Counter; Ended::COUNT],
    host_changes: [Counter; Changed::COUNT],
    page_crashes: Counter,
    recovery: Histogram<10>,
    /// The start of the process, in seconds of Unix time.
    started: u64,
}

/// The current values that a scrape shows beside the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) usage: Usage,
    /// Members that are reached by their data channels.
    pub(crate) on_channels: usize,
    pub(crate) tcp: usize,
    pub(crate) queues: Depth,
    pub(crate) deepest: usize,
    pub(crate) is_draining: bool,
}

/// The shard of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShardId(usize);

impl ShardId {
    pub(crate) const fn of(conn: u64) -> Self {
        Self(conn as usize % SHARDS)
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { started, ..Self::default() }
    }

    /// Counts a message that came.
    pub(crate) fn came(&self, shard: ShardId, way: Way, kind: Kind, bytes: usize) {
        let shard = &self.shards[shard.0];
        shard.packets_in[way.index()][kind.index()].add(1);
        shard.bytes_in[way.index()][kind.index()].add(bytes as u64);
    }

    /// Counts a message that was handed to its socket.
    pub(crate) fn went(&self, shard: ShardId, way: Way, kind: Kind, bytes: usize) {
        let shard = &self.shards[shard.0];
        shard.packets_out[way.index()][kind.index()].add(1);
        shard.bytes_out[way.index()][kind.index()].add(bytes as u64);
    }

    /// Counts a forwarded message that has spent `time` in the relay.
    pub(crate) fn forwarded(&self, shard: ShardId, time: Duration) {
        self.shards[shard.0].forward.observe(&FORWARD_BOUNDS, time);
    }

    /// Counts packets that were dropped.
    pub(crate) fn dropped(&self, shard: ShardId, reason: Dropped, count: usize) {
        if count > 0 {
            self.shards[shard.0].dropped[reason.index()].add(count as u64);
        }
    }

    /// Counts a datagram that came to this thread.
    pub(crate) fn datagram_in(&self, thread: ThreadId, bytes: usize) {
        let datagrams = &self.datagrams[thread % SHARDS];
        datagrams.count[0].add(1);
        datagrams.bytes[0].add(bytes as u64);
    }

    /// Counts a datagram that went from this thread.
    pub(crate) fn datagram_out(&self, thread: ThreadId, bytes: usize) {
        let datagrams = &self.datagrams[thread % SHARDS];
        datagrams.count[1].add(1);
        datagrams.bytes[1].add(bytes as u64);
    }

    /// Counts a datagram that this thread passed on to another.
    pub(crate) fn datagram_passed(&self, thread: ThreadId) {
        self.datagrams[thread % SHARDS].passed.add(1);
    }

    /// Counts a datagram that was dropped.
    pub(crate) fn undelivered(&self, reason: Undelivered) {
        self.undelivered[reason.index()].add(1);
    }

    /// Counts the outcome of an offer of data channels.
    pub(crate) fn offered(&self, outcome: Offered) {
        self.offers[outcome.index()].add(1);
    }

    /// Counts a peer that has entered a game, or entered again.
    pub(crate) fn joined(&self) {
        self.joins.add(1);
    }

    pub(crate) fn turned(&self, reason: Turned) {
        self.turned[reason.index()].add(1);
    }

    pub(crate) fn ended(&self, reason: Ended) {
        self.ended[reason.index()].add(1);
    }

    /// Counts a page that had to be reloaded after an error of its own.
    pub(crate) fn page_crashed(&self) {
        self.page_crashes.add(1);
    }

    /// Counts a connection that the directory closed.
    pub(crate) fn closed(&self, reason: CloseReason) {
        match reason {
            CloseReason::Refused(refusal) => self.refused[Refused::from(refusal).index()].add(1),
            CloseReason::Silent => self.ended(Ended::NoEnter),
            CloseReason::Replaced => self.ended(Ended::Replaced),
            CloseReason::GaveWay => self.ended(Ended::GaveWay),
            CloseReason::Left => self.ended(Ended::Left),
        }
    }

    /// Counts a session that has another host, after `recovery` without one.
    pub(crate) fn host_changed(&self, cause: HostChange, recovery: Option<Duration>) {
        self.host_changes[Changed::from(cause).index()].add(1);
        if let Some(recovery) = recovery {
            self.recovery.observe(&RECOVERY_BOUNDS, recovery);
        }
    }

    /// All metrics, in Prometheus' text format.
    pub(crate) fn text(&self, levels: &Levels) -> String {
        let mut text = Text::default();
        self.write_levels(&mut text, levels);
        self.write_traffic(&mut text);
        self.write_datagrams(&mut text);
        self.write_events(&mut text);
        text.finish()
    }

    fn write_levels(&self, text: &mut Text, levels: &Levels) {
        let Levels { usage, on_channels, tcp, queues, deepest, is_draining } = *levels;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        text.gauge("samovar_build_info", "Always 1; the label is the program's version.").with(&version, 1);
        text.gauge("samovar_start_time_seconds", "When the relay started, in Unix time.").value(self.started);
        text.gauge("samovar_draining", "1 when the relay is about to stop.").value(u64::from(is_draining));
        text.gauge("samovar_games", "Games with a connection.").value(usage.games as u64);
        text.gauge("samovar_sessions_remembered", "Sessions without a connection whose terms are kept.")
            .value(usage.dormant as u64);
        let mut members =
            text.gauge("samovar_members", "Peers that have entered a game, by the path to them.");
        members.with(&[("path", Way::WebSocket.label())], usage.members.saturating_sub(on_channels) as u64);
        members.with(&[("path", Way::Channels.label())], on_channels as u64);
        text.gauge("samovar_connections", "WebSockets, those that have not entered included.")
            .value(usage.connections as u64);
        text.gauge("samovar_tcp_connections", "Connections of any kind, those that fetch the page included.")
            .value(tcp as u64);
        text.gauge("samovar_queue_messages", "Messages that wait for their receivers.")
            .value(queues.messages as u64);
        text.gauge("samovar_queue_messages_max", "Messages in the longest queue.").value(deepest as u64);
        text.gauge("samovar_queue_bytes", "Bytes that wait for their receivers.").value(queues.bytes as u64);
    }

    fn write_traffic(&self, text: &mut Text) {
        let sum = |count: &dyn Fn(&Shard) -> u64| self.shards.iter().map(count).sum::<u64>();
        let mut packets = text.counter("samovar_packets_total", "Messages between the relay and its peers.");
        for way in Way::ALL {
            for kind in Kind::ALL {
                let label =
                    |direction| [("path", way.label()), ("direction", direction), ("kind", kind.label())];
                packets.with(&label("in"), sum(&|s| s.packets_in[way.index()][kind.index()].now()));
                packets.with(&label("out"), sum(&|s| s.packets_out[way.index()][kind.index()].now()));
            }
        }
        let mut bytes = text.counter("samovar_bytes_total", "Bytes of these messages, without their frames.");
        for way in Way::ALL {
            for kind in Kind::ALL {
                let label =
                    |direction| [("path", way.label()), ("direction", direction), ("kind", kind.label())];
                bytes.with(&label("in"), sum(&|s| s.bytes_in[way.index()][kind.index()].now()));
                bytes.with(&label("out"), sum(&|s| s.bytes_out[way.index()][kind.index()].now()));
            }
        }
        let mut dropped = text.counter("samovar_dropped_total", "Packets that were not passed on.");
        for reason in Dropped::ALL {
            dropped.with(&[("reason", reason.label())], sum(&|s| s.dropped[reason.index()].now()));
        }
        text.histogram(
            "samovar_forward_seconds",
            "From the moment a forwarded message was read to that at which its receiver's socket took it.",
            &Histogram::sum(self.shards.iter().map(|shard| &shard.forward)),
            &FORWARD_BOUNDS,
        );
    }

    fn write_datagrams(&self, text: &mut Text) {
        let mut datagrams = text.counter("samovar_datagrams_total", "Datagrams of the UDP port.");
        let sum = |of: fn(&Datagrams) -> &Counter| self.datagrams.iter().map(|all| of(all).now()).sum();
        datagrams.with(&[("direction", "in")], sum(|all| &all.count[0]));
        datagrams.with(&[("direction", "out")], sum(|all| &all.count[1]));
        let mut bytes = text.counter("samovar_datagram_bytes_total", "Bytes of these datagrams.");
        bytes.with(&[("direction", "in")], sum(|all| &all.bytes[0]));
        bytes.with(&[("direction", "out")], sum(|all| &all.bytes[1]));
        text.counter(
            "samovar_datagrams_passed_total",
            "Datagrams that came to another thread than the one that serves their member.",
        )
        .value(sum(|all| &all.passed));
        let mut dropped = text.counter("samovar_datagrams_dropped_total", "Datagrams that were dropped.");
        for (reason, count) in Undelivered::ALL.iter().zip(&self.undelivered) {
            dropped.with(&[("reason", reason.label())], count.now());
        }
        let mut offers =
            text.counter("samovar_offers_total", "Offers of data channels, by what became of them.");
        for (outcome, count) in Offered::ALL.iter().zip(&self.offers) {
            offers.with(&[("outcome", outcome.label())], count.now());
        }
    }

    fn write_events(&self, text: &mut Text) {
        text.counter("samovar_joins_total", "Peers that entered a game, or entered again.")
            .value(self.joins.now());
        let mut refused = text.counter("samovar_refused_total", "Connections that were refused.");
        for (reason, count) in Refused::ALL.iter().zip(&self.refused) {
            refused.with(&[("reason", reason.label())], count.now());
        }
        for (reason, count) in Turned::ALL.iter().zip(&self.turned) {
            refused.with(&[("reason", reason.label())], count.now());
        }
        let mut ended =
            text.counter("samovar_ended_total", "Connections that ended for a reason of the protocol.");
        for (reason, count) in Ended::ALL.iter().zip(&self.ended) {
            ended.with(&[("reason", reason.label())], count.now());
        }
        text.counter("samovar_page_crashes_total", "Pages that told of an error that ended their game.")
            .value(self.page_crashes.now());
        let mut changes =
            text.counter("samovar_host_changes_total", "Sessions that were given another host.");
        for (cause, count) in Changed::ALL.iter().zip(&self.host_changes) {
            changes.with(&[("cause", cause.label())], count.now());
        }
        text.histogram(
            "samovar_host_recovery_seconds",
            "From the moment the relay learnt that a host was lost to the announcement of the next.",
            &Histogram::sum([&self.recovery]),
            &RECOVERY_BOUNDS,
        );
    }
}

#[cfg(test)]
mod tests {
    use samovar_wire::relay::Refusal;

    use super::*;

    #[test]
    fn counts_of_shards_are_shown_as_one_number() {
        let metrics = Metrics::new();
        for conn in 0..40 {
            metrics.came(ShardId::of(conn), Way::WebSocket, Kind::Packet, 100);
            metrics.forwarded(ShardId::of(conn), Duration::from_micros(60));
        }
        metrics.dropped(ShardId::of(1), Dropped::GameRate, 3);
        metrics.host_changed(HostChange::Silent, Some(Duration::from_millis(600)));
        metrics.closed(CloseReason::Refused(Refusal::Busy));
        let text = metrics.text(&Levels::default());
        for line in [
            "samovar_packets_total{path=\"websocket\",direction=\"in\",kind=\"packet\"} 40",
            "samovar_bytes_total{path=\"websocket\",direction=\"in\",kind=\"packet\"} 4000",
            "samovar_dropped_total{reason=\"game_rate\"} 3",
            "samovar_forward_seconds_bucket{le=\"0.00005\"} 0",
            "samovar_forward_seconds_bucket{le=\"0.0001\"} 40",
            "samovar_forward_seconds_count 40",
            "samovar_host_changes_total{cause=\"silent\"} 1",
            "samovar_host_recovery_seconds_sum 0.6",
            "samovar_refused_total{reason=\"busy\"} 1",
            "samovar_members{path=\"websocket\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
