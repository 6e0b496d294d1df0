//! The command line.

use clap::builder::TypedValueParser;
use clap::{Parser, ValueEnum};

/// The path of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PathWord {
    #[value(name = "websocket")]
    WebSocket,
    #[value(name = "webrtc")]
    WebRtc,
}

impl PathWord {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::WebRtc => "webrtc",
        }
    }
}

/// Measures a relay under load, beside others that forward packets
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo xtask bench relay")]
pub(crate) struct Options {
    /// 64 by WebSocket and 16 by data channels unless told: as many as the one thread carries that the relay has for them
    #[arg(long, value_parser = count(1))]
    games: Option<usize>,
    #[arg(long, default_value = "8", value_parser = count(2))]
    pub(crate) members: usize,
    /// Ticks a second of each member; unless told, the most at which the relay adds less than 5 ms at p99 and loses less
    /// than one packet in 1,000
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub(crate) rate: Option<u32>,
    /// To how many of the others each member sends a packet in a tick, in turn; to all unless told
    #[arg(long, value_parser = count(1))]
    burst: Option<usize>,
    /// Bytes of a packet
    #[arg(long, default_value = "120", value_parser = count(16))]
    pub(crate) bytes: usize,
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(crate) seconds: u64,
    /// Threads of the relay for data channels; unless told, one, and then two under the same load
    #[arg(long, value_parser = count(1))]
    pub(crate) threads: Option<usize>,
    /// One way only
    #[arg(long)]
    path: Option<PathWord>,
    /// Print lines of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure no others
    #[arg(long)]
    pub(crate) alone: bool,
    /// Added by cargo itself.
    #[arg(long = "bench", hide = true)]
    _bench: bool,
}

impl Options {
    /// The same load at this rate, carried by this number of threads.
    pub(crate) fn with_threads(&self, threads: usize, rate: u32) -> Self {
        Self { threads: Some(threads), rate: Some(rate), ..self.clone() }
    }

    /// The number of others to which each member sends a packet in a tick, in turn.
    pub(crate) fn burst(&self) -> usize {
        self.burst.unwrap_or(self.members - 1)
    }

    pub(crate) fn games(&self, path: PathWord) -> usize {
        self.games.unwrap_or(match path {
            PathWord::WebSocket => 64,
            PathWord::WebRtc => 16,
        })
    }

    pub(crate) fn paths(&self) -> Vec<PathWord> {
        self.path.map_or_else(|| PathWord::value_variants().to_vec(), |path| vec![path])
    }
}

fn count(least: i64) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u32).range(least..=1_000).map(|number| number as usize)
}
