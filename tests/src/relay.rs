//! The relay as a process of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::place::Place;
use crate::process::{Process, path_from};
use crate::scratch::Scratch;

/// A relay that serves the page, on a data directory that outlives it.
#[derive(Debug)]
pub struct Relay {
    /// `None` while it is killed.
    process: Option<Process>,
    place: Place,
    data: Scratch,
    address: String,
    /// The directory of the page that it serves.
    web: PathBuf,
    /// Its arguments beside the address.
    more: Vec<&'static str>,
    said: Arc<Mutex<String>>,
}

impl Relay {
    /// Starts a relay on a free port of the loopback and waits until it listens.
    ///
    /// # Panics
    /// It does not listen.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at(&Place::here())
    }

    /// Starts a relay on a free port of a place. Only processes at that place or beside it reach it.
    ///
    /// # Panics
    /// It does not listen.
    #[must_use]
    pub fn start_at(place: &Place) -> Self {
        Self::start_with(place, &[])
    }

    /// Starts a relay on this port of the loopback.
    ///
    /// # Panics
    /// It does not listen: another program has the port.
    #[must_use]
    pub fn start_on(port: u16) -> Self {
        Self::begin(&Place::here(), port, &[])
    }

    /// The same with further arguments.
    ///
    /// # Panics
    /// It does not listen.
    #[must_use]
    pub fn start_with(place: &Place, more: &[&'static str]) -> Self {
        Self::begin(place, 0, more)
    }

    /// Starts a relay on a free port of the loopback that serves the page in this directory.
    ///
    /// # Panics
    /// It does not listen.
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

    /// `SIGSTOP`: its sockets stay open and silent.
    ///
    /// # Panics
    /// It is killed already.
    pub fn pause(&mut self) {
        self.process.as_mut().expect("it runs").pause();
    }

    /// `SIGCONT`.
    ///
    /// # Panics
    /// It is killed already.
    pub fn resume(&mut self) {
        self.process.as_mut().expect("it runs").resume();
    }

    /// `SIGKILL`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Starts it again with the same data on the same port.
    ///
    /// # Panics
    /// It does not listen, or was not killed before.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "kill the relay before");
        let port = self.address.rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.expect("it has listened at a port");
        let (process, address) =
            serve(&self.place, port, (self.data.path(), &self.web, &self.more), &self.said);
        assert_eq!(address, self.address);
        self.process = Some(process);
    }

    /// Starts it again with these arguments in place of the old ones.
    ///
    /// # Panics
    /// It does not listen, or was not killed before.
    pub fn restart_with(&mut self, more: &[&'static str]) {
        self.more = more.to_vec();
        self.restart();
    }

    /// Starts another in its place, without its key and its terms.
    ///
    /// # Panics
    /// It does not listen, or was not killed before.
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

    /// `GET`: the status code and the body.
    ///
    /// # Errors
    /// Text if the relay cannot be reached or answers no HTTP.
    pub fn get(&self, path: &str) -> Result<(u16, String), String> {
        Self::get_at(&self.place, &self.address, path)
    }

    /// The same from a place at this host and port, where a proxy may be.
    ///
    /// # Errors
    /// Text if nothing can be reached there, or answers no HTTP.
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

    /// Its whole output so far.
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
            // Its tasks are isolated from each other, so a panic would not be noticed otherwise.
            assert!(!said.contains("panicked"), "the relay panicked:\n{said}");
        }
    }
}

/// The relay's program.
///
/// # Panics
/// There is none.
pub(crate) fn program() -> PathBuf {
    let program = path_from("SAMOVAR_RELAY_BIN", "target/release/samovar-relay");
    let shown = program.display();
    assert!(program.exists(), "{shown} is missing: `cargo build --release -p samovar-relay` makes it");
    program
}

/// The command with this data directory and these further arguments.
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
