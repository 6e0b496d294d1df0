//! Measures what the same work costs other programs, in the same run: matchbox's signalling server for joins and
//! memory, coturn for forwarding. Each is measured if it is installed, and reported as missing otherwise.

mod coturn;
mod matchbox;

use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::options::Options;

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

/// Measures the installed programs: one line of text for each.
pub(crate) async fn compare(options: &Options) -> String {
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
    )
}
