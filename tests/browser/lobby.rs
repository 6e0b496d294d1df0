//! From the lobby to a table and back, by clicks and keys.

use std::time::Duration;

use samovar_tests::hands::Key;
use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;
use serde_json::json;

const JOIN: &str = "#games [data-action=join]";
const LEAVE: &str = "[data-action=leave]";

/// Ann's table with a robot, and Bob in the lobby.
async fn table(relay: &Relay) -> (Player, Player) {
    let ann = Player::join(relay, "new=TEA&name=Ann&robots=1").await;
    let bob = Visit::new(relay, "name=Bob&low").open().await;
    bob.wait_text("games", "TEA").await;
    (ann, bob)
}

/// Waits until the list of scores has the name, or no longer has it.
async fn lists(player: &Player, name: &str, wanted: bool) {
    wait::until("the scores list who is there", SETTLE_WITHIN, async || {
        let scores = player.text("scores").await;
        if scores.contains(name) == wanted { Ok(()) } else { Err(scores) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn player_that_leaves_by_the_button_is_no_longer_listed() {
    let relay = Relay::start();
    let (ann, bob) = table(&relay).await;
    let both = |status: &Status| status.others().count() == 1;
    for _ in 0..2 {
        bob.hands().click(JOIN).await;
        bob.wait("it sits", SETTLE_WITHIN, both).await;
        lists(&ann, "Bob", true).await;
        bob.hands().click(LEAVE).await;
        lists(&ann, "Bob", false).await;
        ann.wait_text("feed", "Bob has left").await;
        bob.wait_text("games", "TEA").await;
    }
    // The seat that is kept for Bob takes the name that he has typed since.
    bob.hands().write("#name", "Bea").await;
    // A host that leaves is no longer listed either.
    bob.hands().click(JOIN).await;
    bob.wait("it sits again", SETTLE_WITHIN, both).await;
    lists(&ann, "Bea", true).await;
    lists(&ann, "Bob", false).await;
    ann.wait("there is a backup", SETTLE_WITHIN, |status| status.backup.is_some()).await;
    ann.hands().click(LEAVE).await;
    bob.wait("the other hosts", SETTLE_WITHIN, Status::is_host).await;
    lists(&bob, "Ann", false).await;
    ann.finish().await;
    bob.finish().await;
}

/// The former host comes back as a new peer. It becomes host before any host has admitted it, since no other member
/// is left.
#[tokio::test(flavor = "multi_thread")]
async fn stalled_host_is_listed_once_after_its_successor_leaves() {
    let relay = Relay::start();
    let (ann, bob) = table(&relay).await;
    for _ in 0..3 {
        bob.hands().click(JOIN).await;
        bob.wait("it sits", SETTLE_WITHIN, |status| status.others().count() == 1).await;
        ann.wait("there is a backup", SETTLE_WITHIN, |status| status.is_host() && status.backup.is_some())
            .await;
        wait::until("the other hosts", SETTLE_WITHIN, async || {
            ann.stall(Duration::from_secs(3)).await;
            let status = bob.status().await;
            if status.is_host() { Ok(()) } else { Err(status.to_string()) }
        })
        .await;
        bob.hands().click(LEAVE).await;
        bob.wait_text("games", "TEA").await;
        let hosts_alone = |status: &Status| status.is_host() && status.others().count() == 0;
        ann.wait("it hosts again", SETTLE_WITHIN, hosts_alone).await;
        wait::until("the scores list it once", SETTLE_WITHIN, async || {
            let scores = ann.text("scores").await;
            if scores.lines().filter(|&line| line == "Ann").count() == 1 { Ok(()) } else { Err(scores) }
        })
        .await;
    }
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn back_button_leads_to_the_lobby_and_forward_to_the_seat() {
    let relay = Relay::start();
    let (ann, bob) = table(&relay).await;
    let both = |status: &Status| status.others().count() == 1;
    bob.hands().click(JOIN).await;
    bob.wait("it sits", SETTLE_WITHIN, both).await;
    ann.wait("both sit", SETTLE_WITHIN, both).await;
    bob.notes_its_table().await;
    bob.go(-1).await;
    bob.wait_text("games", "TEA").await;
    ann.wait("it is away", SETTLE_WITHIN, |status| status.others().count() == 0).await;
    lists(&ann, "Bob", true).await;
    bob.go(1).await;
    bob.wait("it sits again", SETTLE_WITHIN, both).await;
    ann.wait_text("feed", "Bob is back").await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lobby_keeps_a_typed_name_and_has_help_and_mute() {
    let relay = Relay::start();
    let visitor = Visit::new(&relay, "low").open().await;
    visitor.wait("the lobby has its list", SETTLE_WITHIN, |status| status.relay == "connected").await;
    visitor.hands().tap_key(Key::H).await;
    visitor.wait_text("help", "How to play").await;
    visitor.hands().tap_key(Key::H).await;
    visitor.wait_closed("help").await;
    for (pressed, spoken) in [("true", "muted"), ("false", "not muted")] {
        visitor.hands().tap_key(Key::M).await;
        let shown = "[...document.querySelectorAll('[data-action=mute]')].map(button => button.ariaPressed)";
        let all = visitor.tab().evaluate(&format!("{shown}.every(each => each === '{pressed}')")).await;
        assert_eq!(all, true, "the lobby says that it is {spoken}");
    }
    visitor.hands().write("#name", "A name that is longer than twenty").await;
    visitor.wait_text("name-note", "first 20 characters").await;
    visitor.hands().write("#name", "Zoë").await;
    assert_eq!(visitor.text("name-note").await, "");
    // The visitor has not pressed a key such as Enter to complete the name.
    visitor.reload().await;
    visitor.wait("the lobby has its list", SETTLE_WITHIN, |status| status.relay == "connected").await;
    assert_eq!(visitor.tab().evaluate("document.getElementById('name').value").await, "Zoë");
    assert_eq!(visitor.status().await.name, "Zoë");
    visitor.finish().await;
}

/// The button that a first-time player looks for is on the first screen: on laptops whose browser has bars, on phones held
/// upright and across.
#[tokio::test(flavor = "multi_thread")]
async fn new_game_is_in_sight_without_scrolling() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "name=Ann&low").open().await;
    ann.wait_text("games-note", "No table is set yet").await;
    for (width, height) in [(1280, 720), (1366, 650), (1024, 600), (390, 700), (844, 390)] {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        ann.tab().ask("Emulation.setDeviceMetricsOverride", size).await;
        wait::until("the button is in sight", SETTLE_WITHIN, async || {
            let end =
                "[innerWidth, document.querySelector('#new-game .main').getBoundingClientRect().bottom]";
            let end = ann.tab().try_evaluate(end).await?;
            let fits =
                end[0].as_u64() == Some(width) && end[1].as_f64().is_some_and(|end| end <= f64::from(height));
            if fits { Ok(()) } else { Err(format!("{width} by {height}: {end}")) }
        })
        .await;
    }
    ann.finish().await;
}
