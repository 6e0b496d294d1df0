//! Peers that have only joined a game can do little in it, and can close no connection.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use samovar_directory::limits::NAMED_WITHIN;
use samovar_wire::relay::{Denial, Enter, Entered, FromRelay, Purpose, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Mode, PROTOCOL_VERSION, PeerId, Term};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, client_async};

use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch};

/// Connects a peer that comes from this address, as far as the relay knows.
pub(crate) async fn from(relay: &RelayProcess, address: &'static str) -> Peer {
    Peer::connect_with(relay, &[("x-forwarded-for", address)]).await.expect("let in")
}

async fn says_enter(relay: &RelayProcess, address: &'static str, purpose: Purpose) -> Peer {
    let mut peer = from(relay, address).await;
    peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose })).await;
    peer
}

/// Founds a game as a host whose system keeps almost no unread bytes.
async fn narrow_host(relay: &RelayProcess) -> (Peer, Entered) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("it may be small");
    let stream = socket.connect(relay.address.parse().expect("an address")).await.expect("connects");
    let url = format!("ws://{}/ws", relay.address);
    let (socket, _) = client_async(url, MaybeTlsStream::Plain(stream)).await.expect("lets it in");
    Peer { socket }.go_in(Purpose::Create(Some(code("TEA")))).await
}

/// Waits until the relay has read all that this member said so far: it reads in order, and denies a claim of the
/// present term at once.
async fn is_read(member: &mut Peer, id: PeerId) {
    member.tell(&ToRelay::Claim(Term::FIRST, id)).await;
    while member.hear().await != Heard::Control(FromRelay::Denied(Term::FIRST, Denial::Stale)) {}
}

/// The next message, including probes and pulses; `None` if the connection has ended.
async fn anything(peer: &mut Peer) -> Option<Vec<u8>> {
    loop {
        match timeout(Duration::from_secs(10), peer.socket.next()).await.expect("it is not silent") {
            Some(Ok(Message::Binary(bytes))) => return Some(bytes.to_vec()),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            Some(Ok(_)) => {}
        }
    }
}

#[tokio::test]
async fn strangers_messages_do_not_close_a_slow_host() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, h) = narrow_host(&relay).await;
    let (mut member, m) = Peer::join(&relay, "TEA").await;
    let (h, m) = (h.pass.peer, m.pass.peer);
    host.name(&[h, m]).await;
    let mut senders = JoinSet::new();
    for _ in 0..10 {
        let (mut eve, _) = Peer::join(&relay, "TEA").await;
        senders.spawn(async move {
            for attempt in 0..50 {
                eve.tell(&ToRelay::Signal(h, Signal::Offer(attempt, "x".repeat(8_000)))).await;
                eve.send(RelayFrame::forward(h, Mode::Reliable, &[7; 16_000])).await;
            }
            eve
        });
    }
    // Twelve megabytes are on their way to a host that reads nothing for a while.
    let strangers = timeout(Duration::from_secs(4), senders.join_all()).await.ok();
    member.tell(&ToRelay::Signal(h, Signal::Answer(1, "a member's".to_owned()))).await;
    is_read(&mut member, m).await;
    let mut before = 0;
    loop {
        let bytes = anything(&mut host).await.expect("the host stays connected");
        let Ok(RelayFrame::Control(body)) = RelayFrame::decode(&bytes) else { continue };
        match FromRelay::decode(body) {
            Ok(FromRelay::Signal(from, _)) if from == m => break,
            Ok(FromRelay::Signal(..)) => before += 1,
            _ => {}
        }
    }
    // The system's buffer is read first; of the messages that waited in the relay the member's is the first.
    assert!(before < 60, "{before} signals of strangers came before the member's");
    assert_eq!(relay.metric("samovar_ended_total{reason=\"too_slow\"}").await, 0.0);
    drop(strangers);
}

