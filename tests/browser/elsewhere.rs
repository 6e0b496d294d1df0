//! Relays behind a proxy, under a path or without WebSockets, and relays that refuse the page's origin.

use samovar_tests::bots::Bots;
use samovar_tests::gateway::{Gateway, Manners};
use samovar_tests::place::Place;
use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// Opens the page of the gateway, in a new browser.
async fn visit(relay: &Relay, gateway: &Gateway, query: &str) -> Player {
    let visitor = Visit::new(relay, "low").open().await;
    visitor.tab().open(&gateway.page(query)).await;
    visitor
}

#[tokio::test(flavor = "multi_thread")]
async fn game_is_played_under_a_path_of_a_proxy() {
    let relay = Relay::start();
    let gateway = Gateway::start(&relay, "/tea/", Manners::Good).await;
    let ann = visit(&relay, &gateway, "new=TEA&name=Ann&low&path=relayed").await;
    ann.joined().await;
    let invite = ann.tab().evaluate("document.getElementById('invite-link').value").await;
    assert_eq!(invite, gateway.page("game=TEA"));
    let shown = ann.tab().evaluate("location.href").await;
    assert!(shown.as_str().is_some_and(|shown| shown.starts_with(&gateway.page("game=TEA&"))), "{shown}");
    let bob = visit(&relay, &gateway, "name=Bob&low&path=relayed").await;
    bob.wait_text("games", "TEA").await;
    bob.hands().click("#games [data-action=join]").await;
    let both = bob.wait("both are there", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    assert!(both.member("Ann").is_ok(), "{both}");
    wait::until("a reload would find the game", SETTLE_WITHIN, async || {
        let shown = bob.tab().evaluate("location.search").await;
        shown.as_str().is_some_and(|shown| shown.contains("game=TEA")).then_some(()).ok_or(shown.to_string())
    })
    .await;
    bob.reload().await;
    bob.joined().await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_find_a_relay_under_a_path() {
    let relay = Relay::start();
    let gateway = Gateway::start(&relay, "/tea/", Manners::Good).await;
    let url = gateway.page("");
    let mut bots = Bots::start_at(&url, &Place::here(), &["--new", "--path", "relayed"]);
    bots.wait("the robot plays", SETTLE_WITHIN, |all| all.iter().any(|each| each.host.is_some())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_a_refused_origin_shows_the_relays_answer() {
    let relay = Relay::start_with(&Place::here(), &["--origin", "https://tea.example"]);
    let visitor = Visit::new(&relay, "new=TEA&name=Eve").open().await;
    visitor.wait_text("curtain-title", "The relay does not let this page in").await;
    visitor.wait_text("curtain-text", "This relay is not for").await;
    visitor.wait_text("curtain-text", "403").await;
    visitor.screenshot("refusal-origin").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_refused_in_a_game_are_told_and_play_on() {
    let mut relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let linked = |status: &Status| status.others().any(|other| other.path == "direct");
    for player in [&ann, &bob] {
        player.wait("they are linked", SETTLE_WITHIN, linked).await;
    }
    relay.kill();
    relay.restart_with(&["--origin", "https://tea.example"]);
    for player in [&ann, &bob] {
        player.wait_text("banner", "The relay does not let this page in again").await;
        player.wait_text("banner", "403").await;
        let status = player.status().await;
        assert!(linked(&status) && status.suspension.is_none(), "{status}");
    }
    ann.screenshot("refusal-in-a-game").await;
    relay.kill();
    relay.restart_with(&[]);
    for player in [&ann, &bob] {
        player.wait("it is in again", SETTLE_WITHIN, |status| status.relay == "connected").await;
        wait::until("the banner goes", SETTLE_WITHIN, async || {
            let banner = player.text("banner").await;
            if banner.is_empty() { Ok(()) } else { Err(banner) }
        })
        .await;
    }
    // The browser logs each refused socket as an error, so the pages do not end by `finish`, which would fail.
    ann.close().await;
    bob.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_says_that_a_proxy_blocks_websockets() {
    let relay = Relay::start();
    let gateway = Gateway::start(&relay, "/", Manners::NoUpgrade).await;
    let visitor = visit(&relay, &gateway, "new=TEA&name=Eve&low").await;
    visitor.wait_text("curtain-text", "the lines Upgrade and Connection").await;
    visitor.screenshot("refusal-no-upgrade").await;
}
