//! A player who sets a table chooses how the game survives, and those who join take that over.

use std::time::Duration;

use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// Longer than other members wait for a host whose game stands still.
const HIDDEN_FOR: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn game_that_ends_with_its_host_says_so_to_those_who_are_left() {
    let relay = Relay::start();
    let mut ann = Visit::new(&relay, "name=Ann&low").open().await;
    ann.hands().click("#new-game summary").await;
    ann.hands().click("[name=ends]").await;
    ann.screenshot("survival-choices").await;
    ann.hands().click("#new-game button").await;
    let status = ann.joined().await;
    assert!(!status.migrates && status.forks, "{status}");
    let code = ann.tab().evaluate("new URLSearchParams(location.search).get('game')").await;
    let code = code.as_str().expect("the address names the game").to_owned();
    let bob = Player::join(&relay, &format!("game={code}&name=Bob&low")).await;
    let knows = |status: &Status| status.others().count() == 1 && !status.migrates && status.forks;
    let host = bob.wait("it has learned the rule", SETTLE_WITHIN, knows).await.host;
    // A host that is hidden has nobody to hand over to, and goes on.
    ann.hide().await;
    tokio::time::sleep(HIDDEN_FOR).await;
    let status = bob.status().await;
    assert!(status.host == host && status.others().count() == 1, "{status}");
    ann.show().await;
    ann.kill();
    bob.wait_text("curtain-title", "The host is gone").await;
    assert!(bob.text("curtain").await.contains(&format!("{code} was to end with its host")));
    bob.screenshot("survival-host-gone").await;
    // The code is free again, for a game that goes on.
    bob.hands().click("#curtain-buttons button").await;
    assert!(bob.joined().await.migrates);
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strict_game_is_strict_for_all_and_goes_on_under_another_host() {
    let relay = Relay::start();
    let mut ann = Player::join(&relay, "new=TEA&split=wait&name=Ann&low").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob&low").await;
    let strict = |status: &Status| status.others().count() == 1 && status.migrates && !status.forks;
    bob.wait("it is strict", SETTLE_WITHIN, strict).await;
    bob.wait("there is a backup", SETTLE_WITHIN, |status| status.backup.is_some()).await;
    ann.kill();
    let hosts = |status: &Status| status.is_host() && !status.forks;
    bob.wait("it hosts, and is strict", SETTLE_WITHIN, hosts).await;
    let cat = Player::join(&relay, "game=TEA&name=Cat&low").await;
    cat.wait("it is strict, too", SETTLE_WITHIN, |status| status.others().count() == 1 && !status.forks)
        .await;
    bob.finish().await;
    cat.finish().await;
}
