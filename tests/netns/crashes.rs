//! Processes that end silently, and a cable that is pulled.

use std::time::Instant;

use crate::table::{RELAY, Table};

#[tokio::test(flavor = "multi_thread")]
async fn the_backup_succeeds_a_host_that_crashed() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, backup) = (table.host, table.backup);
    let since = Instant::now();
    table.kill(&[host]);
    let rest = table.all();
    table.succeeded("host-crash", &rest, since).await;
    assert_eq!(table.host, backup);
    table.plays(&rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_players_go_on_when_host_and_backup_crash() {
    let Some(mut table) = Table::set(5).await else { return };
    let since = Instant::now();
    table.kill(&[table.host, table.backup]);
    let rest = table.all();
    table.succeeded("host-and-backup-crash", &rest, since).await;
    table.plays(&rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn last_player_goes_on_when_all_others_crash_at_once() {
    let Some(mut table) = Table::set(5).await else { return };
    let last = table.all_but(&[table.host, table.backup])[0];
    let since = Instant::now();
    table.kill(&table.all_but(&[last]));
    table.succeeded("all-but-one-crash", &[last], since).await;
    table.plays(&[last]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_host_is_succeeded_until_one_player_is_left() {
    let Some(mut table) = Table::set(4).await else { return };
    for round in 1..=3 {
        let since = Instant::now();
        table.kill(&[table.host]);
        let rest = table.all();
        table.succeeded(&format!("host-after-host, round {round}"), &rest, since).await;
    }
    table.plays(&table.all()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_without_a_network_is_succeeded_and_plays_on_alone() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, backup) = (table.host, table.backup);
    let rest = table.all_but(&[host]);
    let since = Instant::now();
    table.network.sever(&[host], &[&rest[..], &[RELAY]].concat());
    table.succeeded("silent-death", &rest, since).await;
    assert_eq!(table.host, backup);
    table.plays(&rest).await;
    table.plays_apart(&[host]).await;
}
