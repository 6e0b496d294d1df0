//! A tab that is loaded anew takes its seat and score back.

use std::time::Duration;

use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// Long enough for a hunter to hit a teapot that stands.
const HIT_WITHIN: Duration = Duration::from_secs(120);

/// Lets one hunt the other until it has hit, reloads the hunter's page, and sees it come back.
async fn reload_after_a_hit(hunter: &Player, name: &str, witness: &Player) -> (Status, Status) {
    hunter.wait("both are there", SETTLE_WITHIN, |status| status.others().count() == 1).await;
    hunter.hunt().await;
    let hit = |status: &Status| status.score(name).is_some_and(|score| score > 0);
    witness.wait("the hunter hits", HIT_WITHIN, hit).await;
    hunter.rest().await;
    let before = hunter.wait("the hunter knows", SETTLE_WITHIN, hit).await;
    hunter.reload().await;
    // The page of before could still answer; its peer tells it from the one of after.
    let is_back = |status: &Status| {
        status.peer.is_some() && status.peer != before.peer && status.members.iter().any(|each| each.is_self)
    };
    let after = hunter.wait("the page is in the game again", JOIN_WITHIN, is_back).await;
    let seen = |status: &Status| {
        status.others().count() == 1 && status.others().all(|each| Some(&each.peer) == after.peer.as_ref())
    };
    let after = hunter.wait("its score is back", SETTLE_WITHIN, hit).await;
    let witnessed = witness.wait("the other sees it come back", SETTLE_WITHIN, seen).await;
    for status in [&after, &witnessed] {
        assert!(status.score(name) >= before.score(name), "{before}\n{status}");
        assert_eq!(status.members.len(), before.members.len(), "nobody is there twice: {status}");
    }
    (before, after)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reloaded_tab_takes_its_seat_and_score_back() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let (before, after) = reload_after_a_hit(&bob, "Bob", &ann).await;
    // A host that is alone for a moment renews its term.
    assert_eq!(before.host, after.host);
    let teapots = after.objects_of("teapot").count();
    assert_eq!(teapots, 2, "the old teapot is driven on, or gone: {after}");
    bob.screenshot("reload").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_reloads_comes_back_to_its_seat_under_another_host() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let (before, after) = reload_after_a_hit(&ann, "Ann", &bob).await;
    assert!(after.term > before.term, "{after}");
    assert_eq!(after.host, bob.status().await.peer);
    ann.finish().await;
    bob.finish().await;
}
