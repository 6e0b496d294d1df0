//! What the relay counts, for `GET /metrics` (the text format of Prometheus, version 0.0.4).
//!
//! Whatever happens with each packet is counted in one of a few shards, so that tasks on different processors do not
//! wait for each other's cache lines; a connection always counts in the same. All counters are relaxed atomics: a scrape
//! is a moment's impression, and no single counter runs backwards.

mod histogram;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use samovar_directory::{CloseReason, HostChange, Usage};
use samovar_wire::Mode;
use samovar_wire::relay::{Refusal, RelayFrame};

use crate::outbox::Depth;
use histogram::Histogram;
use text::Text;

/// Shards of the counters.
const SHARDS: usize = 16;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A forwarded packet, which may be dropped.
    Packet,
    /// A forwarded chunk of bulk, which may not.
    Bulk,
    /// Between a peer and the relay itself.
    Control,
}

/// By which way a message comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A WebSocket.
    WebSocket,
    /// Data channels.
    Channels,
}

/// Why a datagram was dropped, or not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undelivered {
    /// It is of no connection, and no request for an address.
    Unknown,
    /// Its sender has not proven that it is where the datagram came from, and has had as many bytes as it sent.
    Unproven,
    /// Its member sends too many.
    Rate,
    /// The system did not take it.
    System,
}

/// Why a packet was not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// Its receiver's queue is full, and it was the oldest.
    QueueFull,
    /// Its receiver is not connected.
    NoReceiver,
    /// Its sender sends too much.
    MemberRate,
    /// Its sender's address sends too much.
    AddressRate,
    /// Its game sends too much.
    GameRate,
}

/// Why a connection was refused before it said what it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// The relay has as many as it takes.
    Connections,
    /// Its address has as many as it may.
    AddressConnections,
    /// Its address opens too many in a second.
    AddressOpens,
    /// It did not say what it wants in time.
    Handshake,
    /// Its page is none that is let in.
    Origin,
    /// It said far more than a request needs.
    RequestSize,
    /// It asked for a WebSocket without the lines that ask for one.
    NoUpgrade,
    /// The system gives the process no more descriptors.
    Descriptors,
}

impl Turned {
    pub(crate) const COUNT: usize = Self::ALL.len();
    pub(crate) const ALL: [Self; 8] = [
        Self::Connections,
        Self::AddressConnections,
        Self::AddressOpens,
        Self::Handshake,
        Self::Origin,
        Self::RequestSize,
        Self::NoUpgrade,
        Self::Descriptors,
    ];

    /// The label of its counter.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::AddressConnections => "address_connections",
            Self::AddressOpens => "address_opens",
            Self::Handshake => "handshake_timeout",
            Self::Origin => "origin",
            Self::RequestSize => "request_size",
            Self::NoUpgrade => "no_upgrade",
            Self::Descriptors => "descriptors",
        }
    }
}

/// What became of an offer of data channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It was none, or could not be answered.
    Refused,
    /// Its channels carried.
    Opened,
    /// It was answered, and no datagram came.
    Unreached,
    /// Datagrams came, and nothing on the channels.
    Unopened,
}

/// Why a connection that was let in was closed by the relay without being refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Too much that must arrive waited for it.
    TooSlow,
    /// It answered no ping.
    Silent,
    /// It never said who it wants to be.
    NoEnter,
    /// Its peer came back by another.
    Replaced,
    /// It left.
    Left,
    /// Its task or the state machine of its data channels panicked, which is a bug.
    Panicked,
}

const WAYS: [&str; 2] = ["websocket", "webrtc"];
const UNDELIVERED: [&str; 4] = ["unknown", "unproven", "rate", "system"];
const KINDS: [&str; 3] = ["packet", "bulk", "control"];
const DROPS: [&str; 5] = ["queue_full", "no_receiver", "member_rate", "address_rate", "game_rate"];
const OFFERED: [&str; 4] = ["refused", "opened", "unreached", "unopened"];
const ENDED: [&str; 6] = ["too_slow", "silent", "no_enter", "replaced", "left", "panicked"];
const CHANGES: [&str; 5] = ["handed_over", "disconnected", "missed", "silent", "shown"];
const REFUSALS: [&str; 10] = [
    "unknown_game",
    "code_taken",
    "full",
    "closed",
    "version",
    "parameters",
    "bad_pass",
    "busy",
    "misbehaved",
    "draining",
];

