//! The ages of the other players' moves, in the status and as a chart in the page (`?stats`).

use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// Clocks of two members agree within this, in milliseconds.
const CLOCKS_AGREE: f64 = 30.0;

#[tokio::test(flavor = "multi_thread")]
async fn page_shows_how_old_the_others_moves_are() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann&stats").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    ann.wait("Bob is there", JOIN_WITHIN, |status| status.others().count() == 1).await;
    let before = ann.status().await.ages.expect("the ages in a duel");
    assert_eq!(before.applied.samples, 0, "a player at rest sends nothing new");
    bob.drive(1.0, 0.6, false).await;
    let moves = |status: &Status| status.ages.as_ref().is_some_and(|ages| ages.applied.samples > 60);
    let status = ann.wait("Bob's moves arrive", SETTLE_WITHIN, moves).await;
    ann.wait_text("stats-text", "ms on the screen").await;
    let line = "document.getElementById('stats-applied').points.length";
    assert!(ann.tab().evaluate(line).await.as_u64() > Some(1), "the chart has a line");
    assert!(!bob.text("stats-text").await.contains("ms"), "only who asks for it sees it");
    let ages = status.ages.expect("the ages in a duel");
    println!("{ages:?}");
    let mean = |age: f64, of: &str| assert!((-CLOCKS_AGREE..1_000.0).contains(&age), "{of}: {ages:?}");
    for (stage, of) in [(&ages.sent, "sent"), (&ages.received, "received"), (&ages.drawn, "drawn")] {
        mean(stage.mean_ms.expect("there are samples"), of);
        assert!(stage.p99_ms >= stage.p50_ms && stage.samples > 0, "{of}: {ages:?}");
    }
    let [sent, received] = [&ages.sent, &ages.received].map(|stage| stage.mean_ms.expect("samples"));
    assert!(received + CLOCKS_AGREE >= sent, "nothing arrives before it is sent: {ages:?}");
    ann.finish().await;
    bob.finish().await;
}
