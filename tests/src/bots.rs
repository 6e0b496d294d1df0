//! Native robots, in their own process.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::Place;
use crate::process::Process;
use crate::relay::{Relay, keep, program};
use crate::status::{Id, Status};
use crate::wait;

/// The lifetime of robots that no test ends, in seconds: long enough for every test.
const SECONDS: &str = "600";

/// The longest time until a robot has founded a game.
const FOUND_WITHIN: Duration = Duration::from_secs(15);

/// The longest time until robots have left. A host hands over first.
const LEFT_WITHIN: Duration = Duration::from_secs(10);

/// The robots of one process. Dropping this kills the process.
#[derive(Debug)]
pub struct Bots {
    process: Process,
    reports: Arc<Mutex<Reports>>,
    said: Arc<Mutex<String>>,
}

/// The robots' reports.
#[derive(Debug, Default)]
struct Reports {
    /// All reports of each robot, the newest last, and when each arrived.
    robots: BTreeMap<Id, Vec<(Instant, Status)>>,
    /// The last line of any robot, also of one that is in no game.
    last: Option<(Instant, Status)>,
    /// The first line that does not match `docs/automation.md`.
    broken: Option<String>,
}

impl Bots {
    /// Starts one robot that joins the game with this code, over paths of this kind (`auto`, `direct` or `relayed`).
    #[must_use]
    pub fn join(relay: &Relay, code: &str, path: &str) -> Self {
        Self::join_at(&Place::here(), relay, code, path)
    }

    /// Starts one robot at this place that joins the game with this code.
    #[must_use]
    pub fn join_at(place: &Place, relay: &Relay, code: &str, path: &str) -> Self {
        Self::start(place, relay, &["--game", code, "--path", path])
    }

    /// Starts robots, the first of which founds a game. Returns them and the game's code.
    ///
    /// # Panics
    /// The robots found no game in time.
    pub async fn found(relay: &Relay, count: u8, path: &str) -> (Self, String) {
        Self::found_at(&Place::here(), relay, count, path).await
    }

    /// Starts robots at this place, the first of which founds a game. Returns them and the game's code.
    ///
    /// # Panics
    /// The robots found no game in time.
    pub async fn found_at(place: &Place, relay: &Relay, count: u8, path: &str) -> (Self, String) {
        let bots = Self::start(place, relay, &["--new", "--count", &count.to_string(), "--path", path]);
        bots.with_code().await
    }

    /// Starts one robot, with further arguments, that founds a game at the relay with this address. Returns it and
    /// the game's code.
    ///
    /// # Panics
    /// The robots found no game in time.
    pub async fn found_behind(place: &Place, url: &str, more: &[&str], path: &str) -> (Self, String) {
        Self::start_by(place, url, &[&["--new", "--path", path], more].concat()).with_code().await
    }

    /// Starts one robot that joins a game by its code, over paths of a kind, at the relay with this address. The
    /// robot's machine trusts the certificate authorities in the file `store`.
    #[must_use]
    pub fn join_trusting(place: &Place, url: &str, store: &str, (code, path): (&str, &str)) -> Self {
        let mut command = place.command(program());
        command.env("SSL_CERT_FILE", store).env_remove("SSL_CERT_DIR");
        Self::run(command, place, url, &["--game", code, "--path", path])
    }

    async fn with_code(mut self) -> (Self, String) {
        let code = wait::until("the robots have founded a game", FOUND_WITHIN, async || {
            self.process.assert_running();
            let said = self.said();
            let code = said.lines().find_map(|line| line.strip_prefix("playing in "));
            code.map(str::to_owned).ok_or(said.clone())
        });
        let code = code.await;
        (self, code)
    }

    /// Starts robots with these arguments of `samovar-relay bots`.
    ///
    /// # Panics
    /// The program does not start.
    #[must_use]
    pub fn start(place: &Place, relay: &Relay, arguments: &[&str]) -> Self {
        Self::start_by(place, &format!("http://{}", relay.address()), arguments)
    }

    /// Starts robots with these arguments at a relay with this address.
    ///
    /// # Panics
    /// The program does not start.
    #[must_use]
    pub fn start_at(url: &str, place: &Place, arguments: &[&str]) -> Self {
        Self::start_by(place, url, arguments)
    }

    fn start_by(place: &Place, url: &str, arguments: &[&str]) -> Self {
        Self::run(place.command(program()), place, url, arguments)
    }

