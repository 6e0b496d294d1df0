//! Measures `matchbox_server`, which introduces the peers of a room to each other. A join opens a WebSocket, and ends
//! when the server has told the peer its id.

use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::iter;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{Other, STARTS_WITHIN, free_port};
use crate::STORM;
use crate::load::SETTLE;
use crate::options::{Options, PathWord};
use crate::usage::Usage;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The costs of joins.
pub(super) struct Joined {
    per_second: f64,
    pub(super) micros: f64,
    pub(super) idle_bytes: usize,
}

/// Measures as many joins as the bench makes at the relay, in rooms as large as its games; `None` if the server is
/// not installed.
pub(super) async fn measure(options: &Options) -> Option<Joined> {
    let address = format!("127.0.0.1:{}", free_port());
    let server = Other::start(Command::new("matchbox_server").arg(&address))?;
    let deadline = Instant::now() + STARTS_WITHIN;
    while TcpStream::connect(&address).await.is_err() {
        if Instant::now() > deadline {
            return None;
        }
        sleep(Duration::from_millis(20)).await;
    }
    // As at the relay, the memory of the first two belongs to no member.
    let first = format!("ws://{address}/first");
    let _first = [join(&first).await, join(&first).await];
    sleep(SETTLE).await;
    let (before, start) = (Usage::of(server.id()), Instant::now());
    let (address, members) = (&address, options.members);
    let rooms = iter(0..options.games(PathWord::WebSocket)).map(|room| async move {
        let mut sockets = Vec::new();
        for _ in 0..members {
            sockets.push(join(&format!("ws://{address}/room-{room}")).await);
        }
        sockets
    });
    let joined: Vec<Socket> = rooms.buffered(STORM / members.max(1) + 1).concat().await;
    let (seconds, after) = (start.elapsed().as_secs_f64(), Usage::of(server.id()));
    sleep(SETTLE).await;
    let all = joined.len();
    Some(Joined {
        per_second: all as f64 / seconds,
        micros: (after.cpu - before.cpu).as_secs_f64() * 1e6 / all as f64,
        idle_bytes: Usage::of(server.id()).memory.saturating_sub(before.memory) / all,
    })
}

/// Joins a room, and waits for the server's message with the client's own id.
async fn join(url: &str) -> Socket {
    let (mut socket, _) = connect_async(url).await.expect("it lets everybody in");
    let named = async { while !matches!(socket.next().await, Some(Ok(Message::Text(_)))) {} };
    timeout(STARTS_WITHIN, named).await.expect("it says who one is");
    socket
}

impl Joined {
    pub(super) fn json(&self) -> String {
        format!(
            "\"joins_per_second\":{:.0},\"cpu_us_per_join\":{:.0},\"idle_bytes_per_member\":{}",
            self.per_second, self.micros, self.idle_bytes
        )
    }

    pub(super) fn text(&self) -> String {
        format!(
            "{:.0} joins/s, {:.0} us CPU each, {} bytes idle of each member",
            self.per_second, self.micros, self.idle_bytes
        )
    }
}
