//! Limits of the costs that one peer may cause to others: slow handshakes, foreign pages, too many connections, too
//! many packets.

use std::fs;
use std::time::{Duration, Instant};

use samovar_wire::relay::{Purpose, RelayFrame, ToRelay};
use samovar_wire::{Mode, PeerId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{interval, sleep, timeout};

use crate::figures::{assert_unharmed, samples};
use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch, get_at};

/// Waits until the other end closes.
async fn closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let end =
        timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await.expect("it is cut in time");
    assert!(end.is_err() || rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
}

/// Waits until the other end sends these words and closes.
async fn refused(mut stream: TcpStream, words: &str) {
    let mut said = String::new();
    let end =
        timeout(Duration::from_secs(10), stream.read_to_string(&mut said)).await.expect("it is cut in time");
    assert!(end.is_ok() && said.contains(words), "{end:?} {said}");
}

#[tokio::test]
async fn slow_handshakes_are_cut_and_members_stay() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--handshake", "1"]);
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let start = Instant::now();
    let mut mute = TcpStream::connect(&relay.address).await.expect("connects");
    let mut half = TcpStream::connect(&relay.address).await.expect("connects");
    half.write_all(b"GET /ws HTTP/1.1\r\nHost: relay\r\nUpgrade: web").await.expect("sends");
    let mut dribble = TcpStream::connect(&relay.address).await.expect("connects");
    let dribbled = async {
        let mut each = interval(Duration::from_millis(100));
        for byte in
            b"GET /healthz HTTP/1.1\r\nHost: relay\r\nX-Slow: 1234567890123456789012345678901234567890"
        {
            each.tick().await;
            if dribble.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(closed(&mut mute), closed(&mut half), dribbled);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let cut = "samovar_refused_total{reason=\"handshake_timeout\"}";
    assert_eq!(relay.metric_becomes(cut, |count| count >= 3.0).await, 3.0);
    sleep(Duration::from_secs(1)).await;
    ann.send(RelayFrame::forward(a.pass.peer, Mode::Unreliable, b"still here")).await;
    assert!(matches!(ann.hear().await, Heard::Packet { .. }));
}

#[tokio::test]
async fn the_operators_port_cuts_slow_handshakes_and_stays_open() {
    let data = Scratch::new();
    let flags = ["--metrics", "127.0.0.1:0", "--handshake", "1", "--connections", "1"];
    let mut relay = RelayProcess::start_with(data.path(), &flags);
    let line = relay.line();
    let private =
        line.trim().strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let private = private.unwrap_or_else(|| panic!("not the promised line: {line:?}"));
    let _kept = Peer::connect(&relay).await;
    closed(&mut TcpStream::connect(private).await.expect("connects")).await;
    let text = get_at(private, "/metrics").await.1;
    let cut = "samovar_refused_total{reason=\"handshake_timeout\"} 1";
    assert!(text.lines().any(|line| line == cut), "{text}");
}

#[tokio::test]
async fn an_endless_request_is_cut_and_a_long_websocket_is_not() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let mut stream = TcpStream::connect(&relay.address).await.expect("connects");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: relay\r\nX-Long: ").await.expect("sends");
    let start = Instant::now();
    while stream.write_all(&[b'a'; 1_024]).await.is_ok() {
        assert!(start.elapsed() < Duration::from_secs(5), "it is cut");
    }
    assert_eq!(relay.metric("samovar_refused_total{reason=\"request_size\"}").await, 1.0);
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let packet = RelayFrame::forward(a.pass.peer, Mode::Reliable, &[0; 16_384]);
    for _ in 0..10 {
        ann.send(packet.clone()).await;
        assert!(matches!(ann.hear().await, Heard::Packet { .. }), "a WebSocket has limits of its own");
    }
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_and_programs_are_not() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--origin", "https://tea.example"]);
    for foreign in ["https://evil.example", "http://tea.example", "null"] {
        assert_eq!(Peer::connect_with(&relay, &[("origin", foreign)]).await.err(), Some(403), "{foreign}");
    }
    assert!(Peer::connect_with(&relay, &[("origin", "https://tea.example")]).await.is_ok());
    assert!(Peer::connect_with(&relay, &[]).await.is_ok());
    assert_eq!(relay.metric("samovar_refused_total{reason=\"origin\"}").await, 3.0);
}

