//! A host puts a player out, by its mouse.

use std::time::{Duration, Instant};

use samovar_tests::player::{Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::wait;

const BUTTON: &str = "#put-out-list button";
/// Who hosts for so long has no page beside it that loads.
const CALM_FOR: Duration = Duration::from_secs(3);

type Named = (&'static str, Player);

/// Puts the host first: on a slow machine that may be another than the one who began, as pages that load
/// take its time.
async fn host_first(players: &mut [Named]) {
    let mut since = None;
    let host = wait::until("one hosts all, and goes on", SETTLE_WITHIN, async || {
        let mut hosts = Vec::new();
        for (index, (_, player)) in players.iter().enumerate() {
            let status = player.status().await;
            if status.members.len() != players.len() {
                return Err(status.to_string());
            }
            hosts.extend(status.is_host().then_some(index));
        }
        let former = since.take().filter(|(former, _)| *former == hosts);
        let (hosts, start) = since.insert(former.unwrap_or_else(|| (hosts, Instant::now())));
        let is_calm = hosts.len() == 1 && start.elapsed() >= CALM_FOR;
        if is_calm { Ok(hosts[0]) } else { Err(format!("{hosts:?} host")) }
    });
    let host = host.await;
    players.swap(0, host);
}

/// What the list of the host says, which is the first of these.
fn list(players: &[Named]) -> String {
    let mut others: Vec<_> = players[1..].iter().map(|(name, _)| *name).collect();
    others.sort_unstable();
    others.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_puts_a_player_out_at_the_second_press() {
    let relay = Relay::start();
    let mut players = Vec::new();
    for name in ["Ann", "Bob", "Cyd"] {
        let doing = if name == "Ann" { "new" } else { "game" };
        players.push((name, Player::join(&relay, &format!("{doing}=TEA&name={name}")).await));
    }
    host_first(&mut players).await;
    players[1..].sort_unstable_by_key(|(name, _)| *name);
    let [(host, ann), (name, bob), (_, cyd)] = &players[..] else { panic!("three play") };
    for player in [ann, bob] {
        player.hands().click("#session summary").await;
    }
    ann.wait_text("put-out-list", &list(&players)).await;
    bob.wait_text("put-out-list", "").await;
    ann.hands().click(BUTTON).await;
    let asks = list(&players).replacen(name, &format!("Put {name} out?"), 1);
    ann.wait_text("put-out-list", &asks).await;
    ann.screenshot("put-out").await;
    assert_eq!(bob.status().await.members.len(), 3, "the first press asks");
    ann.hands().click(BUTTON).await;
    bob.wait_text("curtain-title", "The host has put you out").await;
    bob.screenshot("was-put-out").await;
    for player in [ann, cyd] {
        player.wait("two play on", SETTLE_WITHIN, |status| status.members.len() == 2).await;
        player.wait_text("feed", &format!("{name} was put out by the host")).await;
    }
    // Who was put out does not come in again.
    bob.reload().await;
    bob.wait_text("curtain-title", "The host has put you out").await;
    // The other is a member, and loses nothing.
    cyd.reload().await;
    cyd.joined().await;
    ann.wait("two are there again", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    let (host, bob) = (*host, players.remove(1).1);
    host_first(&mut players).await;
    let [(_, ann), (name, cyd)] = &players[..] else { panic!("two play") };
    if players[0].0 != host {
        ann.hands().click("#session summary").await;
    }
    // On a screen so low that the panel must be scrolled.
    ann.hands().resize(800, 360).await;
    ann.hands().click(BUTTON).await;
    ann.wait_text("put-out-list", &format!("Put {name} out?")).await;
    ann.screenshot("put-out-low").await;
    ann.hands().click(BUTTON).await;
    cyd.wait_text("curtain-title", "The host has put you out").await;
    ann.wait_text("put-out-list", "").await;
    // The first who was put out hosts a table of its own.
    bob.hands().click("#curtain-buttons [data-action=create]").await;
    bob.joined().await;
    bob.finish().await;
    for (_, player) in players {
        player.finish().await;
    }
}
