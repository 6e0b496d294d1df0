//! Pages in the background. The browsers throttle their timers as they do for real users: at first to one run a
//! second.

use std::time::Duration;

use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::{Id, Status};
use samovar_tests::wait;

/// The time for which the page is hidden while others play.
const HIDDEN_FOR: Duration = Duration::from_secs(15);

/// The time for which both pages of a game of two are hidden.
const BOTH_HIDDEN_FOR: Duration = Duration::from_secs(12);

/// The most runs a second of a hidden page's timer. If it runs more often, the browser does not throttle it, and the
/// test proves nothing.
const THROTTLED: f64 = 1.5;

/// Counts the runs of a page's timer that asks to run every 5 ms.
const COUNT: &str =
    "window.__ticks = 0; (function tick() { window.__ticks += 1; setTimeout(tick, 5); })(), null";

async fn visit(relay: &Relay, query: &str) -> Player {
    let player = Visit::new(relay, query).throttled().open().await;
    player.joined().await;
    player
}

async fn ticks(player: &Player) -> f64 {
    player.tab().evaluate("window.__ticks").await.as_f64().expect("a number")
}

fn linked(others: usize) -> impl Fn(&Status) -> bool {
    linked_by(others, "direct")
}

fn linked_by(others: usize, path: &str) -> impl Fn(&Status) -> bool {
    move |status| status.others().count() == others && status.others().all(|other| other.path == path)
}

/// Whether this player is still the same member.
fn sits(status: &Status, name: &str, peer: &Id) -> Result<(), String> {
    match status.member(name) {
        Ok(member) if member.peer == *peer => Ok(()),
        _ => Err(status.to_string()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_host_hands_over_and_stays_linked() {
    let relay = Relay::start();
    let ann = visit(&relay, "new=TEA&name=Ann").await;
    let bob = visit(&relay, "game=TEA&name=Bob").await;
    let mut robot = Bots::join(&relay, "TEA", "auto");
    for player in [&ann, &bob] {
        player.wait("all are linked", JOIN_WITHIN, linked(2)).await;
    }
    robot.wait("the robot is linked, too", JOIN_WITHIN, |all| all.iter().any(linked(2))).await;
    let peer = ann.peer().await;
    assert!(ann.status().await.is_host());
    ann.tab().evaluate(COUNT).await;
    ann.hide().await;
    // The host hands over to Bob, or to the robot if Bob's page is late at that moment.
    let succeeded =
        |status: &Status| status.host.as_ref().is_some_and(|host| *host != peer) && status.term > 256;
    bob.wait("the hidden host has handed over", SETTLE_WITHIN, succeeded).await;
    let begun = ticks(&ann).await;
    wait::throughout("the hidden page is a member", HIDDEN_FOR, async || {
        let status = bob.status().await;
        sits(&status, "Ann", &peer)?;
        robot.newest().iter().try_for_each(|status| sits(status, "Ann", &peer))
    })
    .await;
    let timers = (ticks(&ann).await - begun) / HIDDEN_FOR.as_secs_f64();
    assert!(timers < THROTTLED, "the browser throttles what nobody sees");
    let causes: Vec<_> = bob.status().await.migrations.iter().map(|each| each.cause.clone()).collect();
    assert_eq!(causes, ["handover"], "nobody was missed");
    ann.show().await;
    let still = ann.wait("it is linked as before", SETTLE_WITHIN, linked(2)).await;
    assert_eq!(still.peer, Some(peer));
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hidden_pages_alone_in_a_game_stay_linked() {
    let relay = Relay::start();
    let ann = visit(&relay, "new=TEA&name=Ann").await;
    let bob = visit(&relay, "game=TEA&name=Bob").await;
    stay_linked((ann, bob), "direct").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hidden_pages_stay_linked_over_the_websocket() {
    let relay = Relay::start();
    // Browsers throttle pages with data channels the least, so these pages have none.
    let ann = visit(&relay, "new=TEA&name=Ann&path=relayed").await;
    let bob = visit(&relay, "game=TEA&name=Bob&path=relayed").await;
    stay_linked((ann, bob), "relayed").await;
}

/// Hides both pages for a while, and checks that they stay members and linked.
async fn stay_linked((ann, bob): (Player, Player), path: &str) {
    for player in [&ann, &bob] {
        player.wait("both are linked", JOIN_WITHIN, linked_by(1, path)).await;
        player.tab().evaluate(COUNT).await;
    }
    let (one, other) = (ann.peer().await, bob.peer().await);
    ann.hide().await;
    bob.hide().await;
    let begun = ticks(&ann).await;
    wait::throughout("both are members and linked", BOTH_HIDDEN_FOR, async || {
        for player in [&ann, &bob] {
            let status = player.status().await;
            sits(&status, "Ann", &one)?;
            sits(&status, "Bob", &other)?;
        }
        Ok(())
    })
    .await;
    let timers = (ticks(&ann).await - begun) / BOTH_HIDDEN_FOR.as_secs_f64();
    assert!(timers < THROTTLED, "the browser throttles what nobody sees");
    for player in [&ann, &bob] {
        let status = player.status().await;
        assert!(linked_by(1, path)(&status), "{status}");
        assert!(status.migrations.iter().all(|each| each.cause == "handover"), "{:?}", status.migrations);
    }
    ann.finish().await;
    bob.finish().await;
}
