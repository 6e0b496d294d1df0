//! A running example, and the lines that it has printed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samovar_tests::process::Process;
use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;
use samovar_tests::wait;

/// The longest wait. It is long enough for slow machines, because no test
/// measures how fast an example is.
const PATIENCE: Duration = Duration::from_secs(40);

/// One player. Dropping it kills it.
pub(crate) struct Program {
    name: String,
    process: Process,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Program {
    /// Starts an example as this player, with `folder` as its working
    /// directory.
    pub(crate) fn start(
        path: &str,
        relay: &Relay,
        code: &str,
        name: &str,
        folder: &Scratch,
    ) -> Self {
        let url = format!("ws://{}/ws", relay.address());
        let mut command = Command::new(path);
        command
            .args([&url, code, name])
            .current_dir(folder.path())
            .stdout(Stdio::piped());
        let mut process = Process::with_input(name, &mut command);
        let out = process.child().stdout.take().expect("a pipe");
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { name: name.to_owned(), process, lines }
    }

    /// The lines that the program has printed so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `found` returns a value for the printed lines, and returns
    /// that value.
    pub(crate) async fn until<T>(
        &mut self,
        what: &str,
        found: impl Fn(&[String]) -> Option<T>,
    ) -> T {
        let what = format!("{}: {what}", self.name);
        wait::until(&what, PATIENCE, async || {
            self.process.assert_running();
            let lines = self.lines();
            found(&lines).ok_or_else(|| {
                lines
                    .iter()
                    .rev()
                    .take(8)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join("\n")
            })
        })
        .await
    }

    /// Waits until this player has made the game, and hosts it.
    pub(crate) async fn founds(&mut self) {
        let line = format!("joined; {} hosts", self.name);
        self.until("it hosts", |lines| lines.contains(&line).then_some(()))
            .await;
    }

    /// Types a line into the program.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.process.child().stdin.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Waits until the program has ended by itself, without an error.
    pub(crate) async fn ends_well(&mut self) {
        let what = format!("{} ends", self.name);
        let ended = wait::until(&what, PATIENCE, async || {
            self.process.ended().ok_or_else(|| self.lines().join("\n"))
        })
        .await;
        assert!(ended.success(), "{}: {ended}", self.name);
    }

    /// Stops the process by `SIGSTOP`.
    pub(crate) fn pause(&mut self) {
        self.process.pause();
    }

    /// Lets the process go on, by `SIGCONT`.
    pub(crate) fn resume(&mut self) {
        self.process.resume();
    }

    /// Kills the process by `SIGKILL`.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }
}
