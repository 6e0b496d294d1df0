//! A visit to the page: the address, the browser and its settings, before the page is opened.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::chromium::{Chromium, Patience};
use crate::flaky::Flaky;
use crate::hands::{Hands, KEEP_AUDIO};
use crate::place::Place;
use crate::player::Player;
use crate::relay::Relay;

/// A visit to the page, about to begin.
#[derive(Debug)]
pub struct Visit<'a> {
    /// Host and port that the page is opened from.
    address: &'a str,
    query: String,
    place: Place,
    patience: Patience,
    flags: Vec<&'static str>,
    scripts: Vec<String>,
    watch_requests: bool,
    is_phone: bool,
    is_drawn: bool,
    beside: Option<&'a Player>,
}

/// Empties WebGL's calls that fill a picture: a page that draws in software needs most of a processor for them, and a
/// second one then stands still for longer than its host may.
const UNDRAWN: &str = r"
for (const name of ['clear', 'drawArrays', 'drawElements', 'drawArraysInstanced', 'drawElementsInstanced']) {
  WebGL2RenderingContext.prototype[name] = () => {};
}";

/// Tells the page that the player knows that others see its network address. Has no effect where a test wants to be
/// asked, or the player has chosen otherwise.
const KNOWS_OF_ADDRESS: &str = "try { localStorage.getItem('samovar.address') ?? localStorage.setItem('samovar.address', 'shown') } catch {}";

impl<'a> Visit<'a> {
    /// A visit with this query. The page works as usual, and the browser fills no picture: see [`Visit::drawn`].
    #[must_use]
    pub fn new(relay: &'a Relay, query: &str) -> Self {
        let query = if query.is_empty() { "low".to_owned() } else { format!("{query}&low") };
        // Scores are kept for the whole test: no match ends, and only hits count.
        let founds = query.split('&').any(|pair| pair == "new" || pair.starts_with("new="));
        let says_stakes = ["points=", "minutes=", "bowls="].iter().any(|key| query.contains(key));
        let query = match founds && !says_stakes && !query.contains("mode=maze") {
            true => format!("{query}&points=0&minutes=0&bowls=0"),
            false => query,
        };
        Self {
            address: relay.address(),
            query,
            place: Place::here(),
            patience: Patience::Endless,
            flags: Vec::new(),
            scripts: vec![KEEP_AUDIO.to_owned(), KNOWS_OF_ADDRESS.to_owned()],
            watch_requests: false,
            is_phone: false,
            // Every test draws when pictures are wanted.
            is_drawn: std::env::var_os("SAMOVAR_SCREENSHOTS").is_some(),
            beside: None,
        }
    }

    /// In another tab of this player's browser, which shows it from then on.
    #[must_use]
    pub const fn beside(mut self, player: &'a Player) -> Self {
        self.beside = Some(player);
        self
    }

    /// With the picture that a person would see, the cheap one.
    #[must_use]
    pub const fn drawn(mut self) -> Self {
        self.is_drawn = true;
        self
    }

    /// At this place.
    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        self.place = place.clone();
        self
    }

    /// In a browser that throttles invisible pages, as browsers do.
    #[must_use]
    pub const fn throttled(mut self) -> Self {
        self.patience = Patience::Usual;
        self
    }

    /// In a private window.
    #[must_use]
    pub fn privately(mut self) -> Self {
        self.flags.push("--incognito");
        self
    }

    /// With a script that runs before the page's own, at each load.
    #[must_use]
    pub fn with_script(mut self, script: &str) -> Self {
        self.scripts.push(script.to_owned());
        self
    }

    /// As a player who does not know yet that others see the network address.
    #[must_use]
    pub fn unaware(mut self) -> Self {
        self.scripts.retain(|script| script != KNOWS_OF_ADDRESS);
        self
    }

    /// From another server of the page, at this host and port.
    #[must_use]
    pub const fn from(mut self, address: &'a str) -> Self {
        self.address = address;
        self
    }

    /// By a proxy before the relay.
    #[must_use]
    pub fn through(mut self, flaky: &'a Flaky) -> Self {
        self.address = flaky.address();
        self
    }

    /// On a phone: a small upright screen that is touched.
    #[must_use]
    pub const fn on_a_phone(mut self) -> Self {
        self.is_phone = true;
        self
    }

    /// Notes all network requests of the page.
    #[must_use]
    pub const fn watching_requests(mut self) -> Self {
        self.watch_requests = true;
        self
    }

    /// Starts a browser and opens the page in it. It does not wait for the game.
    ///
    /// # Panics
    /// Starting or opening fails.
    pub async fn open(self) -> Player {
        let Self { address, query, place, patience, flags, mut scripts, beside, .. } = self;
        let Self { watch_requests, is_phone, is_drawn, .. } = self;
        if !is_drawn {
            // First: a test's own scripts may wrap these calls.
            scripts.insert(0, UNDRAWN.to_owned());
        }
        let chromium = match beside {
            Some(player) => Arc::clone(&player.chromium),
            None => Arc::new(Chromium::launch(&place, patience, &flags).await),
        };
        // Only the loopback is a secure origin without a certificate.
        if place == Place::here() {
            chromium.grant_microphone(&format!("http://{address}")).await;
        }
        let tab = chromium.tab().await;
        if watch_requests {
            tab.ask("Network.enable", json!({})).await;
        }
        if is_phone {
            let screen = json!({ "width": 360, "height": 640, "deviceScaleFactor": 1, "mobile": true });
            tab.ask("Emulation.setDeviceMetricsOverride", screen).await;
            let touch = json!({ "enabled": true, "maxTouchPoints": 5 });
            tab.ask("Emulation.setTouchEmulationEnabled", touch).await;
        }
        for source in scripts {
            tab.ask("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source })).await;
        }
        let hands = Hands::on(tab.clone());
        let player = Player { chromium, tab, hands, last: Mutex::default() };
        player.tab.open(&format!("http://{address}/?{query}")).await;
        player
    }
}
