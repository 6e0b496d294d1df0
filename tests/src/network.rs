//! A network for one test: name spaces on a bridge, and packets dropped between them at will.
//!
//! Each place is a network name space with one address; a further one, the switch, holds the bridge that joins them and
//! the rule that drops. The rule is a set of pairs of addresses, from whom and to whom, so that each direction is cut
//! alone. What is dropped is dropped on the way: neither end is told, as with a cable that was pulled.
//!
//! A name space lives as long as a process in it. The first process in each reads from this one until the end of the
//! stream: however a test ends, by a panic or by `SIGKILL`, its network is gone with it. No names are taken, and nothing
//! outside of the name spaces is changed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::place::Place;

/// Where programs of the system are, should `PATH` not have all of them.
const SYSTEM_PROGRAMS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// What the switch drops: everything that goes from the first to the second of a pair.
const RULE: &str = "table bridge samovar {
  set severed { type ipv4_addr . ipv4_addr; }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ip saddr . ip daddr @severed drop
  }
}";

/// Some places that reach each other, and the switch between them. Dropping it removes all.
#[derive(Debug)]
pub struct Network {
    switch: Space,
    /// Kept for their life.
    _spaces: Vec<Space>,
    places: Vec<Place>,
}

impl Network {
    /// A network of so many places, up to 250.
    ///
    /// # Errors
    /// What this machine lacks or does not permit, in words.
    ///
    /// # Panics
    /// When it fails though the machine permits everything that it takes.
    pub fn open(count: u8) -> Result<Self, String> {
        assert!(count <= 250, "addresses end with a byte");
        for program in ["unshare", "nsenter", "ip", "nft"] {
            if run(Command::new(program).arg("-V")).is_err() {
                return Err(format!(
                    "{program} is missing (Debian: apt-get install util-linux iproute2 nftables)"
                ));
            }
        }
        let switch = Space::open()?;
        switch.ip("link add bridge type bridge forward_delay 0 stp_state 0")?;
        switch.ip("link set bridge up")?;
        switch.nft(RULE)?;
        let mut network = Self { switch, _spaces: Vec::new(), places: Vec::new() };
        for number in 1..=count {
            network.add_place(number).unwrap_or_else(|error| panic!("place {number}: {error}"));
        }
        Ok(network)
    }

    fn add_place(&mut self, number: u8) -> Result<(), String> {
        let (space, address) = (Space::open()?, Ipv4Addr::new(10, 77, 0, number));
        let (peer, port) = (space.holder.id(), format!("port{number}"));
        self.switch.ip(&format!("link add {port} type veth peer name uplink netns {peer}"))?;
        self.switch.ip(&format!("link set {port} master bridge up"))?;
        space.ip("link set lo up")?;
        space.ip(&format!("address add {address}/24 dev uplink"))?;
        space.ip("link set uplink up")?;
        self.places.push(Place::apart(address, space.file()));
        self._spaces.push(space);
        Ok(())
    }

    /// The place of this number, from 0.
    ///
    /// # Panics
    /// When there are not so many.
    #[must_use]
    pub fn place(&self, number: usize) -> &Place {
        &self.places[number]
    }

    /// Drops from now on everything that goes from one of the first to one of the second; by their numbers.
    ///
    /// # Panics
    /// When the switch does not do it.
    pub fn cut(&self, from: &[usize], to: &[usize]) {
        self.element("add", from, to);
    }

    /// The same in both directions.
    ///
    /// # Panics
    /// When the switch does not do it.
    pub fn sever(&self, one: &[usize], other: &[usize]) {
        self.cut(one, other);
        self.cut(other, one);
    }

    /// Drops nothing any more.
    ///
    /// # Panics
    /// When the switch does not do it.
    pub fn heal(&self) {
        self.command("flush set bridge samovar severed");
    }

    fn element(&self, deed: &str, from: &[usize], to: &[usize]) {
        let address = |number: &usize| self.places[*number].address();
        let pairs = from.iter().flat_map(|one| to.iter().map(move |other| (address(one), address(other))));
        let pairs: Vec<_> = pairs.map(|(one, other)| format!("{one} . {other}")).collect();
        if !pairs.is_empty() {
            self.command(&format!("{deed} element bridge samovar severed {{ {} }}", pairs.join(", ")));
        }
    }

    fn command(&self, command: &str) {
        self.switch.nft(command).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A network name space, and the process that holds it.
#[derive(Debug)]
struct Space {
    holder: Child,
}

impl Space {
    fn open() -> Result<Self, String> {
        let mut holder = Command::new("unshare");
        // It says that the name space is there, and then waits until nobody can tell it anything any more.
        holder.args(["--net", "--", "sh", "-c", "echo && exec cat"]).env("PATH", path());
        holder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A signal from the terminal is for the test; what it starts ends in its turn.
        let mut holder = holder.process_group(0).spawn().map_err(|error| format!("unshare: {error}"))?;
        let mut line = String::new();
        let stdout = holder.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        if line.is_empty() {
            let output = holder.wait_with_output().map_err(|error| error.to_string())?;
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("this process may make no network name space ({})", why.trim()));
        }
        Ok(Self { holder })
    }

    /// The file that stands for the name space.
    fn file(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.holder.id()))
    }

    fn command(&self, program: &str) -> Command {
        Place::apart(Ipv4Addr::UNSPECIFIED, self.file()).command(program)
    }

    fn ip(&self, arguments: &str) -> Result<(), String> {
        run(self.command("ip").args(arguments.split(' ')))
    }

    fn nft(&self, commands: &str) -> Result<(), String> {
        let mut nft = self.command("nft");
        let child =
            nft.args(["-f", "-"]).env("PATH", path()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("nft: {error}"))?;
        // Should it have ended already, its exit says why.
        child.stdin.take().expect("piped").write_all(commands.as_bytes()).ok();
        let output = child.wait_with_output().map_err(|error| format!("nft: {error}"))?;
        outcome(&format!("nft: {commands}"), &output)
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

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.env("PATH", path()).stdin(Stdio::null()).output();
    outcome(&format!("{command:?}"), &output.map_err(|error| format!("{command:?}: {error}"))?)
}

fn outcome(what: &str, output: &std::process::Output) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{what}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}
