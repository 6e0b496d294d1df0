//! Measures the relay under load, as a process: the costs of a forwarded packet, a join and a member, and the time
//! that packets take. It finds the highest load that the relay carries on this machine, and measures there and at half
//! of it.
//!
//! `cargo xtask bench relay [--json] [--games N] [--members N] [--rate HZ] [--burst N] [--bytes N] [--seconds N]
//! [--threads N] [--path websocket|webrtc] [--alone]`. The clients run on the same machine. A figure of CPU is the relay's own,
//! from `/proc`. A figure of latency is the time that the relay adds to a packet between two clients that have
//! nothing else to do.

#[path = "../../tests/relay/caller.rs"]
#[expect(dead_code, reason = "the tests ask for more")]
mod caller;
mod client;
mod crowd;
mod load;
mod member;
mod options;
mod others;
#[path = "../../tests/relay/peer.rs"]
#[expect(dead_code, reason = "the tests ask for more")]
mod peer;
mod probe;
#[path = "../../tests/relay/process.rs"]
#[expect(dead_code, reason = "the tests ask for more")]
mod process;
mod usage;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser as _;
use crowd::{Crowd, Orders};
use futures_util::StreamExt as _;
use futures_util::stream::iter;
use load::{Load, SETTLE, Snapshot, full_and_half};
use member::Member;
use options::{Options, PathWord};
use probe::{Pair, Probe};
use process::{RelayProcess, Scratch};
use tokio::time::sleep;
use usage::Usage;

/// The number of joins that run at the same time in a storm.
const STORM: usize = 64;
/// The number of data channels that open at the same time. It is low because all clients share one thread, and each
/// handshake has to end in time.
const HANDSHAKES: usize = 8;

/// The figures of one path.
struct Figures {
    path: PathWord,
    /// Threads of the relay for data channels.
    threads: usize,
    joins: usize,
    join_seconds: f64,
    join_cpu: Duration,
    /// Ticks a second of each member at the full load.
    rate: u32,
    idle_bytes: usize,
    active_bytes: usize,
    full: Load,
    half: Load,
}

fn main() {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut measured = Vec::new();
    let tell = |path, options: &Options| {
        let mut figures = runtime.block_on(measure(path, options));
        if options.rate.is_none() {
            // The search overloads that relay, and its allocator keeps the memory of queues that no load which it
            // carries would fill.
            let again = options.with_threads(figures.threads, figures.rate);
            figures.active_bytes = runtime.block_on(measure(path, &again)).active_bytes;
        }
        print!("{}", if options.json { figures.json(options) } else { figures.text(options) });
        figures
    };
    for path in options.paths() {
        measured.push(tell(path, &options));
    }
    if options.threads.is_none()
        && let Some(one) = measured.iter().find(|figures| figures.path == PathWord::WebRtc)
    {
        // The same load by two threads shows the cost of sharing it.
        let same = options.with_threads(2, one.rate);
        measured.push(tell(PathWord::WebRtc, &same));
    }
    if !options.alone {
        print!("{}", runtime.block_on(others::compare(&options, &measured)));
    }
}

async fn measure(path: PathWord, options: &Options) -> Figures {
    let data = Scratch::new();
    let threads = options.threads.unwrap_or(1);
    let flags = ["--udp", "127.0.0.1:0", "--udp-threads", &threads.to_string(), "--log", "warn"];
    let relay = Arc::new(RelayProcess::start_with(data.path(), &flags));
    // The first pair makes the relay load the code of this path: that memory belongs to no member.
    let _first = Pair::at(&relay, path, "FIRST").await;
    sleep(SETTLE).await;
    let before = Usage::of(relay.id());
    let start = Instant::now();
    let games = options.games(path);
    let all = games * options.members;
    let joined: Vec<_> = iter(0..games)
        .map(|game| Member::found(&relay, game, options.members))
        .buffered(STORM / options.members.max(1) + 1)
        .concat()
        .await;
    let join_seconds = start.elapsed().as_secs_f64();
    let join_cpu = Usage::of(relay.id()).cpu - before.cpu;
    let orders = Arc::new(Orders::new(options.burst()));
    let crowd = Crowd::new(Arc::clone(&orders), options.bytes);
    iter(joined)
        .map(|member| member.play(path))
        .buffer_unordered(HANDSHAKES)
        .for_each(async |player| crowd.enter(player))
        .await;
    sleep(SETTLE).await;
    let per_member = || Usage::of(relay.id()).memory.saturating_sub(before.memory) / all;
    let idle_bytes = per_member();
    let probed = Arc::clone(&relay);
    let probe = Probe::start(move || async move { Pair::at(&probed, path, "PROBE").await });
    let snapshot = async || Snapshot::of(&relay).await;
    let (rate, [full, half]) =
        full_and_half(&snapshot, &orders, &probe, (options.rate, options.seconds)).await;
    let active_bytes = per_member();
    Figures { path, threads, rate, joins: all, join_seconds, join_cpu, idle_bytes, active_bytes, full, half }
}

impl Figures {
    fn micros_per_join(&self) -> f64 {
        self.join_cpu.as_secs_f64() * 1e6 / self.joins as f64
    }

    fn json(&self, options: &Options) -> String {
        format!(
            "{{\"bench\":\"relay\",\"path\":\"{}\",\"threads\":{},\"games\":{},\"members\":{},\"hz\":{},\"burst\":{},\"bytes\":{},\"joins_per_second\":{:.0},\
             \"cpu_us_per_join\":{:.0},\"idle_bytes_per_member\":{},\"active_bytes_per_member\":{},\"full\":{},\"half\":{}}}\n",
            self.path.name(),
            self.threads,
            options.games(self.path),
            options.members,
            self.rate,
            options.burst(),
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
            "relay over {}, {} thread(s) for data channels: {} games of {}, {} Hz, {} packets of {} bytes in each tick\n  join  {:8.0} joins/s    {:6.0} us CPU each\n  memory {} bytes idle, {} \
             active, of each member\n{}{}",
            self.path.name(),
            self.threads,
            options.games(self.path),
            options.members,
            self.rate,
            options.burst(),
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
