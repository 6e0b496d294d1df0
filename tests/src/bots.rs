//! Native robots as a process of their own.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::Process;
use crate::relay::{Relay, keep, program};
use crate::status::{Id, Status};
use crate::wait;

/// How long a robot lives that no test ends. Long enough for every test, short enough to end by itself.
const SECONDS: &str = "600";

/// How long a robot may take to found a game.
const FOUND_WITHIN: Duration = Duration::from_secs(15);

/// Robots of one process. Dropping them kills it.
#[derive(Debug)]
pub struct Bots {
    process: Process,
    reports: Arc<Mutex<Reports>>,
    said: Arc<Mutex<String>>,
}

/// What was heard from the robots.
#[derive(Debug, Default)]
struct Reports {
    /// All lines of each robot, the newest last, and when each was heard.
    robots: BTreeMap<Id, Vec<(Instant, Status)>>,
    /// The first line that was none of the contract.
    broken: Option<String>,
}

impl Bots {
    /// One robot that joins the game with this code, over paths of this kind (`auto`, `direct` or `relayed`).
    #[must_use]
    pub fn join(relay: &Relay, code: &str, path: &str) -> Self {
        Self::start(relay, &["--game", code, "--path", path])
    }

    /// Robots, the first of which founds a game; and the game's code.
    ///
    /// # Panics
    /// When there is none in time.
    pub async fn found(relay: &Relay, count: u8, path: &str) -> (Self, String) {
        let mut bots = Self::start(relay, &["--new", "--count", &count.to_string(), "--path", path]);
        let code = wait::until("the robots have founded a game", FOUND_WITHIN, async || {
            bots.process.assert_running();
            let said = bots.said();
            let code = said.lines().find_map(|line| line.strip_prefix("playing in "));
            code.map(str::to_owned).ok_or(said.clone())
        });
        let code = code.await;
        (bots, code)
    }

    /// Robots as these arguments of `samovar-relay bots` say.
    ///
    /// # Panics
    /// When the program does not start.
    #[must_use]
    pub fn start(relay: &Relay, arguments: &[&str]) -> Self {
        let mut command = Command::new(program());
        let url = format!("http://{}", relay.address());
        command.args(["bots", "--relay", &url, "--seconds", SECONDS]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start("the robots", &mut command);
        let (reports, said) = (Arc::default(), Arc::default());
        keep(process.child().stderr.take().expect("piped"), &said);
        listen(process.child().stdout.take().expect("piped"), &reports);
        Self { process, reports, said }
    }

    /// The process sleeps where it stands.
    pub fn fall_asleep(&self) {
        self.process.pause();
    }

    /// The process goes on.
    pub fn wake_up(&self) {
        self.process.resume();
    }

    /// `SIGKILL` to the process, and so to all of its robots.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// The newest report of each robot.
    ///
    /// # Panics
    /// When a line was none of the contract.
    #[must_use]
    pub fn newest(&self) -> Vec<Status> {
        let reports = self.reports();
        reports.robots.values().filter_map(|lines| lines.last()).map(|(_, status)| status.clone()).collect()
    }

    /// The reports of all robots that were heard after `since`, the oldest of each robot first.
    ///
    /// # Panics
    /// When a line was none of the contract.
    #[must_use]
    pub fn since(&self, since: Instant) -> Vec<(Instant, Status)> {
        let reports = self.reports();
        reports.robots.values().flatten().filter(|(heard, _)| *heard > since).cloned().collect()
    }

    /// Waits until the newest reports are as wanted, and returns them. A robot reports once a second.
    ///
    /// # Panics
    /// When they do not become so in time, with the last ones, or when the process has ended.
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

    /// What the process printed beside its reports.
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
                    // Before it has entered a game it is nobody.
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
