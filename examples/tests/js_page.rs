//! The example of the package for JavaScript in browsers, with a mouse: the
//! host is killed, and a page is loaded again.

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
const CURSORS: &str = "Object.fromEntries([...document.querySelectorAll('.cursor')].map((mark) =>
  [mark.textContent, [parseFloat(mark.style.left), parseFloat(mark.style.top)].map(Math.round)]))";

/// A player with a browser.
struct Player {
    _chromium: Chromium,
    tab: Tab,
    hands: Hands,
    name: &'static str,
}

impl Player {
    async fn new(relay: &Relay, code: &str, name: &'static str) -> Self {
        let chromium =
            Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
        let tab = chromium.tab().await;
        let hands = Hands::on(tab.clone());
        let link = format!("http://{}/?name={name}#{code}", relay.address());
        tab.open(&link).await;
        let player = Self { _chromium: chromium, tab, hands, name };
        player.until("it plays", "!!window.r?.me.isHere").await;
        player
    }

    async fn until(&self, what: &str, is_so: &str) {
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
    async fn reads(&self, text: &str) {
        let is_so = format!("points.textContent === '{text}'");
        self.until(text, &is_so).await;
    }

    /// Waits until the page shows these cursors at about these places.
    async fn shows(&self, cursors: &[(&str, [i32; 2])]) {
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
    async fn point(&self, [x, y]: [i32; 2]) {
        let size = self.tab.evaluate("[innerWidth, innerHeight]").await;
        let at = |axis: usize, percent: i32| {
            size[axis].as_f64().expect("a size") * f64::from(percent) / 100.0
        };
        self.hands.mouse("mouseMoved", (at(0, x), at(1, y))).await;
    }

    async fn click(&self, place: [i32; 2]) {
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

#[tokio::test(flavor = "multi_thread")]
async fn room_in_javascript_goes_on_when_its_host_is_killed() {
    let page = path_from("SAMOVAR_JS_DIR", "target/pages/js");
    let relay = Relay::serving(&page);
    let ann = Player::new(&relay, "", "Ann").await;
    let code = ann.tab.evaluate("r.code").await;
    let code = code.as_str().expect("a code").to_owned();
    let bob = Player::new(&relay, &code, "Bob").await;
    let cy = Player::new(&relay, &code, "Cy").await;
    ann.point([20, 20]).await;
    bob.point([80, 30]).await;
    cy.point([40, 70]).await;
    let all = [("Ann", [20, 20]), ("Bob", [80, 30]), ("Cy", [40, 70])];
    for player in [&ann, &bob, &cy] {
        player.shows(&all).await;
    }
    // A long message arrives whole, an error of a listener stops nothing, and
    // the state is told.
    let listens = "window.heard = []; window.states = 0;
        r.on('message', () => { throw Error('on purpose') });
        r.on('message', (from, text) => heard.push([from.name, text.length]));
        r.on('state', () => states++), null";
    for player in [&ann, &bob, &cy] {
        player.tab.evaluate(listens).await;
    }
    let talk = "r.send('all', 'tea'); r.send('all', 'x'.repeat(9000)); r.send('host', 'hi'), null";
    bob.tab.evaluate(talk).await;
    let heard = |list: &str| format!("JSON.stringify(heard) === '{list}'");
    let all_but_one = r#"[["Bob",3],["Bob",9000]]"#;
    cy.until("the messages", &heard(all_but_one)).await;
    ann.until("its own, too", &heard(r#"[["Bob",3],["Bob",9000],["Bob",2]]"#))
        .await;
    for player in [&ann, &bob, &cy, &bob] {
        player.click([50, 50]).await;
    }
    for player in [&ann, &bob, &cy] {
        player.reads("4 points; Ann hosts").await;
    }
    cy.until("the state was told", "states > 0 && states <= 4").await;
    // The asks of this moment are carried out, too, each once.
    for _ in 0..5 {
        bob.click([80, 30]).await;
    }
    drop(ann);
    bob.until("another host", "r.host?.name !== 'Ann' && r.term > 256").await;
    bob.click([80, 30]).await;
    for player in [&bob, &cy] {
        player
            .until("all asks", "points.textContent.startsWith('10 points')")
            .await;
    }
    // A page that is loaded again has its cursor and its place.
    bob.tab.ask("Page.reload", serde_json::json!({})).await;
    bob.until("it plays", "!!window.r?.me.isHere").await;
    bob.until("its own points", "r.state.points === 10").await;
    cy.until("one cursor each", &format!("!!({CURSORS}).Bob")).await;
    let makers = "r.members.length === 2 && document.querySelectorAll('.cursor').length >= 2";
    cy.until("Bob is back", makers).await;
}
