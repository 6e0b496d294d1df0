//! Strangers that connect to the relay, and send garbage to it and to the players.

use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::stranger::Stranger;
use samovar_wire::limits::{BULK_CHUNK_MAX, PACKET_MAX};
use samovar_wire::relay::{Purpose, Refusal, RelayFrame};
use samovar_wire::{Entropy, GameCode, Mode, PeerId, Term};

fn join(code: &str) -> Purpose {
    Purpose::Join(GameCode::parse(code).expect("a code"))
}

fn noise(length: usize, seed: u8) -> Vec<u8> {
    let mut entropy = Entropy::new([seed; 32]);
    std::iter::repeat_with(|| entropy.bytes()).flatten().take(length).collect()
}

/// Bytes that no honest peer sends, in both modes.
fn garbage() -> Vec<(Mode, Vec<u8>)> {
    let mut garbage = Vec::new();
    for mode in [Mode::Unreliable, Mode::Reliable] {
        for length in [0, 1, 2, 3, 5, 6, 7, 64, 300, PACKET_MAX] {
            garbage.push((mode, noise(length, 7)));
            // These bytes begin like a packet.
            let mut packet = noise(length, 8);
            packet.splice(0..length.min(1), [0x62].into_iter().take(length));
            garbage.push((mode, packet));
        }
    }
    garbage.push((Mode::Reliable, noise(BULK_CHUNK_MAX, 9)));
    garbage.push((Mode::Reliable, vec![0xff; BULK_CHUNK_MAX]));
    garbage
}

async fn assert_undisturbed(robots: &mut Bots, before: &Status) {
    let start = std::time::Instant::now();
    let plays = |all: &[Status]| {
        all.len() == 2
            && all.iter().all(|each| {
                each.members.len() == 2
                    && (each.term, &each.host, &each.backup) == (before.term, &before.host, &before.backup)
            })
    };
    robots.wait("both robots play on under the same host", SETTLE_WITHIN, plays).await;
    let (first, second) = (start, start + std::time::Duration::from_millis(2_500));
    tokio::time::sleep_until(second.into()).await;
    robots.wait("and are still there", SETTLE_WITHIN, plays).await;
    assert!(robots.since(first).len() >= 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_that_the_relay_forwards_disturbs_no_player() {
    let relay = Relay::start();
    let (mut robots, code) = Bots::found(&relay, 2, "relayed").await;
    let two = |all: &[Status]| {
        all.len() == 2 && all.iter().all(|each| each.members.len() == 2 && each.backup.is_some())
    };
    let before = robots.wait("two robots play", JOIN_WITHIN, two).await.remove(0);
    let peers: Vec<PeerId> = before
        .members
        .iter()
        .map(|each| PeerId(u32::from_str_radix(&each.peer.to_string(), 16).expect("hexadecimal")))
        .collect();
    for (mode, payload) in garbage() {
        let (mut stranger, _) = Stranger::enter(&relay, join(&code)).await.expect("let in");
        for &peer in &peers {
            stranger.send(RelayFrame::forward(peer, mode, &payload)).await;
        }
    }
    assert_undisturbed(&mut robots, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_for_the_relay_closes_the_senders_connection() {
    let relay = Relay::start();
    let (mut robots, code) = Bots::found(&relay, 2, "relayed").await;
    let two = |all: &[Status]| {
        all.len() == 2 && all.iter().all(|each| each.members.len() == 2 && each.backup.is_some())
    };
    let before = robots.wait("two robots play", JOIN_WITHIN, two).await.remove(0);
    let messages = [
        vec![],
        vec![0],
        vec![0xff; 9],
        noise(200, 1),
        // The length field names exabytes. The relay must not try to allocate them.
        vec![0, 0, 253, 255, 255, 255, 255, 255, 255, 255, 255],
        vec![0; 20_000],
        noise(1_000_000, 2),
        RelayFrame::forward(PeerId(1), Mode::Unreliable, &[0; PACKET_MAX + 1]),
    ];
    for message in messages {
        let mut before_entering = Stranger::connect(&relay).await;
        before_entering.send(message.clone()).await;
        before_entering.is_closed().await;
        let (mut inside, _) = Stranger::enter(&relay, join(&code)).await.expect("let in");
        inside.send(message).await;
        inside.is_closed().await;
    }
    assert_undisturbed(&mut robots, &before).await;
    assert_eq!(relay.get("/healthz"), Ok((200, "ok\n".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_cannot_make_itself_host() {
    let relay = Relay::start();
    let (mut robots, code) = Bots::found(&relay, 2, "relayed").await;
    let two = |all: &[Status]| {
        all.len() == 2 && all.iter().all(|each| each.members.len() == 2 && each.backup.is_some())
    };
    let before = robots.wait("two robots play", JOIN_WITHIN, two).await.remove(0);
    let (mut stranger, entered) = Stranger::enter(&relay, join(&code)).await.expect("let in");
    let me = entered.pass.peer;
    for term in [entered.warrant.term.next_witnessed(), Term(before.term + 1), Term(u64::MAX)] {
        stranger.send(RelayFrame::control(&samovar_wire::relay::ToRelay::Claim(term, me))).await;
    }
    // A forged warrant: the relay's own, changed to a later term and to the stranger as its host.
    let mut forged = entered.warrant;
    forged.term = Term(99 << 8);
    forged.host = entered.pass.peer;
    let code = GameCode::parse(&code).expect("a code");
    let refused = Stranger::enter(&relay, Purpose::Resume(code, entered.pass, forged)).await;
    assert_eq!(refused.map(|_| ()), Err(Refusal::BadPass));
    assert_undisturbed(&mut robots, &before).await;
}
