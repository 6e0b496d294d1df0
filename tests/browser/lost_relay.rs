//! The relay is killed while links are direct, and comes back.

use std::time::Duration;

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// The time of the duel without a relay: longer than any time-out of a link.
const WITHOUT: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn direct_duel_outlives_the_relay_and_admits_players_later() {
    let mut relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let direct =
        |status: &Status| status.others().count() == 1 && status.others().all(|each| each.path == "direct");
    for player in [&ann, &bob] {
        player.wait("the link is direct", SETTLE_WITHIN, direct).await;
        // A newcomer's teapot appears a moment after its player has joined.
        let are_both_there = |status: &Status| status.objects_of("teapot").count() == 2;
        player.wait("both teapots are there", SETTLE_WITHIN, are_both_there).await;
        // The teapots drive in circles, so they move at every moment.
        player.drive(0.7, 0.4, false).await;
    }
    let before = ann.status().await;
    relay.kill();
    for player in [&ann, &bob] {
        player.wait("the relay is missed", SETTLE_WITHIN, |status| status.relay == "lost").await;
        player.wait_text("banner", "The relay is gone").await;
    }
    ann.screenshot("lost-relay").await;
    for (player, other) in [(&ann, "Bob"), (&bob, "Ann")] {
        assert_other_moves(player, other).await;
    }
    let after = ann.status().await;
    assert_eq!((after.term, &after.host, &after.backup), (before.term, &before.host, &before.backup));

    relay.restart();
    for player in [&ann, &bob] {
        player.wait("the relay is back", SETTLE_WITHIN, |status| status.relay == "connected").await;
        wait::until("the banner is gone", SETTLE_WITHIN, async || {
            let text = player.text("banner").await;
            if text.is_empty() { Ok(()) } else { Err(text) }
        })
        .await;
    }
    relay.lists("TEA", SETTLE_WITHIN).await;
    let cy = Player::join(&relay, "game=TEA&name=Cy").await;
    for player in [&ann, &bob, &cy] {
        let complete = |status: &Status| status.members.len() == 3 && status.term == before.term;
        let status = player.wait("all three are members", SETTLE_WITHIN, complete).await;
        assert_eq!(status.host, before.host);
    }
    for player in [ann, bob, cy] {
        player.finish().await;
    }
}

/// Checks for a while that the other's teapot keeps moving.
async fn assert_other_moves(player: &Player, other: &str) {
    let status = player.status().await;
    let peer = status.member(other).expect("a member").peer.clone();
    let place = async || {
        let status = player.status().await;
        let teapot = status.objects_of("teapot").find(|object| object.owner == peer).cloned();
        teapot.ok_or_else(|| format!("{other} has no teapot in {status}"))
    };
    let start = std::time::Instant::now();
    while start.elapsed() < WITHOUT / 2 {
        let before = place().await.expect("a teapot");
        wait::until("the other moves", SETTLE_WITHIN, async || {
            let moved = place().await?.distance(&before);
            if moved > 0.5 { Ok(()) } else { Err(format!("{moved} since")) }
        })
        .await;
    }
}
