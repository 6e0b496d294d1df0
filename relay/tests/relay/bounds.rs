//! Attacks a relay in every way at once: its memory stays under the bound that docs/relay.md states, honest players
//! hardly feel the attacks, and the metrics report them. Two more tests are about peers that forge a pass or guess a
//! code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use samovar_wire::relay::{Enter, FromRelay, Purpose, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Mode, PROTOCOL_VERSION, PeerId};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use tokio_tungstenite::{MaybeTlsStream, client_async};

use crate::caller::Caller;
use crate::channels::{start, udp_address};
use crate::figures::{assert_unharmed, samples};
use crate::limits::{ALONE, connect_from, latencies};
use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch};

/// The limit of all queues together in these tests, the least allowed.
const QUEUE_BYTES: usize = 1_048_576;
const MIB: usize = 1 << 20;

/// The bound of docs/relay.md, in bytes.
pub(crate) fn bound(queue_bytes: usize, connections: usize, channels: usize, threads: usize) -> usize {
    (32 + 2 * threads) * MIB + queue_bytes * 5 / 4 + connections * 64 * 1_024 + channels * 160 * 1_024
}

/// The memory that a process holds.
pub(crate) fn memory(process: u32) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).expect("Linux, and it runs");
    let pages: usize = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4_096
}

/// Opens silent connections, more than their address may have. Some begin a request and never end it.
async fn mute_and_slow(relay: Arc<RelayProcess>) {
    let mut kept = Vec::new();
    for n in 0..400 {
        let mut stream = connect_from(if n % 4 == 0 { "127.0.0.6:0" } else { "127.0.0.5:0" }, &relay).await;
        if n % 4 == 0 {
            stream.write_all(b"GET /ws HTTP/1.1\r\nHost: relay\r\nX-Long: ").await.ok();
            stream.write_all(&[b'a'; 12_000]).await.ok();
        }
        kept.push(stream);
        sleep(Duration::from_millis(2)).await;
    }
    std::future::pending().await
}

