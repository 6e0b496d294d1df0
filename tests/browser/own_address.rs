//! Opening a link does not show a player's network address to a table before the player agrees.

use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;

/// Counts the connections by which other players could learn the address.
const COUNT: &str = r"
window.connections = 0;
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...all) { super(...all); window.connections += 1; }
};";
const HIDE: &str = "#curtain-buttons [data-hidden]";
const PLAY: &str = "#curtain-buttons [data-action=enter]:not([data-hidden])";

async fn connections(player: &Player) -> u64 {
    player.tab().evaluate("window.connections").await.as_u64().expect("a number")
}

/// Waits until packets between Ann and the other player take this path.
async fn is_by(ann: &Player, path: &str) {
    let what = format!("the path is {path}");
    ann.wait(&what, SETTLE_WITHIN, |status| status.others().any(|other| other.path == path)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn address_stays_hidden_until_its_player_shows_it() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Visit::new(&relay, "game=TEA&name=Bob&path=direct").unaware().with_script(COUNT).open().await;
    bob.wait_text("curtain-title", "Before you sit down").await;
    bob.screenshot("before-you-sit-down").await;
    assert_eq!(ann.status().await.members.len(), 1, "the link alone shows nothing");
    bob.hands().click(HIDE).await;
    bob.joined().await;
    is_by(&ann, "relayed").await;
    // The page does not ask again.
    bob.reload().await;
    bob.joined().await;
    assert_eq!(connections(&bob).await, 0, "nobody could learn the address");
    bob.hands().click("[data-action=leave]").await;
    bob.hands().click("#hides-address").await;
    bob.screenshot("lobby-address").await;
    bob.hands().click("#games [data-action=join]").await;
    bob.joined().await;
    is_by(&ann, "direct").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_asks_about_the_address_unless_the_link_is_relayed() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann").unaware().open().await;
    ann.hands().click(PLAY).await;
    ann.joined().await;
    let bob = Visit::new(&relay, "game=TEA&name=Bob&path=relayed").unaware().with_script(COUNT).open().await;
    bob.joined().await;
    is_by(&ann, "relayed").await;
    assert_eq!(connections(&bob).await, 0);
    ann.finish().await;
    bob.finish().await;
}
