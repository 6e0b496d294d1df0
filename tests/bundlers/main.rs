//! Pages of the package for JavaScript that other bundlers than Vite have built: part of `cargo xtask prove`.

use std::path::Path;
use std::time::Duration;

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::hands::Hands;
use samovar_tests::place::Place;
use samovar_tests::relay::Relay;
use samovar_tests::wait;

const WITHIN: Duration = Duration::from_secs(30);

async fn until(tab: &Tab, what: &str) {
    wait::until(what, WITHIN, async || match tab.try_evaluate(what).await? {
        serde_json::Value::Bool(true) => Ok(()),
        other => Err(format!("{other}\n{}", tab.console().join("\n"))),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_share_an_object_whatever_the_bundler() {
    let pages =
        std::env::var("SAMOVAR_BUNDLED").expect("`cargo xtask prove --only bundlers` builds the pages");
    let chromium = Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    for page in pages.split(':') {
        let relay = Relay::serving(Path::new(page));
        let (one, other) = (chromium.tab().await, chromium.tab().await);
        one.open(&format!("http://{}/", relay.address())).await;
        until(&one, "location.hash.length > 1").await;
        let link = one.evaluate("location.href").await;
        other.ask("Page.bringToFront", serde_json::json!({})).await;
        other.open(link.as_str().expect("a link")).await;
        until(&other, "document.body.textContent.includes(') (')").await;
        Hands::on(other.clone()).mouse("mouseMoved", (123.0, 45.0)).await;
        until(&other, "document.body.textContent.includes('(123,45)')").await;
        one.ask("Page.bringToFront", serde_json::json!({})).await;
        until(&one, "document.body.textContent.includes('(123,45)')").await;
        for tab in [one, other] {
            tab.ask("Page.close", serde_json::json!({})).await;
        }
        println!("{page}: two tabs share an object");
    }
}
