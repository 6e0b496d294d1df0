//! A person in the game: a browser of its own, with the page in it, and the person's views and acts.

mod visit;

pub use visit::Visit;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::chromium::{Chromium, Tab};
use crate::hands::Hands;
use crate::relay::Relay;
use crate::status::{Id, Status};
use crate::wait;

/// The longest time from the opening of a page until it is in the game. The browser compiles, connects, and draws in
/// software while others do the same.
pub const JOIN_WITHIN: Duration = Duration::from_secs(60);

/// The longest time until any other condition is met that depends on some packets.
pub const SETTLE_WITHIN: Duration = Duration::from_secs(20);

/// A browser with the page in it. Dropping this closes the browser, and after a failure prints the page's console.
#[derive(Debug)]
pub struct Player {
    chromium: Arc<Chromium>,
    tab: Tab,
    hands: Hands,
    last: Mutex<String>,
}

impl Player {
    /// Opens the page with this query and waits until it is in a game.
    ///
    /// # Panics
    /// The page does not get into a game.
    pub async fn join(relay: &Relay, query: &str) -> Self {
        let player = Visit::new(relay, query).open().await;
        player.joined().await;
        player
    }

    /// Waits until the page is in a game, with a host and itself among the members, and shows it to the person.
    ///
    /// # Panics
    /// The page does not get into a game.
    pub async fn joined(&self) -> Status {
        let is_in = |status: &Status| status.host.is_some() && status.members.iter().any(|each| each.is_self);
        let status = self.wait("the page is in the game", JOIN_WITHIN, is_in).await;
        wait::until("the page shows the game", SETTLE_WITHIN, async || {
            let screen = self.tab.try_evaluate("document.body.dataset.screen").await?;
            if screen == "game" { Ok(()) } else { Err(screen.to_string()) }
        })
        .await;
        status
    }

    /// The browser, which no other player may have a tab in.
    fn own_browser(&mut self) -> &mut Chromium {
        Arc::get_mut(&mut self.chromium).expect("a browser with one player")
    }

    /// The tab.
    #[must_use]
    pub const fn tab(&self) -> &Tab {
        &self.tab
    }

    /// The hands on that tab.
    #[must_use]
    pub const fn hands(&self) -> &Hands {
        &self.hands
    }

    /// Waits until the page's audio runs, as it does after the player's first act.
    ///
    /// # Panics
    /// The audio does not run in time.
    pub async fn hears(&self) {
        wait::until("sound runs", SETTLE_WITHIN, async || {
            let states = self.audio().await?;
            if states == "running" { Ok(()) } else { Err(states) }
        })
        .await;
    }

    /// The states of the page's audio contexts, with commas between.
    ///
    /// # Errors
    /// The page cannot be asked.
    pub async fn audio(&self) -> Result<String, String> {
        let states = self.tab.try_evaluate("window.__audio.map(each => each.state).join()").await?;
        Ok(states.as_str().unwrap_or_default().to_owned())
    }

    /// The result of `samovar.status()`.
    ///
    /// # Errors
    /// A text, while the page is not ready to be asked.
    pub async fn try_status(&self) -> Result<Status, String> {
        let asked = self.tab.try_evaluate("window.samovar ? samovar.status() : null").await?;
        let status = if asked.is_null() { Err(self.page_text().await) } else { Status::read(&asked) };
        let shown = status.as_ref().map_or_else(Clone::clone, ToString::to_string);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        status
    }

    /// The result of `samovar.status()`.
    ///
    /// # Panics
    /// The page cannot be asked.
    pub async fn status(&self) -> Status {
        self.try_status().await.expect("a page that can be asked")
    }

