//! The page of `orders`, used with a mouse: what each order lets go wrong, also
//! when the host is killed.

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::hands::Hands;
use samovar_tests::place::Place;
use samovar_tests::process::path_from;
use samovar_tests::relay::Relay;
use samovar_tests::wait;

use crate::frames::PATIENCE;

/// Whether all is right in a play.
#[derive(Clone, Copy)]
enum Right {
    Always,
    Never,
    Perhaps,
}

/// Waits until the page shows, for each play, its order and whether all was
/// right in it.
async fn shows(tab: &Tab, what: &str, expected: &[(&str, Right)]) {
    const SHOWN: &str = "[...document.querySelectorAll('article')].map(play =>
      [play.querySelector('h2').textContent, play.className === 'right'])";
    wait::until(what, PATIENCE, async || {
        let shown = tab.try_evaluate(SHOWN).await?;
        let plays = shown.as_array().ok_or("no list")?;
        let is_expected = plays.len() == expected.len()
            && plays.iter().zip(expected).all(|(play, (order, right))| {
                let is_right = &play[1];
                play[0] == *order
                    && match right {
                        Right::Always => is_right == true,
                        Right::Never => is_right == false,
                        Right::Perhaps => is_right.is_boolean(),
                    }
            });
        if is_expected { Ok(()) } else { Err(shown.to_string()) }
    })
    .await;
}

/// Moves the slider with the mouse to a share of its way.
async fn slide(tab: &Tab, hands: &Hands, share: f64) {
    let place = tab
        .evaluate(
            "(({x, y, width, height}) => [x, y + height / 2, width])(
               document.getElementById('lag').getBoundingClientRect())",
        )
        .await;
    let [x, y, width] = [0, 1, 2].map(|i| place[i].as_f64().expect("a place"));
    let place = (x + 2.0 + (width - 4.0) * share, y);
    hands.mouse("mousePressed", place).await;
    hands.mouse("mouseReleased", place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_order_allows_the_anomalies_that_it_is_known_for() {
    let page = path_from("SAMOVAR_ORDERS_DIR", "target/pages/orders");
    let relay = Relay::serving(&page);
    let chromium =
        Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let tab = chromium.tab().await;
    let hands = Hands::on(tab.clone());
    tab.open(&format!("http://{}/", relay.address())).await;
    use Right::{Always, Never, Perhaps};
    // As received, in causal and in total order, and by time.
    let scenes = [
        ("tank", [Never, Always, Always, Always]),
        ("pilots", [Never, Never, Always, Always]),
        ("target", [Never, Never, Never, Always]),
        ("diversion", [Never, Never, Never, Always]),
    ];
    let expect = |right: [Right; 4]| {
        let orders = ["as received", "causal", "total", "by time"];
        orders.into_iter().zip(right).collect::<Vec<_>>()
    };
    let races = [("as received", Never), ("in lockstep", Always)];
    for is_killed in [false, true] {
        if is_killed {
            hands.click("#kill").await;
        }
        let host_changes = "document.querySelectorAll('.host').length > 0";
        for (scene, right) in scenes {
            hands.click(&format!("label:has([value={scene}])")).await;
            let what = format!("{scene}, host killed: {is_killed}");
            // A change of host lets messages wait. They can then arrive in the
            // right order by chance.
            let right = right.map(|right| match right {
                Never if is_killed => Perhaps,
                right => right,
            });
            shows(&tab, &what, &expect(right)).await;
            assert_eq!(tab.evaluate(host_changes).await, is_killed, "{what}");
        }
        hands.click("label:has([value=pacmen])").await;
        shows(&tab, "the pacmen", &races).await;
    }
    // Without a slow path nothing is wrong.
    slide(&tab, &hands, 0.0).await;
    shows(&tab, "quick pacmen", &races.map(|race| (race.0, Always))).await;
    for (scene, _) in scenes {
        hands.click(&format!("label:has([value={scene}])")).await;
        shows(&tab, "quick paths", &expect([Always; 4])).await;
    }
    // A path that is too slow for the patience of the order by time.
    slide(&tab, &hands, 1.0).await;
    hands.click("#kill").await;
    shows(&tab, "too slow a path", &expect([Never; 4])).await;
    // The address is a link to the scene.
    let link = tab.evaluate("location.href").await;
    tab.open("about:blank").await;
    tab.open(link.as_str().expect("an address")).await;
    shows(&tab, "the scene of the link", &expect(scenes[3].1)).await;
    assert!(tab.failures().is_empty(), "{:?}", tab.failures());
}
