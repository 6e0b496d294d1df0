//! Pages in the background, in browsers that throttle their timers as browsers do.

use std::time::Duration;

use serde_json::json;
use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::Status;
use samovar_tests::wait;
use samovar_tests::watch;

/// How long the page is hidden.
const HIDDEN_FOR: Duration = Duration::from_secs(20);

/// Counts how often the page's timers run: one that asks for 5 ms, by itself and in a worker.
const COUNT: &str = r"
window.__ticks = [0, 0];
(function tick() { window.__ticks[0] += 1; setTimeout(tick, 5); })();
window.__worker = new Worker(URL.createObjectURL(new Blob(['(function tick() { postMessage(0); setTimeout(tick, 100); })()'])));
window.__worker.onmessage = () => window.__ticks[1] += 1, null";

async fn visit(relay: &Relay, query: &str) -> Player {
    let player = Visit::new(relay, query).throttled().open().await;
    player.joined().await;
    player
}

async fn ticks(player: &Player) -> Vec<f64> {
    let ticks = player.tab().evaluate("window.__ticks").await;
    serde_json::from_value(ticks).expect("two numbers")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hidden_pages_keep_their_link() {
    let relay = Relay::start();
    let path = std::env::var("EXP_PATH").unwrap_or_else(|_| "direct".into());
    let want = if path == "auto" {"direct".to_string()} else {path.clone()};
    let ann = visit(&relay, &format!("new=TEA&name=Ann&path={path}")).await;
    let bob = visit(&relay, &format!("game=TEA&name=Bob&path={path}")).await;
    let linked = |status: &Status| {
        status.others().count() == 1 && status.others().all(|other| other.path == want)
    };
    for player in [&ann, &bob] {
        player.wait("all are linked", JOIN_WITHIN, linked).await;
    }
    let peer = ann.peer().await;
    for player in [&ann, &bob] {
        player.tab().ask("Page.setBypassCSP", json!({"enabled": true})).await;
        player.tab().evaluate(COUNT).await;
        player.hide().await;
    }
    let since = sampler::now();
    let begun = ticks(&ann).await;
    wait::throughout("nobody is dropped", HIDDEN_FOR, async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for player in [&ann, &bob] {
        let status = player.status().await;
        let paths: Vec<_> = status.others().map(|o| (o.name.clone(), o.path.clone(), o.rtt_ms, o.silence_ms)).collect();
        println!("{:.0} {paths:?} {:?} {} {:?}", sampler::now() - since, ticks(player).await, status.role, status.migrations.len());
        }
        Ok(())
    })
    .await;
    let ended = ticks(&ann).await;
    println!("timers of the hidden page: {begun:?} {ended:?}");
    let after = bob.status().await;
    println!("{:?}", after.migrations);
    let _ = (peer, SETTLE_WITHIN);
    ann.finish().await;
    bob.finish().await;
}
