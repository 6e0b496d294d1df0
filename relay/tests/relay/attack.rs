//! What attackers did to a relay, and must not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::SinkExt as _;
use samovar_wire::Mode;
use samovar_wire::relay::{RelayFrame, ToRelay};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::caller::Caller;
use crate::channels::{pair, start};
use crate::peer::Peer;
use crate::process::{RelayProcess, Scratch};

/// Who has left is gone, and what waited for it makes room, whether it takes its last words or not.
#[tokio::test]
async fn who_has_left_and_takes_nothing_is_closed_however_many_pongs_it_sends() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut ann, _) = Peer::create(&relay, "TEA").await;
    let (mut eve, e) = Peer::join(&relay, "TEA").await;
    while relay.metric("samovar_queue_bytes").await == 0.0 {
        for _ in 0..10 {
            ann.send(RelayFrame::forward(e.pass.peer, Mode::Reliable, &[0; 16_000])).await;
        }
    }
    eve.tell(&ToRelay::Leave).await;
    let left = Instant::now();
    while eve.socket.send(Message::Pong(Bytes::new())).await.is_ok() {
        assert!(left.elapsed() < Duration::from_secs(8), "it left long ago, and is still connected");
        sleep(Duration::from_millis(200)).await;
    }
}

/// Channels that end while packets are on their way leave nothing behind that makes the next ones late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_channels_are_as_quick_as_the_first() {
    let data = Scratch::new();
    let relay = start(&data, &["--member-packets", "0"]);
    let ((mut ann, _), (mut bob, b)) = pair(&relay).await;
    // How long a packet takes that nothing else wakes the endpoint up for: the median, for this machine has other work.
    let takes = async |ann: &mut Peer, by_bob: &mut Caller| -> Duration {
        let mut took = Vec::new();
        for n in 0..11_u8 {
            by_bob.say(b, Mode::Unreliable, b"echo");
            // Let all timers and acks pass.
            let quiet = Instant::now() + Duration::from_millis(250);
            while Instant::now() < quiet {
                timeout(Duration::from_millis(20), by_bob.step()).await.ok();
            }
            while timeout(Duration::from_millis(1), by_bob.next()).await.is_ok() {}
            let since = Instant::now();
            ann.send(RelayFrame::forward(b, Mode::Unreliable, &[n; 9])).await;
            let heard = async { while by_bob.next().await.2 != [n; 9] {} };
            timeout(Duration::from_millis(300), heard).await.ok();
            took.push(since.elapsed());
        }
        took.sort();
        took[5]
    };
    let mut by_bob = Caller::call(&mut bob).await;
    let first = takes(&mut ann, &mut by_bob).await;
    let stop = Arc::new(AtomicBool::new(false));
    let flood = tokio::spawn({
        let stop = Arc::clone(&stop);
        async move {
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..8 {
                    ann.send(RelayFrame::forward(b, Mode::Unreliable, b"noise")).await;
                }
                sleep(Duration::from_millis(1)).await;
            }
            ann
        }
    });
    for _ in 0..40 {
        // Too short for a message: the channels end. Then new ones, on the same WebSocket.
        by_bob.say(b, Mode::Unreliable, b"echo");
        timeout(Duration::from_millis(30), async {
            while !by_bob.is_over {
                by_bob.step().await
            }
        })
        .await
        .ok();
        by_bob.write(Mode::Unreliable, &[1]);
        by_bob.flush();
        sleep(Duration::from_millis(30)).await;
        by_bob = Caller::call(&mut bob).await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut ann = flood.await.expect("no panic");
    by_bob.say(b, Mode::Unreliable, b"echo");
    timeout(Duration::from_millis(500), async {
        while !by_bob.is_over {
            by_bob.step().await
        }
    })
    .await
    .ok();
    let last = takes(&mut ann, &mut by_bob).await;
    assert!(last < first + Duration::from_millis(60), "{last:?} after {first:?}");
}