#[tokio::test]
async fn a_probe_overtakes_a_members_messages() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, h) = narrow_host(&relay).await;
    let (mut member, m) = Peer::join(&relay, "TEA").await;
    let (h, m) = (h.pass.peer, m.pass.peer);
    host.name(&[h, m]).await;
    for _ in 0..60 {
        member.send(RelayFrame::forward(h, Mode::Reliable, &[7; 16_000])).await;
    }
    let next = Term::FIRST.next_witnessed();
    member.tell(&ToRelay::Claim(next, m)).await;
    is_read(&mut member, m).await;
    let (mut asked, start) = (None, Instant::now());
    let mut chunks = 0;
    while chunks < 60 {
        let bytes = anything(&mut host).await.expect("the host stays connected");
        match RelayFrame::decode(&bytes).expect("a frame") {
            RelayFrame::Forward { .. } => chunks += 1,
            RelayFrame::Control(body) => {
                if let Ok(FromRelay::Probe(nonce)) = FromRelay::decode(body) {
                    asked = asked.or(Some(chunks));
                    host.tell(&ToRelay::Alive(nonce)).await;
                }
            }
        }
    }
    println!("asked after {asked:?} of 60 chunks, all read in {:?}", start.elapsed());
    assert!(asked.is_some_and(|chunks| chunks < 35), "{asked:?}");
    assert_eq!(member.hear().await, Heard::Control(FromRelay::Denied(next, Denial::HostIsAlive)));
    assert_eq!(relay.metric("samovar_host_changes_total{cause=\"silent\"}").await, 0.0);
}

#[tokio::test]
async fn a_fifth_stranger_of_an_address_waits_until_one_is_named() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    let mut four = Vec::new();
    for _ in 0..4 {
        four.push(from(&relay, "203.0.113.8").await.go_in(Purpose::Join(code("TEA"))).await);
    }
    let mut fifth = says_enter(&relay, "203.0.113.8", Purpose::Join(code("TEA"))).await;
    let heard = timeout(Duration::from_millis(500), anything(&mut fifth)).await;
    assert!(heard.is_err(), "it waits");
    let _other = from(&relay, "203.0.113.9").await.go_in(Purpose::Join(code("TEA"))).await;
    host.name(&[h.pass.peer, four[0].1.pass.peer]).await;
    assert!(matches!(fifth.hear().await, Heard::Control(FromRelay::Entered(_))));
}

#[tokio::test]
async fn stranger_that_nobody_names_gives_way_after_30_s() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let mut peers = vec![Peer::create(&relay, "TEA").await.0];
    let join = Purpose::Join(code("TEA"));
    for _ in 0..4 {
        peers.push(from(&relay, "203.0.113.8").await.go_in(join.clone()).await.0);
    }
    // All of them read, and so answer the relay's pings; nobody is named.
    let waiting = peers.into_iter().map(async |mut peer| {
        let ended = timeout(Duration::from_micros(NAMED_WITHIN.as_micros()), async {
            while anything(&mut peer).await.is_some() {}
        });
        assert!(ended.await.is_err(), "it keeps its place for 30 s");
        peer
    });
    let mut peers = join_all(waiting).await;
    let mut fifth = says_enter(&relay, "203.0.113.8", join).await;
    let told = fifth.hear().await;
    assert!(matches!(told, Heard::Control(FromRelay::Entered(_))), "{told:?}");
    while let Some(bytes) = anything(&mut peers[1]).await {
        assert!(matches!(RelayFrame::decode(&bytes), Ok(RelayFrame::Control(_))), "{bytes:?}");
    }
}