    /// Waits until the status is as wanted and returns it.
    ///
    /// # Panics
    /// The status is not as wanted in time. The message has the last one.
    pub async fn wait(&self, what: &str, within: Duration, wanted: impl Fn(&Status) -> bool) -> Status {
        wait::until(what, within, async || match self.try_status().await {
            Ok(status) if wanted(&status) => Ok(status),
            // Out of a game the page shows the lobby, or a curtain with the reason.
            Ok(status) if status.host.is_none() => Err(format!("{status}; {}", self.page_text().await)),
            Ok(status) => Err(status.to_string()),
            Err(error) => Err(error),
        })
        .await
    }

    /// The peer behind this page.
    ///
    /// # Panics
    /// The page is in no game.
    pub async fn peer(&self) -> Id {
        self.status().await.peer.expect("in a game")
    }

    /// Sets the controls, which stay so until another call.
    ///
    /// # Panics
    /// The page cannot be asked.
    pub async fn drive(&self, throttle: f64, turn: f64, fire: bool) {
        let controls = json!({ "throttle": throttle, "turn": turn, "fire": fire });
        self.tab.evaluate(&format!("samovar.input({controls}), null")).await;
    }

    /// Hunts: drives at the nearest other teapot and throws when that teapot is ahead, until the page is left or
    /// [`Player::rest`] is called.
    ///
    /// # Panics
    /// The page cannot be asked.
    pub async fn hunt(&self) {
        self.tab.evaluate(HUNT).await;
    }

    /// Releases the controls.
    ///
    /// # Panics
    /// The page cannot be asked.
    pub async fn rest(&self) {
        self.tab
            .evaluate(
                "clearInterval(window.__hunt), samovar.input({throttle: 0, turn: 0, fire: false}), null",
            )
            .await;
    }

    /// Leaves the game as a script would.
    ///
    /// # Panics
    /// The page cannot be asked.
    pub async fn leave(&self) {
        self.tab.evaluate("samovar.leave(), null").await;
    }