/// Connects peers that announce frames of terabytes, or messages without end.
async fn endless_frames(relay: Arc<RelayProcess>) {
    loop {
        for frame in
            [&[0x82, 0xFF, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4][..], &[0x02, 0xFE, 0x10, 0, 1, 2, 3, 4]]
        {
            let mut peer = Peer::connect(&relay).await;
            let MaybeTlsStream::Plain(stream) = peer.socket.get_mut() else {
                unreachable!("there is no TLS")
            };
            for _ in 0..8 {
                // Sends 4,096 bytes each time: a part of the endless frame, or a frame that is not the last of its
                // message.
                if stream.write_all(frame).await.is_err() || stream.write_all(&[7; 4_096]).await.is_err() {
                    break;
                }
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Sends datagrams from many addresses: noise of any size, imitations of DTLS, and requests that only cost the relay
/// time.
async fn datagrams(relay: std::net::SocketAddr) {
    let mut seed = 7_u64;
    loop {
        for host in 1..=250_u8 {
            let Ok(socket) = UdpSocket::bind((std::net::Ipv4Addr::new(127, 0, 1, host), 0)).await else {
                continue;
            };
            for _ in 0..8 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut bytes = vec![seed as u8; (seed >> 40) as usize % 9_000];
                let start: &[u8] = match seed >> 33 & 3 {
                    0 => &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200, 1],
                    1 => &[0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
                    _ => &[],
                };
                let end = start.len().min(bytes.len());
                bytes[..end].copy_from_slice(&start[..end]);
                socket.send_to(&bytes, relay).await.ok();
            }
            sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Plays a member that offers data channels again and again, and opens none.
async fn offers(relay: Arc<RelayProcess>) {
    let (mut peer, _) = Peer::join(&relay, "MILK").await;
    let mut each = interval(Duration::from_millis(80));
    let (_caller, offer, _) = Caller::offer().await;
    for attempt in 0.. {
        tokio::select! {
            _ = each.tick() => {}
            _ = peer.socket.next() => continue,
        }
        peer.tell(&ToRelay::Signal(PeerId::RELAY, Signal::Offer(attempt, offer.clone()))).await;
    }
}

/// Joins as a member that reads nothing, and whose system keeps almost no unread bytes.
async fn hoarder(relay: &RelayProcess) -> (Peer, PeerId) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("it may be small");
    let stream = socket.connect(relay.address.parse().expect("an address")).await.expect("connects");
    let url = format!("ws://{}/ws", relay.address);
    let (socket, _) = client_async(url, MaybeTlsStream::Plain(stream)).await.expect("lets it in");
    let (peer, entered) = Peer { socket }.go_in(Purpose::Join(code("HOARD"))).await;
    (peer, entered.pass.peer)
}

/// Lets members of one game send chunks to other members of it that do not read.
async fn hoard(relay: Arc<RelayProcess>) {
    let (mut host, entered) = Peer::create(&relay, "HOARD").await;
    let mut hoarders = Vec::new();
    for _ in 0..8 {
        hoarders.push(hoarder(&relay).await);
    }
    let mut members: Vec<_> =
        [entered.pass.peer].into_iter().chain(hoarders.iter().map(|(_, id)| *id)).collect();
    let mut senders = JoinSet::new();
    for _ in 0..6 {
        let (mut peer, entered) = Peer::join(&relay, "HOARD").await;
        members.push(entered.pass.peer);
        host.tell(&ToRelay::Members(members.clone(), 0)).await;
        let ids: Vec<_> = hoarders.iter().map(|(_, id)| *id).collect();
        senders.spawn(async move {
            for id in ids.into_iter().cycle() {
                peer.send(RelayFrame::forward(id, Mode::Reliable, &[7; 16_384])).await;
            }
        });
    }
    senders.join_next().await;
}

/// Plays a member that sends a hundred times its limit.
async fn greedy(mut peer: Peer, receiver: PeerId) {
    let mut each = interval(Duration::from_millis(2));
    loop {
        each.tick().await;
        for _ in 0..40 {
            peer.send(RelayFrame::forward(receiver, Mode::Unreliable, &[7; 100])).await;
        }
    }
}

/// The times of datagrams without a relay, sorted: the machine's own delay.
async fn machine() -> Vec<Duration> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    socket.connect(socket.local_addr().expect("bound")).await.expect("itself");
    let (mut each, mut took) = (interval(Duration::from_millis(5)), Vec::new());
    for _ in 0..samples(600) {
        each.tick().await;
        let start = Instant::now();
        socket.send(b"?").await.expect("sends");
        socket.recv(&mut [0; 8]).await.expect("hears");
        took.push(start.elapsed());
    }
    took.sort();
    took
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_all_attacks_memory_is_bounded_and_players_unharmed() {
    let _alone = ALONE.lock().await;
    let data = Scratch::new();
    let room = QUEUE_BYTES.to_string();
    let flags = ["--queue-bytes", &room, "--member-packets", "200", "--game-connections", "32"];
    let mut relay = start(&data, &flags);
    let udp = udp_address(&mut relay);
    let relay = Arc::new(relay);
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    let b = b.pass.peer;
    let (eve, e) = Peer::join(&relay, "TEA").await;
    ann.tell(&ToRelay::Members(vec![a.pass.peer, b, e.pass.peer], 0)).await;
    let _founder = Peer::create(&relay, "MILK").await;
    let (calm, before) = (latencies(&mut ann, &mut bob, b, samples(160)).await, memory(relay.id()));
    let mut attacks = JoinSet::new();
    attacks.spawn(mute_and_slow(Arc::clone(&relay)));
    attacks.spawn(endless_frames(Arc::clone(&relay)));
    attacks.spawn(datagrams(udp));
    attacks.spawn(hoard(Arc::clone(&relay)));
    attacks.spawn(greedy(eve, b));
    for _ in 0..8 {
        attacks.spawn(offers(Arc::clone(&relay)));
    }
    let most = Arc::new(AtomicUsize::new(0));
    let (watched, id) = (Arc::clone(&most), relay.id());
    attacks.spawn(async move {
        loop {
            watched.fetch_max(memory(id), Ordering::Relaxed);
            sleep(Duration::from_millis(10)).await;
        }
    });
    sleep(Duration::from_millis(1_000)).await;
    let (stormy, machine) = tokio::join!(latencies(&mut ann, &mut bob, b, samples(600)), machine());
    // By now each attack has met its limit.
    for metric in [
        "samovar_refused_total{reason=\"address_connections\"}",
        "samovar_refused_total{reason=\"misbehaved\"}",
        "samovar_datagrams_dropped_total{reason=\"unknown\"}",
        "samovar_dropped_total{reason=\"member_rate\"}",
        "samovar_ended_total{reason=\"too_slow\"}",
    ] {
        relay.metric_becomes(metric, |count| count > 0.0).await;
    }
    let queued = relay.metric("samovar_queue_bytes").await;
    // The bound counts 400 connections (the slow handshakes and the members) and 16 data channels (the offers).
    let (most, bound) = (most.load(Ordering::Relaxed), bound(QUEUE_BYTES, 400, 16, 3));
    println!(
        "memory {} KiB before, {} at most, bound {}; {queued} bytes queued",
        before / 1_024,
        most / 1_024,
        bound / 1_024
    );
    assert!(most < bound && queued <= QUEUE_BYTES as f64 + 65_536.0, "{most} of {bound}, {queued}");
    // A packet through the relay waits for a processor four times, a datagram without it once.
    assert_unharmed(&calm, &stormy, 4 * machine[machine.len() / 2] + Duration::from_millis(10));
    assert_eq!(relay.metric("samovar_ended_total{reason=\"panicked\"}").await, 0.0);
    attacks.shutdown().await;
    let own = latencies(&mut ann, &mut bob, b, 20).await;
    assert_eq!(own.len(), 20, "both are still there");
}

#[tokio::test]
async fn a_forged_pass_is_refused_and_an_own_pass_resumes() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (_ann, a) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    let (_eve, e) = Peer::create(&relay, "MILK").await;
    let refused = async |purpose: Purpose| {
        let mut peer = Peer::connect(&relay).await;
        peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose })).await;
        assert_eq!(peer.hear().await, Heard::Control(FromRelay::Refused(Refusal::BadPass)));
    };
    let mut forged = b.pass;
    forged.peer = a.pass.peer;
    refused(Purpose::Resume(code("TEA"), forged, b.warrant)).await;
    refused(Purpose::Resume(code("TEA"), e.pass, b.warrant)).await;
    refused(Purpose::Resume(code("TEA"), b.pass, e.warrant)).await;
    assert_eq!(relay.metric("samovar_refused_total{reason=\"bad_pass\"}").await, 3.0);
    let again = Peer::connect(&relay).await.go_in(Purpose::Resume(code("TEA"), b.pass, b.warrant)).await.1;
    assert_eq!(again.pass.peer, b.pass.peer);
    // Two connections show one pass: only the newer one counts.
    while !matches!(bob.hear().await, Heard::Closed(Some(1000))) {}
    assert_eq!(relay.metric("samovar_ended_total{reason=\"replaced\"}").await, 1.0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_guesser_of_codes_is_slowed_down_and_finds_no_game() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--address-opens", "20"]);
    let (_ann, _) = Peer::create(&relay, "TEA").await;
    let mut unheard = 0;
    for n in 0..60 {
        let stream = connect_from("127.0.0.9:0", &relay).await;
        let url = format!("ws://{}/ws", relay.address);
        let Ok((socket, _)) = client_async(url, MaybeTlsStream::Plain(stream)).await else {
            unheard += 1;
            continue;
        };
        let mut peer = Peer { socket };
        let purpose = Purpose::Join(code(&format!("GUESS-{n}")));
        peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose })).await;
        let heard = peer.hear().await;
        assert_eq!(heard, Heard::Control(FromRelay::Refused(Refusal::UnknownGame)));
        assert!(matches!(peer.hear().await, Heard::Closed(_)), "one guess a connection");
    }
    assert!(unheard > 10, "{unheard} of sixty");
    let guesses = relay.metric("samovar_refused_total{reason=\"unknown_game\"}").await;
    assert_eq!(guesses as usize, 60 - unheard);
    assert_eq!(relay.metric("samovar_refused_total{reason=\"address_opens\"}").await as usize, unheard);
}
