//! Hostile datagrams and hostile members at the UDP port: they harm only themselves.

use std::time::{Duration, Instant};

use samovar_wire::limits::{BULK_CHUNK_MAX, PACKET_MAX};
use samovar_wire::{Mode, PeerId};
use tokio::net::UdpSocket;
use tokio::time::{interval, timeout};

use crate::caller::Caller;
use crate::channels::{beside, pair, start, udp_address};
use crate::figures::{assert_unharmed, samples};
use crate::limits::ALONE;
use crate::peer::{Heard, Peer};
use crate::process::Scratch;

/// Numbers that look random and are the same each time.
fn noise(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A plain STUN binding request.
fn binding_request() -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42];
    bytes.extend_from_slice(&[7; 12]);
    bytes
}

/// Asserts that a member's channels carry packets to itself.
pub(crate) async fn assert_echo(caller: &mut Caller, id: PeerId) {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        caller.say(id, Mode::Unreliable, b"echo");
        if let Ok(heard) = timeout(Duration::from_millis(200), caller.next()).await {
            return assert_eq!(heard, (id, Mode::Unreliable, b"echo".to_vec()));
        }
        assert!(Instant::now() < deadline, "its channels carry");
    }
}

#[tokio::test]
async fn address_requests_get_no_more_bytes_than_they_send() {
    let data = Scratch::new();
    let mut relay = start(&data, &[]);
    let address = udp_address(&mut relay);
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let (mut sent, mut received, mut answers) = (0, 0, 0);
    for _ in 0..20 {
        sent += socket.send_to(&binding_request(), address).await.expect("sends");
        let mut buffer = [0; 100];
        if let Ok(Ok((length, _))) = timeout(Duration::from_millis(100), socket.recv_from(&mut buffer)).await
        {
            received += length;
            answers += 1;
            let port = u16::from_be_bytes([buffer[26], buffer[27]]) ^ 0x2112;
            assert_eq!(
                (buffer[..2].to_vec(), port),
                (vec![1, 1], socket.local_addr().expect("bound").port())
            );
        }
        assert!(received <= sent, "{received} of {sent}");
    }
    let unproven = relay.metric("samovar_datagrams_dropped_total{reason=\"unproven\"}").await as usize;
    // Waits for the answers that come late on a busy machine.
    while answers + unproven < 20 {
        let late = timeout(Duration::from_secs(10), socket.recv_from(&mut [0; 100])).await;
        received += late.expect("each is answered or counted").expect("receives").0;
        answers += 1;
    }
    assert!(received <= sent && answers >= 8, "{received} of {sent}, {answers} answers");
    assert_eq!(answers + unproven, 20);
}

#[tokio::test]
async fn an_address_that_fails_checks_gets_no_more_than_it_sent() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, _), _bob) = pair(&relay).await;
    let mut caller = Caller::dial(&mut ann).await;
    // The caller plays a machine that knows nothing of the connection and answers no check.
    caller.is_deaf = true;
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        timeout(Duration::from_millis(50), caller.step()).await.ok();
        assert!(caller.received <= caller.sent, "{} of {}", caller.received, caller.sent);
    }
    assert!(caller.received > 0 && caller.sent > 500, "{} of {}", caller.received, caller.sent);
    assert_eq!(relay.metric("samovar_members{path=\"webrtc\"}").await, 0.0);
}

#[tokio::test]
async fn garbage_and_replayed_datagrams_change_nothing() {
    let data = Scratch::new();
    let mut relay = start(&data, &[]);
    let address = udp_address(&mut relay);
    let ((mut ann, a), _bob) = pair(&relay).await;
    let mut caller = Caller::dial(&mut ann).await;
    caller.kept = Some(Vec::new());
    while timeout(Duration::from_millis(300), caller.step()).await.is_ok() {}
    assert_echo(&mut caller, a).await;
    let kept = caller.kept.take().expect("kept");
    let thief = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let (mut sent, mut received, mut seed) = (0, 0, 1_u64);
    let mut buffer = [0; 2_048];
    for round in 0..30 {
        for bytes in &kept {
            let mut bytes = bytes.clone();
            if round > 0 {
                let place = noise(&mut seed) as usize % bytes.len();
                bytes[place] ^= noise(&mut seed) as u8;
                let length = noise(&mut seed) as usize % (bytes.len() + 1);
                bytes.truncate(if round % 2 == 0 { length } else { bytes.len() });
            }
            sent += thief.send_to(&bytes, address).await.expect("sends");
        }
        while let Ok(Ok((length, _))) = timeout(Duration::from_millis(2), thief.recv_from(&mut buffer)).await
        {
            received += length;
        }
        assert!(received <= sent, "{received} of {sent}");
        assert_echo(&mut caller, a).await;
    }
    assert!(relay.metric("samovar_datagrams_dropped_total{reason=\"unknown\"}").await > 0.0);
}