    /// Reloads the page, like a person who presses F5.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn reload(&self) {
        self.hands.forget();
        self.tab.ask("Page.reload", json!({})).await;
    }

    /// Goes back or forward by `steps` pages of the tab's history, as the browser's own buttons do.
    ///
    /// # Panics
    /// There is no such page.
    pub async fn go(&self, steps: i64) {
        self.hands.forget();
        // While one page replaces another, the tab has no page.
        let history = wait::until("the tab has a page", SETTLE_WITHIN, async || {
            self.tab.try_ask("Page.getNavigationHistory", json!({})).await
        })
        .await;
        let index = history["currentIndex"].as_i64().and_then(|index| usize::try_from(index + steps).ok());
        let entry = index.map(|index| &history["entries"][index]["id"]);
        let entry = entry.unwrap_or_else(|| panic!("no page {steps} steps away in {history}"));
        self.tab.ask("Page.navigateToHistoryEntry", json!({ "entryId": entry })).await;
    }

    /// Waits until the page's address names the table. The page writes that with its next frame, and before that
    /// *Back* leads elsewhere.
    ///
    /// # Panics
    /// The address does not name the table in time.
    pub async fn notes_its_table(&self) {
        wait::until("the address names the table", SETTLE_WITHIN, async || {
            let address = self.tab.try_evaluate("location.search").await?.to_string();
            if address.contains("game=") { Ok(()) } else { Err(address) }
        })
        .await;
    }

    /// The text that a person can see in the element with this id, without the marks that isolate names. Empty if the
    /// element is hidden.
    ///
    /// # Panics
    /// The page cannot be asked.
    pub async fn text(&self, id: &str) -> String {
        self.try_text(id).await.expect("the page can be asked")
    }

    /// The text as [`Player::text`] gives it, for a page that may be loading.
    async fn try_text(&self, id: &str) -> Result<String, String> {
        let script =
            format!("(e => e && e.checkVisibility() ? e.innerText : '')(document.getElementById('{id}'))");
        let text = self.tab.try_evaluate(&script).await?;
        Ok(text.as_str().unwrap_or_default().trim().replace(['\u{2068}', '\u{2069}'], ""))
    }

    /// Waits until the element with this id shows this text.
    ///
    /// # Panics
    /// The element does not show it in time. The message has the text that it shows instead.
    pub async fn wait_text(&self, id: &str, wanted: &str) {
        wait::until(&format!("#{id} shows {wanted:?}"), JOIN_WITHIN, async || {
            let text = self.try_text(id).await?;
            if text.contains(wanted) { Ok(()) } else { Err(format!("{text:?}; {}", self.page_text().await)) }
        })
        .await;
    }

    /// Waits until the dialog with this id is closed.
    ///
    /// # Panics
    /// The dialog stays open. The message has the last clicks, if the page records them.
    pub async fn wait_closed(&self, id: &str) {
        wait::until(&format!("#{id} is closed"), SETTLE_WITHIN, async || {
            let look = format!(
                "{{ const dialog = document.getElementById({id:?}), button = dialog.querySelector('button.main');
                dialog.open && JSON.stringify([window.__clicks, button.getBoundingClientRect(), innerWidth, innerHeight]) }}"
            );
            match self.tab.try_evaluate(&look).await? {
                open if open == false => Ok(()),
                open => Err(open.to_string()),
            }
        })
        .await;
    }

    /// Opens another tab in front of this one, so that the page is not visible any more.
    ///
    /// # Panics
    /// The page does not become hidden.
    pub async fn hide(&self) {
        drop(self.chromium.tab().await);
        self.wait_visibility("hidden").await;
    }

    /// Brings the page to the front again.
    ///
    /// # Panics
    /// The page does not become visible.
    pub async fn show(&self) {
        self.tab.ask("Page.bringToFront", json!({})).await;
        self.wait_visibility("visible").await;
    }

    /// Makes the browser report a nearly empty battery. A test machine has no battery. The browser gives every script
    /// of a page the same object, so the test can change it.
    ///
    /// # Panics
    /// The browser reports no batteries.
    pub async fn drain_battery(&self) {
        let drain = "navigator.getBattery().then(battery => {
            Object.defineProperty(battery, 'charging', { value: false });
            Object.defineProperty(battery, 'level', { value: 0.04 });
            return battery.level;
        })";
        assert_eq!(self.tab.evaluate(drain).await, 0.04);
    }

    async fn wait_visibility(&self, wanted: &str) {
        wait::until(&format!("the page is {wanted}"), SETTLE_WITHIN, async || {
            let state = self.tab.evaluate("document.visibilityState").await;
            if state == wanted { Ok(()) } else { Err(state.to_string()) }
        })
        .await;
    }

    /// Makes the browser hide and freeze the page, as it does with long hidden tabs, or wakes it up, still hidden.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn set_frozen(&self, is_frozen: bool) {
        let state = if is_frozen { "frozen" } else { "active" };
        self.tab.ask("Page.setWebLifecycleState", json!({ "state": state })).await;
    }

    /// Keeps the page's thread busy for this time, as a slow machine does. A host is silent meanwhile.
    ///
    /// # Panics
    /// The page cannot be asked.
    pub async fn stall(&self, time: Duration) {
        let stall = format!(
            "{{ const end = performance.now() + {}; while (performance.now() < end) {{}} }} null",
            time.as_millis()
        );
        self.tab.evaluate(&stall).await;
    }

    /// Closes the tab as a person would.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn close(&self) {
        self.tab.ask("Page.close", json!({})).await;
    }

    /// Stops the browser's processes, as when a laptop is closed.
    pub fn fall_asleep(&mut self) {
        self.own_browser().pause();
    }

    /// Lets the browser's processes go on.
    pub fn wake_up(&mut self) {
        self.own_browser().resume();
    }

    /// Kills the browser at once, by `SIGKILL`.
    pub fn kill(&mut self) {
        self.own_browser().kill();
    }

    /// Ends the visit.
    ///
    /// # Panics
    /// There was an uncaught failure, which the message names, or the page stands still.
    pub async fn finish(self) {
        self.lives().await;
        self.has_not_failed().await;
    }

    /// Checks for failures. The page may be closed by now.
    ///
    /// # Panics
    /// There was an uncaught failure, which the message names.
    pub async fn has_not_failed(&self) {
        // When this answer has arrived, the page's earlier events have arrived, too.
        self.tab.try_evaluate("0").await.ok();
        let failures = self.tab.failures();
        assert!(failures.is_empty(), "the page of {:?} failed: {failures:#?}", self.last);
    }

    /// Waits until the page has drawn further pictures of the game. If it is in no game, waits until its script
    /// answers and the browser draws it.
    ///
    /// # Panics
    /// The page is frozen.
    pub async fn lives(&self) {
        self.tab.ask("Page.bringToFront", json!({})).await;
        self.tab.evaluate("new Promise(requestAnimationFrame)").await;
        let before = self.wait("the page can be asked", SETTLE_WITHIN, |_| true).await;
        let draws = |status: &Status| status.frames != before.frames || status.members.is_empty();
        self.wait("the page draws further pictures", SETTLE_WITHIN, draws).await;
    }

    /// Writes a picture of the page to the directory in `SAMOVAR_SCREENSHOTS`, if that is set. Makes the directory if
    /// need be.
    ///
    /// # Panics
    /// The file cannot be written.
    pub async fn screenshot(&self, name: &str) {
        if let Some(directory) = std::env::var_os("SAMOVAR_SCREENSHOTS") {
            let picture = self.tab.screenshot().await;
            let directory = std::path::PathBuf::from(directory);
            let file = directory.join(format!("{name}.png"));
            let written = std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&file, picture));
            written.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }

    /// The whole visible text of the page.
    async fn page_text(&self) -> String {
        let text = self.tab.try_evaluate("document.body ? document.body.innerText : ''").await;
        let text = text.map_or_else(|error| error, |text| text.as_str().unwrap_or_default().to_owned());
        format!("the page shows {:?}", text.chars().take(400).collect::<String>())
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!(
                "--- a page's last status: {}",
                self.last.lock().unwrap_or_else(PoisonError::into_inner)
            );
            self.tab.console().iter().for_each(|line| println!("    console {line}"));
        }
    }
}

