//! The moving picture of the README: two windows. The host's window is closed, and the duel goes on.
//!
//! `cargo xtask picture` makes it from the running page. The test proves that this works.

mod film;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::place::Place;
use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use serde_json::json;

use film::{Film, Frame};

/// Width and height of a window, in pixels.
const WINDOW: (u32, u32) = (480, 320);
/// The time for which both windows are shown, and then the remaining one.
const BOTH: Duration = Duration::from_millis(3_500);
const ALONE: Duration = Duration::from_millis(5_500);
/// The time for which the last picture is shown before the film begins anew.
const LAST: Duration = Duration::from_millis(1_500);
/// The largest film for a README, in bytes.
const BYTES_MAX: usize = 3_000_000;

/// The content of a closed window.
const CLOSED: &str = "document.body.innerHTML = '<p>Ann was the host.<br>Her window is closed.</p>';
document.body.style = 'margin: 0; height: 100vh; display: grid; place-items: center; background: #2b1a12; color: #dcc6a8; \
font: 22px/1.5 Georgia, serif; text-align: center', null";

#[tokio::test(flavor = "multi_thread")]
async fn duel_goes_on_after_the_hosts_window_is_closed() {
    let relay = Relay::start();
    let blank = Chromium::launch(&Place::here(), Patience::Endless, &[]).await;
    let closed = window(&blank.tab().await).await;
    closed.evaluate(CLOSED).await;
    let ann = sit_down(&relay, "new=TEA&name=Ann&robots=1&points=0&minutes=0").await;
    let bob = sit_down(&relay, "game=TEA&name=Bob").await;
    bob.wait("all are there", SETTLE_WITHIN, |status| status.members.len() == 3).await;
    for player in [&ann, &bob] {
        player.hunt().await;
    }
    let mut film = Film::new(2 * WINDOW.0, WINDOW.1);
    let start = Instant::now();
    while start.elapsed() < BOTH {
        film.add(start.elapsed(), shot(ann.tab(), 0).await);
        film.add(start.elapsed(), shot(bob.tab(), WINDOW.0).await);
    }
    film.add(start.elapsed(), shot(&closed, 0).await);
    ann.close().await;
    while start.elapsed() < BOTH + ALONE {
        film.add(start.elapsed(), shot(bob.tab(), WINDOW.0).await);
    }
    let bytes = film.end(start.elapsed() + LAST);
    let status = bob.wait("Bob is the host", SETTLE_WITHIN, |status| status.is_host()).await;
    assert_eq!(status.members.len(), 2, "Bob and the robot: {status}");
    assert!(bytes.len() < BYTES_MAX, "the film has {} bytes", bytes.len());
    if let Some(path) = std::env::var_os("SAMOVAR_PICTURE").map(PathBuf::from) {
        std::fs::write(&path, &bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("{}: {} bytes", path.display(), bytes.len());
    }
    bob.finish().await;
}

async fn sit_down(relay: &Relay, query: &str) -> Player {
    let player = Visit::new(relay, query).drawn().open().await;
    window(player.tab()).await;
    player.joined().await;
    player
}

/// Gives a tab the size of a window of the film.
async fn window(tab: &Tab) -> Tab {
    let (width, height) = WINDOW;
    let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
    tab.ask("Emulation.setDeviceMetricsOverride", size).await;
    tab.clone()
}

/// A tab's present picture, `left` pixels from the left.
async fn shot(tab: &Tab, left: u32) -> Frame {
    let (width, height) = WINDOW;
    Frame { left, width, height, webp: tab.picture("webp", 60).await }
}
