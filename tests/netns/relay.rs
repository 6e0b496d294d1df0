//! The relay dies, freezes and comes back while robots play over direct links.

use std::time::{Duration, Instant};

use crate::table::{HEALED_WITHIN, RELAY, Table, agree};

/// Time enough for all to know that the relay is gone.
const KNOWN_WITHIN: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_majority_elects_when_the_relay_crashed_before_the_host() {
    let Some(mut table) = Table::set(4).await else { return };
    table.relay.kill();
    tokio::time::sleep(KNOWN_WITHIN).await;
    let since = Instant::now();
    table.kill(&[table.host]);
    let rest = table.all();
    table.succeeded("relay-crash-then-host-crash", &rest, since).await;
    table.plays(&rest).await;
    table.relay.restart();
    table.all_back("relay-crash-then-host-crash").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_majority_elects_when_relay_and_host_crash_at_once() {
    let Some(mut table) = Table::set(4).await else { return };
    let since = Instant::now();
    table.relay.kill();
    table.kill(&[table.host]);
    let rest = table.all();
    table.succeeded("relay-and-host-crash", &rest, since).await;
    table.plays(&rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn majority_elects_when_the_relay_froze_before_the_host() {
    let Some(mut table) = Table::set(4).await else { return };
    table.relay.pause();
    tokio::time::sleep(KNOWN_WITHIN).await;
    let since = Instant::now();
    table.kill(&[table.host]);
    let rest = table.all();
    table.succeeded("relay-frozen-then-host-crash", &rest, since).await;
    table.plays(&rest).await;
    table.relay.resume();
    table.all_back("relay-frozen-then-host-crash").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_relay_keeps_the_host_and_grants_the_next_term() {
    let Some(mut table) = Table::set(4).await else { return };
    let (host, term, all) = (table.host, table.term, table.all());
    table.relay.kill();
    tokio::time::sleep(Duration::from_secs(3)).await;
    table.relay.restart();
    let since = Instant::now();
    let after = table
        .wait("all are at the relay again", &all, since, HEALED_WITHIN, |all| {
            agree(all, all.len())?;
            let lost = all.iter().find(|status| status.relay != "connected");
            lost.map_or(Ok(()), |status| Err(format!("{:?} has no relay", status.peer)))
        })
        .await;
    println!("relay-restart: all were back after {} ms", since.elapsed().as_millis());
    assert_eq!((after[0].term, table.number_of(&after[0].host)), (term, host), "{}", after[0]);
    let since = Instant::now();
    table.kill(&[host]);
    let rest = table.all();
    table.succeeded("relay-restart-then-host-crash", &rest, since).await;
    table.plays(&rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_relay_rejects_a_host_that_was_replaced() {
    let Some(mut table) = Table::set(4).await else { return };
    let stale = table.host;
    let rest = table.all_but(&[stale]);
    let since = Instant::now();
    table.network.sever(&[stale], &[&rest[..], &[RELAY]].concat());
    table.succeeded("relay-restarts-with-stale-host", &rest, since).await;
    let term = table.term;
    table.relay.kill();
    // The replaced host is to meet the relay before any of the others.
    table.network.sever(&[RELAY], &rest);
    assert!(table.last(stale).is_some_and(|(_, status)| status.peer.is_some() && status.term < term));
    table.network.join(&[stale], &[RELAY]);
    table.relay.restart();
    let since = Instant::now();
    table
        .wait("it hears from the relay that it is no host", &[stale], since, HEALED_WITHIN, |all| {
            // The replaced host may have lost its membership already, and wait at the relay for the others.
            let knows = all[0].peer.is_none() || all[0].term >= term && !all[0].is_host();
            if knows { Ok(()) } else { Err("it does not".to_owned()) }
        })
        .await;
    table.heal("relay-restarts-with-stale-host").await;
    assert_ne!(table.host, stale);
}
