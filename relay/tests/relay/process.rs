//! A relay process with a data directory of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A directory that is removed after the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("samovar-relay-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

pub(crate) struct RelayProcess {
    child: Child,
    /// The relay's output after the first line.
    stdout: BufReader<std::process::ChildStdout>,
    /// Host and port.
    pub(crate) address: String,
}

impl RelayProcess {
    /// Starts a relay at a free port and waits until it listens.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    pub(crate) fn start_with(data: &Path, more: &[&str]) -> Self {
        Self::spawn(&mut command("127.0.0.1:0", data, more))
    }

    /// Starts a relay with these variables in its environment.
    #[cfg(feature = "otel")]
    pub(crate) fn start_in(variables: &[(&str, &str)], data: &Path, more: &[&str]) -> Self {
        Self::spawn(command("127.0.0.1:0", data, more).envs(variables.iter().copied()))
    }

    /// Starts a relay at a given address.
    pub(crate) fn start_at(address: &str, data: &Path) -> Self {
        Self::spawn(&mut command(address, data, &[]))
    }

    /// Starts a relay whose log can be read after its end. The log must be short, because the test does not read it
    /// meanwhile.
    pub(crate) fn start_logged(data: &Path, more: &[&str]) -> Self {
        Self::spawn(command("127.0.0.1:0", data, more).stderr(Stdio::piped()))
    }

    /// Starts a relay in a process that may have `files` files open.
    pub(crate) fn start_with_files(data: &Path, files: u32, more: &[&str]) -> Self {
        let serve = command("127.0.0.1:0", data, more);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")]);
        limited.arg(serve.get_program()).args(serve.get_args());
        for (name, value) in serve.get_envs() {
            assert!(value.is_none(), "the environment is only made smaller");
            limited.env_remove(name);
        }
        Self::spawn(limited.stdin(Stdio::null()).stderr(Stdio::piped()))
    }

    /// Starts a relay whose log goes to `log`.
    pub(crate) fn start_logging_to(log: impl Into<Stdio>, data: &Path, more: &[&str]) -> Self {
        Self::spawn(command("127.0.0.1:0", data, more).stderr(log))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the relay");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        stdout.read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on ").and_then(|rest| rest.strip_suffix('/'));
        let address =
            address.and_then(|url| url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")));
        let address = address.unwrap_or_else(|| panic!("not the promised line: {line:?}")).to_owned();
        Self { child, stdout, address }
    }

    /// Ends the relay, and returns its log. It must have been started by [`RelayProcess::start_logged`].
    pub(crate) fn log(mut self) -> String {
        self.signal("INT");
        let mut log = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut log).expect("text");
        log
    }

    /// The relay's process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that the relay prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line
    }

    /// Kills the relay by `SIGKILL`, so that it cannot tidy up.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ended");
    }

    /// Sends `SIGTERM`, and returns whether the relay ended well.
    pub(crate) fn terminate(self) -> bool {
        self.signal("TERM");
        self.ends_well()
    }

    /// Sends the relay a signal, by the name that `kill` knows.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.expect("kill").success());
    }

    /// Waits until the relay ends, and returns whether it ended well.
    pub(crate) fn ends_well(mut self) -> bool {
        self.child.wait().expect("it ended").success()
    }

    /// The current value of a metric. `name` has the metric's name and its labels, as the text of `/metrics` writes
    /// them.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        // Waits longer than the relay caches the text, so that the value is current.
        tokio::time::sleep(Duration::from_millis(260)).await;
        let (_, text) = self.get("/metrics").await;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in\n{text}"))
    }

    /// Waits until a value of `/metrics` is as wanted, and returns it.
    pub(crate) async fn metric_becomes(&self, name: &str, wanted: impl Fn(f64) -> bool) -> f64 {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let value = self.metric(name).await;
            if wanted(value) {
                return value;
            }
            assert!(Instant::now() < deadline, "{name} stays {value}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the list of games is as wanted, and returns it.
    pub(crate) async fn games_become(
        &self,
        wanted: impl Fn(&serde_json::Value) -> bool,
    ) -> serde_json::Value {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let games = serde_json::from_str(&self.get("/api/games").await.1).expect("JSON");
            if wanted(&games) {
                return games;
            }
            assert!(Instant::now() < deadline, "the list of games stays {games}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a `GET`, and returns the head and the body of the answer.
    pub(crate) async fn get(&self, path: &str) -> (String, String) {
        get_at(&self.address, path).await
    }

    /// Sends a request without a body, and returns the head of the answer.
    pub(crate) async fn ask(&self, method: &str, path: &str) -> String {
        ask_at(&self.address, method, path).await.0
    }
}

/// Sends a `GET` to this host and port, and returns the head and the body of the answer.
pub(crate) async fn get_at(address: &str, path: &str) -> (String, String) {
    ask_at(address, "GET", path).await
}

async fn ask_at(address: &str, method: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.expect("connects");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: relay\r\nAccept-Encoding: br\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("sends");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_ascii_lowercase(), body.to_owned())
}

impl Drop for RelayProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs a relay that must fail to start, and returns its error message.
pub(crate) fn refusal(listen: &str, data: &Path, more: &[&str]) -> String {
    let mut child =
        command(listen, data, more).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it");
    let status = child.wait().expect("it ends");
    assert!(!status.success());
    let mut text = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut text).expect("text");
    text
}

/// Runs the program with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Output {
    run_in(&[], arguments)
}

/// Runs the program with these variables of the environment and these arguments.
pub(crate) fn run_in(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    program().envs(variables.iter().copied()).args(arguments).output().expect("the relay")
}

/// The program, without the settings that the test's environment may have.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_samovar-relay"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if name == "RUST_LOG" || text.starts_with("SAMOVAR_") || text.starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command
}

fn command(listen: &str, data: &Path, more: &[&str]) -> Command {
    let mut command = program();
    command.args(["serve", "--listen", listen, "--data"]).arg(data).args(more).stdin(Stdio::null());
    command
}
