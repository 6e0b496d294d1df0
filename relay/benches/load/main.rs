//! The relay under load, as a process: what a forwarded packet, a join and a member cost it, and how long packets take.
//!
//! `cargo xtask bench relay [--json] [--games N] [--members N] [--rate HZ] [--bytes N] [--seconds N] [--path websocket|webrtc] [--alone]`.
//! The clients run on the same machine, and are most of its load: a figure of CPU is the relay's own, from `/proc`, and one of
//! latency is from a client's call to send to another's having heard, with both in it.

#[path = "../../tests/relay/caller.rs"]
#[expect(dead_code, reason = "the tests ask for more")]
mod caller;
mod member;
mod options;
mod others;
#[path = "../../tests/relay/peer.rs"]
#[expect(dead_code, reason = "the tests ask for more")]
mod peer;
#[path = "../../tests/relay/process.rs"]
#[expect(dead_code, reason = "the tests ask for more")]
mod process;
mod usage;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::iter;
use member::{Member, Orders, Tally};
use options::{Options, PathWord};
use process::{RelayProcess, Scratch};
use usage::Usage;

/// Joins at once: as many as wait for each other in a storm.
const STORM: usize = 64;
/// Data channels that open at once: the clients are one thread, and each handshake is to be over in time.
const HANDSHAKES: usize = 8;
/// How long everybody is left alone before memory is read, and before a load is measured.
const SETTLE: Duration = Duration::from_millis(1_500);

/// What one path has cost.
struct Figures {
    path: PathWord,
    joins: usize,
    join_seconds: f64,
    join_cpu: Duration,
    idle_bytes: usize,
    active_bytes: usize,
    full: Load,
    half: Load,
}

/// What one load has cost.
struct Load {
    seconds: f64,
    sent: u64,
    heard: u64,
    cpu: Duration,
    system: Duration,
    p50: Duration,
    p99: Duration,
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("load: {message}");
            return ExitCode::FAILURE;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for &path in &options.paths {
        let figures = runtime.block_on(measure(path, &options));
        print!("{}", if options.is_json { figures.json(&options) } else { figures.text(&options) });
    }
    if options.compares {
        print!("{}", runtime.block_on(others::compare(&options)));
    }
    ExitCode::SUCCESS
}

async fn measure(path: PathWord, options: &Options) -> Figures {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--udp", "127.0.0.1:0", "--log", "warn"]);
    let before = Usage::of(relay.id());
    let start = Instant::now();
    let orders = Arc::new(Orders::default());
    let all = options.games * options.members;
    let joined: Vec<_> = iter(0..options.games)
        .map(|game| Member::found(&relay, game, options.members))
        .buffered(STORM / options.members.max(1) + 1)
        .concat()
        .await;
    let join_seconds = start.elapsed().as_secs_f64();
    let join_cpu = Usage::of(relay.id()).cpu - before.cpu;
    let tasks: Vec<_> = iter(joined)
        .map(|member| member.start(path, Arc::clone(&orders), options.bytes))
        .buffer_unordered(HANDSHAKES)
        .collect()
        .await;
    tokio::time::sleep(SETTLE).await;
    let per_member = |now: Usage| now.memory.saturating_sub(before.memory) / all;
    let idle_bytes = per_member(Usage::of(relay.id()));
    let usage = || Usage::of(relay.id());
    let full = load_of(usage, &orders, options.rate, options.seconds).await;
    let active_bytes = per_member(usage());
    let half = load_of(usage, &orders, options.rate / 2, options.seconds).await;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    Figures { path, joins: all, join_seconds, join_cpu, idle_bytes, active_bytes, full, half }
}

/// Everybody sends so often, for so long; `usage` is of the process between them.
async fn load_of(usage: impl Fn() -> Usage, orders: &Orders, rate: u32, seconds: u64) -> Load {
    orders.set_rate(rate);
    tokio::time::sleep(SETTLE).await;
    orders.tally.reset();
    let (before, start) = (usage(), Instant::now());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let (after, took) = (usage(), start.elapsed());
    let Tally { sent, heard, .. } = &orders.tally;
    let (sent, heard) = (sent.get(), heard.get());
    let [p50, p99] = orders.tally.percentiles([0.50, 0.99]);
    orders.set_rate(0);
    let (cpu, system) = (after.cpu - before.cpu, after.system - before.system);
    Load { seconds: took.as_secs_f64(), sent, heard, cpu, system, p50, p99 }
}

impl Load {
    fn micros_per_packet(&self, cpu: Duration) -> f64 {
        cpu.as_secs_f64() * 1e6 / self.heard.max(1) as f64
    }

    fn json(&self) -> String {
        format!(
            "{{\"packets_per_second\":{:.0},\"lost\":{},\"cpu_us_per_packet\":{:.2},\"system_us_per_packet\":{:.2},\"latency_p50_us\":{},\"latency_p99_us\":{}}}",
            self.heard as f64 / self.seconds,
            self.sent.saturating_sub(self.heard),
            self.micros_per_packet(self.cpu),
            self.micros_per_packet(self.system),
            self.p50.as_micros(),
            self.p99.as_micros()
        )
    }

    fn text(&self, name: &str) -> String {
        format!(
            "  {name:5} {:8.0} packets/s  {:6.2} us CPU each, {:.2} of it the system's  one way {:?} p50, {:?} p99  ({} lost)\n",
            self.heard as f64 / self.seconds,
            self.micros_per_packet(self.cpu),
            self.micros_per_packet(self.system),
            self.p50,
            self.p99,
            self.sent.saturating_sub(self.heard)
        )
    }
}

impl Figures {
    fn micros_per_join(&self) -> f64 {
        self.join_cpu.as_secs_f64() * 1e6 / self.joins as f64
    }

    fn json(&self, options: &Options) -> String {
        format!(
            "{{\"bench\":\"relay\",\"path\":\"{}\",\"games\":{},\"members\":{},\"hz\":{},\"bytes\":{},\"joins_per_second\":{:.0},\
             \"cpu_us_per_join\":{:.0},\"idle_bytes_per_member\":{},\"active_bytes_per_member\":{},\"full\":{},\"half\":{}}}\n",
            self.path.name(),
            options.games,
            options.members,
            options.rate,
            options.bytes,
            self.joins as f64 / self.join_seconds,
            self.micros_per_join(),
            self.idle_bytes,
            self.active_bytes,
            self.full.json(),
            self.half.json()
        )
    }

    fn text(&self, options: &Options) -> String {
        format!(
            "relay over {}: {} games of {}, {} Hz, {} bytes\n  join  {:8.0} joins/s    {:6.0} us CPU each\n  memory {} bytes idle, {} \
             active, of each member\n{}{}",
            self.path.name(),
            options.games,
            options.members,
            options.rate,
            options.bytes,
            self.joins as f64 / self.join_seconds,
            self.micros_per_join(),
            self.idle_bytes,
            self.active_bytes,
            self.full.text("full"),
            self.half.text("half")
        )
    }
}
