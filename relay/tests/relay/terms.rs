//! Terms survive the end of a relay's process.

use samovar_roster::RelayKey;
use samovar_wire::Term;
use samovar_wire::relay::{Denial, FromRelay, Purpose, Refusal, ToRelay};

use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch};

const SECOND: Term = Term::FIRST.next_witnessed();

#[tokio::test]
async fn a_killed_relay_keeps_key_terms_and_codes() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, first) = Peer::create(&relay, "TEA").await;
    let (mut bob, second) = Peer::join(&relay, "TEA").await;
    host.name(&[first.pass.peer, second.pass.peer]).await;
    // A granted term is on disk before any peer hears of it. This does not hold for the beginning of a reserve, so
    // the host claims a term.
    host.tell(&ToRelay::Claim(SECOND, second.pass.peer)).await;
    let Heard::Control(FromRelay::Issued(warrant)) = bob.hear().await else { panic!("not issued") };
    assert_eq!((warrant.term, warrant.host), (SECOND, second.pass.peer));
    relay.kill();

    let relay = RelayProcess::start(data.path());
    let mut thief = Peer::connect(&relay).await;
    let purpose = Purpose::Create(Some(code("TEA")));
    thief
        .tell(&ToRelay::Enter(samovar_wire::relay::Enter {
            version: samovar_wire::PROTOCOL_VERSION,
            params: 1,
            purpose,
        }))
        .await;
    assert_eq!(thief.hear().await, Heard::Control(FromRelay::Refused(Refusal::CodeTaken)));
    // The first host comes back with its old warrant, and gets the newer one.
    let resume = Purpose::Resume(code("TEA"), first.pass, first.warrant);
    let (mut host, back) = Peer::enter(&relay, resume).await;
    assert_eq!((back.pass, back.key, back.warrant), (first.pass, first.key, warrant));
    assert!(RelayKey::from_bytes(&back.key).is_some_and(|key| key.verifies_warrant(&warrant)));
    assert_eq!(host.hear().await, Heard::Control(FromRelay::Gone(second.pass.peer)), "that one is not back");
    host.tell(&ToRelay::Claim(SECOND, first.pass.peer)).await;
    assert_eq!(host.hear().await, Heard::Control(FromRelay::Issued(warrant)));
    assert_eq!(host.hear().await, Heard::Control(FromRelay::Denied(SECOND, Denial::Stale)));
    let (_, newcomer) = Peer::join(&relay, "TEA").await;
    assert_eq!((newcomer.session, newcomer.warrant), (first.session, warrant));
}

#[tokio::test]
async fn a_newcomer_waits_for_a_game_that_is_not_back_yet() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (_, first) = Peer::create(&relay, "TEA").await;
    relay.kill();
    let relay = RelayProcess::start(data.path());
    let (newcomer, host) = tokio::join!(Peer::join(&relay, "TEA"), async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        Peer::enter(&relay, Purpose::Resume(code("TEA"), first.pass, first.warrant)).await
    });
    assert_eq!(newcomer.1.warrant, first.warrant);
    assert_eq!(host.1.pass, first.pass);
}