    fn run(mut command: Command, place: &Place, url: &str, arguments: &[&str]) -> Self {
        command.args(["bots", "--relay", url, "--seconds", SECONDS]);
        command.args(["--bind", &place.address().to_string()]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start("the robots", &mut command);
        let (reports, said) = (Arc::default(), Arc::default());
        keep(process.child().stderr.take().expect("piped"), &said);
        listen(process.child().stdout.take().expect("piped"), &reports);
        Self { process, reports, said }
    }

    /// Sends `SIGKILL` to the process, which ends all of its robots.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends `SIGTERM` to the process. Its robots then leave the game, and it ends.
    ///
    /// # Panics
    /// The process has ended.
    pub fn leave(&mut self) {
        self.process.terminate();
    }

    /// Sends `SIGTERM` again. Returns `false` if the process has ended meanwhile.
    pub fn leave_again(&mut self) -> bool {
        let is_running = self.process.ended().is_none();
        if is_running {
            self.process.terminate();
        }
        is_running
    }

    /// Waits until the process has ended by itself, as it does when its robots have left.
    ///
    /// # Panics
    /// The process does not end in time, or ends with a failure.
    pub async fn has_ended(&mut self) {
        let status = self.end().await;
        assert!(status.success(), "{status}: {}", self.said());
    }

    /// Waits until the process has ended by itself, and returns its status.
    ///
    /// # Panics
    /// The process does not end in time.
    pub async fn end(&mut self) -> ExitStatus {
        let ended = wait::until("the robots have ended", LEFT_WITHIN, async || {
            // The thread that reads the output drops its share of the text at the end of the stream. After that the
            // text is complete.
            let is_read = Arc::strong_count(&self.said) == 1;
            self.process.ended().filter(|_| is_read).ok_or_else(|| self.said())
        });
        ended.await
    }

    /// Sends `SIGSTOP` to the process. Its robots stand still and send nothing, with all sockets open.
    ///
    /// # Panics
    /// The process has ended.
    pub fn pause(&mut self) {
        self.process.pause();
    }

    /// Sends `SIGCONT` to the process. Its robots go on as if no time had passed.
    ///
    /// # Panics
    /// The process has ended.
    pub fn resume(&mut self) {
        self.process.resume();
    }

    /// Checks that the process has not ended by itself.
    ///
    /// # Panics
    /// The process has ended.
    pub fn assert_running(&mut self) {
        self.process.assert_running();
    }

    /// The newest report of any of its robots, and when it arrived. A robot in no game also reports, without a peer.
    ///
    /// # Panics
    /// A line does not match `docs/automation.md`.
    #[must_use]
    pub fn last(&self) -> Option<(Instant, Status)> {
        self.reports().last.clone()
    }

    /// Returns the milliseconds from `since` until a robot had the session of its newest host. `after` is a report of
    /// that robot.
    ///
    /// # Panics
    /// The report names no change of host, or the robot made no report around `since`.
    #[must_use]
    pub fn resumed_after(&self, after: &Status, since: Instant) -> f64 {
        let migration = after.migrations.last().expect("noted");
        // A host may have renewed its term since.
        assert!(migration.term <= after.term && Some(&migration.to) == after.host.as_ref(), "{after}");
        // A report arrives some time after it was made. The report with the shortest delay relates session time to
        // the clock best.
        let reports = self.since(since - Duration::from_secs(5));
        let offset = |(heard, status): &(Instant, Status)| {
            let ahead = heard.saturating_duration_since(since).as_secs_f64()
                - since.saturating_duration_since(*heard).as_secs_f64();
            status.session_time_ms - ahead * 1_000.0
        };
        let session_time = reports.iter().map(offset).max_by(f64::total_cmp).expect("some reports");
        migration.resumed_ms - session_time
    }

    /// The newest report of each robot.
    ///
    /// # Panics
    /// A line does not match `docs/automation.md`.
    #[must_use]
    pub fn newest(&self) -> Vec<Status> {
        let reports = self.reports();
        reports.robots.values().filter_map(|lines| lines.last()).map(|(_, status)| status.clone()).collect()
    }

    /// The reports of all robots that arrived after `since`, the oldest of each robot first.
    ///
    /// # Panics
    /// A line does not match `docs/automation.md`.
    #[must_use]
    pub fn since(&self, since: Instant) -> Vec<(Instant, Status)> {
        let reports = self.reports();
        reports.robots.values().flatten().filter(|(heard, _)| *heard > since).cloned().collect()
    }

    /// Waits until the newest reports are as wanted, and returns them. A robot reports once a second.
    ///
    /// # Panics
    /// The reports are not as wanted in time (the message has the last ones), or the process has ended.
    pub async fn wait(
        &mut self,
        what: &str,
        within: Duration,
        wanted: impl Fn(&[Status]) -> bool,
    ) -> Vec<Status> {
        wait::until(what, within, async || {
            self.process.assert_running();
            let newest = self.newest();
            if wanted(&newest) {
                return Ok(newest);
            }
            Err(newest.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        })
        .await
    }

    /// The output of the process beside its reports.
    #[must_use]
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reports(&self) -> MutexGuard<'_, Reports> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(broken) = &reports.broken {
            panic!("not a robot's line: {broken}");
        }
        reports
    }
}

impl Drop for Bots {
    fn drop(&mut self) {
        self.kill();
        let said = self.said();
        if std::thread::panicking() {
            println!("--- the robots said\n{said}");
        } else {
            assert!(!said.contains("panicked"), "a robot panicked:\n{said}");
        }
    }
}

fn listen(stdout: impl std::io::Read + Send + 'static, reports: &Arc<Mutex<Reports>>) {
    let reports = Arc::clone(reports);
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let heard = Instant::now();
            let read = serde_json::from_str::<Value>(&line).map_err(|error| format!("{error} in {line}"));
            let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
            match read.and_then(|value| Status::read(&value)) {
                Ok(status) => {
                    reports.last = Some((heard, status.clone()));
                    // A robot has no peer before it has entered a game.
                    if let Some(peer) = status.peer.clone() {
                        reports.robots.entry(peer).or_default().push((heard, status));
                    }
                }
                Err(error) => {
                    reports.broken.get_or_insert(error);
                }
            }
        }
    });
}