#[tokio::test]
async fn connections_per_address_behind_a_proxy_are_limited() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--address-connections", "2"]);
    let forwarded = ("x-forwarded-for", "203.0.113.7, 198.51.100.1");
    let first = Peer::connect_with(&relay, &[forwarded]).await.expect("room");
    let _second = Peer::connect_with(&relay, &[forwarded]).await.expect("room");
    assert_eq!(Peer::connect_with(&relay, &[forwarded]).await.err(), Some(429));
    assert_eq!(relay.metric("samovar_refused_total{reason=\"address_connections\"}").await, 1.0);
    assert!(Peer::connect_with(&relay, &[("x-forwarded-for", "198.51.100.2")]).await.is_ok());
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(5);
    while Peer::connect_with(&relay, &[forwarded]).await.is_err() {
        assert!(Instant::now() < deadline, "its place is free again");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Connects from this address, which is no proxy's.
#[cfg(target_os = "linux")]
pub(crate) async fn connect_from(address: &str, relay: &RelayProcess) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind(address.parse().expect("an address")).expect("all of 127.0.0.0/8 is this machine's");
    socket.connect(relay.address.parse().expect("an address")).await.expect("the system accepts")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn connections_per_address_without_a_proxy_are_limited() {
    let data = Scratch::new();
    let flags = ["--address-connections", "2", "--address-opens", "5"];
    let relay = RelayProcess::start_with(data.path(), &flags);
    let mut kept = Vec::new();
    for _ in 0..2 {
        kept.push(connect_from("127.0.0.2:0", &relay).await);
    }
    refused(connect_from("127.0.0.2:0", &relay).await, "429 Too Many Requests").await;
    assert_eq!(relay.metric("samovar_refused_total{reason=\"address_connections\"}").await, 1.0);
    for _ in 0..20 {
        drop(connect_from("127.0.0.3:0", &relay).await);
        sleep(Duration::from_millis(5)).await;
    }
    let too_fast = relay.metric("samovar_refused_total{reason=\"address_opens\"}").await;
    assert!((5.0..16.0).contains(&too_fast), "{too_fast}");
    assert!(relay.metric("samovar_tcp_connections").await >= 3.0, "the two, and who asks");
}

#[tokio::test]
async fn members_of_one_address_share_its_rate() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--address-packets", "100"]);
    let from = |address| [("x-forwarded-for", address)];
    let ann = Peer::connect_with(&relay, &from("203.0.113.7")).await.expect("let in");
    let (mut ann, a) = ann.go_in(Purpose::Create(Some(code("TEA")))).await;
    let mut twins = Vec::new();
    for _ in 0..2 {
        let twin = Peer::connect_with(&relay, &from("203.0.113.8")).await.expect("let in");
        twins.push(twin.go_in(Purpose::Join(code("TEA"))).await.0);
    }
    let packet = RelayFrame::forward(a.pass.peer, Mode::Unreliable, &[7; 100]);
    for _ in 0..80 {
        for twin in &mut twins {
            twin.send(packet.clone()).await;
        }
    }
    relay.metric_becomes("samovar_dropped_total{reason=\"address_rate\"}", |count| count >= 1.0).await;
    let own = RelayFrame::forward(a.pass.peer, Mode::Unreliable, b"not theirs");
    ann.send(own).await;
    while !matches!(ann.hear().await, Heard::Packet { payload, .. } if payload == b"not theirs") {}
    assert_eq!(relay.metric("samovar_dropped_total{reason=\"member_rate\"}").await, 0.0);
}

#[tokio::test]
async fn strangers_do_not_use_up_the_members_rate() {
    let data = Scratch::new();
    let flags = ["--member-packets", "100", "--game-packets", "400"];
    let relay = RelayProcess::start_with(data.path(), &flags);
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    ann.name(&[a.pass.peer, b.pass.peer]).await;
    // Each stranger may send a hundred packets a second, and tries to send a thousand.
    let mut strangers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (mut eve, _) = Peer::join(&relay, "TEA").await;
        strangers.spawn(async move {
            let packet = RelayFrame::forward(PeerId(77), Mode::Unreliable, &[7; 100]);
            let mut each = interval(Duration::from_millis(1));
            loop {
                each.tick().await;
                eve.send(packet.clone()).await;
            }
        });
    }
    relay.metric_becomes("samovar_dropped_total{reason=\"game_rate\"}", |count| count >= 10.0).await;
    let mut each = interval(Duration::from_millis(20));
    for n in 0..100_u8 {
        each.tick().await;
        ann.send(RelayFrame::forward(b.pass.peer, Mode::Unreliable, &[n])).await;
        assert!(matches!(bob.hear().await, Heard::Packet { payload, .. } if payload == [n]), "{n} of Ann's");
    }
    strangers.abort_all();
}

