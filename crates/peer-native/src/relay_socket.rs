//! The WebSocket to the relay, run by a task of its own.
//!
//! Responsible for one connection from its opening to its end; the end is reported once. The socket refuses messages
//! of more than twice the protocol's largest, and refuses to queue more than 1 MiB for a relay that does not read.

mod open_error;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use samovar_wire::limits::RELAY_MESSAGE_MAX;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};

use crate::trust::Trust;
pub use open_error::OpenError;

/// An event of the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The socket is open.
    Opened,
    /// A binary message arrived.
    Message(Bytes),
    /// The socket closed, or did not open, with the reason in that case. No event follows.
    Closed(Option<OpenError>),
}

/// The error of a reliable message that found more than 1 MiB queued before it. The socket or connection is of no more
/// use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// The handle of a WebSocket. Dropping it sends the queued messages, then closes.
#[derive(Debug)]
pub struct RelaySocket {
    outgoing: UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

/// A relay that does not take a connection within this time counts as dead.
const OPEN_WITHIN: Duration = Duration::from_secs(5);
/// A relay that takes no bytes for this time counts as dead.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// Time that the closing may take after the last message is written.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes: a message that finds more than this queued ends the connection.
const QUEUE_MAX: usize = 1_024 * 1_024;

impl RelaySocket {
    /// Opens `url` (`ws://host:port/path`, or `wss:` with a certificate of a trusted authority). The caller must be
    /// within a tokio runtime. The socket's events go to `events`, marked with `generation`, so that the owner can
    /// tell a replaced socket's events.
    #[must_use]
    pub fn open(url: String, trust: Trust, generation: u32, events: Sender<(u32, RelayEvent)>) -> Self {
        let (outgoing, inbox) = unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = Queue { inbox, waiting: Arc::clone(&waiting) };
        tokio::spawn(async move {
            let outlet = Outlet { generation, events };
            let why = match connect(&url, &trust).await {
                Ok(socket) => {
                    if let Err(error) = run(socket, queue, &outlet).await {
                        tracing::debug!(%error, url, "the relay's socket ended");
                    }
                    None
                }
                Err(error) => {
                    tracing::debug!(%error, "the relay's socket did not open");
                    Some(error)
                }
            };
            outlet.report(RelayEvent::Closed(why)).await;
        });
        Self { outgoing, waiting }
    }

    /// Queues a binary message; never waits.
    ///
    /// # Errors
    /// [`Overflow`] when more than 1 MiB is queued: drop the socket.
    pub fn send(&self, bytes: Vec<u8>) -> Result<(), Overflow> {
        if self.waiting.load(Ordering::Relaxed) > QUEUE_MAX {
            return Err(Overflow);
        }
        self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        // The message is lost only when the task has ended, and the task reports its end by itself.
        let _ = self.outgoing.send(bytes);
        Ok(())
    }

    /// Bytes that the socket has not taken yet.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

struct Queue {
    inbox: UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

struct Outlet {
    generation: u32,
    events: Sender<(u32, RelayEvent)>,
}

impl Outlet {
    /// Returns `false` when the owner no longer listens.
    async fn report(&self, event: RelayEvent) -> bool {
        self.events.send((self.generation, event)).await.is_ok()
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(url: &str, trust: &Trust) -> Result<Socket, OpenError> {
    let config = WebSocketConfig::default()
        .read_buffer_size(16 * 1_024)
        .max_message_size(Some(2 * RELAY_MESSAGE_MAX))
        .max_frame_size(Some(2 * RELAY_MESSAGE_MAX));
    // Only `wss:` loads certificates: a relay in a private network needs none, and this machine may have none.
    let connector = if url.starts_with("wss:") {
        Connector::Rustls(trust.config().map_err(|why| OpenError::without_trust(url, why))?)
    } else {
        Connector::Plain
    };
    let opening = connect_async_tls_with_config(url, Some(config), true, Some(connector));
    let opened = timeout(OPEN_WITHIN, opening).await.map_err(|_| OpenError::silent(url))?;
    opened.map(|(socket, _)| socket).map_err(|error| OpenError::new(url, error))
}

async fn run(socket: Socket, queue: Queue, outlet: &Outlet) -> Result<(), Error> {
    if !outlet.report(RelayEvent::Opened).await {
        return Ok(());
    }
    let (sink, stream) = socket.split();
    // The two halves wait separately: a relay that does not read must not keep this peer from reading.
    tokio::select! {
        result = write(queue, sink) => result,
        result = read(stream, outlet) => result,
    }
}

async fn write(mut queue: Queue, mut sink: impl Sink<Message, Error = Error> + Unpin) -> Result<(), Error> {
    while let Some(first) = queue.inbox.recv().await {
        timeout(WRITE_WITHIN, write_burst(first, &mut queue, &mut sink))
            .await
            .map_err(|_| Error::ConnectionClosed)??;
    }
    timeout(LINGER, sink.close()).await.unwrap_or(Ok(()))
}

/// Writes everything that is queued, then flushes once.
async fn write_burst(
    first: Vec<u8>,
    queue: &mut Queue,
    sink: &mut (impl Sink<Message, Error = Error> + Unpin),
) -> Result<(), Error> {
    let mut next = Some(first);
    while let Some(bytes) = next {
        let length = bytes.len();
        sink.feed(Message::Binary(bytes.into())).await?;
        queue.waiting.fetch_sub(length, Ordering::Relaxed);
        next = queue.inbox.try_recv().ok();
    }
    sink.flush().await
}

async fn read(
    mut stream: impl Stream<Item = Result<Message, Error>> + Unpin,
    outlet: &Outlet,
) -> Result<(), Error> {
    while let Some(message) = stream.next().await {
        let heard = match message? {
            Message::Binary(bytes) => outlet.report(RelayEvent::Message(bytes)).await,
            Message::Close(_) => false,
            // The relay speaks binary only; the library answers pings.
            _ => true,
        };
        if !heard {
            return Ok(());
        }
    }
    Ok(())
}
