//! coturn's `turnserver`, which forwards datagrams of clients to peers (RFC 8656), without any encryption: the least
//! possible cost of forwarding by UDP.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use samovar_wire::PeerId;
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

use super::{Other, STARTS_WITHIN, free_port};
use crate::client::{CHANNEL, Turn};
use crate::crowd::{Crowd, Orders, Player};
use crate::load::{Load, SETTLE, Snapshot, full_and_half};
use crate::options::{Options, PathWord};
use crate::probe::{Pair, Probe};
use crate::usage::Usage;

const MAGIC: [u8; 4] = [0x21, 0x12, 0xA4, 0x42];
const ALLOCATE: u16 = 0x0003;
const CHANNEL_BIND: u16 = 0x0009;
const CHANNEL_NUMBER: u16 = 0x000C;
const XOR_PEER_ADDRESS: u16 = 0x0012;
const REQUESTED_TRANSPORT: u16 = 0x0019;

/// The costs of forwarding.
pub(super) struct Forwarded {
    pub(super) full: Load,
    pub(super) half: Load,
}

/// Measures coturn with as many clients as the relay has, each with a peer of its own; `None` if coturn is not
/// installed, or fails.
pub(super) async fn measure(options: &Options) -> Option<Forwarded> {
    let port = free_port();
    let scratch = std::env::temp_dir();
    let server = Other::start(
        Command::new("turnserver")
            .args(["-n", "--no-auth", "--no-cli", "--no-tls", "--no-dtls", "--allow-loopback-peers"])
            .args(["--listening-ip", "127.0.0.1", "--relay-ip", "127.0.0.1", "--log-file", "/dev/null"])
            .args(["--listening-port", &port.to_string(), "--no-stdout-log", "--pidfile"])
            .arg(scratch.join(format!("samovar-coturn-{port}.pid")))
            .arg("--db")
            .arg(scratch.join(format!("samovar-coturn-{port}.db"))),
    )?;
    let address: SocketAddr = ([127, 0, 0, 1], port).into();
    let orders = Arc::new(Orders::new(options.burst()));
    let crowd = Crowd::new(Arc::clone(&orders), options.bytes);
    for _ in 0..options.games(PathWord::WebRtc) * options.members {
        let Client { socket, peer } = timeout(STARTS_WITHIN, Client::allocate(address)).await.ok()?;
        let [client, peer] = [socket, peer].map(|socket| socket.into_std().expect("a socket"));
        // With coturn, the client's one peer stands for all receivers.
        let others = vec![PeerId::RELAY; options.members - 1];
        crowd.enter(Player::new(crate::client::Client::Turn(Turn { client, peer }), others));
    }
    let probe = Probe::start(move || async move {
        let Client { socket, peer } = Client::allocate(address).await;
        Pair::Turn { client: socket, peer }
    });
    sleep(SETTLE).await;
    let usage = async || Snapshot { usage: Usage::of(server.id()), counts: None };
    let (_, [full, half]) = full_and_half(&usage, &orders, &probe, (options.rate, options.seconds)).await;
    for name in ["pid", "db"] {
        std::fs::remove_file(scratch.join(format!("samovar-coturn-{port}.{name}"))).ok();
    }
    Some(Forwarded { full, half })
}

/// A client with an allocation, a channel on it, and the peer at the channel's other end.
struct Client {
    socket: UdpSocket,
    peer: UdpSocket,
}

impl Client {
    async fn allocate(server: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        let peer = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        socket.connect(server).await.expect("a server");
        let port = peer.local_addr().expect("bound").port() ^ u16::from_be_bytes([MAGIC[0], MAGIC[1]]);
        let ip: Vec<u8> = [127, 0, 0, 1].iter().zip(MAGIC).map(|(byte, key)| byte ^ key).collect();
        let address = [&[0, 1], &port.to_be_bytes()[..], &ip].concat();
        let number = [CHANNEL[0], CHANNEL[1], 0, 0];
        let client = Self { socket, peer };
        client.ask(ALLOCATE, &[(REQUESTED_TRANSPORT, &[17, 0, 0, 0])]).await;
        client.ask(CHANNEL_BIND, &[(CHANNEL_NUMBER, &number), (XOR_PEER_ADDRESS, &address)]).await;
        client
    }

    /// Repeats a request until it succeeds: a server that is still starting does not answer.
    async fn ask(&self, kind: u16, attributes: &[(u16, &[u8])]) {
        let mut body = Vec::new();
        for (kind, value) in attributes {
            body.extend_from_slice(&kind.to_be_bytes());
            body.extend_from_slice(&(value.len() as u16).to_be_bytes());
            body.extend_from_slice(value);
        }
        let port = self.socket.local_addr().expect("bound").port().to_be_bytes();
        let head =
            [&kind.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), &MAGIC, &[7; 10], &port].concat();
        let request = [head, body].concat();
        let mut buffer = [0; 1_024];
        loop {
            self.socket.send(&request).await.ok();
            let answer = timeout(Duration::from_millis(200), self.socket.recv(&mut buffer)).await;
            // The bit 0x0100 marks the response to a successful request (RFC 8489 §5).
            if matches!(answer, Ok(Ok(20..))) && buffer[..2] == (kind | 0x0100).to_be_bytes() {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Forwarded {
    pub(super) fn json(&self) -> String {
        format!("\"full\":{},\"half\":{}", self.full.json(), self.half.json())
    }

    pub(super) fn text(&self) -> String {
        format!(
            "UDP in the clear, from clients to peers\n{}{}",
            self.full.text("full"),
            self.half.text("half")
        )
    }
}
