//! All pages of a game go at once, and come back.

use std::time::Duration;

use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// Time enough for a hunting player to hit a teapot that stands.
const HIT_WITHIN: Duration = Duration::from_secs(120);

/// Begins a duel of two in which Bob has hit Ann.
async fn duel_with_a_hit(relay: &Relay) -> (Player, Player, Status) {
    let ann = Player::join(relay, "new=TEA&name=Ann").await;
    let bob = Player::join(relay, "game=TEA&name=Bob").await;
    bob.wait("both are there", SETTLE_WITHIN, |status| status.others().count() == 1).await;
    bob.hunt().await;
    let hit = |status: &Status| status.score("Bob").is_some_and(|score| score > 0);
    ann.wait("the hunter hits", HIT_WITHIN, hit).await;
    bob.rest().await;
    let before = bob.wait("the hunter knows", SETTLE_WITHIN, hit).await;
    (ann, bob, before)
}

/// Waits until both are in one game again, under the old code, as new peers and with the old scores.
async fn both_are_back(players: [&Player; 2], before: &Status) -> [Status; 2] {
    let is_back = |status: &Status| {
        let is_new = status.peer.is_some()
            && !before.members.iter().any(|each| Some(&each.peer) == status.peer.as_ref());
        is_new
            && status.members.len() == 2
            && status.member("Ann").is_ok()
            && status.member("Bob").is_ok()
            && status.score("Bob") >= before.score("Bob")
    };
    let mut back = Vec::new();
    for player in players {
        back.push(player.wait("both are back, with names and scores", JOIN_WITHIN, is_back).await);
    }
    let [first, second] = &back[..] else { panic!("two players") };
    assert_eq!((&first.host, first.term), (&second.host, second.term), "one game");
    [first.clone(), second.clone()]
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pages_that_reload_at_once_find_their_game_again() {
    let relay = Relay::start();
    let (ann, bob, before) = duel_with_a_hit(&relay).await;
    for _ in 0..2 {
        tokio::join!(ann.reload(), bob.reload());
        both_are_back([&ann, &bob], &before).await;
        relay.lists("TEA", SETTLE_WITHIN).await;
    }
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn game_is_founded_anew_after_all_tabs_were_closed() {
    let relay = Relay::start();
    let (ann, bob, before) = duel_with_a_hit(&relay).await;
    // The tabs open another page and come back later, as when a browser restarts and restores its tabs.
    for player in [&ann, &bob] {
        player.tab().ask("Page.navigate", serde_json::json!({ "url": "about:blank" })).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(relay.listed("TEA").is_none());
    for (player, name) in [(&bob, "Bob"), (&ann, "Ann")] {
        let page = relay.page(&format!("game=TEA&name={name}"));
        player.tab().ask("Page.navigate", serde_json::json!({ "url": page })).await;
    }
    both_are_back([&ann, &bob], &before).await;
    // A player who opens the link on another machine joins them.
    let cy = Visit::new(&relay, "game=TEA&name=Cy").open().await;
    cy.wait("all three are there", JOIN_WITHIN, |status| status.members.len() == 3).await;
    for player in [ann, bob, cy] {
        player.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn relay_that_lost_its_data_gets_its_players_back() {
    let mut relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let cy = Player::join(&relay, "game=TEA&name=Cy&path=relayed").await;
    let players = [&ann, &bob, &cy];
    let three = |status: &Status| status.members.len() == 3;
    let mut peers = Vec::new();
    for player in players {
        player.wait("all three are there", SETTLE_WITHIN, three).await;
        peers.push(player.peer().await);
    }
    let direct = |status: &Status| status.others().filter(|each| each.path == "direct").count() == 1;
    ann.wait("two are linked directly", SETTLE_WITHIN, direct).await;
    // A tab saves its state every five seconds.
    tokio::time::sleep(Duration::from_secs(6)).await;
    relay.kill();
    relay.restart_without_data();
    let is_back = |status: &Status| {
        three(status)
            && status.relay == "connected"
            && !status.members.iter().any(|each| peers.contains(&each.peer))
            && ["Ann", "Bob", "Cy"].iter().all(|name| status.member(name).is_ok())
    };
    let mut hosts = Vec::new();
    for player in players {
        hosts.push(player.wait("all are back", 2 * JOIN_WITHIN, is_back).await.host);
    }
    assert!(hosts.iter().all(|host| *host == hosts[0]), "{hosts:?}");
    relay.lists("TEA", SETTLE_WITHIN).await;
    for player in [ann, bob, cy] {
        player.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_keeps_its_office_when_its_network_comes_online() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let both = |status: &Status| status.others().count() == 1;
    let before = ann.wait("both are there", SETTLE_WITHIN, both).await;
    bob.wait("both are there", SETTLE_WITHIN, both).await;
    for _ in 0..3 {
        ann.tab().evaluate("dispatchEvent(new Event('online')), 0").await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        for player in [&ann, &bob] {
            let status = player.status().await;
            assert_eq!((&status.host, status.term), (&before.host, before.term), "{status}");
            assert_eq!(status.members.len(), 2, "{status}");
            assert_eq!(status.relay, "connected", "{status}");
        }
        assert_eq!(ann.status().await.peer, before.peer, "the same seat");
    }
    ann.finish().await;
    bob.finish().await;
}