#[tokio::test]
async fn a_member_whose_packets_are_mutilated_harms_nobody_else() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, a), (mut bob, b)) = pair(&relay).await;
    let mut by_ann = Caller::call(&mut ann).await;
    let mut by_bob = beside(&mut by_ann, Caller::call(&mut bob)).await;
    by_bob.spoil = Some(|bytes| {
        let place = bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % bytes.len();
        bytes[place] = bytes[place].wrapping_add(1);
    });
    for round in 0..200 {
        by_bob.say(a, Mode::Unreliable, &[round; 300]);
        by_bob.say(a, Mode::Reliable, &[round; 3_000]);
        timeout(Duration::from_millis(1), by_bob.step()).await.ok();
    }
    assert_echo(&mut by_ann, a).await;
    by_bob.spoil = None;
    bob.send(samovar_wire::relay::RelayFrame::forward(a, Mode::Unreliable, b"unharmed")).await;
    while by_ann.hear().await != (b, Mode::Unreliable, b"unharmed".to_vec()) {}
}

#[tokio::test]
async fn invalid_messages_end_only_their_own_channels() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, a), (mut bob, b)) = pair(&relay).await;
    let mut by_ann = Caller::call(&mut ann).await;
    type Sin = fn(&mut Caller);
    let sins: [Sin; 4] = [
        |caller| assert!(caller.write(Mode::Unreliable, &[0; PACKET_MAX + 5])),
        |caller| assert!(caller.write(Mode::Reliable, &[0; BULK_CHUNK_MAX + 5])),
        |caller| assert!(caller.write(Mode::Reliable, &[1, 2, 3])),
        |caller| assert!(caller.write_as(Mode::Unreliable, false, b"hello")),
    ];
    for sin in sins {
        let mut by_bob = beside(&mut by_ann, Caller::call(&mut bob)).await;
        sin(&mut by_bob);
        by_bob.flush();
        beside(&mut by_ann, by_bob.ends()).await;
        assert_echo(&mut by_ann, a).await;
        by_ann.say(b, Mode::Unreliable, b"by the other way");
        let heard = beside(&mut by_ann, bob.hear()).await;
        assert!(matches!(heard, Heard::Packet { payload, .. } if payload == b"by the other way"));
    }
}

/// Sends packets from one end to the other, and returns their times, sorted.
async fn latencies(from: &mut Caller, to: &mut Caller, receiver: PeerId, count: u32) -> Vec<Duration> {
    let mut each = interval(Duration::from_millis(20));
    let mut took = Vec::new();
    for n in 0..count {
        beside(from, each.tick()).await;
        let start = Instant::now();
        // The receiver speaks, too: a member that is silent on its channels for a while is reached by its WebSocket.
        to.say(receiver, Mode::Unreliable, b"");
        from.say(receiver, Mode::Unreliable, &n.to_le_bytes());
        let mine = async { while to.hear().await.2 != n.to_le_bytes() {} };
        // The wait ends after a while, because the packet may have been dropped.
        timeout(Duration::from_millis(500), beside(from, mine)).await.ok();
        took.push(start.elapsed());
    }
    took.sort();
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_far_over_its_limit_by_udp_harms_nobody_else() {
    let _alone = ALONE.lock().await;
    let data = Scratch::new();
    let relay = start(&data, &["--member-packets", "100"]);
    let ((mut ann, a), (mut bob, b)) = pair(&relay).await;
    let (mut eve, e) = Peer::join(&relay, "TEA").await;
    ann.name(&[a, b, e.pass.peer]).await;
    let mut by_ann = Caller::call(&mut ann).await;
    let mut by_bob = beside(&mut by_ann, Caller::call(&mut bob)).await;
    let mut by_eve = Caller::call(&mut eve).await;
    assert_echo(&mut by_ann, a).await;
    assert_echo(&mut by_bob, b).await;
    assert_echo(&mut by_eve, e.pass.peer).await;
    // These tasks answer the pings of the WebSockets meanwhile.
    let keepers = [ann, bob, eve].map(|mut peer| {
        tokio::spawn(async move { while futures_util::StreamExt::next(&mut peer.socket).await.is_some() {} })
    });
    let calm = latencies(&mut by_ann, &mut by_bob, b, samples(120)).await;
    let flood = tokio::spawn(async move {
        let mut each = interval(Duration::from_millis(1));
        loop {
            beside(&mut by_eve, each.tick()).await;
            for _ in 0..10 {
                by_eve.say(b, Mode::Unreliable, &[7; 100]);
            }
        }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let stormy = latencies(&mut by_ann, &mut by_bob, b, samples(120)).await;
    assert_unharmed(&calm, &stormy, Duration::from_millis(10));
    let over = relay.metric("samovar_dropped_total{reason=\"member_rate\"}").await;
    let undecrypted = relay.metric("samovar_datagrams_dropped_total{reason=\"rate\"}").await;
    assert!(over + undecrypted > 500.0, "{over} and {undecrypted}");
    flood.abort();
    keepers.iter().for_each(tokio::task::JoinHandle::abort);
}
