//! The page tells a visitor why it cannot play.

use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// Makes the first message of each WebSocket name another protocol version (PROTOCOL §5).
const OTHER_VERSION: &str = r"
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {
  if (!this.__entered && data.byteLength > 3) {
    this.__entered = true;
    data = new Uint8Array(data.buffer ? data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) : data.slice(0));
    data[2] = 99;
  }
  return send.call(this, data);
};";

async fn assert_told(player: &Player, title: &str, words: &[&str]) {
    player.wait_text("curtain-title", title).await;
    let text = player.text("curtain").await;
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_shows_the_reason_of_each_refusal() {
    let relay = Relay::start();
    let visitor = Visit::new(&relay, "game=NOWHERE&name=Eve").open().await;
    assert_told(&visitor, "No such game", &["NOWHERE", "Start this game", "Back to the lobby"]).await;
    visitor.screenshot("refusal-unknown").await;
    let (mut robots, code) = Bots::found(&relay, 1, "relayed").await;
    robots.wait("the robot plays", JOIN_WITHIN, |all| all.len() == 1).await;
    let open = async |query: &str| visitor.tab().open(&relay.page(query)).await;
    open(&format!("new={code}&low")).await;
    assert_told(&visitor, "This code is taken", &[code.as_str(), "Join it"]).await;
    open("new=OTHER&robots=many&low").await;
    assert_told(&visitor, "This link does not work", &["robots=many", "a number from 0 to 3"]).await;
    open("game=%3Cscript%3E&low").await;
    assert_told(&visitor, "This link does not work", &["game=<script>"]).await;
    visitor.screenshot("refusal-parameter").await;
    visitor.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visitor_can_start_a_game_that_was_not_found() {
    let relay = Relay::start();
    let visitor = Visit::new(&relay, "game=TEAROOM&name=Eve").open().await;
    assert_told(&visitor, "No such game", &["TEAROOM"]).await;
    visitor.hands().click("#curtain-buttons button").await;
    let status = visitor.joined().await;
    assert!(status.is_host(), "{status}");
    relay.lists("TEAROOM", SETTLE_WITHIN).await;
    visitor.finish().await;
}

/// Keeps the texts that the page shows while a player waits.
const KEEP_WAITING: &str = r"
window.__waited = [];
addEventListener('DOMContentLoaded', () =>
  new MutationObserver(() => __waited.push(document.body.innerText))
    .observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true}));";

/// The relay makes newcomers wait for a game whose members have just vanished, because they may come back.
#[tokio::test(flavor = "multi_thread")]
async fn newcomer_to_a_vanished_game_waits_without_alarm() {
    let relay = Relay::start();
    let mut ann = Player::join(&relay, "new=TEA&name=Ann").await;
    ann.kill();
    let visit = Visit::new(&relay, "game=TEA&name=Eve").with_script(KEEP_WAITING);
    let eve = visit.open().await;
    assert_told(&eve, "No such game", &["TEA"]).await;
    let waited = eve.tab().evaluate("__waited.filter(text => text.includes('Joining TEA')).length").await;
    assert!(waited.as_u64() > Some(0), "it says that it joins");
    let alarmed = eve.tab().evaluate("__waited.filter(text => text.includes('does not answer'))").await;
    assert_eq!(alarmed, serde_json::json!([]));
    eve.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_says_that_a_table_is_full() {
    let relay = Relay::start();
    let (mut robots, code) = Bots::found(&relay, 8, "relayed").await;
    robots.wait("eight robots play", JOIN_WITHIN, |all| all.iter().any(|each| each.members.len() == 8)).await;
    let visitor = Visit::new(&relay, &format!("game={code}&name=Eve")).open().await;
    assert_told(&visitor, "The table is full", &[code.as_str()]).await;
    visitor.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_another_version_reloads_once_and_then_says_so() {
    let relay = Relay::start();
    let count = "sessionStorage.__loads = 1 + Number(sessionStorage.__loads ?? 0);";
    let visit = Visit::new(&relay, "new=TEA&name=Eve").with_script(OTHER_VERSION).with_script(count);
    let visitor = visit.open().await;
    assert_told(&visitor, "Different versions", &["Load the page again"]).await;
    assert_eq!(visitor.tab().evaluate("sessionStorage.__loads").await, "2");
    visitor.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_page_reloads_and_keeps_its_seat() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    // The first page is older than the relay. The second has older rules than the host.
    for (number, script) in
        [OTHER_VERSION, &OTHER_VERSION.replace("data[2] = 99", "data[4] ^= 1")].iter().enumerate()
    {
        // Bob's tab loads two pages, and the second one is old.
        let old = format!(
            "sessionStorage.__loads = 1 + Number(sessionStorage.__loads ?? 0);
            if (sessionStorage.__loads === '2') {{ {script} }}"
        );
        let bob = Visit::new(&relay, &format!("game=TEA&name=Bob{number}")).with_script(&old).open().await;
        let before = bob.joined().await;
        bob.reload().await;
        bob.wait_text("toasts", "The game has a new version").await;
        let after = bob.joined().await;
        assert_eq!(after.members.len(), before.members.len(), "{before}\n{after}");
        assert_eq!(bob.tab().evaluate("sessionStorage.__loads").await, "3");
        bob.finish().await;
        ann.wait("Bob is gone", SETTLE_WITHIN, |status| status.members.len() == 1).await;
    }
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_page_that_meets_a_newer_relay_keeps_its_table() {
    let mut relay = Relay::start();
    // Once the test sets `__old`, the page counts as old for the next relay, until it is reloaded.
    let old = OTHER_VERSION.replace("data[2] = 99", "if (window.__old) data[2] = 99");
    let ann = Visit::new(&relay, "new=TEA&name=Ann&robots=1").with_script(&old).open().await;
    let is_set = |status: &Status| status.is_host() && status.members.len() == 2;
    let before = ann.wait("the table is set", SETTLE_WITHIN, is_set).await;
    ann.tab().evaluate("window.__old = true").await;
    relay.kill();
    relay.restart();
    ann.wait_text("toasts", "The game has a new version").await;
    let after = ann.wait("the table is set again", JOIN_WITHIN, is_set).await;
    assert!(after.peer != before.peer && after.name == "Ann", "{after}");
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_says_that_the_relay_does_not_answer() {
    let mut relay = Relay::start();
    let visitor = Visit::new(&relay, "").open().await;
    visitor.wait_text("lobby", "Dueling Teapots").await;
    relay.kill();
    // The click comes before the page asks for the list of games again. After that the button is disabled.
    visitor.tab().evaluate("document.querySelector('#new-game').requestSubmit()").await;
    assert_told(&visitor, "The relay", &[]).await;
    visitor.screenshot("refusal-no-relay").await;
}
