//! Packets and signals between members. A peer that misbehaves loses its connection, and no other member notices.

use std::time::Duration;

use samovar_wire::limits::{BULK_CHUNK_MAX, PACKET_MAX, RELAY_MESSAGE_MAX};
use samovar_wire::relay::{FromRelay, Purpose, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Mode, PeerId};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch};

async fn assert_linked(ann: &mut Peer, to: PeerId, bob: &mut Peer, from: PeerId) {
    for (mode, payload) in
        [(Mode::Unreliable, vec![1; PACKET_MAX]), (Mode::Reliable, vec![2; BULK_CHUNK_MAX])]
    {
        ann.send(RelayFrame::forward(to, mode, &payload)).await;
        assert_eq!(bob.hear().await, Heard::Packet { from, mode, payload });
    }
}

#[tokio::test]
async fn members_reach_each_other_and_strangers_do_not() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    let (mut eve, e) = Peer::create(&relay, "MILK").await;
    let (a, b, e) = (a.pass.peer, b.pass.peer, e.pass.peer);
    eve.send(RelayFrame::forward(a, Mode::Unreliable, b"from another game")).await;
    eve.send(RelayFrame::forward(e, Mode::Unreliable, b"to myself")).await;
    assert!(matches!(eve.hear().await, Heard::Packet { .. }));
    assert_linked(&mut ann, b, &mut bob, a).await;
    assert_linked(&mut bob, a, &mut ann, b).await;
    let answer = Signal::Answer(1, "v=0".repeat(1_000));
    bob.tell(&ToRelay::Signal(a, answer.clone())).await;
    assert_eq!(ann.hear().await, Heard::Control(FromRelay::Signal(b, answer)));
}

#[tokio::test]
async fn an_invalid_message_closes_only_its_sender() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    let oversized = RelayFrame::forward(a.pass.peer, Mode::Unreliable, &[0; PACKET_MAX + 1]);
    let cases = [
        Message::binary(vec![]),
        Message::binary(vec![0]),
        Message::binary(vec![9; 100]),
        Message::binary(vec![0; RELAY_MESSAGE_MAX]),
        Message::binary(oversized),
        Message::binary(vec![1; 1_000_000]),
        Message::text("hello"),
    ];
    for message in cases {
        let (mut guilty, entered) = Peer::join(&relay, "TEA").await;
        let length = message.len();
        futures_util::SinkExt::send(&mut guilty.socket, message).await.ok();
        // The rest of a far too large message stays unread, and the system may reset the connection before the refusal
        // is read.
        match guilty.hear().await {
            Heard::Closed(None) if length > 100_000 => {}
            heard => {
                assert_eq!(heard, Heard::Control(FromRelay::Refused(Refusal::Misbehaved)), "{length}");
                assert_eq!(guilty.hear().await, Heard::Closed(Some(1008)));
            }
        }
        for peer in [&mut ann, &mut bob] {
            assert_eq!(peer.hear().await, Heard::Control(FromRelay::Gone(entered.pass.peer)));
        }
    }
    assert_linked(&mut ann, b.pass.peer, &mut bob, a.pass.peer).await;
}

#[tokio::test]
async fn a_refused_peer_hears_why_before_the_socket_closes() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let mut peer = Peer::connect(&relay).await;
    let purpose = Purpose::Join(code("NOWHERE"));
    peer.tell(&ToRelay::Enter(samovar_wire::relay::Enter {
        version: samovar_wire::PROTOCOL_VERSION,
        params: 1,
        purpose,
    }))
    .await;
    assert_eq!(peer.hear().await, Heard::Control(FromRelay::Refused(Refusal::UnknownGame)));
    assert_eq!(peer.hear().await, Heard::Closed(Some(1000)));
}

#[tokio::test]
async fn a_frozen_member_is_noticed_within_seconds() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let start = Instant::now();
    let (frozen, entered) = Peer::create(&relay, "TEA").await;
    let (mut bob, _) = Peer::join(&relay, "TEA").await;
    // A member whose socket nobody reads answers no ping. `hear` reads Bob's socket, and so answers his pings.
    assert_eq!(bob.hear().await, Heard::Control(FromRelay::Gone(entered.pass.peer)));
    assert!(start.elapsed() >= Duration::from_secs(4), "{:?}", start.elapsed());
    drop(frozen);
}

#[tokio::test]
async fn a_member_that_reads_nothing_loses_packets_then_its_socket() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(
        data.path(),
        &["--member-packets", "0", "--member-bytes", "0", "--game-packets", "0", "--game-bytes", "0"],
    );
    let (mut ann, _) = Peer::create(&relay, "TEA").await;
    let (slow, s) = Peer::join(&relay, "TEA").await;
    let packet = RelayFrame::forward(s.pass.peer, Mode::Unreliable, &[7; PACKET_MAX]);
    // 24 MB: more than the system's buffers and the relay's queue hold together.
    for _ in 0..20_000 {
        ann.send(packet.clone()).await;
    }
    let quiet = timeout(Duration::from_millis(300), ann.hear()).await;
    assert!(quiet.is_err(), "packets are dropped, the member is not: {quiet:?}");
    let chunk = RelayFrame::forward(s.pass.peer, Mode::Reliable, &[7; BULK_CHUNK_MAX]);
    for _ in 0..1_500 {
        ann.send(chunk.clone()).await;
    }
    assert_eq!(ann.hear().await, Heard::Control(FromRelay::Gone(s.pass.peer)));
    drop(slow);
    assert!(relay.metric("samovar_dropped_total{reason=\"queue_full\"}").await > 1_000.0);
    assert_eq!(relay.metric("samovar_ended_total{reason=\"too_slow\"}").await, 1.0);
    sleep(Duration::from_millis(1)).await;
}
