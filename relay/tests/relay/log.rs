//! A relay whose log cannot be written, or is not read, still runs and answers.

use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::peer::Peer;
use crate::process::{RelayProcess, Scratch};

#[cfg(unix)]
#[tokio::test]
async fn a_relay_survives_a_log_that_cannot_be_written() {
    let data = Scratch::new();
    let path = data.path().join("relay.toml");
    fs::write(&path, "").expect("writes");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let flags = ["--config", path.to_str().expect("text")];
    let relay = RelayProcess::start_logging_to(writer, data.path(), &flags);
    drop(reader);
    fs::write(&path, "origin = [\"https://tea.example\"]").expect("writes");
    relay.signal("HUP");
    let deadline = Instant::now() + Duration::from_secs(10);
    while Peer::connect_with(&relay, &[("origin", "https://evil.example")]).await.err() != Some(403) {
        assert!(Instant::now() < deadline, "the limits are read again");
        sleep(Duration::from_millis(20)).await;
    }
    let ended = tokio::task::spawn_blocking(|| relay.terminate());
    assert!(ended.await.expect("no panic"), "it has not ended before, and ends well");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_relay_does_not_wait_for_a_log_that_nobody_reads() {
    let data = Scratch::new();
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    // This fills all but one of the 16 pages of a pipe.
    writer.write_all(&[b'\n'; 15 * 4_096]).expect("there is room");
    let relay = RelayProcess::start_logging_to(writer, data.path(), &["--log", "debug"]);
    let served = async {
        for _ in 0..100 {
            drop(Peer::connect(&relay).await);
        }
        relay.get("/healthz").await.1
    };
    assert_eq!(timeout(Duration::from_secs(20), served).await.expect("it answers in time"), "ok\n");
    let ended = tokio::task::spawn_blocking(|| relay.terminate());
    assert!(ended.await.expect("no panic"));
    drop(reader);
}
