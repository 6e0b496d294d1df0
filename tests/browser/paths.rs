//! The path between two players changes in the middle of a duel. The browsers run in network name spaces that the
//! test makes.

use std::time::Duration;

use samovar_tests::network::Access;
use samovar_tests::pair::{ANN, BOB, RELAY, Table, both, play, settle};
use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::status::Status;
use samovar_tests::wait;
use samovar_tests::watch;

/// The longest time until a failed path is used again: the pause before the next attempt, which doubles with each
/// failure, and the attempt itself.
const BETTER_WITHIN: Duration = Duration::from_secs(45);

/// Lets two players go on for four seconds. No message may arrive twice, and each must stay a member for the other.
async fn plays_on(pair: (&Player, &Player)) {
    wait::throughout("nothing came twice and both are there", Duration::from_secs(4), async || {
        watch::nothing_came_twice(pair).await;
        for player in [pair.0, pair.1] {
            let status = player.status().await;
            if status.others().count() != 1 {
                return Err(status.to_string());
            }
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duel_leaves_the_websocket_when_udp_gets_through() {
    let Some(table) = Table::set(Access::Near, Access::Near) else { return };
    table.network.block_udp(&[RELAY, ANN, BOB]);
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["relayed"], SETTLE_WITHIN).await;
    plays_on(pair).await;
    for watch in both(pair).await {
        assert_eq!(watch.path(), "relayed", "{:?}", watch.paths);
    }
    table.network.heal();
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    plays_on(pair).await;
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duel_takes_the_relay_while_its_direct_path_is_cut() {
    let Some(table) = Table::set(Access::Near, Access::Near) else { return };
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    plays_on(pair).await;
    table.network.sever(&[ANN], &[BOB]);
    watch::paths_become(pair, &["relayedUdp", "relayed"], SETTLE_WITHIN).await;
    plays_on(pair).await;
    table.network.heal();
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn player_whose_router_changes_ports_keeps_its_seat() {
    let Some(table) = Table::set(Access::Near, Access::Home) else { return };
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (peer, score) = (bob.peer().await, ann.status().await.score("Bob"));
    table.network.rebind(BOB);
    plays_on(pair).await;
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    let after = ann.status().await;
    let seated = after.member("Bob").expect("Bob sits");
    assert_eq!((&seated.peer, after.members.len()), (&peer, 2), "the same seat: {after}");
    assert!(Some(seated.score) >= score);
    for (player, name) in [(&ann, "ann"), (&bob, "bob")] {
        let connected = |status: &Status| status.relay == "connected";
        player.wait(&format!("{name} is at the relay"), SETTLE_WITHIN, connected).await;
    }
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_behind_two_home_routers_are_linked_directly() {
    let Some(table) = Table::set(Access::Home, Access::Home) else { return };
    behind_routers(&table, "direct").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_behind_two_strict_routers_are_relayed() {
    let Some(table) = Table::set(Access::StrictHome, Access::StrictHome) else { return };
    behind_routers(&table, "relayedUdp").await;
}

async fn behind_routers(table: &Table, path: &str) {
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &[path], BETTER_WITHIN).await;
    plays_on(pair).await;
    for watch in both(pair).await {
        assert_eq!(watch.path(), path, "{:?}", watch.paths);
    }
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}
