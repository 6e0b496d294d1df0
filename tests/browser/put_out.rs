//! A host puts a player out, by clicks.

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;

const BUTTON: &str = "#put-out-list button";

#[tokio::test(flavor = "multi_thread")]
async fn a_host_puts_a_player_out_at_the_second_press() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let cyd = Player::join(&relay, "game=TEA&name=Cyd").await;
    ann.wait("all are there", SETTLE_WITHIN, |status| status.members.len() == 3).await;
    for player in [&ann, &bob] {
        player.hands().click("#session summary").await;
    }
    ann.wait_text("put-out-list", "Bob\nCyd").await;
    bob.wait_text("put-out-list", "").await;
    ann.hands().click(BUTTON).await;
    ann.wait_text("put-out-list", "Put Bob out?\nCyd").await;
    ann.screenshot("put-out").await;
    assert_eq!(bob.status().await.members.len(), 3, "the first press asks");
    ann.hands().click(BUTTON).await;
    bob.wait_text("curtain-title", "You were put out").await;
    bob.screenshot("was-put-out").await;
    for player in [&ann, &cyd] {
        player.wait("two play on", SETTLE_WITHIN, |status| status.members.len() == 2).await;
        player.wait_text("feed", "Bob was put out by the host").await;
    }
    // Bob does not come in again.
    bob.reload().await;
    bob.wait_text("curtain-title", "You were put out").await;
    // Cyd is a member, and keeps the seat when the page reloads.
    cyd.reload().await;
    cyd.joined().await;
    ann.wait("two are there again", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    // The screen is so low that the panel must be scrolled.
    ann.hands().resize(800, 360).await;
    ann.hands().click(BUTTON).await;
    ann.wait_text("put-out-list", "Put Cyd out?").await;
    ann.screenshot("put-out-low").await;
    ann.hands().click(BUTTON).await;
    cyd.wait_text("curtain-title", "You were put out").await;
    ann.wait_text("put-out-list", "").await;
    // Bob, who was put out, hosts a table of his own.
    bob.hands().click("#curtain-buttons [data-action=create]").await;
    bob.joined().await;
    ann.finish().await;
    cyd.finish().await;
    bob.finish().await;
}
