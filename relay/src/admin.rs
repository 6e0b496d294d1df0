//! The operator's questions to a running relay, and orders (docs/relay.md, "Ruling it").
//!
//! Each request is one line of JSON over a Unix socket in the data directory, and so is the answer. Orders, which change
//! something, leave a line each in the log and in a file beside the socket.

pub mod ask;
mod audit;
#[cfg(unix)]
pub mod call;
mod rule;
#[cfg(unix)]
mod socket;

use std::fmt;
use std::sync::Arc;

pub(crate) use rule::Ruler;
#[cfg(unix)]
pub(crate) use socket::AdminSocket;

/// The socket's name in the data directory.
pub const SOCKET: &str = "admin.sock";
/// The file of the orders, in the data directory.
pub const AUDIT: &str = "audit.log";

/// Sets the filter of the log while the program runs.
#[derive(Clone)]
pub struct LogSwitch(Arc<SetFilter>);

/// Sets the filter, or says what is wrong with it.
type SetFilter = dyn Fn(&str) -> Result<(), String> + Send + Sync;

impl LogSwitch {
    /// A switch that calls this function with the filter. It returns an error in words if the filter cannot be read.
    pub fn new(set: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(set))
    }

    pub(crate) fn set(&self, filter: &str) -> Result<(), String> {
        (self.0)(filter)
    }
}

impl fmt::Debug for LogSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogSwitch")
    }
}
