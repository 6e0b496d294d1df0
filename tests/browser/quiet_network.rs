//! The page talks to its relay and to the other players, and to no other server.

use std::collections::BTreeSet;
use std::time::Duration;

use samovar_tests::player::{JOIN_WITHIN, Player, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// Makes a whole visit: lobby, game, play, leave. Checks that the page sends requests to the relay only, and that the
/// console shows no errors.
async fn visit(relay: &Relay, visitor: &Player) {
    visitor.wait_text("lobby", "Dueling Teapots").await;
    visitor.screenshot("quiet-lobby").await;
    visitor.hands().click("#new-game button").await;
    visitor.joined().await;
    // One robot is the default choice.
    visitor.wait("a robot plays with it", JOIN_WITHIN, |status| status.members.len() == 2).await;
    visitor.hunt().await;
    let drawn = visitor.status().await.frames;
    let played = |status: &Status| status.frames > drawn + 20 && status.objects_of("teapot").count() == 2;
    visitor.wait("some pictures are drawn", JOIN_WITHIN, played).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    visitor.screenshot("quiet-game").await;
    visitor.rest().await;
    visitor.hands().click("[data-action=leave]").await;
    visitor.wait_text("lobby", "Open tables").await;
    let hosts = visitor.tab().hosts();
    assert_eq!(hosts, BTreeSet::from([relay.address().to_owned()]));
    let console = visitor.tab().console();
    // Warnings do not count: they are about the browser's software rendering.
    let errors = ["error: ", "browser error: ", "uncaught: "];
    let bad: Vec<_> =
        console.iter().filter(|line| errors.iter().any(|each| line.starts_with(each))).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn visit_sends_requests_to_the_relay_only() {
    let relay = Relay::start();
    let visitor = Visit::new(&relay, "").watching_requests().open().await;
    visit(&relay, &visitor).await;
    visitor.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_in_a_private_window_plays_as_usual() {
    let relay = Relay::start();
    let visitor = Visit::new(&relay, "").watching_requests().privately().open().await;
    visit(&relay, &visitor).await;
    visitor.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_without_storage_plays_as_usual() {
    let relay = Relay::start();
    let forbid = r"
for (const name of ['localStorage', 'sessionStorage'])
  Object.defineProperty(window, name, {get() { throw new DOMException('forbidden', 'SecurityError'); }});";
    let visitor = Visit::new(&relay, "").watching_requests().with_script(forbid).open().await;
    visit(&relay, &visitor).await;
    visitor.finish().await;
}
