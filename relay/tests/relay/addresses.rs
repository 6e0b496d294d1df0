//! Many addresses attack a relay with many sockets each: a running game keeps its host, and hardly feels the attack.
//!
//! `SAMOVAR_SIEGE=64x64` sets the numbers of addresses and of sockets of each. Times are asserted only with
//! `SAMOVAR_FIGURES`: the attackers need the processors, too, so the machine must have no other work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use samovar_wire::relay::{Enter, Entered, FromRelay, Purpose, RelayFrame, Signal, ToRelay};
use samovar_wire::{Mode, PROTOCOL_VERSION, PeerId, Term};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async};

use crate::bounds::{bound, memory};
use crate::figures::{are_asserted, samples};
use crate::limits::{ALONE, latencies};
use crate::peer::{Peer, code};
use crate::process::{RelayProcess, Scratch};

/// The limit of all queues together.
const QUEUE_BYTES: usize = 16 * 1_024 * 1_024;
/// The number of acts of all sockets together in a second. It is limited because attackers and relay share the
/// machine.
const ACTS: usize = 2_000;

/// The attackers' knowledge of the relay and of the attacked game.
struct Target {
    relay: String,
    host: Entered,
    /// The pause of each socket between two acts.
    pause: Duration,
}

/// The numbers of addresses, and of sockets of each.
fn size() -> (u16, usize) {
    let text = std::env::var("SAMOVAR_SIEGE").ok();
    let given = text.as_deref().and_then(|text| text.split_once('x'));
    let given = given.map(|(a, b)| (a.parse().expect("a number"), b.parse().expect("a number")));
    given.unwrap_or(if are_asserted() { (64, 64) } else { (64, 12) })
}

/// A connection from an address in a network of its own.
async fn connect(target: &Target, address: u16) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.set_reuseaddr(true).ok()?;
    socket.bind(format!("127.7.{address}.1:0").parse().expect("an address")).ok()?;
    socket.connect(target.relay.parse().expect("an address")).await.ok()
}

async fn upgraded(target: &Target, address: u16) -> Option<WebSocketStream<MaybeTlsStream<TcpStream>>> {
    let stream = connect(target, address).await?;
    let url = format!("ws://{}/ws", target.relay);
    Some(client_async(url, MaybeTlsStream::Plain(stream)).await.ok()?.0)
}

fn enter(purpose: Purpose) -> Vec<u8> {
    RelayFrame::control(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose }))
}

/// Joins the game and sends harmful messages to its host and to the relay.
async fn stranger(target: &Target, address: u16) -> Option<()> {
    let mut socket = upgraded(target, address).await?;
    let host = target.host.pass.peer;
    socket.send(Message::binary(enter(Purpose::Join(code("TEA"))))).await.ok()?;
    socket.next().await?.ok()?;
    for attempt in 0.. {
        for message in [
            RelayFrame::control(&ToRelay::Signal(host, Signal::Offer(attempt, "x".repeat(8_000)))),
            RelayFrame::control(&ToRelay::Claim(Term::FIRST.next_witnessed(), PeerId(1 + attempt))),
            RelayFrame::control(&ToRelay::Doubt),
            RelayFrame::forward(host, Mode::Reliable, &[7; 16_000]),
            RelayFrame::forward(host, Mode::Unreliable, &[7; 1_000]),
        ] {
            socket.send(Message::binary(message)).await.ok()?;
        }
        let until = Instant::now() + target.pause;
        while let Ok(heard) = timeout(until.saturating_duration_since(Instant::now()), socket.next()).await {
            heard?.ok()?;
        }
    }
    None
}

/// Shows a pass that the relay has not signed.
async fn forger(target: &Target, address: u16) -> Option<()> {
    let mut socket = upgraded(target, address).await?;
    let (mut pass, warrant) = (target.host.pass, target.host.warrant);
    pass.peer = PeerId(pass.peer.0 ^ 1);
    socket.send(Message::binary(enter(Purpose::Resume(code("TEA"), pass, warrant)))).await.ok()?;
    while socket.next().await?.is_ok() {}
    None
}

/// Founds a game and leaves it.
async fn founder(target: &Target, address: u16) -> Option<()> {
    let mut socket = upgraded(target, address).await?;
    socket.send(Message::binary(enter(Purpose::Create(None)))).await.ok()?;
    socket.next().await?.ok()?;
    socket.send(Message::binary(RelayFrame::control(&ToRelay::Leave))).await.ok()?;
    while socket.next().await?.is_ok() {}
    None
}

/// Requests the answers that cost the relay most.
async fn reader(target: &Target, address: u16) -> Option<()> {
    let mut stream = connect(target, address).await?;
    let mut answer = vec![0; 65_536];
    loop {
        for path in ["/metrics", "/api/games", "/readyz"] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: relay\r\n\r\n");
            stream.write_all(request.as_bytes()).await.ok()?;
            stream.read(&mut answer).await.ok().filter(|length| *length > 0)?;
        }
        sleep(target.pause).await;
    }
}

/// Opens a connection and sends nothing.
async fn mute(target: &Target, address: u16) -> Option<()> {
    let mut stream = connect(target, address).await?;
    while stream.read(&mut [0; 512]).await.ok()? > 0 {}
    None
}

async fn attack(target: Arc<Target>, address: u16, number: usize) {
    loop {
        // Most sockets attack the game itself.
        match number % 8 {
            0 => mute(&target, address).await,
            1 => forger(&target, address).await,
            2 => founder(&target, address).await,
            3 => reader(&target, address).await,
            _ => stranger(&target, address).await,
        };
        sleep(target.pause).await;
    }
}