/// Bounds of the buckets of the time in the relay, in microseconds.
const FORWARD_BOUNDS: [u64; 13] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];
/// Bounds of the buckets of the time without a host, in microseconds.
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

/// What every packet touches. The alignment keeps shards out of each other's cache lines, and of those beside them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    packets_in: [[Counter; 3]; 2],
    bytes_in: [[Counter; 3]; 2],
    packets_out: [[Counter; 3]; 2],
    bytes_out: [[Counter; 3]; 2],
    dropped: [Counter; 5],
    forward: Histogram<13>,
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    shards: [Shard; SHARDS],
    datagrams: [Counter; 2],
    datagram_bytes: [Counter; 2],
    undelivered: [Counter; 4],
    offers: [Counter; 4],
    joins: Counter,
    refused: [Counter; 10],
    turned: [Counter; Turned::COUNT],
    ended: [Counter; 6],
    host_changes: [Counter; 5],
    recovery: Histogram<10>,
    /// Since when the process runs, in seconds of Unix time.
    started: u64,
}

/// What a scrape shows beside what is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) usage: Usage,
    /// Members whose way their data channels are.
    pub(crate) on_channels: usize,
    pub(crate) tcp: usize,
    pub(crate) queues: Depth,
    pub(crate) deepest: usize,
    pub(crate) is_draining: bool,
}

impl Kind {
    /// What a frame is.
    pub(crate) const fn of(frame: &RelayFrame<'_>) -> Self {
        match frame {
            RelayFrame::Forward { mode, .. } => Self::of_mode(*mode),
            RelayFrame::Control(_) => Self::Control,
        }
    }

    /// What is forwarded in a mode.
    pub(crate) const fn of_mode(mode: Mode) -> Self {
        match mode {
            Mode::Unreliable => Self::Packet,
            Mode::Reliable => Self::Bulk,
        }
    }
}

