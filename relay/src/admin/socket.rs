//! The socket of the operator's requests: its owner alone may use it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::ask::{Ask, Reply};
use super::{Ruler, SOCKET};

/// The longest request, in bytes.
const ASK_MAX: u64 = 16 * 1_024;
/// The longest time for a request to come, and for its answer to be taken.
const WITHIN: Duration = Duration::from_secs(10);
/// The most requests at a time.
const AT_ONCE: usize = 8;
/// The pause after an error of the system.
const REST: Duration = Duration::from_millis(100);

/// The socket; its file goes with this value.
#[derive(Debug)]
pub(crate) struct AdminSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The user whose requests are answered, beside root.
    owner: u32,
}

impl AdminSocket {
    /// Listens in a data directory. No other relay may use that directory.
    ///
    /// # Errors
    /// The path is too long for a socket, or the file system has no sockets.
    pub(crate) fn bind(data: &Path) -> io::Result<Self> {
        let path = data.join(SOCKET);
        // The socket is made where its owner alone can reach it, until it has its rights. The data directory may have been
        // made by somebody who lets others in.
        let nursery = data.join("admin.new");
        match fs::remove_dir_all(&nursery) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(&nursery)?;
        let made = nursery.join("s");
        let bound = UnixListener::bind(&made).and_then(|listener| {
            fs::set_permissions(&made, fs::Permissions::from_mode(0o600))?;
            let owner = fs::metadata(&made)?.uid();
            fs::rename(&made, &path)?;
            Ok(Self { listener, path, owner })
        });
        fs::remove_dir_all(&nursery)?;
        bound
    }

    /// Answers requests, for ever.
    pub(crate) async fn serve(self, ruler: Arc<Ruler>) {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (ruler, owner) = (Arc::clone(&ruler), self.owner);
                    tokio::spawn(async move {
                        drop(timeout(WITHIN, converse(stream, owner, &ruler)).await);
                        drop(turn);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "no request of the operator was accepted");
                    sleep(REST).await;
                }
            }
        }
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

async fn converse(stream: UnixStream, owner: u32, ruler: &Arc<Ruler>) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    let (reader, mut writer) = stream.into_split();
    // Read in any case: bytes that nobody reads would cut off the answer.
    let mut line = Vec::new();
    BufReader::new(reader).take(ASK_MAX).read_until(b'\n', &mut line).await?;
    let reply = if user == owner || user == 0 {
        answer(user, &line, ruler).await
    } else {
        Reply::Error("this relay is another user's".to_owned())
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    writer.shutdown().await
}

async fn answer(user: u32, line: &[u8], ruler: &Arc<Ruler>) -> Reply {
    if !line.ends_with(b"\n") {
        return Reply::Error(format!("a request is a line of at most {ASK_MAX} bytes"));
    }
    let ask: Ask = match serde_json::from_slice(line) {
        Ok(ask) => ask,
        Err(error) => {
            return Reply::Error(format!("this is no request ({error}); are both programs of one release?"));
        }
    };
    // The disk, which an order waits for, may take its time.
    let ruler = Arc::clone(ruler);
    let answered = tokio::task::spawn_blocking(move || ruler.answer(user, &ask)).await;
    answered.unwrap_or_else(|_| Reply::Error("the request panicked; this is a bug".to_owned()))
}