/// Plays a host that answers the relay and reads its messages. Counts the newcomers' messages.
async fn hosts(mut peer: Peer, knocks: Arc<AtomicUsize>) {
    while let Some(Ok(message)) = peer.socket.next().await {
        let Message::Binary(bytes) = message else { continue };
        match RelayFrame::decode(&bytes).expect("a frame") {
            RelayFrame::Control(body) => {
                if let Ok(FromRelay::Probe(nonce)) = FromRelay::decode(body) {
                    peer.tell(&ToRelay::Alive(nonce)).await;
                }
            }
            RelayFrame::Forward { payload: b"HELLO with a ticket", .. } => {
                knocks.fetch_add(1, Ordering::Relaxed);
            }
            RelayFrame::Forward { .. } => {}
        }
    }
}

/// Lets a known member come back, and returns the time until the host hears it again.
async fn comes_back(target: &Target, was: &Entered, knocks: &AtomicUsize) -> Duration {
    let (start, before) = (Instant::now(), knocks.load(Ordering::Relaxed));
    loop {
        let tried = async {
            let mut socket = upgraded(target, 200).await?;
            socket.send(Message::binary(enter(Purpose::Rejoin(code("TEA"), was.pass)))).await.ok()?;
            let Message::Binary(bytes) = socket.next().await?.ok()? else { return None };
            let Ok(RelayFrame::Control(body)) = RelayFrame::decode(&bytes) else { return None };
            let Ok(FromRelay::Entered(_)) = FromRelay::decode(body) else { return None };
            while knocks.load(Ordering::Relaxed) == before {
                let hello =
                    RelayFrame::forward(target.host.pass.peer, Mode::Unreliable, b"HELLO with a ticket");
                socket.send(Message::binary(hello)).await.ok()?;
                sleep(Duration::from_millis(50)).await;
            }
            Some(())
        };
        if timeout(Duration::from_secs(10), tried).await == Ok(Some(())) {
            return start.elapsed();
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it does not get in");
        sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_outlives_an_attack_of_many_addresses() {
    let _alone = ALONE.lock().await;
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--queue-bytes", &QUEUE_BYTES.to_string()]);
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    let (mut ann, a) = Peer::join(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    let (away, c) = Peer::join(&relay, "TEA").await;
    let b = b.pass.peer;
    host.name(&[h.pass.peer, a.pass.peer, b, c.pass.peer]).await;
    drop(away);
    let knocks = Arc::new(AtomicUsize::new(0));
    let host = tokio::spawn(hosts(host, Arc::clone(&knocks)));
    let (calm, before) = (latencies(&mut ann, &mut bob, b, samples(400)).await, memory(relay.id()));
    let ((addresses, sockets), mut attacks) = (size(), JoinSet::new());
    let pause = Duration::from_secs_f64(usize::from(addresses) as f64 * sockets as f64 / ACTS as f64);
    let target = Arc::new(Target { relay: relay.address.clone(), host: h, pause });
    for number in 0..sockets {
        for address in 0..addresses {
            attacks.spawn(attack(Arc::clone(&target), address, number));
        }
        // Keeps each address to the number of sockets that it may open in a second.
        sleep(Duration::from_millis(5)).await;
    }
    let (most, watched, id) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), relay.id());
    let watch = tokio::spawn({
        let (most, watched) = (Arc::clone(&most), Arc::clone(&watched));
        async move {
            loop {
                most.fetch_max(memory(id), Ordering::Relaxed);
                watched.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(20)).await;
            }
        }
    });
    sleep(Duration::from_secs(2).max(pause)).await;
    let stormy = latencies(&mut ann, &mut bob, b, samples(1_200)).await;
    let back = comes_back(&target, &c, &knocks).await;
    let connections = relay.metric("samovar_tcp_connections").await;
    let strangers = relay.metric("samovar_members{path=\"websocket\"}").await;
    watch.abort();
    let (most, bound) =
        (most.load(Ordering::Relaxed), bound(QUEUE_BYTES, addresses as usize * sockets, 0, 0));
    let p99 = |sorted: &[Duration]| sorted[sorted.len() * 99 / 100];
    println!(
        "{addresses} addresses, {sockets} sockets each: {connections} connections, {strangers} in games; p50 {:?} calm, {:?} under \
         attack; p99 {:?} and {:?}; back after {back:?}; memory {} MiB before, {} at most of {}",
        calm[calm.len() / 2],
        stormy[stormy.len() / 2],
        p99(&calm),
        p99(&stormy),
        before >> 20,
        most >> 20,
        bound >> 20
    );
    assert!(!host.is_finished(), "the host is connected");
    for cause in ["silent", "missed", "disconnected", "shown", "handed_over"] {
        let changes = relay.metric(&format!("samovar_host_changes_total{{cause=\"{cause}\"}}")).await;
        assert_eq!(changes, 0.0, "{cause}");
    }
    for reason in ["too_slow", "panicked"] {
        assert_eq!(
            relay.metric(&format!("samovar_ended_total{{reason=\"{reason}\"}}")).await,
            0.0,
            "{reason}"
        );
    }
    assert!(most < bound, "{most} of {bound}");
    assert!(back < Duration::from_secs(if are_asserted() { 2 } else { 10 }), "{back:?}");
    let room = Duration::from_millis(10);
    assert!(!are_asserted() || p99(&stormy) < 2 * p99(&calm) + room, "{:?}", p99(&stormy));
    attacks.shutdown().await;
}
