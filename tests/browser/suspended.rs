//! A page whose own network is cut reports that. It does not say that the others are gone.

use samovar_tests::network::Network;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::Status;
use samovar_tests::wait;

const RELAY: usize = 0;
const ANN: usize = 1;
const BOB: usize = 2;

async fn join(network: &Network, relay: &Relay, place: usize, query: &str) -> Player {
    let player = Visit::new(relay, query).at(network.place(place)).open().await;
    player.joined().await;
    player
}

/// Cuts a player off from all others, and checks both pages until all is well again.
async fn cut_off(network: &Network, place: usize, (cut, name): (&Player, &str), other: &Player) {
    let (former, since) = (cut.peer().await, sampler::now());
    network.sever(&[place], &[RELAY, ANN + BOB - place]);
    cut.wait_text("scores", "out of reach").await;
    wait::until("the page says that its network is cut", SETTLE_WITHIN, async || {
        let (banner, summary) = (cut.text("banner").await, cut.text("session-summary").await);
        for said in [&banner, &summary] {
            assert!(!said.contains("host is gone"), "it is the one that is gone: {said}");
        }
        if summary.contains("network is cut") && banner.contains("network is cut") {
            return Ok(());
        }
        Err(format!("{banner:?} and {summary:?}"))
    })
    .await;
    println!("told that it is cut off: {:.0} ms", sampler::now() - since);
    let alone = |status: &Status| status.is_host() && status.suspension.is_none();
    cut.wait("it plays on alone", SETTLE_WITHIN, alone).await;
    // The page draws what the status tells in its next frame.
    cut.wait_text("banner", "You play on alone").await;
    cut.screenshot("cut-off").await;
    let goes_on = |status: &Status| status.is_host() && status.others().count() == 0;
    let after = other.wait("the other hosts without it", SETTLE_WITHIN, goes_on).await;
    network.heal();
    let back = |status: &Status| {
        status.peer.as_ref().is_some_and(|peer| *peer != former)
            && status.others().count() == 1
            && status.term == after.term
            && status.host == after.host
    };
    cut.wait("it is back, and the side that the relay knows is kept", JOIN_WITHIN, back).await;
    cut.wait_text("toasts", "What changed only here meanwhile does not count").await;
    let seen = |status: &Status| status.member(name).is_ok() && status.others().count() == 1;
    other.wait("the other sees it on its seat", SETTLE_WITHIN, seen).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_whose_network_is_cut_says_so() {
    let network = match Network::open(3) {
        Ok(network) => network,
        Err(why) => return println!("SKIPPED, no network for the test: {why}"),
    };
    let relay = Relay::start_at(network.place(RELAY));
    let ann = join(&network, &relay, ANN, "new=TEA&name=Ann&robots=1").await;
    let bob = join(&network, &relay, BOB, "game=TEA&name=Bob").await;
    for player in [&ann, &bob] {
        let ready = |status: &Status| status.others().count() == 1 && status.backup.is_some();
        player.wait("there is a backup", SETTLE_WITHIN, ready).await;
    }
    cut_off(&network, BOB, (&bob, "Bob"), &ann).await;
    // The host's page also reports that its network is cut.
    cut_off(&network, ANN, (&ann, "Ann"), &bob).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_is_cut_off_says_that_a_strict_game_waits() {
    let network = match Network::open(3) {
        Ok(network) => network,
        Err(why) => return println!("SKIPPED, no network for the test: {why}"),
    };
    let relay = Relay::start_at(network.place(RELAY));
    let ann = join(&network, &relay, ANN, "new=TEA&split=wait&name=Ann").await;
    let bob = join(&network, &relay, BOB, "game=TEA&name=Bob").await;
    let ready = |status: &Status| status.others().count() == 1 && status.backup.is_some();
    bob.wait("there is a backup", SETTLE_WITHIN, ready).await;
    network.sever(&[BOB], &[RELAY, ANN]);
    let waits = "Your network is cut. The game waits here until it is back.";
    wait::until("the page says that the game waits", SETTLE_WITHIN, async || {
        let banner = bob.text("banner").await;
        assert!(!banner.contains("alone"), "nobody plays on alone in a strict game: {banner}");
        if banner == waits { Ok(()) } else { Err(banner) }
    })
    .await;
    bob.screenshot("cut-off-and-paused").await;
    network.heal();
    let back = |status: &Status| status.suspension.is_none() && status.others().count() == 1;
    bob.wait("it is back", JOIN_WITHIN, back).await;
    wait::until("no banner is left", SETTLE_WITHIN, async || match bob.text("banner").await {
        banner if banner.is_empty() => Ok(()),
        banner => Err(banner),
    })
    .await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_left_by_the_host_of_a_game_that_ends_blames_no_network() {
    let network = match Network::open(3) {
        Ok(network) => network,
        Err(why) => return println!("SKIPPED, no network for the test: {why}"),
    };
    let relay = Relay::start_at(network.place(RELAY));
    let ann = join(&network, &relay, ANN, "new=TEA&ends=host&name=Ann").await;
    let bob = join(&network, &relay, BOB, "game=TEA&name=Bob").await;
    bob.wait("two play", SETTLE_WITHIN, |status| status.others().count() == 1).await;
    network.sever(&[ANN], &[RELAY, BOB]);
    wait::until("the game is over", SETTLE_WITHIN, async || {
        let (banner, summary) = (bob.text("banner").await, bob.text("session-summary").await);
        for said in [&banner, &summary] {
            assert!(!said.contains("network is cut"), "the host's is, and not this one's: {said}");
        }
        match bob.text("curtain-title").await {
            title if title == "The host is gone" => Ok(()),
            title => Err(format!("{banner:?}, {summary:?}, {title:?}")),
        }
    })
    .await;
    ann.finish().await;
    bob.finish().await;
}
