//! A player of the example of the package for JavaScript: a browser with a mouse.

use std::time::Duration;

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::hands::Hands;
use samovar_tests::place::Place;
use samovar_tests::process::path_from;
use samovar_tests::relay::Relay;
use samovar_tests::wait;

/// The longest wait, long enough for slow machines.
const PATIENCE: Duration = Duration::from_secs(40);

/// The cursors on the page, each with its place in percent of the window.
pub(crate) const CURSORS: &str = "Object.fromEntries([...document.querySelectorAll('.cursor')].map((mark) =>
  [mark.textContent, [parseFloat(mark.style.left), parseFloat(mark.style.top)].map(Math.round)]))";

/// A player with a browser.
pub(crate) struct Player {
    pub(crate) chromium: Chromium,
    pub(crate) tab: Tab,
    hands: Hands,
    pub(crate) name: &'static str,
}

impl Player {
    pub(crate) async fn new(
        relay: &Relay,
        code: &str,
        name: &'static str,
    ) -> Self {
        let chromium =
            Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
        let tab = chromium.tab().await;
        let hands = Hands::on(tab.clone());
        let link = format!("http://{}/?name={name}#{code}", relay.address());
        tab.open(&link).await;
        let player = Self { chromium, tab, hands, name };
        player.until("it plays", "!!window.r?.me.isHere").await;
        player
    }

    pub(crate) async fn until(&self, what: &str, is_so: &str) {
        let what = format!("{}: {what}", self.name);
        wait::until(&what, PATIENCE, async || {
            if self.tab.try_evaluate(is_so).await? == true {
                return Ok(());
            }
            let cursors = self.tab.try_evaluate(CURSORS).await?;
            let seen = self.tab.try_evaluate("document.body.innerText").await?;
            let said = self.tab.console().join("\n");
            Err(format!("{cursors} {seen}\n{said}"))
        })
        .await;
    }

    /// Waits until the page shows this text.
    pub(crate) async fn reads(&self, text: &str) {
        let is_so = format!("points.textContent === '{text}'");
        self.until(text, &is_so).await;
    }

    /// Waits until the page shows these cursors at about these places.
    pub(crate) async fn shows(&self, cursors: &[(&str, [i32; 2])]) {
        let wanted: Vec<_> = cursors
            .iter()
            .map(|(name, [x, y])| {
                format!(
                    "Math.abs(all['{name}']?.[0] - {x}) < 3 && \
                     Math.abs(all['{name}']?.[1] - {y}) < 3"
                )
            })
            .collect();
        let is_so = format!(
            "(() => {{ const all = {CURSORS}; \
             return Object.keys(all).length === {} && {}; }})()",
            cursors.len(),
            wanted.join(" && ")
        );
        self.until(&format!("{cursors:?}"), &is_so).await;
    }

    /// Moves the mouse to a place in percent of the window.
    pub(crate) async fn point(&self, [x, y]: [i32; 2]) {
        let size = self.tab.evaluate("[innerWidth, innerHeight]").await;
        let at = |axis: usize, percent: i32| {
            size[axis].as_f64().expect("a size") * f64::from(percent) / 100.0
        };
        self.hands.mouse("mouseMoved", (at(0, x), at(1, y))).await;
    }

    pub(crate) async fn click(&self, place: [i32; 2]) {
        self.point(place).await;
        let size = self.tab.evaluate("[innerWidth, innerHeight]").await;
        let at = |axis: usize| {
            size[axis].as_f64().expect("a size") * f64::from(place[axis])
                / 100.0
        };
        let place = (at(0), at(1));
        self.hands.mouse("mousePressed", place).await;
        self.hands.mouse("mouseReleased", place).await;
    }
}

/// A relay that serves the example.
pub(crate) fn relay() -> Relay {
    Relay::serving(&path_from("SAMOVAR_JS_DIR", "target/pages/js"))
}

/// Three players in one room, of whom Ann has made it.
pub(crate) async fn three(relay: &Relay) -> [Player; 3] {
    let ann = Player::new(relay, "", "Ann").await;
    let code = ann.tab.evaluate("r.code").await;
    let code = code.as_str().expect("a code").to_owned();
    let bob = Player::new(relay, &code, "Bob").await;
    let cy = Player::new(relay, &code, "Cy").await;
    [ann, bob, cy]
}
