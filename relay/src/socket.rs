//! One WebSocket: moves its messages to the hub and its queue to the network, and notices when it is dead.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::future::{Either, select};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use samovar_directory::ConnId;
use samovar_wire::limits::RELAY_MESSAGE_MAX;
use tokio::time::{Instant, timeout};

use crate::hub::Hub;
use crate::outbox::{Next, Outbox};

/// How often a socket is pinged.
const PING_EVERY: Duration = Duration::from_secs(2);
/// How long a socket may be silent: three pings without an answer.
const SILENCE_MAX: Duration = Duration::from_secs(6);
/// How long the last words of either side may take.
const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// The largest message: a control message with its kind in front, which is larger than a forwarded chunk.
const MESSAGE_MAX: usize = 1 + RELAY_MESSAGE_MAX;
/// Bytes that a socket reads at once, and gathers before it writes. Each connection has both.
const BUFFER: usize = 8 * 1_024;

/// Accepts a WebSocket.
pub(crate) fn accept(upgrade: WebSocketUpgrade, hub: Arc<Hub>) -> Response {
    upgrade
        .max_message_size(MESSAGE_MAX)
        .max_frame_size(MESSAGE_MAX)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .on_upgrade(|socket| run(socket, hub))
}

/// Takes a connection out of the hub when its task ends, by a panic too.
struct Attached {
    hub: Arc<Hub>,
    conn: ConnId,
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.hub.close(self.conn);
    }
}

async fn run(socket: WebSocket, hub: Arc<Hub>) {
    let (conn, outbox) = hub.open();
    let attached = Attached { hub: Arc::clone(&hub), conn };
    let (sink, stream) = socket.split();
    let reader = pin!(read(stream, &hub, conn));
    let writer = pin!(write(sink, &outbox));
    let both = select(reader, writer);
    tokio::select! {
        ended = both => {
            // Others hear at once that it is gone, not when the last words are said.
            drop(attached);
            match ended {
                Either::Left(((), writer)) => drop(timeout(FAREWELL_MAX, writer).await),
                // Unread bytes would make the system reset the connection and lose the last words.
                Either::Right((_, reader)) => drop(timeout(FAREWELL_MAX, reader).await),
            }
        }
        () = outbox.overflown() => tracing::debug!(conn = conn.0, "too slow"),
    }
}

async fn read(mut stream: SplitStream<WebSocket>, hub: &Hub, conn: ConnId) {
    loop {
        match timeout(SILENCE_MAX, stream.next()).await {
            Ok(Some(Ok(Message::Binary(bytes)))) => hub.message(conn, bytes),
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Ok(Some(Ok(Message::Close(_))) | None) => return,
            Ok(Some(Ok(Message::Text(_)))) => hub.message(conn, Bytes::new()),
            Ok(Some(Err(error))) => {
                tracing::debug!(conn = conn.0, %error, "socket failed");
                // Too large or not a WebSocket frame at all. When the network failed nobody hears this.
                hub.message(conn, Bytes::new());
                return;
            }
            Err(_) => {
                tracing::debug!(conn = conn.0, "silent");
                return;
            }
        }
    }
}

async fn write(mut sink: SplitSink<WebSocket, Message>, outbox: &Outbox) -> Result<(), axum::Error> {
    let mut ping_at = Instant::now() + PING_EVERY;
    loop {
        if ping_at <= Instant::now() {
            sink.feed(Message::Ping(Bytes::new())).await?;
            ping_at = Instant::now() + PING_EVERY;
        }
        match outbox.pop() {
            Next::Send(bytes) => sink.feed(Message::Binary(bytes)).await?,
            Next::Close(farewell) => {
                let frame = CloseFrame { code: farewell.code, reason: farewell.reason.into() };
                return sink.send(Message::Close(Some(frame))).await;
            }
            Next::Idle => {
                sink.flush().await?;
                tokio::select! {
                    () = outbox.filled() => {}
                    () = tokio::time::sleep_until(ping_at) => {}
                }
            }
        }
    }
}