/// Makes a page hunt. The heading is the direction of the velocity in the status, so a resting teapot has to drive
/// first.
const HUNT: &str = r"
clearInterval(window.__hunt);
window.__hunt = setInterval(() => {
  const status = samovar.status();
  const pots = status.objects.filter(each => each.kind === 'teapot' && each.position);
  const mine = pots.filter(each => each.owner === status.peer);
  // A player who came back drives the teapot of its former peer; a host has those of its robots, too.
  const own = mine.find(each => each.id.startsWith(status.peer)) ?? (mine.length === 1 ? mine[0] : null);
  if (!own) return;
  const away = each => Math.hypot(each.position[0] - own.position[0], each.position[1] - own.position[1]);
  const target = pots.filter(each => each.id !== own.id).sort((a, b) => away(a) - away(b))[0];
  if (!target) { samovar.input({throttle: 0.5, turn: 0.3, fire: false}); return; }
  const speed = Math.hypot(own.velocity[0], own.velocity[1]);
  if (speed < 0.3) { samovar.input({throttle: 1, turn: 0.5, fire: false}); return; }
  const heading = Math.atan2(own.velocity[1], own.velocity[0]);
  const bearing = Math.atan2(target.position[1] - own.position[1], target.position[0] - own.position[0]);
  const off = Math.atan2(Math.sin(bearing - heading), Math.cos(bearing - heading));
  samovar.input({throttle: 0.5, turn: Math.max(-1, Math.min(1, 2 * off)), fire: Math.abs(off) < 0.2 && away(target) < 9});
}, 60), null";
