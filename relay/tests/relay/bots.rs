//! Native robots at a relay: their forwarded traffic is counted, and they play on when the relay has drained.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{RelayProcess, Scratch, program};

/// Two robots in a game of their own.
struct Bots {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Bots {
    fn start(relay: &RelayProcess, path: &str) -> Self {
        let mut command = program();
        command.args(["bots", "--new", "--count", "2", "--seconds", "60", "--path", path, "--relay"]);
        command.arg(format!("http://{}/", relay.address)).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the robots");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    /// Reads statuses until one matches.
    fn until(&mut self, wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let mut line = String::new();
            self.lines.read_line(&mut line).expect("a line");
            let status = serde_json::from_str(&line).expect("a status");
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "it stays {line}");
        }
    }
}

impl Drop for Bots {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Whether a robot reaches another member by this path.
fn has_link(status: &serde_json::Value, path: &str) -> bool {
    status["members"].as_array().is_some_and(|members| members.iter().any(|member| member["path"] == path))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_between_robots_are_counted() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let mut bots = Bots::start(&relay, "relayed");
    tokio::task::block_in_place(|| bots.until(|status| has_link(status, "relayed")));
    relay.metric_becomes("samovar_members{path=\"websocket\"}", |members| members == 2.0).await;
    let forwarded = "samovar_packets_total{path=\"websocket\",direction=\"out\",kind=\"packet\"}";
    let before = relay.metric(forwarded).await;
    relay.metric_becomes(forwarded, |count| count > before + 100.0).await;
    assert!(relay.metric("samovar_forward_seconds_count").await > 100.0);
    for reason in ["member_rate", "address_rate", "game_rate"] {
        let dropped = relay.metric(&format!("samovar_dropped_total{{reason=\"{reason}\"}}")).await;
        assert_eq!(dropped, 0.0, "nobody honest meets a limit");
    }
    drop(bots);
    relay.metric_becomes("samovar_games", |games| games == 0.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duel_over_direct_links_goes_on_when_the_relay_has_drained() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--drain", "1"]);
    let mut bots = Bots::start(&relay, "auto");
    tokio::task::block_in_place(|| {
        let host = bots.until(|status| has_link(status, "direct"))["host"].clone();
        assert!(relay.terminate());
        let alone = bots.until(|status| status["relay"] == "lost");
        let frames = alone["frames"].as_u64().expect("a number");
        let later = bots.until(|status| {
            status["name"] == alone["name"] && status["frames"].as_u64().is_some_and(|now| now > frames + 90)
        });
        assert!(has_link(&later, "direct"), "{later}");
        assert_eq!((&later["host"], later["members"].as_array().map(Vec::len)), (&host, Some(2)), "{later}");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn robots_without_direct_paths_meet_at_the_udp_port() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--udp", "127.0.0.1:0"]);
    let _bots = Bots::start(&relay, "relayed");
    relay.metric_becomes("samovar_members{path=\"webrtc\"}", |members| members == 2.0).await;
    let sent = "samovar_packets_total{path=\"webrtc\",direction=\"out\",kind=\"packet\"}";
    let before = relay.metric(sent).await;
    relay.metric_becomes(sent, |now| now > before + 20.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn robots_leave_at_sigterm() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let mut bots = Bots::start(&relay, "auto");
    tokio::task::block_in_place(|| bots.until(|status| has_link(status, "direct")));
    let sent = Command::new("kill").args(["-TERM", &bots.child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let ended = tokio::task::block_in_place(|| bots.child.wait().expect("it ended"));
    assert_eq!(ended.code(), Some(0), "it is not the signal that ended them");
    relay.metric_becomes("samovar_games", |games| games == 0.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn robots_that_are_never_let_in_say_why_and_fail() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--origin", "https://tea.example"]);
    let at = &relay.address;
    for (url, words) in [
        (format!("http://{at}/nothing/here/"), ["404 at the handshake", "/nothing/here/ws"]),
        (format!("https://{at}/"), ["speaks no TLS", "wss://"]),
        ("http://127.0.0.1:1/".to_owned(), ["does the relay run", "ws://127.0.0.1:1/ws"]),
        (format!("ftp://{at}/"), ["is no address of a relay", "--relay"]),
        (format!("http://{at}/"), ["the relay refused", "there is no game with this code"]),
    ] {
        let mut command = program();
        command.args(["bots", "--game", "NOWHERE", "--seconds", "2", "--relay", &url]);
        let ended = tokio::task::block_in_place(|| command.output().expect("the robots"));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{url}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{url}: {words:?} are not in {said}");
    }
    let missing =
        program().args(["bots", "--new", "--relay", "https://tea.example/", "--ca", "/nowhere.pem"]).output();
    let missing = missing.expect("the robots");
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(1) && said.contains("/nowhere.pem"), "{said}");
}
