//! A relay that is asked to stop ends its games in order.

use std::time::{Duration, Instant};

use samovar_wire::relay::{FromRelay, Purpose, Refusal, ToRelay};

use tokio::time::timeout;

use crate::peer::{Heard, Peer};
use crate::process::{RelayProcess, Scratch};

async fn draining(seconds: &str) -> (Scratch, RelayProcess, Peer) {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--drain", seconds]);
    assert_eq!(relay.get("/readyz").await.1, "ready\n");
    let (mut host, _) = Peer::create(&relay, "TEA").await;
    relay.signal("TERM");
    let told = FromRelay::Draining(seconds.parse().expect("a number"));
    assert_eq!(host.hear().await, Heard::Control(told));
    (data, relay, host)
}

#[tokio::test]
async fn a_draining_relay_ends_when_its_last_member_has_left() {
    let (_data, relay, mut host) = draining("60").await;
    let (head, body) = relay.get("/readyz").await;
    assert!(head.starts_with("http/1.1 503") && body == "stopping\n", "{head}{body}");
    assert_eq!(relay.get("/healthz").await.1, "ok\n");
    assert_eq!(relay.metric("samovar_draining").await, 1.0);
    let mut founder = Peer::connect(&relay).await;
    let enter = samovar_wire::relay::Enter {
        version: samovar_wire::PROTOCOL_VERSION,
        params: 1,
        purpose: Purpose::Create(None),
    };
    founder.tell(&ToRelay::Enter(enter)).await;
    assert_eq!(founder.hear().await, Heard::Control(FromRelay::Refused(Refusal::Draining)));
    assert_eq!(relay.metric("samovar_refused_total{reason=\"draining\"}").await, 1.0);
    let (mut late, _) = Peer::join(&relay, "TEA").await;
    assert!(matches!(late.hear().await, Heard::Control(FromRelay::Draining(_))));
    let start = Instant::now();
    for peer in [&mut host, &mut late] {
        peer.tell(&ToRelay::Leave).await;
    }
    assert!(tokio::task::spawn_blocking(|| relay.ends_well()).await.expect("no panic"));
    assert!(start.elapsed() < Duration::from_secs(30), "half of the time it has: {:?}", start.elapsed());
}

#[tokio::test]
async fn a_draining_relay_ends_at_its_deadline() {
    let start = Instant::now();
    let (_data, relay, mut host) = draining("1").await;
    assert_eq!(host.hear().await, Heard::Closed(Some(1001)));
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
    drop(host);
    assert!(tokio::task::spawn_blocking(|| relay.ends_well()).await.expect("no panic"));
}

#[tokio::test]
async fn a_second_sigterm_or_ctrl_c_stops_at_once() {
    for signal in ["TERM", "INT"] {
        let (_data, relay, mut host) = draining("60").await;
        relay.signal(signal);
        assert_eq!(host.hear().await, Heard::Closed(Some(1001)), "{signal}");
        drop(host);
        assert!(tokio::task::spawn_blocking(|| relay.ends_well()).await.expect("no panic"));
    }
}

#[tokio::test]
async fn a_referee_leaves_its_tables_when_its_relay_drains() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--referee", "TEA", "--drain", "60"]);
    relay.metric_becomes("samovar_members{path=\"websocket\"}", |members| members == 1.0).await;
    let start = Instant::now();
    assert!(tokio::task::spawn_blocking(|| relay.terminate()).await.expect("no panic"));
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "nobody but the referee was there: {:?}",
        start.elapsed()
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_settings_file_that_never_ends_does_not_block_the_relay() {
    use std::os::unix::fs::OpenOptionsExt as _;
    const O_NONBLOCK: i32 = 0o4000;
    let data = Scratch::new();
    let path = data.path().join("relay.toml");
    std::fs::write(&path, "drain = 0").expect("writes");
    let relay = RelayProcess::start_with(data.path(), &["--config", path.to_str().expect("text")]);
    std::fs::remove_file(&path).expect("it is there");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    relay.signal("HUP");
    // The pipe can be opened for writing without waiting once it has a reader.
    let deadline = Instant::now() + Duration::from_secs(10);
    let _writer = loop {
        let mut options = std::fs::OpenOptions::new();
        if let Ok(file) = options.write(true).custom_flags(O_NONBLOCK).open(&path) {
            break file;
        }
        assert!(Instant::now() < deadline, "the file is read again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let health = timeout(Duration::from_secs(5), relay.get("/healthz")).await;
    assert_eq!(health.expect("it answers in time").1, "ok\n");
    let ended = tokio::task::spawn_blocking(|| relay.terminate());
    assert!(ended.await.expect("no panic"));
}
