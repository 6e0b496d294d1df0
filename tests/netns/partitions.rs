//! Cuts through the network, and the state after they have healed.

use std::time::{Duration, Instant};

use crate::table::{HEALED_WITHIN, RELAY, Table, agree};

#[tokio::test(flavor = "multi_thread")]
async fn majority_goes_on_without_its_host_and_takes_it_back() {
    let Some(mut table) = Table::set(5).await else { return };
    let minority = vec![table.host, table.all_but(&[table.host, table.backup])[0]];
    let majority = table.all_but(&minority);
    let since = Instant::now();
    table.network.sever(&minority, &[&majority[..], &[RELAY]].concat());
    table.succeeded("partition-with-host-in-minority", &majority, since).await;
    table.plays(&majority).await;
    table.plays_apart(&minority).await;
    table.heal("partition-with-host-in-minority").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn majority_elects_a_host_without_the_relay() {
    let Some(mut table) = Table::set(5).await else { return };
    let minority = vec![table.host, table.all_but(&[table.host, table.backup])[0]];
    let majority = table.all_but(&minority);
    table.relay.kill();
    // Time enough for all to know that the relay is gone.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let since = Instant::now();
    table.network.sever(&minority, &majority);
    table.succeeded("partition-without-relay", &majority, since).await;
    table.plays(&majority).await;
    table.plays_apart(&minority).await;
    table.relay.restart();
    table.heal("partition-without-relay").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_hears_all_and_is_not_heard_is_succeeded() {
    let Some(mut table) = Table::set(4).await else { return };
    let host = table.host;
    let rest = table.all_but(&[host]);
    let since = Instant::now();
    table.network.cut(&[host], &[&rest[..], &[RELAY]].concat());
    table.succeeded("asymmetric-partition", &rest, since).await;
    // This comes first: after a while the host goes on alone, as each side of a duel does.
    table.is_suspended(&[host]).await;
    table.plays(&rest).await;
    table.heal("asymmetric-partition").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_link_is_relayed_and_deposes_no_host() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, term, all) = (table.host, table.term, table.all());
    let other = table.all_but(&[host, table.backup])[0];
    let since = Instant::now();
    table.network.sever(&[host], &[other]);
    table
        .wait("the packets go by the relay", &[other], since, HEALED_WITHIN, |all| {
            let relayed = all[0]
                .others()
                .any(|each| Some(&each.peer) == all[0].host.as_ref() && each.path == "relayed");
            if relayed { Ok(()) } else { Err("direct".to_owned()) }
        })
        .await;
    let since = Instant::now();
    let after =
        table.wait("nothing else has changed", &all, since, HEALED_WITHIN, |all| agree(all, all.len())).await;
    assert_eq!((after[0].term, table.number_of(&after[0].host)), (term, host), "{}", after[0]);
    table.plays(&all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn player_with_a_flapping_network_changes_no_host() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, term) = (table.host, table.term);
    let player = table.all_but(&[host, table.backup])[0];
    let others = [&table.all_but(&[player])[..], &[RELAY]].concat();
    for length in [200, 700, 1_500, 400, 2_500, 1_000] {
        table.network.sever(&[player], &others);
        tokio::time::sleep(Duration::from_millis(length)).await;
        table.network.heal();
        tokio::time::sleep(Duration::from_millis(1_700 - length / 2)).await;
    }
    table.all_back("flapping-link").await;
    assert_eq!((table.host, table.term), (host, term));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_isolated_players_succeeds_the_host() {
    let Some(mut table) = Table::set(5).await else { return };
    let rest = table.all_but(&[table.host]);
    table.network.sever(&rest, &rest);
    // Time enough for the players to miss each other, or to find the path by the relay.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let since = Instant::now();
    table.kill(&[table.host]);
    table.succeeded("two-claims-at-once", &rest, since).await;
    table.plays(&rest).await;
    table.heal("two-claims-at-once").await;
}
