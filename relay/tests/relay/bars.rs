//! A host bars a peer at a real relay. Only the relay's own referee has the referee's code and the relay's name.

use std::time::{Duration, Instant};

use samovar_wire::PROTOCOL_VERSION;
use samovar_wire::relay::{Enter, Entered, FromRelay, Listing, Purpose, Refusal, ToRelay};
use tokio::time::sleep;

use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch};
use crate::strangers::from;

const EVE: &str = "203.0.113.8";
const BOB: &str = "203.0.113.9";

fn join() -> Purpose {
    Purpose::Join(code("TEA"))
}

fn resume(entered: &Entered) -> Purpose {
    Purpose::Resume(code("TEA"), entered.pass, entered.warrant)
}

/// The relay's answer to a peer from this address.
async fn answer(relay: &RelayProcess, address: &'static str, purpose: Purpose) -> Heard {
    let mut peer = from(relay, address).await;
    peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose })).await;
    peer.hear().await
}

const BARRED: Heard = Heard::Control(FromRelay::Refused(Refusal::Barred));

#[tokio::test]
async fn a_barred_peer_stays_out_after_a_relay_restart() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    let (mut eve, e) = from(&relay, EVE).await.go_in(join()).await;
    let (_bob, b) = from(&relay, BOB).await.go_in(join()).await;
    let [h_id, e_id, b_id] = [&h, &e, &b].map(|entered| entered.pass.peer);
    host.name(&[h_id, e_id, b_id]).await;
    // A member that is not the host cannot bar.
    eve.tell(&ToRelay::Bar(b_id)).await;
    host.tell(&ToRelay::Bar(e_id)).await;
    assert_eq!(eve.hear().await, BARRED);
    assert_eq!(eve.hear().await, Heard::Closed(Some(1000)));
    assert!(matches!(answer(&relay, BOB, resume(&b)).await, Heard::Control(FromRelay::Entered(_))));
    let all = [
        (EVE, join()),
        (EVE, resume(&e)),
        (BOB, resume(&e)),
        (EVE, Purpose::Rejoin(code("TEA"), e.pass)),
        (BOB, Purpose::Rejoin(code("TEA"), e.pass)),
    ];
    for (address, purpose) in all.clone() {
        assert_eq!(answer(&relay, address, purpose).await, BARRED);
    }
    assert_eq!(relay.metric("samovar_refused_total{reason=\"barred\"}").await, 6.0);
    // Waits until the relay's last write is on disk.
    sleep(Duration::from_millis(500)).await;
    let address = relay.address.clone();
    relay.kill();
    let relay = RelayProcess::start_at(&address, data.path());
    for (address, purpose) in all.clone() {
        assert_eq!(answer(&relay, address, purpose).await, BARRED, "before anybody is back");
    }
    let _host = from(&relay, BOB).await.go_in(resume(&h)).await;
    for (address, purpose) in all {
        assert_eq!(answer(&relay, address, purpose).await, BARRED);
    }
    assert!(matches!(answer(&relay, BOB, join()).await, Heard::Control(FromRelay::Entered(_))));
}

#[tokio::test]
async fn the_referees_code_stays_reserved_when_it_has_left() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--referee", "TEA", "--drain", "60"]);
    relay.games_become(|games| games[0]["code"] == "TEA").await;
    let (mut other, _) = Peer::create(&relay, "OTHER").await;
    // The relay does not remember Eve's game, which she left at once. So it believes her pass for another code, too.
    let (mut eve, e) = from(&relay, EVE).await.go_in(Purpose::Create(Some(code("MINE")))).await;
    eve.tell(&ToRelay::Leave).await;
    relay.signal("TERM");
    while !matches!(other.hear().await, Heard::Control(FromRelay::Draining(_))) {}
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let heard = answer(&relay, EVE, resume(&e)).await;
        if heard == Heard::Control(FromRelay::Refused(Refusal::Reserved)) {
            break;
        }
        // The referee's game exists until it has left.
        assert_eq!(heard, Heard::Control(FromRelay::Refused(Refusal::CodeTaken)));
        assert!(Instant::now() < deadline, "the referee goes");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn only_the_relays_games_are_listed_under_its_name() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--referee", "TEA"]);
    let (mut eve, e) = from(&relay, EVE).await.go_in(Purpose::Create(Some(code("MINE")))).await;
    assert!(!e.pass.peer.is_relays_own());
    let (title, host_name) = (String::new(), "THE  relay".to_owned());
    let listing = Listing { players: 1, capacity: 8, open: true, public: true, title, host_name };
    eve.tell(&ToRelay::Listing(listing)).await;
    let games = relay.games_become(|games| games.as_array().is_some_and(|all| all.len() == 2)).await;
    assert_eq!((&games[0]["code"], &games[0]["host"]), (&"TEA".into(), &"The relay".into()));
    assert_eq!((&games[1]["code"], &games[1]["host"]), (&"MINE".into(), &"Player".into()));
}
