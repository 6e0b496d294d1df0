//! Runs `trunk serve` as a developer does: trunk serves the page, and its proxies lead to a relay.

use std::path::PathBuf;
use std::time::Duration;

use samovar_tests::hands::Key;
use samovar_tests::place::Place;
use samovar_tests::player::{JOIN_WITHIN, Visit};
use samovar_tests::process::Process;
use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;
use samovar_tests::wait;

/// The relay's port and the page's address, as `Trunk.toml` and `CONTRIBUTING.md` have them.
const RELAY_PORT: u16 = 8081;
const PAGE: &str = "127.0.0.1:8080";
/// Time for a build of the page without optimisation, on a machine that has built nothing yet.
const BUILT_WITHIN: Duration = Duration::from_secs(900);

#[tokio::test(flavor = "multi_thread")]
async fn two_players_play_through_the_proxies_of_trunk() {
    let relay = Relay::start_on(RELAY_PORT);
    let dist = Scratch::new();
    // `cargo xtask prove` gives the path of trunk. Otherwise trunk is on `PATH`.
    let program = std::env::var_os("SAMOVAR_TRUNK").map_or_else(|| PathBuf::from("trunk"), PathBuf::from);
    let mut serve = Place::here().command(program);
    serve.args(["serve", "--offline", "--dist"]).arg(dist.path());
    serve.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    // Trunk accepts only "true" and "false" as values of `NO_COLOR`.
    serve.env_remove("NO_COLOR").env("TRUNK_SKIP_VERSION_CHECK", "true");
    let mut trunk = Process::start("trunk", &mut serve);
    wait::until("trunk serves the page", BUILT_WITHIN, async || {
        trunk.assert_running();
        match Relay::get_at(&Place::here(), PAGE, "/") {
            Ok((200, page)) if page.contains("_bg.wasm") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    let ann = Visit::new(&relay, "new=TEA&name=Ann").from(PAGE).open().await;
    ann.joined().await;
    // The list of games comes through the proxy for `/api/`.
    let bob = Visit::new(&relay, "").from(PAGE).open().await;
    bob.wait_text("lobby", "Set a table").await;
    bob.hands().write("#name", "Bob").await;
    bob.hands().click("#games [data-action=join]").await;
    bob.joined().await;
    for player in [&ann, &bob] {
        player.wait("both sit at the table", JOIN_WITHIN, |status| status.members.len() == 2).await;
    }
    bob.hands().tap_key(Key::W).await;
    for player in [ann, bob] {
        player.lives().await;
        player.finish().await;
    }
}
