//! The whiteboard in browsers, drawn on with a mouse: the host is killed, a
//! painter reloads its page, and a painter comes late.

use std::time::Duration;

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::hands::Hands;
use samovar_tests::place::Place;
use samovar_tests::process::path_from;
use samovar_tests::relay::Relay;
use samovar_tests::wait;

/// The longest wait, long enough for slow machines.
const PATIENCE: Duration = Duration::from_secs(40);

/// Whether a place on the board, in shares of its sides, has ink near it.
const INK: &str = "(([x, y]) => {
  const board = document.getElementById('board');
  const [left, top] = [x * board.width - 8, y * board.height - 8];
  const part = board.getContext('2d').getImageData(left, top, 16, 16);
  return part.data.some((value, at) => at % 4 === 3 && value > 0);
})";

/// The place on the page for a place on the board. The latter is in shares of
/// the board's sides.
const PLACE: &str = "(([x, y]) => {
  const board = document.getElementById('board').getBoundingClientRect();
  return [board.x + x * board.width, board.y + y * board.height];
})";

/// A painter with a browser.
struct Painter {
    chromium: Chromium,
    tab: Tab,
    hands: Hands,
    name: &'static str,
}

impl Painter {
    /// Opens the link in a browser, and enters the board.
    async fn new(link: &str, name: &'static str) -> Self {
        let chromium =
            Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
        let tab = chromium.tab().await;
        let hands = Hands::on(tab.clone());
        let painter = Self { chromium, tab, hands, name };
        painter.tab.open(link).await;
        painter.enter().await;
        painter
    }

    /// Closes the tab, and opens the link in another one.
    async fn move_to_another_tab(&mut self, link: &str) {
        let next = self.chromium.tab().await;
        self.tab.ask("Page.close", serde_json::json!({})).await;
        (self.tab, self.hands) = (next.clone(), Hands::on(next));
        self.tab.open(link).await;
        self.enter().await;
    }

    async fn enter(&self) {
        self.until("the form is there", "document.readyState === 'complete' && document.getElementById('entry').checkVisibility()").await;
        self.hands.write("#name", self.name).await;
        // The page has read its program when it keeps the name.
        self.hands.click("#entry button").await;
        self.until(
            "it draws",
            "document.getElementById('members').textContent !== ''",
        )
        .await;
    }

    async fn until(&self, what: &str, is_so: &str) {
        let what = format!("{}: {what}", self.name);
        wait::until(&what, PATIENCE, async || {
            if self.tab.try_evaluate(is_so).await? == true {
                return Ok(());
            }
            let seen = self.tab.try_evaluate("document.body.innerText").await?;
            Err(format!("{seen}\n{}", self.tab.console().join("\n")))
        })
        .await;
    }

    /// Waits until the page names these painters and this host.
    async fn sees(&self, names: &[&str], host: &str) {
        let names = names.join(", ");
        let is_so = format!(
            "document.getElementById('members').textContent \
             === '{names} (host: {host})'"
        );
        self.until(&format!("{names} and {host}"), &is_so).await;
    }

    async fn sees_ink(&self, at: [f64; 2], is_there: bool) {
        let what = format!("ink at {at:?}: {is_there}");
        self.until(&what, &format!("{INK}({at:?}) === {is_there}")).await;
    }

    /// Draws a line with the mouse.
    async fn draw(&self, from: [f64; 2], to: [f64; 2]) {
        for step in 0..=20 {
            let share = f64::from(step) / 20.0;
            let [x, y] = [0, 1].map(|i| from[i] + share * (to[i] - from[i]));
            let place =
                self.tab.evaluate(&format!("{PLACE}([{x}, {y}])")).await;
            let [x, y] = [0, 1].map(|i| place[i].as_f64().expect("a place"));
            if step == 0 {
                self.hands.mouse("mousePressed", (x, y)).await;
            }
            self.hands.mouse("mouseMoved", (x, y)).await;
            if step == 20 {
                self.hands.mouse("mouseReleased", (x, y)).await;
            }
        }
    }
}

