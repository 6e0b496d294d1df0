//! One WebSocket: moves its messages to the hub and its queue to the network, as fast as the limits allow, and notices
//! when it is dead.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use samovar_wire::limits::RELAY_MESSAGE_MAX;
use samovar_wire::relay::{FromRelay, RelayFrame};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::entry::Entry;
use crate::hub::Hub;
use crate::limits::Unpaid;
use crate::line::{Line, Visitor};
use crate::metrics::{Ended, Kind, Way};
use crate::outbox::{Next, Waiting};

/// The time between two pings of a socket.
const PING_EVERY: Duration = Duration::from_secs(2);
/// The longest silence of a socket: three pings without an answer.
const SILENCE_MAX: Duration = Duration::from_secs(6);
/// The longest pause in reading a sender that is over its limits. Then the limits are looked at again, because they
/// may have changed.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The longest time for the last messages of both sides together.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// The largest message: a control message with its kind in front, which is larger than a forwarded chunk.
const MESSAGE_MAX: usize = 1 + RELAY_MESSAGE_MAX;
/// Bytes that a socket reads at once, and gathers before it writes. Each connection has both buffers.
const BUFFER: usize = 8 * 1_024;
/// The longest message that may be a probe.
const PROBE_MAX: usize = 32;
/// The most forwarded messages that a socket gathers before it writes.
const UNSENT_MAX: usize = 64;

/// Accepts a WebSocket of this visitor.
pub(crate) fn accept(upgrade: WebSocketUpgrade, hub: Arc<Hub>, visitor: Visitor) -> Response {
    upgrade
        .max_message_size(MESSAGE_MAX)
        .max_frame_size(MESSAGE_MAX)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .on_upgrade(|socket| isolated(socket, hub, visitor))
}

/// Closes a connection in the hub when its task ends without a panic.
struct Attached {
    hub: Arc<Hub>,
    line: Arc<Line>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        // A second panic while the first unwinds would end the process.
        if !std::thread::panicking() {
            self.hub.close(self.line.conn);
        }
    }
}

/// Runs a connection. A panic ends this connection alone; the others only notice that it is gone.
async fn isolated(socket: WebSocket, hub: Arc<Hub>, visitor: Visitor) {
    let line = hub.open(visitor);
    if AssertUnwindSafe(run(socket, &hub, &line)).catch_unwind().await.is_err() {
        hub.metrics.ended(Ended::Panicked);
        tracing::error!(conn = line.conn.0, "a connection panicked, and is closed; this is a bug");
        // A call of the hub may have panicked, and may do so again.
        drop(catch_unwind(AssertUnwindSafe(|| hub.close(line.conn))));
    }
}

async fn run(socket: WebSocket, hub: &Arc<Hub>, line: &Arc<Line>) {
    let attached = Attached { hub: Arc::clone(hub), line: Arc::clone(line) };
    let (sink, stream) = socket.split();
    let mut reader = Reader::start(stream, hub, line);
    let mut writer = pin!(write(sink, hub, line));
    // Ends the connection even if its last messages cannot be written. Otherwise a client that takes nothing any more
    // could hold its waiting messages for ever.
    let mut is_over = pin!(async {
        line.outbox.closed().await;
        sleep(FAREWELL_MAX).await;
    });
    let is_read = tokio::select! {
        biased;
        () = reader.end() => true,
        _ = &mut writer => false,
        () = line.outbox.overflown() => {
            hub.metrics.ended(Ended::TooSlow);
            tracing::debug!(conn = line.conn.0, "too slow");
            return;
        }
        () = &mut is_over => return,
    };
    // Closes the connection in the hub before its last messages are written, so that others hear at once that it is
    // gone.
    drop(attached);
    let last_words = async {
        if is_read {
            drop(writer.await);
        } else {
            // Reads to the end, because unread bytes would make the system reset the connection and lose the last
            // messages.
            reader.end().await;
        }
    };
    tokio::select! {
        () = last_words => {}
        () = is_over => {}
    }
}

/// The task that reads a socket; dropping this value ends it. A task that both reads and writes would look for
/// messages to read each time there is one to write.
struct Reader(JoinHandle<()>);

impl Reader {
    fn start(stream: SplitStream<WebSocket>, hub: &Arc<Hub>, line: &Arc<Line>) -> Self {
        let (hub, line) = (Arc::clone(hub), Arc::clone(line));
        Self(tokio::spawn(async move { read(stream, &hub, &line).await }))
    }

