//! Real robots at a relay that is asked to stop: their game goes on without the relay.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{RelayProcess, Scratch, program};

/// The longest time until a game is in the wanted state.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process of robots.
struct Bots {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    errors: Lines<BufReader<ChildStderr>>,
}

impl Bots {
    fn start(relay: &RelayProcess, more: &[&str]) -> Self {
        let mut command = program();
        command.arg("bots").args(more).arg("--relay");
        command.arg(format!("http://{}/", relay.address)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the robots");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let errors = BufReader::new(child.stderr.take().expect("piped")).lines();
        Self { child, lines, errors }
    }

    /// The code of the game that the robots have founded.
    fn code(&mut self) -> String {
        let mut codes = self.errors.by_ref().map(|line| line.expect("text"));
        codes.find_map(|line| line.strip_prefix("playing in ").map(str::to_owned)).expect("a code")
    }

    /// Reads statuses until one matches.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.lines.next().expect("they play on").expect("text");
            let status = serde_json::from_str(&line).expect("a status");
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "it stays {line}");
        }
    }

    /// Asserts that the robots play on without the relay for some seconds, with each other and without their former
    /// host. On a busy machine they may miss each other for a moment, and elect another host.
    fn assert_play_on(&mut self, former: &Value) {
        let alone = self.until(|status| status["relay"] == "lost");
        let frames = alone["frames"].as_u64().expect("a number");
        let later = self.until(|status| {
            status["name"] == alone["name"] && status["frames"].as_u64().is_some_and(|now| now > frames + 180)
        });
        assert!(direct(&later) == 1 && !later["host"].is_null() && later["host"] != *former, "{later}");
    }
}

impl Drop for Bots {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The number of other peers with a direct path. The referee's robot does not count, because it is no peer.
fn direct(status: &Value) -> usize {
    let is_peer = |member: &Value| member["peer"].as_str().is_some_and(|peer| !peer.starts_with("robot"));
    let is_linked = |member: &&Value| member["path"] == "direct" && is_peer(member);
    status["members"].as_array().map_or(0, |members| members.iter().filter(is_linked).count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_referees_table_survives_the_stop_of_its_relay() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--referee", "TEA", "--drain", "4"]);
    relay.metric_becomes("samovar_members{path=\"websocket\"}", |members| members == 1.0).await;
    tokio::task::block_in_place(|| {
        let mut bots = Bots::start(&relay, &["--game", "TEA", "--count", "2", "--seconds", "90"]);
        let before = bots.until(|status| direct(status) == 1 && !status["host"].is_null());
        assert_ne!(before["host"], before["peer"], "the referee hosts");
        relay.signal("TERM");
        let asked = Instant::now();
        let after = bots.until(|status| !status["host"].is_null() && status["host"] != before["host"]);
        assert_eq!(after["relay"], "connected", "it was handed over while there was a witness: {after}");
        assert!(relay.ends_well());
        let took = asked.elapsed();
        assert!(
            (3_500..7_000).contains(&took.as_millis()),
            "at its deadline, for players are left: {took:?}"
        );
        bots.assert_play_on(&before["host"]);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relayed_host_hands_over_before_the_relay_stops() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--drain", "8"]);
    tokio::task::block_in_place(|| {
        let mut founder = Bots::start(&relay, &["--new", "--path", "relayed", "--seconds", "90"]);
        let code = founder.code();
        let mut bots = Bots::start(&relay, &["--game", &code, "--count", "2", "--seconds", "90"]);
        let before = bots.until(|status| direct(status) == 1 && !status["host"].is_null());
        relay.signal("TERM");
        let after = bots.until(|status| !status["host"].is_null() && status["host"] != before["host"]);
        assert_eq!(after["relay"], "connected", "it was handed over while there was a witness: {after}");
        assert!(relay.ends_well());
        bots.assert_play_on(&before["host"]);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_drains_ends_when_the_last_robots_have_left() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--drain", "60"]);
    tokio::task::block_in_place(|| {
        let mut bots = Bots::start(&relay, &["--new", "--count", "2", "--seconds", "6"]);
        bots.until(|status| direct(status) == 1);
        let asked = Instant::now();
        assert!(relay.terminate());
        assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    });
}
