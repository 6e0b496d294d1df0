//! Processes that stand still for a while and then go on, as when a laptop's lid is closed and opened.

use std::time::{Duration, Instant};

use crate::table::Table;

/// The time for which a process sleeps.
const NAP: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn host_that_slept_comes_back_as_a_member() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, backup) = (table.host, table.backup);
    let rest = table.all_but(&[host]);
    let since = Instant::now();
    table.robot(host).pause();
    table.succeeded("sleeping-host-wakes", &rest, since).await;
    assert_eq!(table.host, backup);
    tokio::time::sleep(NAP.saturating_sub(since.elapsed())).await;
    table.robot(host).resume();
    table.all_back("sleeping-host-wakes").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn member_that_slept_comes_back_under_the_same_host() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, term) = (table.host, table.term);
    let sleeper = table.all_but(&[host, table.backup])[0];
    table.robot(sleeper).pause();
    tokio::time::sleep(NAP).await;
    table.robot(sleeper).resume();
    table.all_back("sleeping-member-wakes").await;
    assert_eq!((table.host, table.term), (host, term));
}
