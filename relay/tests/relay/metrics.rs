//! The contents of `/metrics`.

use samovar_wire::relay::{FromRelay, Refusal, RelayFrame, ToRelay};
use samovar_wire::{Mode, Term};

use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch};

#[tokio::test]
async fn members_packets_and_bytes_are_counted_as_they_come_and_go() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    for name in ["samovar_games", "samovar_members{path=\"websocket\"}", "samovar_joins_total"] {
        assert_eq!(relay.metric(name).await, 0.0, "{name}");
    }
    let (mut ann, a) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    assert_eq!(relay.metric("samovar_games").await, 1.0);
    assert_eq!(relay.metric("samovar_members{path=\"websocket\"}").await, 2.0);
    assert_eq!(relay.metric("samovar_connections").await, 2.0);
    assert_eq!(relay.metric("samovar_joins_total").await, 2.0);
    for _ in 0..100 {
        ann.send(RelayFrame::forward(b.pass.peer, Mode::Unreliable, &[1; 94])).await;
        assert!(matches!(bob.hear().await, Heard::Packet { .. }));
    }
    bob.send(RelayFrame::forward(a.pass.peer, Mode::Reliable, &[1; 1_000])).await;
    assert!(matches!(ann.hear().await, Heard::Packet { .. }));
    bob.send(RelayFrame::forward(samovar_wire::PeerId(7), Mode::Unreliable, &[1; 10])).await;
    relay.metric_becomes("samovar_dropped_total{reason=\"no_receiver\"}", |count| count == 1.0).await;
    for (labels, packets, bytes) in [
        ("direction=\"in\",kind=\"packet\"", 101.0, 10_016.0),
        ("direction=\"out\",kind=\"packet\"", 100.0, 10_000.0),
        ("direction=\"in\",kind=\"bulk\"", 1.0, 1_006.0),
        ("direction=\"out\",kind=\"bulk\"", 1.0, 1_006.0),
    ] {
        assert_eq!(
            relay.metric(&format!("samovar_packets_total{{path=\"websocket\",{labels}}}")).await,
            packets,
            "{labels}"
        );
        assert_eq!(
            relay.metric(&format!("samovar_bytes_total{{path=\"websocket\",{labels}}}")).await,
            bytes,
            "{labels}"
        );
    }
    // The relay counts a message only when the kernel has taken it, so the receiver may have it before it is counted.
    relay.metric_becomes("samovar_forward_seconds_count", |count| count == 101.0).await;
    assert!(relay.metric("samovar_forward_seconds_sum").await > 0.0);
    bob.tell(&ToRelay::Leave).await;
    drop(ann);
    relay.metric_becomes("samovar_games", |games| games == 0.0).await;
    assert_eq!(relay.metric("samovar_members{path=\"websocket\"}").await, 0.0);
    assert_eq!(relay.metric("samovar_ended_total{reason=\"left\"}").await, 1.0);
    assert_eq!(relay.metric("samovar_sessions_remembered").await, 1.0);
}

#[tokio::test]
async fn refusals_are_counted_by_reason() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let mut lost = Peer::connect(&relay).await;
    let purpose = samovar_wire::relay::Purpose::Join(code("NOWHERE"));
    let version = samovar_wire::PROTOCOL_VERSION;
    lost.tell(&ToRelay::Enter(samovar_wire::relay::Enter { version, params: 1, purpose })).await;
    assert_eq!(lost.hear().await, Heard::Control(FromRelay::Refused(Refusal::UnknownGame)));
    let mut rude = Peer::connect(&relay).await;
    rude.send(vec![9]).await;
    assert_eq!(rude.hear().await, Heard::Control(FromRelay::Refused(Refusal::Misbehaved)));
    for reason in ["unknown_game", "misbehaved"] {
        assert_eq!(relay.metric(&format!("samovar_refused_total{{reason=\"{reason}\"}}")).await, 1.0);
    }
}

#[tokio::test]
async fn lost_hosts_and_handovers_are_counted_and_losses_timed() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, a) = Peer::create(&relay, "TEA").await;
    let (mut bob, b) = Peer::join(&relay, "TEA").await;
    let (_carol, c) = Peer::join(&relay, "TEA").await;
    host.name(&[a.pass.peer, b.pass.peer, c.pass.peer]).await;
    drop(host);
    assert_eq!(bob.hear().await, Heard::Control(FromRelay::Gone(a.pass.peer)));
    assert!(matches!(bob.hear().await, Heard::Control(FromRelay::Successor(_))));
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    bob.tell(&ToRelay::Claim(Term::FIRST.next_witnessed(), b.pass.peer)).await;
    assert!(matches!(bob.hear().await, Heard::Control(FromRelay::Issued(_))));
    assert_eq!(relay.metric("samovar_host_changes_total{cause=\"disconnected\"}").await, 1.0);
    let recovery = relay.metric("samovar_host_recovery_seconds_sum").await;
    assert!((0.3..3.0).contains(&recovery), "{recovery}");
    let third = Term::FIRST.next_witnessed().next_witnessed();
    bob.tell(&ToRelay::Claim(third, c.pass.peer)).await;
    assert!(matches!(bob.hear().await, Heard::Control(FromRelay::Issued(_))));
    assert_eq!(relay.metric("samovar_host_changes_total{cause=\"handed_over\"}").await, 1.0);
    assert_eq!(relay.metric("samovar_host_recovery_seconds_count").await, 1.0);
}

#[tokio::test]
async fn crashed_pages_are_counted() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    for (method, status) in [("POST", "204"), ("POST", "204"), ("GET", "405")] {
        let head = relay.ask(method, "/api/crashed").await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
    }
    assert_eq!(relay.metric("samovar_page_crashes_total").await, 2.0);
}