/// Where one connection counts.
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

    /// A message came.
    pub(crate) fn came(&self, shard: ShardId, way: Way, kind: Kind, bytes: usize) {
        let shard = &self.shards[shard.0];
        shard.packets_in[way as usize][kind as usize].add(1);
        shard.bytes_in[way as usize][kind as usize].add(bytes as u64);
    }

    /// A message was handed to its socket.
    pub(crate) fn went(&self, shard: ShardId, way: Way, kind: Kind, bytes: usize) {
        let shard = &self.shards[shard.0];
        shard.packets_out[way as usize][kind as usize].add(1);
        shard.bytes_out[way as usize][kind as usize].add(bytes as u64);
    }

    /// A forwarded message has spent so long in the relay.
    pub(crate) fn forwarded(&self, shard: ShardId, time: Duration) {
        self.shards[shard.0].forward.observe(&FORWARD_BOUNDS, time);
    }

    /// Packets were not passed on.
    pub(crate) fn dropped(&self, shard: ShardId, reason: Dropped, count: usize) {
        if count > 0 {
            self.shards[shard.0].dropped[reason as usize].add(count as u64);
        }
    }

    /// A datagram came.
    pub(crate) fn datagram_in(&self, bytes: usize) {
        self.datagrams[0].add(1);
        self.datagram_bytes[0].add(bytes as u64);
    }

    /// A datagram went.
    pub(crate) fn datagram_out(&self, bytes: usize) {
        self.datagrams[1].add(1);
        self.datagram_bytes[1].add(bytes as u64);
    }

    /// A datagram was dropped.
    pub(crate) fn undelivered(&self, reason: Undelivered) {
        self.undelivered[reason as usize].add(1);
    }

    /// Something became of an offer of data channels.
    pub(crate) fn offered(&self, outcome: Offered) {
        self.offers[outcome as usize].add(1);
    }

    /// Somebody is in a game, or is again.
    pub(crate) fn joined(&self) {
        self.joins.add(1);
    }

    pub(crate) fn turned(&self, reason: Turned) {
        self.turned[reason as usize].add(1);
    }

    pub(crate) fn ended(&self, reason: Ended) {
        self.ended[reason as usize].add(1);
    }

    /// The directory closed a connection.
    pub(crate) fn closed(&self, reason: CloseReason) {
        match reason {
            CloseReason::Refused(refusal) => self.refused[refusal_index(refusal)].add(1),
            CloseReason::Silent => self.ended(Ended::NoEnter),
            CloseReason::Replaced => self.ended(Ended::Replaced),
            CloseReason::Left => self.ended(Ended::Left),
        }
    }

    /// A session has another host, after so long without.
    pub(crate) fn host_changed(&self, cause: HostChange, recovery: Option<Duration>) {
        let index = match cause {
            HostChange::HandedOver => 0,
            HostChange::Disconnected => 1,
            HostChange::Missed => 2,
            HostChange::Silent => 3,
            HostChange::Shown => 4,
        };
        self.host_changes[index].add(1);
        if let Some(recovery) = recovery {
            self.recovery.observe(&RECOVERY_BOUNDS, recovery);
        }
    }

    /// Everything, as Prometheus reads it.
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
        members.with(&[("path", WAYS[0])], usage.members.saturating_sub(on_channels) as u64);
        members.with(&[("path", WAYS[1])], on_channels as u64);
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
        for (way, path) in WAYS.iter().enumerate() {
            for (index, kind) in KINDS.iter().enumerate() {
                let label = |direction| [("path", *path), ("direction", direction), ("kind", *kind)];
                packets.with(&label("in"), sum(&|s| s.packets_in[way][index].now()));
                packets.with(&label("out"), sum(&|s| s.packets_out[way][index].now()));
            }
        }
        let mut bytes = text.counter("samovar_bytes_total", "Bytes of these messages, without their frames.");
        for (way, path) in WAYS.iter().enumerate() {
            for (index, kind) in KINDS.iter().enumerate() {
                let label = |direction| [("path", *path), ("direction", direction), ("kind", *kind)];
                bytes.with(&label("in"), sum(&|s| s.bytes_in[way][index].now()));
                bytes.with(&label("out"), sum(&|s| s.bytes_out[way][index].now()));
            }
        }
        let mut dropped = text.counter("samovar_dropped_total", "Packets that were not passed on.");
        for (index, reason) in DROPS.iter().enumerate() {
            dropped.with(&[("reason", reason)], sum(&|s| s.dropped[index].now()));
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
        for (direction, count) in ["in", "out"].iter().zip(&self.datagrams) {
            datagrams.with(&[("direction", direction)], count.now());
        }
        let mut bytes = text.counter("samovar_datagram_bytes_total", "Bytes of these datagrams.");
        for (direction, count) in ["in", "out"].iter().zip(&self.datagram_bytes) {
            bytes.with(&[("direction", direction)], count.now());
        }
        let mut dropped = text.counter("samovar_datagrams_dropped_total", "Datagrams that were dropped.");
        for (reason, count) in UNDELIVERED.iter().zip(&self.undelivered) {
            dropped.with(&[("reason", reason)], count.now());
        }
        let mut offers =
            text.counter("samovar_offers_total", "Offers of data channels, by what became of them.");
        for (outcome, count) in OFFERED.iter().zip(&self.offers) {
            offers.with(&[("outcome", outcome)], count.now());
        }
    }

    fn write_events(&self, text: &mut Text) {
        text.counter("samovar_joins_total", "Peers that entered a game, or entered again.")
            .value(self.joins.now());
        let mut refused = text.counter("samovar_refused_total", "Connections that were refused.");
        let turned = Turned::ALL.map(Turned::word);
        let reasons = REFUSALS.iter().zip(&self.refused).chain(turned.iter().zip(&self.turned));
        for (reason, count) in reasons {
            refused.with(&[("reason", reason)], count.now());
        }
        let mut ended =
            text.counter("samovar_ended_total", "Connections that ended for a reason of the protocol.");
        for (reason, count) in ENDED.iter().zip(&self.ended) {
            ended.with(&[("reason", reason)], count.now());
        }
        let mut changes =
            text.counter("samovar_host_changes_total", "Sessions that were given another host.");
        for (cause, count) in CHANGES.iter().zip(&self.host_changes) {
            changes.with(&[("cause", cause)], count.now());
        }
        text.histogram(
            "samovar_host_recovery_seconds",
            "From the moment the relay learnt that a host was lost to the announcement of the next.",
            &Histogram::sum([&self.recovery]),
            &RECOVERY_BOUNDS,
        );
    }
}

const fn refusal_index(refusal: Refusal) -> usize {
    match refusal {
        Refusal::UnknownGame => 0,
        Refusal::CodeTaken => 1,
        Refusal::Full => 2,
        Refusal::Closed => 3,
        Refusal::Version(_) => 4,
        Refusal::Parameters => 5,
        Refusal::BadPass => 6,
        Refusal::Busy => 7,
        Refusal::Misbehaved => 8,
        Refusal::Draining => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shards_count_is_shown_as_one_number() {
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
