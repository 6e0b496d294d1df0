//! The relay, in its own process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::place::Place;
use crate::process::{Process, path_from};
use crate::scratch::Scratch;
use crate::wait;

/// A relay that serves the page. Its data directory outlives its process.
#[derive(Debug)]
pub struct Relay {
    /// `None` after the relay was killed, until it is started again.
    process: Option<Process>,
    place: Place,
    data: Scratch,
    address: String,
    /// The directory of the page that the relay serves.
    web: PathBuf,
    /// The further arguments of the relay's program.
    more: Vec<&'static str>,
    said: Arc<Mutex<String>>,
}

impl Relay {
    /// Starts a relay on a free port of the loopback and waits until it listens.
    ///
    /// # Panics
    /// The relay does not listen.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at(&Place::here())
    }

    /// Starts a relay on a free port of a place. Only processes at that place, or in its network, reach the relay.
    ///
    /// # Panics
    /// The relay does not listen.
    #[must_use]
    pub fn start_at(place: &Place) -> Self {
        Self::start_with(place, &[])
    }

    /// Starts a relay on this port of the loopback.
    ///
    /// # Panics
    /// The relay does not listen, because another program has the port.
    #[must_use]
    pub fn start_on(port: u16) -> Self {
        Self::begin(&Place::here(), port, &[])
    }

    /// Starts a relay on a free port of a place, with further arguments.
    ///
    /// # Panics
    /// The relay does not listen.
    #[must_use]
    pub fn start_with(place: &Place, more: &[&'static str]) -> Self {
        Self::begin(place, 0, more)
    }

    /// Starts a relay on a free port of the loopback that serves the page in this directory.
    ///
    /// # Panics
    /// The relay does not listen.
    #[must_use]
    pub fn serving(web: &Path) -> Self {
        Self::begin_with(&Place::here(), 0, &[], web.to_owned())
    }

    fn begin(place: &Place, port: u16, more: &[&'static str]) -> Self {
        Self::begin_with(place, port, more, path_from("SAMOVAR_WEB_DIR", "dist"))
    }

    fn begin_with(place: &Place, port: u16, more: &[&'static str], web: PathBuf) -> Self {
        let data = Scratch::new();
        let said = Arc::default();
        let (process, address) = serve(place, port, (data.path(), &web, more), &said);
        Self { process: Some(process), place: place.clone(), data, address, web, more: more.to_vec(), said }
    }

    /// Sends `SIGSTOP` to the relay. Its sockets stay open and silent.
    ///
    /// # Panics
    /// The relay was killed before.
    pub fn pause(&mut self) {
        self.process.as_mut().expect("it runs").pause();
    }

    /// Sends `SIGCONT` to the relay.
    ///
    /// # Panics
    /// The relay was killed before.
    pub fn resume(&mut self) {
        self.process.as_mut().expect("it runs").resume();
    }

    /// Kills the relay by `SIGKILL`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Starts the relay again with the same data on the same port.
    ///
    /// # Panics
    /// The relay does not listen, or was not killed before.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "kill the relay before");
        let port = self.address.rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.expect("it has listened at a port");
        let (process, address) =
            serve(&self.place, port, (self.data.path(), &self.web, &self.more), &self.said);
        assert_eq!(address, self.address);
        self.process = Some(process);
    }

    /// Starts the relay again with these arguments in place of the old ones.
    ///
    /// # Panics
    /// The relay does not listen, or was not killed before.
    pub fn restart_with(&mut self, more: &[&'static str]) {
        self.more = more.to_vec();
        self.restart();
    }

    /// Starts another relay in its place, without the key and the terms of the old one.
    ///
    /// # Panics
    /// The relay does not listen, or was not killed before.
    pub fn restart_without_data(&mut self) {
        self.data = Scratch::new();
        self.restart();
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address of the page with this query, without its question mark.
    #[must_use]
    pub fn page(&self, query: &str) -> String {
        format!("http://{}/?{query}", self.address)
    }

    /// Sends a `GET` request to the relay. Returns the status code and the body.
    ///
    /// # Errors
    /// A text, if the relay cannot be reached or does not answer by HTTP.
    pub fn get(&self, path: &str) -> Result<(u16, String), String> {
        Self::get_at(&self.place, &self.address, path)
    }

    /// Sends a `GET` request from a place to this host and port, where a proxy may be.
    ///
    /// # Errors
    /// A text, if no server can be reached there or it does not answer by HTTP.
    pub fn get_at(place: &Place, address: &str, path: &str) -> Result<(u16, String), String> {
        let mut stream = place.connect(address).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(|error| error.to_string())?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no head")?;
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or("no status code")?;
        Ok((code, body.to_owned()))
    }

    /// The listed game with this code, as `GET /api/games` shows it.
    ///
    /// # Panics
    /// The relay gives no list.
    #[must_use]
    pub fn listed(&self, code: &str) -> Option<serde_json::Value> {
        let (status, body) = self.get("/api/games").expect("the relay answers");
        assert_eq!(status, 200, "{body}");
        let games: Vec<serde_json::Value> = serde_json::from_str(&body).expect("a list");
        games.into_iter().find(|game| game["code"] == code)
    }

    /// Waits until the list of games has this one, and returns it. The host tells the relay of a game a moment after it
    /// has founded it, and the relay answers with the same list for a quarter of a second.
    ///
    /// # Panics
    /// The list does not have it within this time.
    pub async fn lists(&self, code: &str, within: Duration) -> serde_json::Value {
        wait::until("the game is listed", within, async || self.listed(code).ok_or(String::new())).await
    }

    /// Gives the relay's operator's order, and returns the answer.
    ///
    /// # Panics
    /// The relay does not carry it out.
    pub fn order(&self, words: &[&str]) -> serde_json::Value {
        let mut command = self.place.command(program());
        command.args(["admin", "--json", "--data"]).arg(self.data.path()).args(words);
        let output = command.output().expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The whole output of the relay so far.
    #[must_use]
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.kill();
        let said = self.said();
        if std::thread::panicking() {
            println!("--- the relay said\n{said}");
        } else {
            // The relay's tasks are isolated from each other, so a panic would not be noticed otherwise.
            assert!(!said.contains("panicked"), "the relay panicked:\n{said}");
        }
    }
}

/// The path of the relay's program.
///
/// # Panics
/// The program does not exist.
pub(crate) fn program() -> PathBuf {
    let program = path_from("SAMOVAR_RELAY_BIN", "target/release/samovar-relay");
    let shown = program.display();
    assert!(program.exists(), "{shown} is missing: `cargo build --release -p samovar-relay` makes it");
    program
}

/// Starts the relay's program with this data directory and these further arguments. Returns the process, and the
/// address at which it listens.
fn serve(
    place: &Place,
    port: u16,
    (data, web, more): (&Path, &Path, &[&'static str]),
    said: &Arc<Mutex<String>>,
) -> (Process, String) {
    let mut command = place.command(program());
    command
        .args(["serve", "--listen", &format!("{}:{port}", place.address()), "--data"])
        .arg(data)
        .arg("--web")
        .arg(web)
        .args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::start("the relay", &mut command);
    let mut stdout = BufReader::new(process.child().stdout.take().expect("piped"));
    let stderr = process.child().stderr.take().expect("piped");
    keep(stderr, said);
    let mut line = String::new();
    stdout.read_line(&mut line).expect("text");
    let address = line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix('/'));
    let said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let address = address.unwrap_or_else(|| panic!("the relay does not listen: {line:?}\n{said}"));
    (process, address.to_owned())
}

/// Collects a stream, so that its writer never waits for a reader.
pub(crate) fn keep(stream: impl std::io::Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_str(&line);
            said.push('\n');
        }
    });
}
