//! Data channels to the relay: packets between members by UDP, by the WebSocket, and from one to the other.

use std::time::{Duration, Instant};

use samovar_wire::limits::{BULK_CHUNK_MAX, PACKET_MAX};
use samovar_wire::relay::{FromRelay, RelayFrame, Signal, ToRelay};
use samovar_wire::{Mode, PeerId};
use tokio::time::timeout;

use crate::caller::Caller;
use crate::peer::{Heard, Peer};
use crate::process::{RelayProcess, Scratch};

/// A relay with a UDP port, which three threads serve unless told otherwise.
pub(crate) fn start(data: &Scratch, more: &[&str]) -> RelayProcess {
    let threads: &[_] = if more.contains(&"--udp-threads") { &[] } else { &["--udp-threads", "3"] };
    RelayProcess::start_with(data.path(), &[&["--udp", "127.0.0.1:0"], threads, more].concat())
}

/// The address of the relay's UDP port, from its next line of output.
pub(crate) fn udp_address(relay: &mut RelayProcess) -> std::net::SocketAddr {
    let line = relay.line();
    let address = line.trim().strip_prefix("data channels at ").and_then(|address| address.parse().ok());
    address.unwrap_or_else(|| panic!("not the promised line: {line:?}"))
}

/// Founds a game and joins it; both peers are told that the relay has a UDP port.
pub(crate) async fn pair(relay: &RelayProcess) -> ((Peer, PeerId), (Peer, PeerId)) {
    let (mut ann, a) = Peer::create(relay, "TEA").await;
    let (mut bob, b) = Peer::join(relay, "TEA").await;
    for peer in [&mut ann, &mut bob] {
        assert_eq!(peer.hear().await, Heard::Control(FromRelay::Reachable));
    }
    ((ann, a.pass.peer), (bob, b.pass.peer))
}

/// Runs a caller's end of its channels while a future is awaited.
pub(crate) async fn beside<R>(caller: &mut Caller, wanted: impl Future<Output = R>) -> R {
    let work = async {
        loop {
            caller.step().await;
        }
    };
    tokio::select! {
        result = wanted => result,
        () = work => unreachable!("it works for ever"),
    }
}

#[tokio::test]
async fn members_reach_each_other_by_udp_and_by_websocket() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, a), (mut bob, b)) = pair(&relay).await;
    let mut by_ann = Caller::call(&mut ann).await;
    by_ann.say(a, Mode::Unreliable, b"to myself");
    assert_eq!(by_ann.hear().await, (a, Mode::Unreliable, b"to myself".to_vec()));
    let (packet, chunk) = (vec![1; PACKET_MAX], vec![2; BULK_CHUNK_MAX]);
    for (mode, payload) in [(Mode::Unreliable, &packet), (Mode::Reliable, &chunk)] {
        assert!(by_ann.say(b, mode, payload));
        let heard = beside(&mut by_ann, bob.hear()).await;
        assert_eq!(heard, Heard::Packet { from: a, mode, payload: payload.clone() }, "Bob has no channels");
        bob.send(RelayFrame::forward(a, mode, payload)).await;
        assert_eq!(by_ann.hear().await, (b, mode, payload.clone()), "Ann was heard on hers just now");
        by_ann.say(PeerId(77), mode, b"to nobody");
    }
    let mut by_bob = Caller::call(&mut bob).await;
    by_bob.say(b, Mode::Unreliable, b"");
    assert_eq!(by_bob.hear().await, (b, Mode::Unreliable, Vec::new()), "an echo");
    for (mode, payload) in [(Mode::Unreliable, &packet), (Mode::Reliable, &chunk)] {
        by_ann.say(b, mode, payload);
        assert_eq!(beside(&mut by_ann, by_bob.hear()).await, (a, mode, payload.clone()));
    }
    let drops = relay.metric("samovar_dropped_total{reason=\"no_receiver\"}").await;
    assert_eq!(drops, 2.0);
    let moved = relay.metric("samovar_packets_total{path=\"webrtc\",direction=\"in\",kind=\"packet\"}").await;
    assert_eq!(moved, 5.0);
}

