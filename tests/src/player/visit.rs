//! A visit to the page: the address, the browser and its settings, before the page is opened.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::chromium::{Chromium, Patience};
use crate::flaky::Flaky;
use crate::hands::{Hands, KEEP_AUDIO};
use crate::place::Place;
use crate::player::Player;
use crate::relay::Relay;

/// A visit to the page that has not begun yet.
#[derive(Debug)]
pub struct Visit<'a> {
    /// The host and port from which the page is loaded.
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

/// Replaces WebGL's drawing calls by empty ones. A page that draws in software needs most of a processor for them,
/// and a second page then stands still for longer than a host may.
const UNDRAWN: &str = r"
for (const name of ['clear', 'drawArrays', 'drawElements', 'drawArraysInstanced', 'drawElementsInstanced']) {
  WebGL2RenderingContext.prototype[name] = () => {};
}";

/// Tells the page that the player knows that others see its network address. This has no effect if the page has
/// another choice in its storage.
const KNOWS_OF_ADDRESS: &str = "try { localStorage.getItem('samovar.address') ?? localStorage.setItem('samovar.address', 'shown') } catch {}";

impl<'a> Visit<'a> {
    /// A visit with this query. The page works as usual, but draws no picture unless [`Visit::drawn`] is called.
    #[must_use]
    pub fn new(relay: &'a Relay, query: &str) -> Self {
        let query = if query.is_empty() { "low".to_owned() } else { format!("{query}&low") };
        // Unless the query says otherwise, scores are kept for the whole test: no match ends, and only hits count.
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
            // If screenshots are wanted, all pages are drawn.
            is_drawn: std::env::var_os("SAMOVAR_SCREENSHOTS").is_some(),
            beside: None,
        }
    }

    /// Opens the page in another tab of this player's browser, which shows that tab from then on.
    #[must_use]
    pub const fn beside(mut self, player: &'a Player) -> Self {
        self.beside = Some(player);
        self
    }

    /// Draws the picture that a person would see, in its low quality.
    #[must_use]
    pub const fn drawn(mut self) -> Self {
        self.is_drawn = true;
        self
    }

    /// Runs the browser at this place.
    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        self.place = place.clone();
        self
    }

    /// Uses a browser that throttles invisible pages, as browsers do by default.
    #[must_use]
    pub const fn throttled(mut self) -> Self {
        self.patience = Patience::Usual;
        self
    }

    /// Opens the page in a private window.
    #[must_use]
    pub fn privately(mut self) -> Self {
        self.flags.push("--incognito");
        self
    }

    /// Adds a script that runs before the page's own, at each load.
    #[must_use]
    pub fn with_script(mut self, script: &str) -> Self {
        self.scripts.push(script.to_owned());
        self
    }

    /// Visits as a player who does not know yet that others see the network address.
    #[must_use]
    pub fn unaware(mut self) -> Self {
        self.scripts.retain(|script| script != KNOWS_OF_ADDRESS);
        self
    }

    /// Loads the page from another server, at this host and port.
    #[must_use]
    pub const fn from(mut self, address: &'a str) -> Self {
        self.address = address;
        self
    }

    /// Loads the page through a proxy in front of the relay.
    #[must_use]
    pub fn through(mut self, flaky: &'a Flaky) -> Self {
        self.address = flaky.address();
        self
    }

    /// Opens the page on a phone: a small upright screen that is touched.
    #[must_use]
    pub const fn on_a_phone(mut self) -> Self {
        self.is_phone = true;
        self
    }

    /// Records all network requests of the page.
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
            // This script comes first, because a test's own scripts may wrap these calls.
            scripts.insert(0, UNDRAWN.to_owned());
        }
        let chromium = match beside {
            Some(player) => Arc::clone(&player.chromium),
            None => Arc::new(Chromium::launch(&place, patience, &flags).await),
        };
        // Without a certificate only the loopback is a secure origin, which may get a microphone.
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
