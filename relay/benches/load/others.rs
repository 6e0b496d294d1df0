//! Measures what the same work costs other programs, in the same run: matchbox's signalling server for joins and
//! memory, coturn for forwarding. Each is measured if it is installed, and reported as missing otherwise.

mod coturn;
mod matchbox;

use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Figures;
use crate::options::{Options, PathWord};

/// The longest time until a program answers.
pub(crate) const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// A program that ends with the bench.
pub(crate) struct Other(Child);

impl Other {
    /// Starts a program on the PATH.
    fn start(command: &mut Command) -> Option<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.spawn().ok().map(Self)
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    // Free for UDP and TCP: coturn listens at both.
    (0..100)
        .find_map(|_| {
            let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
            UdpSocket::bind(("127.0.0.1", port)).ok().map(|_| port)
        })
        .expect("a port")
}

/// Measures the installed programs: one line of text for each, and one that sets the relay beside them.
pub(crate) async fn compare(options: &Options, measured: &[Figures]) -> String {
    let matchbox = matchbox::measure(options).await;
    let coturn = coturn::measure(options).await;
    let line = |name: &str, json: Option<String>, text: Option<String>| {
        if options.json {
            let figures = json.map_or_else(
                || "\"installed\":false".to_owned(),
                |json| format!("\"installed\":true,{json}"),
            );
            format!("{{\"bench\":\"relay\",\"compared\":\"{name}\",{figures}}}\n")
        } else {
            format!("{name}: {}\n", text.unwrap_or_else(|| "not installed".to_owned()))
        }
    };
    line(
        "matchbox_server",
        matchbox.as_ref().map(matchbox::Joined::json),
        matchbox.as_ref().map(matchbox::Joined::text),
    ) + &line(
        "coturn",
        coturn.as_ref().map(coturn::Forwarded::json),
        coturn.as_ref().map(coturn::Forwarded::text),
    ) + &ratios(options, measured, coturn.as_ref(), matchbox.as_ref())
}

/// The relay's costs in terms of the others': CPU for a packet in terms of coturn's, each at its own full load and at half
/// of it; CPU for a join and memory of an idle member by WebSocket in terms of matchbox's.
fn ratios(
    options: &Options,
    measured: &[Figures],
    coturn: Option<&coturn::Forwarded>,
    matchbox: Option<&matchbox::Joined>,
) -> String {
    let mut all = Vec::new();
    let one = |figures: &&Figures| figures.path == PathWord::WebRtc && figures.threads == 1;
    let two = |figures: &&Figures| figures.path == PathWord::WebRtc && figures.threads == 2;
    if let (Some(one), Some(two)) = (measured.iter().find(one), measured.iter().find(two)) {
        all.push(("webrtc_cpu_of_two_threads_to_one".to_owned(), two.full.cost() / one.full.cost()));
    }
    for figures in measured.iter().filter(|figures| figures.threads == options.threads.unwrap_or(1)) {
        let path = figures.path.name();
        if let Some(coturn) = coturn {
            all.push((format!("{path}_cpu_to_coturn"), figures.full.cost() / coturn.full.cost()));
            all.push((format!("{path}_cpu_to_coturn_at_half"), figures.half.cost() / coturn.half.cost()));
        }
        if let (Some(matchbox), PathWord::WebSocket) = (matchbox, figures.path) {
            all.push(("join_cpu_to_matchbox".to_owned(), figures.micros_per_join() / matchbox.micros));
            let idle = figures.idle_bytes as f64 / matchbox.idle_bytes.max(1) as f64;
            all.push(("idle_memory_to_matchbox".to_owned(), idle));
        }
    }
    if options.json {
        let fields: String = all.iter().map(|(name, ratio)| format!(",\"{name}\":{ratio:.2}")).collect();
        return format!("{{\"bench\":\"relay\",\"compared\":\"ratios\"{fields}}}\n");
    }
    all.iter().map(|(name, ratio)| format!("  {}: {ratio:.2}\n", name.replace('_', " "))).collect()
}