#[tokio::test]
async fn a_full_relay_refuses_new_connections() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--connections", "3"]);
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(Peer::connect(&relay).await);
    }
    refused(TcpStream::connect(&relay.address).await.expect("the system accepts"), "503 Service").await;
    kept.pop();
    sleep(Duration::from_millis(300)).await;
    assert_eq!(relay.metric("samovar_refused_total{reason=\"connections\"}").await, 1.0);
}

/// The lock of tests that measure the times of packets, or slow down the whole machine: they run one at a time.
pub(crate) static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Sends `count` packets at a fixed rate. Returns their times, sorted.
pub(crate) async fn latencies(from: &mut Peer, to: &mut Peer, receiver: PeerId, count: u32) -> Vec<Duration> {
    let mut each = interval(Duration::from_millis(5));
    let mut took = Vec::new();
    for n in 0..count {
        each.tick().await;
        let start = Instant::now();
        from.send(RelayFrame::forward(receiver, Mode::Unreliable, &n.to_le_bytes())).await;
        while !matches!(to.hear().await, Heard::Packet { payload, .. } if payload == n.to_le_bytes()) {}
        took.push(start.elapsed());
    }
    took.sort();
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_far_over_its_limit_harms_nobody_else() {
    let _alone = ALONE.lock().await;
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--member-packets", "300"]);
    let (mut ann, _) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    let (mut greedy, _) = Peer::join(&relay, "TEA").await;
    let bob_is = b.pass.peer;
    let calm = latencies(&mut ann, &mut bob, bob_is, samples(400)).await;
    let flood = tokio::spawn(async move {
        let packet = RelayFrame::forward(bob_is, Mode::Unreliable, &[7; 100]);
        let mut each = interval(Duration::from_millis(1));
        let mut sent = 0_u64;
        loop {
            each.tick().await;
            for _ in 0..30 {
                sent += 1;
                // The flood stops here while the relay does not read it.
                if timeout(Duration::from_secs(4), greedy.send(packet.clone())).await.is_err() {
                    return sent;
                }
            }
            if sent > 90_000 {
                return sent;
            }
        }
    });
    sleep(Duration::from_millis(500)).await;
    let before =
        relay.metric("samovar_packets_total{path=\"websocket\",direction=\"in\",kind=\"packet\"}").await;
    let start = Instant::now();
    let stormy = latencies(&mut ann, &mut bob, bob_is, samples(400)).await;
    let after =
        relay.metric("samovar_packets_total{path=\"websocket\",direction=\"in\",kind=\"packet\"}").await;
    let seconds = start.elapsed().as_secs_f64();
    println!("read {} in {seconds} s", after - before);
    // Bob gets the greedy member's packets, too, as many as that member may send.
    assert_unharmed(&calm, &stormy, Duration::from_millis(10));
    assert!(
        after - before - f64::from(samples(400)) < 1_000.0 * seconds,
        "the greedy one is read at its own rate"
    );
    assert!(relay.metric("samovar_dropped_total{reason=\"member_rate\"}").await > 0.0);
    assert_eq!(relay.metric("samovar_members{path=\"websocket\"}").await, 3.0, "nobody is thrown out for it");
    flood.abort();
}

#[tokio::test]
async fn sighup_reloads_limits_and_an_invalid_file_changes_nothing() {
    let data = Scratch::new();
    let path = data.path().join("relay.toml");
    let write = |text: &str| fs::write(&path, text).expect("writes");
    write("game-connections = 2\n");
    let relay = RelayProcess::start_with(data.path(), &["--config", path.to_str().expect("text")]);
    let (_ann, _) = Peer::create(&relay, "TEA").await;
    let (_bob, _) = Peer::join(&relay, "TEA").await;
    let busy = "samovar_refused_total{reason=\"busy\"}";
    let is_full = async || {
        let before = relay.metric(busy).await;
        let mut peer = Peer::connect(&relay).await;
        let (version, purpose) = (samovar_wire::PROTOCOL_VERSION, Purpose::Join(code("TEA")));
        let enter = samovar_wire::relay::Enter { version, params: 1, purpose };
        peer.tell(&ToRelay::Enter(enter)).await;
        peer.hear().await;
        relay.metric(busy).await > before
    };
    assert!(is_full().await);
    write("game-connections = many\n");
    relay.signal("HUP");
    sleep(Duration::from_millis(300)).await;
    assert!(is_full().await, "a mistake changes nothing");
    write("game-connections = 3\norigin = [\"https://tea.example\"]\n");
    relay.signal("HUP");
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_full().await {
        assert!(Instant::now() < deadline, "the limits are read again");
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(Peer::connect_with(&relay, &[("origin", "https://evil.example")]).await.err(), Some(403));
}
