//! Players that come and go while hosts crash or leave.

use std::time::{Duration, Instant};

use crate::table::Table;

#[tokio::test(flavor = "multi_thread")]
async fn player_that_joins_while_hosts_crash_gets_in() {
    let Some(mut table) = Table::set_with(3, 3).await else { return };
    for round in 1..=3 {
        table.come();
        // The host is killed at first before the newcomer has reached it, and later while it admits the newcomer.
        tokio::time::sleep(Duration::from_millis(150 * round)).await;
        table.kill(&[table.host]);
        table.all_back(&format!("rolling-joins, round {round}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_players_go_on_when_all_others_leave_at_once() {
    let Some(mut table) = Table::set(6).await else { return };
    let mut rest = table.all_but(&[table.host, table.backup]);
    rest.truncate(2);
    let since = Instant::now();
    table.leave(&table.all_but(&rest)).await;
    table.succeeded("mass-leave", &rest, since).await;
    table.plays(&rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_leaves_hands_over_to_its_backup() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, backup) = (table.host, table.backup);
    let since = Instant::now();
    table.leave(&[host]).await;
    let rest = table.all();
    let statuses = table.succeeded("hand-over", &rest, since).await;
    assert_eq!(table.host, backup);
    for status in statuses {
        let last = status.migrations.last().expect("noted");
        assert_eq!(last.cause, "handover", "{status}");
    }
    table.plays(&rest).await;
}
