//! Child processes that end with the test, by `SIGKILL` and with all of their own children.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A running program that leads its own process group. Dropping this kills the group.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    ended: bool,
}

impl Process {
    /// Starts `command`. `name` is for messages.
    ///
    /// # Panics
    /// The command cannot be started.
    #[must_use]
    pub fn start(name: &str, command: &mut Command) -> Self {
        Self::spawn(name, command.stdin(Stdio::null()))
    }

    /// Starts `command` with an input that the test can write to.
    ///
    /// # Panics
    /// The command cannot be started.
    #[must_use]
    pub fn with_input(name: &str, command: &mut Command) -> Self {
        Self::spawn(name, command.stdin(Stdio::piped()))
    }

    /// Starts `command` so that it ends with this process, however this process ends. The command may outlive the
    /// test. Its error output goes to `log`.
    ///
    /// # Panics
    /// The command cannot be started.
    pub(crate) fn tied(name: &str, command: &Command, log: File) -> Self {
        // The shell reads a pipe that this process holds open and never writes to.
        let mut tied = Command::new("sh");
        tied.args(["-c", "{ \"$@\"; kill -KILL 0; } & read -r _; kill -KILL 0", "tied"]);
        tied.arg(command.get_program()).args(command.get_args());
        for (variable, value) in command.get_envs() {
            if let Some(value) = value {
                tied.env(variable, value);
            }
        }
        Self::spawn(name, tied.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log))
    }

    fn spawn(name: &str, command: &mut Command) -> Self {
        let child = command.process_group(0).spawn();
        let child = child.unwrap_or_else(|error| panic!("{name} does not start: {command:?}: {error}"));
        Self { name: name.to_owned(), child, ended: false }
    }

    /// The child itself, for its streams.
    pub const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Checks that the program has not ended by itself.
    ///
    /// # Panics
    /// The program has ended. The message has its exit status.
    pub fn assert_running(&mut self) {
        if let Some(status) = self.ended() {
            panic!("{} ended by itself: {status}", self.name);
        }
    }

    /// Sends `SIGSTOP` to the whole group. The group stands still, with its sockets open, until
    /// [`resume`](Self::resume).
    ///
    /// # Panics
    /// The signal reaches no process.
    pub fn pause(&mut self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Sends `SIGCONT` to the whole group. The group goes on as if no time had passed.
    ///
    /// # Panics
    /// The signal reaches no process.
    pub fn resume(&mut self) {
        self.signal(Signal::SIGCONT);
    }

    /// Sends `SIGTERM` to the whole group, which then ends by itself.
    ///
    /// # Panics
    /// The signal reaches no process.
    pub fn terminate(&mut self) {
        self.signal(Signal::SIGTERM);
    }

    /// The status with which the program ended by itself; `None` while it runs.
    ///
    /// # Panics
    /// The system does not give the status.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().expect("a child of this process");
        self.ended |= status.is_some();
        status
    }

    fn signal(&mut self, signal: Signal) {
        self.assert_running();
        let sent = killpg(self.group(), signal);
        sent.unwrap_or_else(|error| panic!("{signal} did not reach the group of {}: {error}", self.name));
    }

    fn group(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("process ids are small"))
    }

    /// Sends `SIGKILL` to the whole group, which then cannot clean up.
    pub fn kill(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let Err(error) = killpg(self.group(), Signal::SIGKILL) {
            eprintln!("SIGKILL did not reach the group of {}: {error}", self.name);
        }
        // Even if the signal failed, the leader must not outlive the test.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The path in an environment variable that `cargo xtask test` sets. Without the variable, a path below the
/// repository.
pub fn path_from(variable: &str, otherwise: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(otherwise),
        PathBuf::from,
    )
}
