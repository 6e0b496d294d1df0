//! The place where a process runs.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sched::{CloneFlags, setns};

/// The loopback of this machine, or a name space of a [`Network`](crate::network::Network) with its own address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    address: Ipv4Addr,
    /// The file that stands for the name space.
    space: Option<PathBuf>,
}

impl Place {
    /// The test's own place.
    #[must_use]
    pub const fn here() -> Self {
        Self { address: Ipv4Addr::LOCALHOST, space: None }
    }

    pub(crate) const fn apart(address: Ipv4Addr, space: PathBuf) -> Self {
        Self { address, space: Some(space) }
    }

    /// The address at which processes at this place are reached.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// A command that runs `program` at this place, as one process.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let Some(space) = &self.space else { return Command::new(program) };
        let mut command = Command::new("nsenter");
        let mut net = std::ffi::OsString::from("--net=");
        net.push(space);
        command.arg(net).arg("--").arg(program);
        command
    }

    /// Connects from this place to a host and port.
    ///
    /// # Errors
    /// As [`TcpStream::connect`].
    pub fn connect(&self, address: &str) -> io::Result<TcpStream> {
        match &self.space {
            None => TcpStream::connect(address),
            Some(space) => within(space, || TcpStream::connect(address)),
        }
    }
}

/// Runs `work` in a network name space. Sockets that it opens stay there.
///
/// # Errors
/// The errors of `work`, and an error if there is no such name space.
///
/// # Panics
/// `work` panics.
pub(crate) fn within<T: Send>(space: &Path, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let space = File::open(space)?;
    // The change of the name space affects one thread only, and ends with that thread.
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            setns(&space, CloneFlags::CLONE_NEWNET)?;
            work()
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
