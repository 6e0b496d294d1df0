//! Tests of the effect that a panic in one connection has on the others. Only tests can make a connection panic.

use std::time::Duration;

use samovar_wire::relay::RelayFrame;
use samovar_wire::{Mode, PeerId};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::caller::Caller;
use crate::peer::{Heard, Peer};
use crate::settings::Settings;
use crate::{Order, Relay};

/// A payload that makes its reader panic.
const MARK: &[u8] = b"panic, whoever reads this";

/// Panics when a message ends with the mark.
pub(crate) fn trip(bytes: &[u8]) {
    assert!(!bytes.ends_with(MARK), "a test wants this panic");
}

/// The part of a relay process that the tests' clients need; this relay runs in the test's own process.
pub(crate) mod process {
    pub(crate) struct RelayProcess {
        /// Host and port.
        pub(crate) address: String,
    }
}

/// A relay with a UDP port; it lives until the orders are dropped.
async fn start(name: &str) -> (process::RelayProcess, mpsc::Sender<Order>, std::path::PathBuf) {
    let data = std::env::temp_dir().join(format!("samovar-panics-{name}-{}", std::process::id()));
    let text = format!("data = {data:?}\nlisten = \"127.0.0.1:0\"\nudp = \"127.0.0.1:0\"");
    let settings: Settings = toml::from_str(&text).expect("settings");
    let relay = Relay::bind(settings.resolve().expect("complete").0).await.expect("binds");
    let address = relay.address().to_string();
    let (orders, obeyed) = mpsc::channel(1);
    tokio::spawn(relay.run(obeyed));
    (process::RelayProcess { address }, orders, data)
}

/// The number of connections that have panicked, as the relay's metrics show it.
async fn panicked(relay: &process::RelayProcess) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(&relay.address).await.expect("connects");
    let request = b"GET /metrics HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.expect("sends");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("answers");
    let name = "samovar_ended_total{reason=\"panicked\"} ";
    text.lines().find_map(|line| line.strip_prefix(name)).expect("it is counted").to_owned()
}

/// Waits until the relay has counted this many panicked connections. The relay counts a connection only after it has
/// closed it.
async fn assert_panicked(relay: &process::RelayProcess, count: &str) {
    let counted = async { while panicked(relay).await != count {} };
    timeout(Duration::from_secs(5), counted).await.expect("it is counted");
}

async fn assert_packets_pass(from: &mut Peer, to: (&mut Peer, PeerId)) {
    from.send(RelayFrame::forward(to.1, Mode::Unreliable, b"unharmed")).await;
    while !matches!(to.0.hear().await, Heard::Packet { payload, .. } if payload == b"unharmed") {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_closes_only_its_own_websocket() {
    let (relay, orders, data) = start("websocket").await;
    let (mut ann, _) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    // The second message makes its task panic while that task holds the hub's lock.
    let panics = [RelayFrame::forward(b.pass.peer, Mode::Unreliable, MARK), [&[0], MARK].concat()];
    for (bytes, count) in panics.into_iter().zip(["1", "2"]) {
        let (mut eve, _) = Peer::join(&relay, "TEA").await;
        eve.send(bytes).await;
        while !matches!(eve.hear().await, Heard::Closed(_)) {}
        assert_packets_pass(&mut ann, (&mut bob, b.pass.peer)).await;
        assert_panicked(&relay, count).await;
    }
    let (mut eve, _) = Peer::join(&relay, "TEA").await;
    assert_packets_pass(&mut eve, (&mut bob, b.pass.peer)).await;
    drop(orders);
    std::fs::remove_dir_all(data).ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_closes_only_its_own_data_channels() {
    let (relay, orders, data) = start("channels").await;
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let (mut eve, e) = Peer::join(&relay, "TEA").await;
    let mut by_ann = Caller::call(&mut ann).await;
    let mut by_eve = Caller::call(&mut eve).await;
    by_eve.say(e.pass.peer, Mode::Unreliable, MARK);
    for _ in 0..50 {
        if panicked(&relay).await == "1" {
            break;
        }
        timeout(Duration::from_millis(20), by_eve.step()).await.ok();
    }
    assert_eq!(panicked(&relay).await, "1");
    by_ann.say(a.pass.peer, Mode::Unreliable, b"echo");
    assert_eq!(by_ann.hear().await.2, b"echo", "the thread of all channels goes on");
    assert_packets_pass(&mut ann, (&mut eve, e.pass.peer)).await;
    let mut by_eve = Caller::call(&mut eve).await;
    by_eve.say(e.pass.peer, Mode::Unreliable, b"again");
    assert_eq!(by_eve.hear().await.2, b"again", "who lost its channels may have others");
    drop(orders);
    std::fs::remove_dir_all(data).ok();
}