#[tokio::test]
async fn members_come_back_to_a_game_that_strangers_fill() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--game-connections", "8"]);
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    let (member, m) = Peer::join(&relay, "TEA").await;
    host.name(&[h.pass.peer, m.pass.peer]).await;
    let mut strangers = Vec::new();
    for _ in 0..6 {
        strangers.push(Peer::join(&relay, "TEA").await);
    }
    drop(member);
    strangers.push(Peer::join(&relay, "TEA").await);
    // The relay keeps no places for strangers that come back.
    let (gone, e) = strangers.swap_remove(0);
    drop(gone);
    while !matches!(host.hear().await, Heard::Control(FromRelay::Gone(peer)) if peer == e.pass.peer) {}
    strangers.push(Peer::join(&relay, "TEA").await);
    let resume = |e: &Entered| Purpose::Resume(code("TEA"), e.pass, e.warrant);
    let mut again = says_enter(&relay, "203.0.113.8", resume(&e)).await;
    assert_eq!(again.hear().await, Heard::Control(FromRelay::Refused(Refusal::Busy)));
    let back = from(&relay, "203.0.113.9").await.go_in(resume(&m)).await;
    assert_eq!(back.1.pass.peer, m.pass.peer);
    drop(back);
    // A reloaded page shows its earlier pass.
    from(&relay, "203.0.113.9").await.go_in(Purpose::Rejoin(code("TEA"), m.pass)).await;
}

#[tokio::test]
async fn strangers_do_not_keep_a_join_request_from_the_host() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--member-packets", "640"]);
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    host.name(&[h.pass.peer]).await;
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(Peer::join(&relay, "TEA").await);
    }
    let mut loud = JoinSet::new();
    for _ in 0..16 {
        let (mut eve, _) = Peer::join(&relay, "TEA").await;
        let to = h.pass.peer;
        loud.spawn(async move {
            let mut each = interval(Duration::from_millis(1));
            loop {
                each.tick().await;
                eve.send(RelayFrame::forward(to, Mode::Unreliable, b"noise")).await;
            }
        });
    }
    relay.metric_becomes("samovar_dropped_total{reason=\"game_rate\"}", |count| count >= 10.0).await;
    let (mut newcomer, n) = Peer::join(&relay, "TEA").await;
    let knocks = tokio::spawn(async move {
        let mut each = interval(Duration::from_millis(100));
        for _ in 0..10 {
            each.tick().await;
            newcomer.send(RelayFrame::forward(h.pass.peer, Mode::Unreliable, b"HELLO")).await;
        }
        newcomer
    });
    let mut heard = 0;
    let all = async {
        while heard < 10 {
            let knock = host.hear().await;
            heard += usize::from(matches!(knock, Heard::Packet { from, .. } if from == n.pass.peer));
        }
    };
    timeout(Duration::from_secs(3), all).await.ok();
    assert!(heard >= 9, "{heard} of ten");
    loud.abort_all();
    drop((silent, knocks));
}

#[tokio::test]
async fn a_message_to_the_relay_does_not_wait_for_shared_budgets() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--address-bytes", "100000"]);
    let address = "203.0.113.8";
    let (mut host, h) = from(&relay, address).await.go_in(Purpose::Create(Some(code("TEA")))).await;
    let me = h.pass.peer;
    host.name(&[me]).await;
    let mut loud = JoinSet::new();
    for n in 0..8 {
        let purpose = Purpose::Create(Some(code(&format!("EVE{n}"))));
        let (mut eve, e) = from(&relay, address).await.go_in(purpose).await;
        loud.spawn(async move {
            loop {
                eve.send(RelayFrame::forward(e.pass.peer, Mode::Reliable, &[7; 16_000])).await;
            }
        });
    }
    let read = "samovar_bytes_total{path=\"websocket\",direction=\"in\",kind=\"bulk\"}";
    host.during(relay.metric_becomes(read, |bytes| bytes > 200_000.0)).await;
    let mut longest = Duration::ZERO;
    for attempt in 0..20 {
        // The host sends game packets first, and these exceed its share.
        for _ in 0..30 {
            host.send(RelayFrame::forward(PeerId(77), Mode::Unreliable, &[7; 100])).await;
        }
        let (start, echo) = (Instant::now(), Signal::Answer(attempt, String::new()));
        host.tell(&ToRelay::Signal(me, echo.clone())).await;
        while host.hear().await != Heard::Control(FromRelay::Signal(me, echo.clone())) {}
        longest = longest.max(start.elapsed());
        sleep(Duration::from_millis(50)).await;
    }
    println!("its word came back within {longest:?}");
    assert!(longest < Duration::from_millis(300), "{longest:?}");
    loud.abort_all();
}
