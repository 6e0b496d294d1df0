//! The spans that a collector of OpenTelemetry gets.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::gate::{GameServer, Manner, create, enter};
use crate::process::{RelayProcess, Scratch, run_in};

/// The variable that names the collector.
const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Lets spans leave soon.
const SOON: (&str, &str) = ("OTEL_BSP_SCHEDULE_DELAY", "100");

/// A collector that takes everything.
struct Collector {
    url: String,
    /// The bodies of all requests, one after the other.
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let taken = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&taken);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, Arc::clone(&all)));
            }
        });
        Self { url, taken }
    }

    /// Waits until the spans contain all of these bytes.
    async fn has(&self, wanted: &[&[u8]]) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let missing = {
                let taken = self.taken.lock().expect("whole");
                let is_missing = |part: &&&[u8]| !taken.windows(part.len()).any(|window| window == **part);
                wanted.iter().find(is_missing).map(|part| String::from_utf8_lossy(part).into_owned())
            };
            let Some(missing) = missing else { return };
            assert!(Instant::now() < deadline, "{missing} has not come");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Takes the requests of one connection.
async fn take(mut stream: TcpStream, taken: Arc<Mutex<Vec<u8>>>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            assert!(head.starts_with("post /v1/traces "), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).expect("a length");
            if bytes.len() >= end + 4 + length {
                let body: Vec<u8> = bytes.drain(..end + 4 + length).skip(end + 4).collect();
                taken.lock().expect("whole").extend(body);
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.ok();
                continue;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The bytes of a number in hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits");
    (0..digits.len()).step_by(2).map(digit).collect()
}

#[tokio::test]
async fn an_entry_and_its_webhook_are_one_trace() {
    let collector = Collector::start().await;
    let server = GameServer::start(Manner::Says("200 OK", r#"{"allow":true}"#)).await;
    let scratch = Scratch::new();
    let relay = RelayProcess::start_in(
        &[(COLLECTOR, &collector.url), SOON],
        scratch.path(),
        &["--webhook", &server.url],
    );
    let _ann = enter(&relay, None, create("TEA")).await;
    let request = server.last().to_ascii_lowercase();
    let parent = request.lines().find_map(|line| line.strip_prefix("traceparent: 00-")).expect("a parent");
    let (trace, span) = parent.trim_end().trim_end_matches("-01").split_once('-').expect("two numbers");
    collector.has(&[&bytes(trace), &bytes(span), b"entry", b"POST", b"GET", b"samovar-relay", b"/ws"]).await;
    let taken = collector.taken.lock().expect("whole").clone();
    let of_trace = taken.windows(16).filter(|window| **window == bytes(trace)).count();
    assert!(of_trace >= 2, "the entry and the question are spans of one trace");
    assert!(!taken.windows(3).any(|window| window == b"TEA"), "codes are nobody's business");
}

#[tokio::test]
async fn a_trusted_proxys_trace_goes_on() {
    let collector = Collector::start().await;
    let scratch = Scratch::new();
    let (believed, foreign) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let variables = [(COLLECTOR, &*collector.url), SOON];
    let relay = RelayProcess::start_in(&variables, &scratch.path().join("a"), &[]);
    ask(&relay, believed).await;
    collector.has(&[&bytes(believed), b"/healthz"]).await;
    let distant = ["--trusted-proxy", "192.0.2.1"];
    let relay = RelayProcess::start_in(&variables, &scratch.path().join("b"), &distant);
    collector.taken.lock().expect("whole").clear();
    ask(&relay, foreign).await;
    collector.has(&[b"/healthz"]).await;
    let taken = collector.taken.lock().expect("whole").clone();
    assert!(!taken.windows(16).any(|window| *window == bytes(foreign)), "anybody could forge traces");
}

async fn ask(relay: &RelayProcess, trace: &str) {
    let mut stream = TcpStream::connect(&relay.address).await.expect("connects");
    let request = format!(
        "GET /healthz HTTP/1.1\r\nHost: tea\r\nConnection: close\r\ntraceparent: 00-{trace}-0123456789abcdef-01\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("writes");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_collector_that_hangs_holds_up_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let scratch = Scratch::new();
    let relay = RelayProcess::start_in(&[(COLLECTOR, &url), SOON], scratch.path(), &[]);
    relay.get("/healthz").await;
    let _held = listener.accept().await.expect("spans come");
    let begin = Instant::now();
    assert!(relay.get("/healthz").await.0.starts_with("http/1.1 200"));
    assert!(relay.terminate());
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn a_wrong_collector_is_named_at_the_start() {
    let scratch = Scratch::new();
    let data = scratch.path().to_str().expect("text");
    let ended =
        run_in(&[(COLLECTOR, "not an address")], &["serve", "--listen", "127.0.0.1:0", "--data", data]);
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(error.contains("collector") && error.contains("OTEL_"), "{error}");
}