    /// Waits until the other end has sent everything. Panics if the reader's task panicked.
    async fn end(&mut self) {
        if let Err(failed) = (&mut self.0).await
            && let Ok(panic) = failed.try_into_panic()
        {
            resume_unwind(panic);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn read(mut stream: SplitStream<WebSocket>, hub: &Hub, line: &Line) {
    // One timer serves all messages: when it fires, the reader checks whether a message has come meanwhile. Setting
    // the timer anew for each message would cost as much as forwarding the message.
    let mut heard = Instant::now();
    let mut entry = Entry::new(hub, line);
    let mut silence = pin!(sleep(SILENCE_MAX));
    loop {
        let message = tokio::select! {
            biased;
            message = stream.next() => message,
            () = &mut silence => {
                if heard.elapsed() < SILENCE_MAX {
                    silence.as_mut().reset(heard + SILENCE_MAX);
                    continue;
                }
                hub.metrics.ended(Ended::Silent);
                tracing::debug!(conn = line.conn.0, "silent");
                return;
            }
        };
        heard = Instant::now();
        match message {
            Some(Ok(Message::Binary(bytes))) => take(hub, line, &mut entry, bytes).await,
            // The WebSocket library answers these by itself. They count against the limits like other messages.
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => drop(pay(hub, line, None, 0).await),
            Some(Ok(Message::Close(_))) | None => return,
            Some(Ok(Message::Text(_))) => hub.message(line, Bytes::new(), hub.nanos()),
            Some(Err(error)) => {
                tracing::debug!(conn = line.conn.0, %error, "socket failed");
                // Handles this like an invalid message: it was too large, or no WebSocket frame at all. If the
                // network failed instead, the relay's answer reaches no peer.
                hub.message(line, Bytes::new(), hub.nanos());
                return;
            }
        }
    }
}

/// Counts a message, and hands it over once it is within the limits. A packet beyond the limits is dropped.
async fn take(hub: &Hub, line: &Line, entry: &mut Entry, bytes: Bytes) {
    let kind = RelayFrame::decode(&bytes).ok().map(|frame| Kind::of(&frame));
    #[cfg(test)]
    if kind == Some(Kind::Packet) {
        crate::panics::trip(&bytes);
    }
    hub.metrics.came(line.shard, Way::WebSocket, kind.unwrap_or(Kind::Control), bytes.len());
    if let Some(since) = pay(hub, line, kind, bytes.len()).await {
        entry.look(hub, line, &bytes).await;
        hub.message(line, bytes, since);
    }
}

/// Counts a message against the limits. A message that exceeds them waits, except that a packet is dropped. Returns
/// the time from which the message waits in the relay; `None` if it is dropped.
///
/// The relay pauses in reading from a peer that sends more than allowed, so that its further packets wait where they
/// cost the relay nothing. Packets that exceed the limits are dropped, because packets that waited are worth little.
/// There is no pause for a member within its own limit while others have emptied its shared budgets: its answer to a
/// probe must not wait behind its packets.
async fn pay(hub: &Hub, line: &Line, kind: Option<Kind>, bytes: usize) -> Option<u64> {
    loop {
        let now = hub.nanos();
        let is_control = matches!(kind, None | Some(Kind::Control));
        let Err(unpaid) = hub.limits.pay(line.payers(), now, bytes, is_control) else { return Some(now) };
        let Unpaid { reason, wait, is_own } = unpaid;
        if kind == Some(Kind::Packet) {
            hub.metrics.dropped(line.shard, reason, 1);
            if is_own || !line.keeps_pace(now, hub.limits.pace()) {
                sleep(wait.min(LONGEST_WAIT)).await;
            }
            return None;
        }
        sleep(wait.min(LONGEST_WAIT)).await;
    }
}

async fn write(mut sink: SplitSink<WebSocket, Message>, hub: &Hub, line: &Line) -> Result<(), axum::Error> {
    // Other messages do not reset the timer, and may make a ping late. A late ping is harmless then, since the socket
    // is not silent.
    let mut ping = pin!(sleep(PING_EVERY));
    // For each message that the system has not got yet, the time when the relay got it.
    let mut unsent = Vec::new();
    loop {
        match line.outbox.pop() {
            Next::Send(Waiting { kind, bytes, since }) => {
                let (length, asks) = (bytes.len(), asked(kind, &bytes));
                sink.feed(Message::Binary(bytes)).await?;
                hub.metrics.went(line.shard, Way::WebSocket, kind, length);
                if kind != Kind::Control {
                    unsent.push(since);
                }
                if unsent.len() >= UNSENT_MAX || asks.is_some() {
                    flush(&mut sink, hub, line, &mut unsent).await?;
                }
                if let Some(nonce) = asks {
                    hub.asked(line.conn, nonce);
                }
            }
            Next::Close(farewell) => {
                let frame = CloseFrame { code: farewell.code, reason: farewell.reason.into() };
                return sink.send(Message::Close(Some(frame))).await;
            }
            Next::Idle => {
                flush(&mut sink, hub, line, &mut unsent).await?;
                tokio::select! {
                    biased;
                    () = &mut ping => {
                        sink.feed(Message::Ping(Bytes::new())).await?;
                        ping.as_mut().reset(Instant::now() + PING_EVERY);
                    }
                    () = line.outbox.filled() => {}
                }
            }
        }
    }
}

/// The number of a probe, if the message is one.
fn asked(kind: Kind, bytes: &[u8]) -> Option<u64> {
    // Signals are far larger, and not worth decoding.
    if kind != Kind::Control || bytes.len() > PROBE_MAX {
        return None;
    }
    let Ok(RelayFrame::Control(body)) = RelayFrame::decode(bytes) else { return None };
    match FromRelay::decode(body) {
        Ok(FromRelay::Probe(nonce)) => Some(nonce),
        _ => None,
    }
}

/// Hands the system the socket's gathered messages, and counts the time that they have spent in the relay.
async fn flush(
    sink: &mut SplitSink<WebSocket, Message>,
    hub: &Hub,
    line: &Line,
    unsent: &mut Vec<u64>,
) -> Result<(), axum::Error> {
    sink.flush().await?;
    if !unsent.is_empty() {
        let now = hub.nanos();
        let times = unsent.drain(..).map(|since| Duration::from_nanos(now.saturating_sub(since)));
        times.for_each(|time| hub.metrics.forwarded(line.shard, time));
    }
    Ok(())
}
