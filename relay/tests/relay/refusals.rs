//! Refusals before a connection is a WebSocket: the caller hears the reason, and the operator's log has it once.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::peer::Peer;
use crate::process::{RelayProcess, Scratch};

/// The header lines of a browser that wants a WebSocket.
const WANTED: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

/// Sends a request with these header lines. Returns the head of the answer in small letters, and the body.
async fn ask(relay: &RelayProcess, request: &str, lines: &str) -> (String, String) {
    let mut stream = TcpStream::connect(&relay.address).await.expect("connects");
    let close = if lines.contains("Connection: ") { "" } else { "Connection: close\r\n" };
    let request = format!("{request} HTTP/1.1\r\nHost: relay\r\n{close}{lines}\r\n");
    stream.write_all(request.as_bytes()).await.expect("sends");
    let mut answer = Vec::new();
    // Stops at the end of the body, because the relay keeps the connection of a refused WebSocket for another
    // request.
    let read = async {
        loop {
            let mut piece = [0; 4_096];
            let length = stream.read(&mut piece).await.expect("answers");
            answer.extend_from_slice(&piece[..length]);
            let text = String::from_utf8_lossy(&answer);
            if length == 0 || text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.ends_with('\n')) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read).await.expect("it answers in time");
    let text = String::from_utf8(answer).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    (head.to_ascii_lowercase(), body.to_owned())
}

#[tokio::test]
async fn a_refusal_says_whose_fault_it_is_and_is_logged_once() {
    let data = Scratch::new();
    let flags = ["--origin", "https://tea.example", "--address-connections", "1"];
    let relay = RelayProcess::start_logged(data.path(), &flags);
    for _ in 0..3 {
        let (head, body) = ask(&relay, "GET /ws", &format!("{WANTED}Origin: https://evil.example\r\n")).await;
        assert!(
            head.starts_with("http/1.1 403") && head.contains("access-control-allow-origin: *"),
            "{head}"
        );
        assert!(body.contains("https://evil.example") && body.contains("--origin"), "{body}");
    }
    // A page whose socket was refused asks for the reason. For a POST its browser sends the page's origin.
    let (head, body) = ask(&relay, "POST /ws", "Content-Length: 0\r\nOrigin: https://evil.example\r\n").await;
    assert!(head.starts_with("http/1.1 403") && body.contains("--origin https://evil.example"), "{head}");
    let (head, _) = ask(&relay, "POST /ws", "Content-Length: 0\r\nOrigin: https://tea.example\r\n").await;
    assert!(head.starts_with("http/1.1 426"), "{head}");

    let unforwarded = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let (head, body) = ask(&relay, "GET /ws", unforwarded).await;
    assert!(head.starts_with("http/1.1 426") && head.contains("upgrade: websocket"), "{head}");
    assert!(body.contains("a proxy in front of the relay leaves them out"), "{body}");

    let forwarded = "X-Forwarded-For: 203.0.113.7, 198.51.100.1\r\n";
    let _first = Peer::connect_with(&relay, &[("x-forwarded-for", "198.51.100.1")]).await.expect("room");
    let (head, body) = ask(&relay, "GET /ws", &format!("{WANTED}{forwarded}")).await;
    assert!(head.starts_with("http/1.1 429") && body.contains("--address-connections"), "{head} {body}");

    for (reason, count) in [("origin", 4.0), ("no_upgrade", 1.0), ("address_connections", 1.0)] {
        let name = format!("samovar_refused_total{{reason=\"{reason}\"}}");
        assert_eq!(relay.metric(&name).await, count, "{reason}");
    }
    let log = tokio::task::spawn_blocking(|| relay.log()).await.expect("no panic");
    for words in ["origin=https://evil.example", "without the lines Upgrade", "name it with --trusted-proxy"]
    {
        assert_eq!(log.lines().filter(|line| line.contains(words)).count(), 1, "{words} in {log}");
    }
}

#[tokio::test]
async fn a_caller_without_a_proxy_hears_why_it_is_refused() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--connections", "1", "--metrics", "127.0.0.1:0"]);
    let _kept = Peer::connect(&relay).await;
    let (head, body) = ask(&relay, "GET /api/games", "").await;
    assert!(head.starts_with("http/1.1 503") && body.contains("--connections"), "{head} {body}");
}

#[tokio::test]
async fn pages_of_admitted_origins_may_read_the_api() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--origin", "https://tea.example"]);
    let own = "Origin: https://tea.example\r\n";
    let (head, body) = ask(&relay, "GET /api/games", own).await;
    assert!(head.starts_with("http/1.1 200") && body == "[]", "{head} {body}");
    assert!(head.contains("access-control-allow-origin: https://tea.example\r\n"), "{head}");
    assert!(head.contains("vary: origin"), "{head}");
    for lines in ["Origin: https://evil.example\r\n", ""] {
        let (head, _) = ask(&relay, "GET /api/games", lines).await;
        assert!(!head.contains("access-control") && head.contains("vary: origin"), "{head}");
    }
    let asks = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n";
    let (head, _) = ask(&relay, "OPTIONS /api/games", &format!("{own}{asks}")).await;
    assert!(
        head.starts_with("http/1.1 204") && head.contains("access-control-allow-methods: get, post"),
        "{head}"
    );
    let (head, _) =
        ask(&relay, "OPTIONS /api/games", &format!("Origin: https://evil.example\r\n{asks}")).await;
    assert!(!head.contains("access-control-allow"), "{head}");
    assert!(!ask(&relay, "GET /healthz", own).await.0.contains("access-control"), "only the API is shared");

    let open = Scratch::new();
    let relay = RelayProcess::start(open.path());
    let (head, _) = ask(&relay, "GET /api/games", own).await;
    assert!(head.contains("access-control-allow-origin: *"), "{head}");
}

#[cfg(unix)]
#[tokio::test]
async fn without_descriptors_a_relay_says_so_and_stays_healthy() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with_files(data.path(), 48, &["--handshake", "600"]);
    let mut crowd = Vec::new();
    for _ in 0..60 {
        crowd.push(TcpStream::connect(&relay.address).await.expect("the system takes it"));
    }
    let (head, body) = ask(&relay, "GET /healthz", "").await;
    assert!(head.starts_with("http/1.1 200") && body == "ok\n", "{head} {body}");
    let (head, body) = ask(&relay, "GET /ws", WANTED).await;
    assert!(head.starts_with("http/1.1 503") && body.contains("open files"), "{head} {body}");
    drop(crowd);
    let deadline = Instant::now() + Duration::from_secs(10);
    // Waits until the whole crowd is gone, and the asking connection is alone.
    while !relay.get("/metrics").await.1.contains("samovar_tcp_connections 1\n") {
        assert!(Instant::now() < deadline, "it takes connections again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(relay.metric("samovar_refused_total{reason=\"descriptors\"}").await >= 2.0);
    drop(Peer::connect(&relay).await);
    let log = tokio::task::spawn_blocking(|| relay.log()).await.expect("no panic");
    for said in ["fewer files open than it takes connections", "gives no more descriptors"] {
        assert_eq!(log.matches(said).count(), 1, "{log}");
    }
}
