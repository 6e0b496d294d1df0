//! The operator's side: one request to a relay on this machine.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::SOCKET;
use super::ask::{Ask, Reply};

/// The longest wait for an answer.
const WITHIN: Duration = Duration::from_secs(15);
/// The longest answer, in bytes: that of ten thousand games.
const REPLY_MAX: u64 = 16 * 1_024 * 1_024;

/// The reason why a relay does not answer.
#[derive(Debug)]
pub struct CallError {
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => write!(
                f,
                "no relay answers at {path}: is it running, and is that its data directory? Name it with --data"
            ),
            io::ErrorKind::PermissionDenied => {
                write!(f, "{path} is for the relay's own user and for root: try sudo")
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                write!(f, "the relay at {path} has not answered for {} s", WITHIN.as_secs())
            }
            _ => write!(f, "the relay at {path} cannot be asked ({})", self.source),
        }
    }
}

impl std::error::Error for CallError {}

/// Asks the relay with this data directory. Blocks until it answers.
///
/// # Errors
/// No relay answers there.
pub fn call(data: &Path, ask: &Ask) -> Result<Reply, CallError> {
    let path = data.join(SOCKET);
    exchange(&path, ask).map_err(|source| CallError { path, source })
}

fn exchange(path: &Path, ask: &Ask) -> io::Result<Reply> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    let mut line = serde_json::to_vec(ask)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut reply = Vec::new();
    BufReader::new(stream.take(REPLY_MAX)).read_until(b'\n', &mut reply)?;
    Ok(serde_json::from_slice(&reply)?)
}
