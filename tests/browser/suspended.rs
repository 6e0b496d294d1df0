//! Relay and host are lost, and nobody may take over: the page says so, and goes on when the relay is back.

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_may_not_go_on_alone_says_why_and_goes_on_when_the_relay_is_back() {
    let mut relay = Relay::start();
    let mut ann = Player::join(&relay, "new=TEA&name=Ann&robots=1").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let direct =
        |status: &Status| status.others().count() == 1 && status.others().all(|each| each.path == "direct");
    for player in [&ann, &bob] {
        player.wait("the link is direct", SETTLE_WITHIN, direct).await;
    }
    let before = bob.status().await;
    relay.kill();
    bob.wait("the relay is missed", SETTLE_WITHIN, |status| status.relay == "lost").await;
    ann.kill();
    // Ann may live on the other side of a broken network: one of two is no majority.
    let paused = |status: &Status| status.suspension.as_deref() == Some("hostLost");
    let paused = bob.wait("the duel is paused", SETTLE_WITHIN, paused).await;
    assert_eq!((paused.role.as_str(), paused.term), ("Suspended", before.term), "{paused}");
    bob.wait_text("banner", "The host is gone, and nobody could take over yet.").await;
    bob.screenshot("suspended").await;
    bob.wait_text("curtain-title", "The duel is paused").await;
    bob.screenshot("suspended-long").await;
    relay.restart();
    let goes_on = |status: &Status| status.is_host() && status.suspension.is_none();
    let after = bob.wait("the duel goes on", 2 * SETTLE_WITHIN, goes_on).await;
    assert!(after.term > before.term && after.score("Bob") >= before.score("Bob"), "{after}");
    assert_eq!(bob.text("curtain-title").await, "", "the page shows the game again");
    bob.finish().await;
}
