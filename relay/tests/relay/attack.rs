//! Attacks that once worked on a relay, and must not work any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::SinkExt as _;
use samovar_wire::Mode;
use samovar_wire::relay::{RelayFrame, ToRelay};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::caller::Caller;
use crate::channels::{pair, start, udp_address};
use crate::figures::are_asserted;
use crate::peer::Peer;
use crate::process::{RelayProcess, Scratch};
use crate::siege::assert_echo;

/// The relay must disconnect a peer that has left, and free its waiting messages, whether the peer takes its last
/// ones or not.
#[tokio::test]
async fn a_peer_that_left_and_reads_nothing_is_closed_despite_pongs() {
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

/// Lets a caller run until it is quiet, and returns one of the STUN checks that it sent, to be sent again later.
async fn own_check(caller: &mut Caller) -> Vec<u8> {
    caller.kept = Some(Vec::new());
    while timeout(Duration::from_millis(300), caller.step()).await.is_ok() {}
    let kept = caller.kept.take().expect("kept");
    kept.into_iter().find(|bytes| bytes[..2] == [0, 1]).expect("a check")
}

/// A datagram that Eve sends with Ann's address must not divert Ann's datagrams.
#[tokio::test]
async fn a_check_with_a_forged_address_diverts_no_datagrams() {
    // With eight threads Eve's connection is probably another thread's than Ann's, and so is Ann's second address.
    for (threads, from_two) in [("1", false), ("8", false), ("8", true)] {
        forge_checks(threads, from_two).await;
    }
}

async fn forge_checks(threads: &str, from_two: bool) {
    let data = Scratch::new();
    let mut relay = start(&data, &["--udp-threads", threads]);
    let udp = udp_address(&mut relay);
    let ((mut ann, a), (mut eve, _)) = pair(&relay).await;
    let mut by_ann = match from_two {
        true => Caller::call_from_two_addresses(&mut ann).await,
        false => Caller::call(&mut ann).await,
    };
    let check = own_check(&mut Caller::dial(&mut eve).await).await;
    let mut lost = 0;
    for _ in 0..20 {
        by_ann.socket.try_send_to(&check, udp).expect("sends");
        by_ann.say(a, Mode::Unreliable, b"echo");
        lost += i32::from(timeout(Duration::from_millis(500), by_ann.next()).await.is_err());
    }
    assert!(lost < 3, "{lost} of 20 packets lost");
}

#[tokio::test]
async fn checks_from_100_addresses_are_answered_at_fewer_than_32() {
    let data = Scratch::new();
    let mut relay = start(&data, &[]);
    let udp = udp_address(&mut relay);
    let ((mut eve, e), _bob) = pair(&relay).await;
    let mut by_eve = Caller::dial(&mut eve).await;
    let check = own_check(&mut by_eve).await;
    let mut sockets = Vec::new();
    for _ in 0..100 {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        socket.send_to(&check, udp).await.expect("sends");
        sockets.push(socket);
    }
    relay.metric_becomes("samovar_datagrams_dropped_total{reason=\"rate\"}", |over| over >= 69.0).await;
    let answered = async || {
        let mut count = 0;
        for socket in &sockets {
            count += usize::from(timeout(Duration::from_millis(1), socket.readable()).await.is_ok());
        }
        count
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while answered().await < 16 {
        assert!(Instant::now() < deadline, "{} of a hundred were answered", answered().await);
    }
    assert!(answered().await < 32, "{}", answered().await);
    assert_echo(&mut by_eve, e).await;
}

/// Channels that end while packets are on their way must not delay the packets of later channels.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_channels_are_as_quick_as_the_first() {
    let data = Scratch::new();
    let relay = start(&data, &["--member-packets", "0"]);
    let ((mut ann, _), (mut bob, b)) = pair(&relay).await;
    // The median time of a packet from Ann to Bob when no other event wakes the endpoint. The median ignores this
    // machine's other work.
    let takes = async |ann: &mut Peer, by_bob: &mut Caller| -> Duration {
        let mut took = Vec::new();
        for n in 0..11_u8 {
            by_bob.say(b, Mode::Unreliable, b"echo");
            // Waits until all timers have fired and all acks have come.
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
        // A message that is too short ends the channels. New ones follow, on the same WebSocket.
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
    println!("a packet takes {first:?} by the first channels, {last:?} by the last");
    assert!(!are_asserted() || last < first + Duration::from_millis(60), "{last:?} after {first:?}");
}
