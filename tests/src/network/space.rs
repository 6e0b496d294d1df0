//! A network name space, and the programs that set it up.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use crate::place::Place;

/// The directories of system programs, in case `PATH` lacks some.
const SYSTEM_PROGRAMS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// A network name space, and the process that holds it.
#[derive(Debug)]
pub(super) struct Space {
    holder: Child,
}

impl Space {
    pub(super) fn open() -> Result<Self, String> {
        let mut holder = Command::new("unshare");
        // The process prints a line when the name space exists, and then waits until its input ends.
        holder.args(["--net", "--", "sh", "-c", "echo && exec cat"]).env("PATH", path());
        holder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The process gets its own process group, so that a terminal's signal reaches only the test. It ends when the
        // test does.
        let mut holder = holder.process_group(0).spawn().map_err(|error| format!("unshare: {error}"))?;
        let mut line = String::new();
        let stdout = holder.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        if line.is_empty() {
            let output = holder.wait_with_output().map_err(|error| error.to_string())?;
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("this process may make no network name space ({})", why.trim()));
        }
        let space = Self { holder };
        space.ip("link set lo up")?;
        Ok(space)
    }

    /// The id of the process that holds the name space.
    pub(super) fn id(&self) -> u32 {
        self.holder.id()
    }

    /// The file that stands for the name space.
    pub(super) fn file(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.id()))
    }

    fn command(&self, program: &str) -> Command {
        Place::apart(Ipv4Addr::UNSPECIFIED, self.file()).command(program)
    }

    pub(super) fn ip(&self, arguments: &str) -> Result<(), String> {
        run(self.command("ip").args(arguments.split(' ')))
    }

    pub(super) fn nft(&self, commands: &str) -> Result<(), String> {
        let mut nft = self.command("nft");
        let child =
            nft.args(["-f", "-"]).env("PATH", path()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("nft: {error}"))?;
        // If nft has ended already, its exit status tells why.
        child.stdin.take().expect("piped").write_all(commands.as_bytes()).ok();
        let output = child.wait_with_output().map_err(|error| format!("nft: {error}"))?;
        outcome(&format!("nft: {commands}"), &output)
    }

    /// Switches on a setting of the name space. `setting` is its path below `/proc/sys/net/ipv4`.
    pub(super) fn set(&self, setting: &str) -> Result<(), String> {
        run(self.command("sh").args(["-c", &format!("echo 1 > /proc/sys/net/ipv4/{setting}")]))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.holder.kill().ok();
        self.holder.wait().ok();
    }
}

fn path() -> String {
    std::env::var("PATH")
        .map_or_else(|_| SYSTEM_PROGRAMS.to_owned(), |path| format!("{path}:{SYSTEM_PROGRAMS}"))
}

pub(super) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.env("PATH", path()).stdin(Stdio::null()).output();
    outcome(&format!("{command:?}"), &output.map_err(|error| format!("{command:?}: {error}"))?)
}

fn outcome(what: &str, output: &Output) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{what}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}
