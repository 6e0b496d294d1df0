//! The page loses its graphics, or the pixel ratio of the screen changes.

use samovar_tests::player::{SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::wait;
use serde_json::json;

/// Hides resize events from the page. In a real browser a change of the pixel ratio alone is no resize, but the
/// emulation reports one.
const NO_RESIZE: &str = "addEventListener('resize', event => event.stopImmediatePropagation(), true);";

#[tokio::test(flavor = "multi_thread")]
async fn page_says_that_graphics_are_lost_and_draws_again_later() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann&robots=1").drawn().open().await;
    ann.joined().await;
    let lose = "window.__lose = document.getElementById('scene').getContext('webgl2').getExtension('WEBGL_lose_context');
        __lose.loseContext(), null";
    ann.tab().evaluate(lose).await;
    ann.wait_text("curtain-title", "The picture is gone").await;
    ann.wait_text("curtain-buttons", "Load again").await;
    ann.screenshot("graphics-lost").await;
    assert!(ann.status().await.is_host(), "the game goes on");
    ann.tab().evaluate("__lose.restoreContext(), null").await;
    ann.wait_text("scores", "Ann").await;
    wait::until("the curtain is gone", SETTLE_WITHIN, async || {
        let text = ann.text("curtain").await;
        if text.is_empty() { Ok(()) } else { Err(text) }
    })
    .await;
    ann.tab().evaluate("__lose.loseContext(), null").await;
    ann.wait_text("curtain-title", "The picture is gone").await;
    ann.hands().click("#curtain-buttons [data-action=reload]").await;
    ann.wait_text("scores", "Ann").await;
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_says_that_graphics_came_back_broken() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "new=TEA&name=Ann&robots=1").open().await;
    ann.joined().await;
    let lose = "window.__lose = document.getElementById('scene').getContext('webgl2').getExtension('WEBGL_lose_context');
        WebGL2RenderingContext.prototype.createShader = () => null;
        __lose.loseContext(), null";
    ann.tab().evaluate(lose).await;
    ann.wait_text("curtain-title", "The picture is gone").await;
    ann.tab().evaluate("__lose.restoreContext(), null").await;
    ann.wait_text("curtain-title", "cannot draw the table").await;
    ann.hands().click("#curtain-buttons [data-action=reload]").await;
    ann.wait_text("scores", "Ann").await;
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_notices_a_new_pixel_ratio_at_the_same_size() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "").drawn().with_script(NO_RESIZE).on_a_phone().open().await;
    ann.wait_text("lobby", "Set a table").await;
    let width = async || {
        let width = ann.tab().evaluate("document.getElementById('scene').width").await;
        width.as_u64().unwrap_or_default()
    };
    let before = width().await;
    let screen = json!({ "width": 360, "height": 640, "deviceScaleFactor": 2, "mobile": true });
    ann.tab().ask("Emulation.setDeviceMetricsOverride", screen).await;
    wait::until("the picture has twice as many pixels", SETTLE_WITHIN, async || {
        let now = width().await;
        if now == 2 * before { Ok(()) } else { Err(format!("{now} after {before}")) }
    })
    .await;
    ann.finish().await;
}
