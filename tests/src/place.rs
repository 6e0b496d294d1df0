//! Where a process runs.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

/// The loopback of this machine, or a name space of a [`Network`](crate::network::Network) with an address of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    address: Ipv4Addr,
    /// The file that stands for the name space.
    space: Option<PathBuf>,
}

impl Place {
    /// Here, where this test runs.
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

    /// Whether it is a name space, which this test does not reach over the network.
    #[must_use]
    pub const fn is_apart(&self) -> bool {
        self.space.is_some()
    }

    /// A command that runs `program` there, as one process.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let Some(space) = &self.space else { return Command::new(program) };
        let mut command = Command::new("nsenter");
        let mut net = std::ffi::OsString::from("--net=");
        net.push(space);
        command.arg(net).arg("--").arg(program);
        command
    }
}