#[tokio::test]
async fn a_member_silent_on_its_channels_is_reached_by_websocket() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, a), (mut bob, b)) = pair(&relay).await;
    let mut by_bob = Caller::call(&mut bob).await;
    let silent_since = Instant::now();
    by_bob.say(b, Mode::Unreliable, b"echo");
    by_bob.hear().await;
    let members = "samovar_members{path=\"webrtc\"}";
    assert_eq!(relay.metric(members).await, 1.0);
    relay.metric_becomes(members, |count| count == 0.0).await;
    let took = silent_since.elapsed();
    assert!(took >= Duration::from_millis(500), "{took:?}");
    ann.send(RelayFrame::forward(b, Mode::Unreliable, b"by the other way")).await;
    let heard = bob.hear().await;
    assert_eq!(
        heard,
        Heard::Packet { from: a, mode: Mode::Unreliable, payload: b"by the other way".to_vec() }
    );
    // Bob's data channels still exist, and count again as soon as the relay hears him on them.
    by_bob.say(b, Mode::Unreliable, b"echo");
    by_bob.hear().await;
    assert_eq!(relay.metric(members).await, 1.0);
}

#[tokio::test]
async fn a_complaining_member_gets_packets_by_both_paths() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, a), (mut bob, b)) = pair(&relay).await;
    let mut by_bob = Caller::call(&mut bob).await;
    by_bob.say(b, Mode::Unreliable, b"");
    by_bob.hear().await;
    bob.send(RelayFrame::forward(PeerId::RELAY, Mode::Unreliable, b"")).await;
    // The complaint and the next packet take different sockets, so the relay may handle them in any order. The pause
    // lets it hear the complaint first.
    tokio::time::sleep(Duration::from_millis(50)).await;
    ann.send(RelayFrame::forward(b, Mode::Unreliable, b"both")).await;
    assert_eq!(by_bob.hear().await, (a, Mode::Unreliable, b"both".to_vec()));
    let heard = beside(&mut by_bob, bob.hear()).await;
    assert_eq!(heard, Heard::Packet { from: a, mode: Mode::Unreliable, payload: b"both".to_vec() });
    ann.send(RelayFrame::forward(b, Mode::Reliable, b"one")).await;
    assert_eq!(by_bob.hear().await, (a, Mode::Reliable, b"one".to_vec()), "a chunk takes one way");
    assert!(timeout(Duration::from_millis(100), bob.hear()).await.is_err());
    assert_eq!(relay.metric("samovar_dropped_total{reason=\"no_receiver\"}").await, 0.0);
}

#[tokio::test]
async fn newer_channels_take_over_and_end_with_the_websocket() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, a), (mut bob, b)) = pair(&relay).await;
    let mut former = Caller::call(&mut ann).await;
    former.say(a, Mode::Unreliable, b"echo");
    former.hear().await;
    let mut newer = beside(&mut former, Caller::call(&mut ann)).await;
    newer.say(a, Mode::Unreliable, b"echo");
    newer.hear().await;
    beside(&mut newer, former.ends()).await;
    bob.send(RelayFrame::forward(a, Mode::Unreliable, b"which way?")).await;
    assert_eq!(newer.hear().await.2, b"which way?");
    drop(ann);
    newer.ends().await;
    bob.send(RelayFrame::forward(b, Mode::Unreliable, b"still here")).await;
    while !matches!(bob.hear().await, Heard::Packet { payload, .. } if payload == b"still here") {}
}

/// Each thread has a socket of its own, and the system chooses the socket by the sender's address.
#[tokio::test]
async fn members_of_all_threads_reach_each_other() {
    let data = Scratch::new();
    let relay = start(&data, &["--udp-threads", "4"]);
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    let mut members = vec![(Caller::call(&mut host).await, h.pass.peer)];
    let mut sockets = vec![host];
    for _ in 0..7 {
        let (mut peer, entered) = Peer::join(&relay, "TEA").await;
        members.push((Caller::call(&mut peer).await, entered.pass.peer));
        sockets.push(peer);
    }
    for (caller, own) in &mut members {
        caller.say(*own, Mode::Unreliable, b"echo");
        caller.hear().await;
    }
    let peers: Vec<PeerId> = members.iter().map(|(_, peer)| *peer).collect();
    for from in 0..members.len() {
        for to in (0..members.len()).filter(|to| *to != from) {
            let (sender, own) = &mut members[from];
            sender.say(peers[to], Mode::Reliable, &[7; 100]);
            let own = *own;
            assert_eq!(members[to].0.hear().await, (own, Mode::Reliable, vec![7; 100]), "{from} to {to}");
        }
    }
}

/// A member with two networks checks the relay from both. The thread that the first check comes to serves it, and
/// gets the datagrams that come to another thread.
#[tokio::test]
async fn members_open_from_a_second_address_at_any_thread() {
    let data = Scratch::new();
    let relay = start(&data, &["--udp-threads", "8"]);
    let ((mut ann, a), _bob) = pair(&relay).await;
    for n in 0..6_u8 {
        let mut by_ann = Caller::call_from_two_addresses(&mut ann).await;
        for _ in 0..3 {
            by_ann.say(a, Mode::Unreliable, &[n; 30]);
            assert_eq!(by_ann.hear().await, (a, Mode::Unreliable, vec![n; 30]));
        }
    }
    // About one of six second addresses comes to the same thread as the first.
    let passed = relay.metric("samovar_datagrams_passed_total").await;
    assert!(passed >= 6.0, "{passed} were passed on");
    assert_eq!(relay.metric("samovar_offers_total{outcome=\"opened\"}").await, 6.0);
}