fn serve() -> Relay {
    let page = path_from("SAMOVAR_WHITEBOARD_DIR", "target/pages/whiteboard");
    Relay::serving(&page)
}

async fn link(painter: &Painter) -> String {
    let link = painter.tab.evaluate("location.href").await;
    let link = link.as_str().expect("an address").to_owned();
    assert!(link.contains('#'), "{link}");
    link
}

/// Breaks the page at its next frame, as a fault of the game would.
const BREAK: &str = "CanvasRenderingContext2D.prototype.clearRect = () => {
  throw new Error('planted');
}, null";

#[tokio::test(flavor = "multi_thread")]
async fn page_that_is_hidden_broken_or_closed_keeps_its_seat() {
    let relay = serve();
    let url = format!("http://{}/", relay.address());
    let mut ann = Painter::new(&url, "Ann").await;
    ann.sees(&["Ann"], "Ann").await;
    let link = link(&ann).await;
    let bob = Painter::new(&link, "Bob").await;
    bob.sees(&["Ann", "Bob"], "Ann").await;

    let other = ann.chromium.tab().await;
    bob.sees(&["Ann", "Bob"], "Bob").await;
    other.ask("Page.close", serde_json::json!({})).await;
    ann.tab.ask("Page.bringToFront", serde_json::json!({})).await;

    bob.tab.evaluate(BREAK).await;
    let told = "document.getElementById('status').textContent";
    bob.until("it says so", &format!("{told}.includes('by an error')")).await;
    ann.sees(&["Ann"], "Ann").await;
    bob.tab.evaluate("location.reload(), null").await;
    bob.enter().await;
    bob.sees(&["Ann", "Bob"], "Ann").await;

    ann.move_to_another_tab(&link).await;
    for painter in [&ann, &bob] {
        painter.sees(&["Ann", "Bob"], "Bob").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drawings_outlive_their_painters() {
    let relay = serve();
    let url = format!("http://{}/", relay.address());
    let mut ann = Painter::new(&url, "Ann").await;
    ann.sees(&["Ann"], "Ann").await;
    let link = &link(&ann).await;
    let bob = Painter::new(link, "Bob").await;
    let (first, second, third) = ([0.3, 0.3], [0.6, 0.6], [0.8, 0.2]);
    ann.draw([0.1, 0.3], [0.5, 0.3]).await;
    bob.draw([0.6, 0.4], [0.6, 0.8]).await;
    for painter in [&ann, &bob] {
        painter.sees_ink(first, true).await;
        painter.sees_ink(second, true).await;
        painter.sees_ink(third, false).await;
    }
    let cat = Painter::new(link, "Cat").await;
    cat.sees(&["Ann", "Bob", "Cat"], "Ann").await;
    cat.sees_ink(first, true).await;
    cat.sees_ink(second, true).await;

    ann.chromium.kill();
    cat.until(
        "another hosts",
        "!document.getElementById('members').textContent.includes('host: Ann')",
    )
    .await;
    cat.draw([0.7, 0.2], [0.9, 0.2]).await;
    for painter in [&bob, &cat] {
        for place in [first, second, third] {
            painter.sees_ink(place, true).await;
        }
    }

    // A reload brings a painter back to the same seat.
    bob.tab.open(link).await;
    bob.tab.evaluate("location.reload(), null").await;
    bob.enter().await;
    bob.sees_ink(first, true).await;
    let names = "document.getElementById('members').textContent.split(' (')[0]";
    cat.until("two painters", &format!("{names} === 'Bob, Cat'")).await;

    cat.hands.click("#wipe").await;
    for painter in [&bob, &cat] {
        for place in [first, second, third] {
            painter.sees_ink(place, false).await;
        }
    }
    bob.draw([0.1, 0.3], [0.5, 0.3]).await;
    cat.sees_ink(first, true).await;
    for painter in [&bob, &cat] {
        let failures = painter.tab.failures();
        assert!(failures.is_empty(), "{}: {failures:?}", painter.name);
    }
}
