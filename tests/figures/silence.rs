//! The silence of a player when its path is cut, or its page is hidden for minutes.

use std::time::Duration;

use samovar_tests::network::Access;
use samovar_tests::pair::{ANN, BOB, Table, both, play, settle};
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::sampler::{self, median};
use samovar_tests::status::Status;
use samovar_tests::watch;

/// The longest time until a failed path is used again: the pause before the next attempt, and the attempt itself.
const BETTER_WITHIN: Duration = Duration::from_secs(45);

/// The time for which players are watched before an event, as the control.
const BEFORE: Duration = Duration::from_secs(6);

/// The longest additional silence of a player when the direct path is cut or healed, in milliseconds.
const FALLEN_WITHIN: f64 = 700.0;

/// The longest additional silence of a player, in milliseconds, when its router takes other ports.
const REBOUND_WITHIN: f64 = 4_000.0;

/// The longest additional silence of a player, in milliseconds, when its page is hidden. Links send a keep-alive
/// every 100 ms.
const HIDDEN_WITHIN: f64 = 900.0;

/// The time for which the page is hidden: browsers throttle more after a minute.
const HIDDEN_FOR: Duration = Duration::from_secs(75);

/// The longest silences since the time `since`, as each of the two players observed them.
async fn silences(pair: (&Player, &Player), since: f64) -> Vec<f64> {
    both(pair).await.iter().map(|watch| watch.silence(since)).collect()
}

/// Watches both for a while without an event, and returns their median silence.
async fn control(pair: (&Player, &Player)) -> f64 {
    let since = sampler::now();
    tokio::time::sleep(BEFORE).await;
    median(&silences(pair, since).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_path_is_replaced_within_700_ms() {
    let Some(table) = Table::set(Access::Near, Access::Near) else { return };
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    let control = control(pair).await;
    let cut = sampler::now();
    table.network.sever(&[ANN], &[BOB]);
    watch::paths_become(pair, &["relayedUdp", "relayed"], SETTLE_WITHIN).await;
    tokio::time::sleep(BEFORE).await;
    let down = silences(pair, cut).await;
    let healed = sampler::now();
    table.network.heal();
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    let up = silences(pair, healed).await;
    println!("silent for {down:.0?} ms on the way down, {up:.0?} up, {control:.0} before");
    assert!(median(&down) < FALLEN_WITHIN + control, "no hole on the way down");
    assert!(median(&up) < FALLEN_WITHIN + control, "no hole on the way up");
    settle(pair).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn player_with_new_ports_is_heard_again_within_4_s() {
    let Some(table) = Table::set(Access::Near, Access::Home) else { return };
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    let control = control(pair).await;
    let rebound = sampler::now();
    table.network.rebind(BOB);
    tokio::time::sleep(BEFORE).await;
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    let silences = silences(pair, rebound).await;
    println!("silent for {silences:.0?} ms, {control:.0} before");
    assert!(median(&silences) < REBOUND_WITHIN + control);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hidden_for_75_s_are_still_heard() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann").throttled().open().await;
    ann.joined().await;
    let bob = Visit::new(&relay, "game=TEA&name=Bob").throttled().open().await;
    bob.joined().await;
    let pair = (&ann, &bob);
    for (player, other) in [(&ann, "Bob"), (&bob, "Ann")] {
        let linked = |status: &Status| status.others().any(|other| other.path == "direct");
        player.wait("both are linked", JOIN_WITHIN, linked).await;
        watch::start(player, other).await;
    }
    let control = control(pair).await;
    ann.hide().await;
    bob.hide().await;
    let hidden = sampler::now();
    let mut silence = 0.0_f64;
    // A hidden page also throttles the observations that it makes by itself, so the test asks the page each time.
    samovar_tests::wait::throughout("both are members", HIDDEN_FOR, async || {
        for player in [&ann, &bob] {
            let status = player.status().await;
            if status.others().count() != 1 {
                return Err(status.to_string());
            }
            silence = status.others().filter_map(|each| each.silence_ms).fold(silence, f64::max);
        }
        Ok(())
    })
    .await;
    let hidden = sampler::now() - hidden;
    println!("silent for {silence:.0} ms in {hidden:.0}, {control:.0} before");
    assert!(silence < HIDDEN_WITHIN + control);
}