#[tokio::test]
async fn invalid_offers_get_no_answer_and_a_valid_one_still_does() {
    let data = Scratch::new();
    let relay = start(&data, &[]);
    let ((mut ann, _), _bob) = pair(&relay).await;
    let (_, good, _) = Caller::offer().await;
    let candidates = "a=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\n".repeat(33);
    for bad in
        [String::new(), "v=0".repeat(2_000), good.replace("application", "video"), good.clone() + &candidates]
    {
        ann.tell(&ToRelay::Signal(PeerId::RELAY, Signal::Offer(1, bad))).await;
    }
    relay.metric_becomes("samovar_offers_total{outcome=\"refused\"}", |count| count == 4.0).await;
    let mut caller = Caller::call(&mut ann).await;
    assert!(timeout(Duration::from_millis(200), caller.next()).await.is_err());
    let (mut eve, _) = Peer::create(&relay, "MILK").await;
    let no_answer = ToRelay::Signal(PeerId::RELAY, Signal::Answer(1, good));
    eve.tell(&no_answer).await;
    assert_eq!(eve.hear().await, Heard::Control(FromRelay::Reachable));
    assert!(timeout(Duration::from_millis(200), eve.hear()).await.is_err());
}

#[tokio::test]
async fn a_relay_without_a_udp_port_answers_no_offer() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut ann, _) = Peer::create(&relay, "TEA").await;
    let (_, offer, _) = Caller::offer().await;
    ann.tell(&ToRelay::Signal(PeerId::RELAY, Signal::Offer(1, offer))).await;
    assert!(timeout(Duration::from_millis(300), ann.hear()).await.is_err());
}

#[tokio::test]
async fn members_reach_a_port_that_a_router_translates() {
    let router = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let public = router.local_addr().expect("bound").to_string();
    let data = Scratch::new();
    let flags = ["--udp", "0.0.0.0:0", "--public-address", &public];
    let mut relay = RelayProcess::start_with(data.path(), &flags);
    let inside = (std::net::Ipv4Addr::LOCALHOST, udp_address(&mut relay).port());
    let translate = async {
        let (mut buffer, mut member) = ([0; 2_048], None);
        loop {
            let (length, from) = router.recv_from(&mut buffer).await.expect("a datagram");
            let to = if from == inside.into() { member } else { Some(inside.into()) };
            member = if from == inside.into() { member } else { Some(from) };
            if let Some(to) = to {
                router.send_to(&buffer[..length], to).await.expect("it goes on");
            }
        }
    };
    let ((mut ann, a), _bob) = pair(&relay).await;
    let echoed = async {
        let mut caller = Caller::call(&mut ann).await;
        caller.say(a, Mode::Unreliable, b"echo");
        caller.hear().await
    };
    let heard = tokio::select! {
        heard = echoed => heard,
        () = translate => unreachable!("it works for ever"),
    };
    assert_eq!(heard, (a, Mode::Unreliable, b"echo".to_vec()));
    assert_eq!(relay.metric("samovar_offers_total{outcome=\"opened\"}").await, 1.0);
}

#[tokio::test]
async fn an_offer_without_datagrams_is_counted_and_logged() {
    let data = Scratch::new();
    let relay = RelayProcess::start_logged(data.path(), &["--udp", "127.0.0.1:0"]);
    let ((mut ann, _), _bob) = pair(&relay).await;
    let _silent = Caller::dial(&mut ann).await;
    ann.tell(&ToRelay::Signal(PeerId::RELAY, Signal::Offer(8, "nonsense".to_owned()))).await;
    relay.metric_becomes("samovar_offers_total{outcome=\"refused\"}", |count| count == 1.0).await;
    // The member's next attempt ends the first one, which is counted then. The attempt's own timer fires later.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let _second = Caller::dial(&mut ann).await;
    relay.metric_becomes("samovar_offers_total{outcome=\"unreached\"}", |count| count == 1.0).await;
    let log = tokio::task::spawn_blocking(|| relay.log()).await.expect("no panic");
    for words in ["nothing came from it: is the port open", "was none; it stays on its WebSocket"] {
        assert_eq!(log.matches(words).count(), 1, "{log}");
    }
}
