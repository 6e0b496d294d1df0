//! The package for JavaScript as a program sees it: `packages/js/tests`.

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::place::Place;
use samovar_tests::relay::Relay;
use samovar_tests::wait;
use std::time::Duration;

use crate::js_player;

const WITHIN: Duration = Duration::from_secs(90);

/// A page of the example, without its game.
async fn page(chromium: &Chromium, relay: &Relay) -> Tab {
    let tab = chromium.tab().await;
    tab.open(&format!("http://{}/blank.html", relay.address())).await;
    tab
}

/// Evaluates an asynchronous expression, and returns its result as a text.
async fn run(tab: &Tab, expression: &str) -> String {
    let call = format!(
        "window.done = undefined, (async () => {expression})().then(\
         (value) => (window.done = String(value)), \
         (why) => (window.done = 'failed: ' + why.stack)), null"
    );
    tab.evaluate(&call).await;
    wait::until(expression, WITHIN, async || {
        match tab.try_evaluate("window.done").await? {
            serde_json::Value::String(text) => Ok(text),
            _ => Err(tab.console().join("\n")),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn package_keeps_its_promises_to_a_program() {
    let relay = js_player::relay();
    let chromium =
        Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let tab = page(&chromium, &relay).await;
    let failures = run(&tab, "(await import('/tests/api.js')).run()").await;
    assert_eq!(failures, "", "{}", tab.console().join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn inlined_package_fetches_no_wasm() {
    let relay = js_player::relay();
    let chromium =
        Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let tab = page(&chromium, &relay).await;
    let wrong = run(&tab, "(await import('/tests/inlined.js')).run()").await;
    assert_eq!(wrong, "", "{}", tab.console().join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn world_is_the_same_in_two_pages_and_outlives_its_host() {
    let relay = js_player::relay();
    let mut first =
        Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let second = Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let play = |code: &str, name: &str| {
        format!("(await import('/tests/api.js')).play('{code}', '{name}')")
    };
    let ann = page(&first, &relay).await;
    let code = run(&ann, &play("", "Ann")).await;
    let bob = page(&second, &relay).await;
    assert_eq!(run(&bob, &play(&code, "Bob")).await, code);
    // Each sets an input, and rests after it took effect.
    for (tab, input) in [(&ann, 3), (&bob, 4)] {
        let set = format!("w.input = {{ by: {input} }}, null");
        tab.evaluate(&set).await;
        wait::until("an input", WITHIN, async || {
            let sum = tab.try_evaluate("w.world.sums[w.me.seat] ?? 0").await?;
            (sum.as_u64() > Some(20)).then_some(()).ok_or(sum.to_string())
        })
        .await;
        tab.evaluate("w.input = { by: 0 }, null").await;
    }
    let sums = async |tab: &Tab| {
        let sums = tab
            .try_evaluate(
                "w.world.rest > 20 ? JSON.stringify(w.world.sums) : ''",
            )
            .await?;
        Ok::<_, String>(sums.as_str().unwrap_or_default().to_owned())
    };
    wait::until("the same world", WITHIN, async || {
        let (one, other) = (sums(&ann).await?, sums(&bob).await?);
        (one == other && !one.is_empty())
            .then_some(())
            .ok_or(format!("{one} {other}"))
    })
    .await;
    // Both hear all messages, and in the order of all the same list.
    for tab in [&ann, &bob] {
        tab.evaluate("talk(), null").await;
    }
    wait::until("all messages in each order", WITHIN, async || {
        let (one, other) = (
            ann.try_evaluate("heard").await?,
            bob.try_evaluate("heard").await?,
        );
        let count = |heard: &serde_json::Value, order: &str| {
            heard[order].as_array().map_or(0, Vec::len)
        };
        let all = ["causal", "total", "stable", "time"];
        // A causal message does not come back to its sender.
        let is_all = all.iter().all(|it| {
            let wanted = if *it == "causal" { 3 } else { 6 };
            count(&one, it) == wanted && count(&other, it) == wanted
        });
        let is_same =
            one["total"] == other["total"] && one["stable"] == other["stable"];
        (is_all && is_same).then_some(()).ok_or(format!("{one} {other}"))
    })
    .await;
    let before = sums(&bob).await.expect("a world");
    first.kill();
    wait::until("the world goes on", WITHIN, async || {
        let hosts = bob.try_evaluate("w.me.isHost && w.members.length").await?;
        let now = sums(&bob).await?;
        (hosts == 1 && now == before)
            .then_some(())
            .ok_or(format!("{hosts} {now}"))
    })
    .await;
    let mine = "w.world.sums[w.me.seat]";
    let sum = bob.evaluate(mine).await;
    bob.evaluate("w.input = { by: 9 }, null").await;
    wait::until("steps under the new host", WITHIN, async || {
        let more = bob.try_evaluate(&format!("{mine} - {sum}")).await?;
        (more.as_u64() >= Some(90)).then_some(()).ok_or(more.to_string())
    })
    .await;
    assert_eq!(bob.evaluate("w.worldDiffered").await, 0);
}

/// The figures of the guide: `cargo xtask test --only end-to-end` prints them.
#[tokio::test(flavor = "multi_thread")]
async fn moving_objects_cost_few_bytes_and_little_time() {
    let relay = js_player::relay();
    let cost = |code: &str, name: &str, count: u32| {
        format!(
            "(await import('/tests/cost.js')).run('{code}', '{name}', {count}, 4)"
        )
    };
    let place = Place::here();
    for count in [1, 20] {
        let [first, second] =
            [(); 2].map(|()| Chromium::launch(&place, Patience::Endless, &[]));
        let (first, second) = (first.await, second.await);
        let ann = page(&first, &relay).await;
        let code = run(&ann, &cost("", "Ann", 0)).await;
        let bob = page(&second, &relay).await;
        let figures = run(&bob, &cost(&code, "Bob", count)).await;
        println!("{figures}");
        let wanted = format!("{count} objects: ");
        assert!(figures.starts_with(&wanted), "{figures}");
        let bytes = figures[wanted.len()..].split(' ').next();
        let bytes: u32 = bytes.and_then(|it| it.parse().ok()).expect("bytes");
        let most = 1_000 + 300 * count;
        assert!((1..most).contains(&bytes), "{figures}");
    }
}
