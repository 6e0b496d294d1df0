//! A reverse proxy in front of the relay, as an operator may run it. It serves the relay under a path, and may be
//! misconfigured.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::relay::Relay;

/// The behaviour of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// The proxy passes all requests on.
    Good,
    /// The proxy leaves out the header fields that open a WebSocket, as proxies do without configuration.
    NoUpgrade,
    /// The proxy refuses every WebSocket with this status and an empty page.
    Refuses(u16),
}

/// The most bytes of a request's head.
const HEAD_MAX: usize = 16 * 1_024;

/// A running proxy on the loopback. Dropping this ends the proxy.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    path: &'static str,
    task: JoinHandle<()>,
}

impl Gateway {
    /// Serves the relay under this path (for example `/tea/`).
    ///
    /// # Panics
    /// There is no free port.
    pub async fn start(relay: &Relay, path: &'static str, manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let relay = relay.address().to_owned();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let relay = relay.clone();
                // A client that closes its connection early is no failure of the test.
                tokio::spawn(async move { drop(serve(stream, &relay, path, manners).await) });
            }
        });
        Self { address, path, task }
    }

    /// The address of the page with this query, without its question mark.
    #[must_use]
    pub fn page(&self, query: &str) -> String {
        format!("http://{}{}?{query}", self.address, self.path)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves one connection, with one request.
async fn serve(mut client: TcpStream, relay: &str, path: &str, manners: Manners) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_MAX {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let Some(request) = rewritten(&head, path, manners) else {
        let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        return client.write_all(answer.as_bytes()).await;
    };
    if let (Manners::Refuses(status), true) = (manners, is_upgrade(&head)) {
        let answer = format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return client.write_all(answer.as_bytes()).await;
    }
    let mut relay = TcpStream::connect(relay).await?;
    relay.write_all(request.as_bytes()).await?;
    copy_bidirectional(&mut client, &mut relay).await.map(|_| ())
}

/// The request as the relay gets it; `None` if it is for another path.
fn rewritten(head: &str, path: &str, manners: Manners) -> Option<String> {
    let (first, rest) = head.split_once("\r\n")?;
    let (method, target) = first.split_once(' ')?;
    let target = target.strip_prefix(path)?;
    let passes_upgrade = manners != Manners::NoUpgrade && is_upgrade(head);
    let is_kept = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        passes_upgrade || !matches!(name.as_str(), "upgrade" | "connection")
    };
    let lines: Vec<&str> = rest.trim_end().split("\r\n").filter(is_kept).collect();
    let close = if passes_upgrade { "" } else { "connection: close\r\n" };
    Some(format!("{method} /{target}\r\n{}\r\n{close}\r\n", lines.join("\r\n")))
}

fn is_upgrade(head: &str) -> bool {
    head.to_ascii_lowercase().contains("\r\nupgrade: websocket")
}
