//! A relay on a machine with two addresses, whose UDP port listens on both.

use samovar_tests::bots::Bots;
use samovar_tests::network::Network;
use samovar_tests::player::{JOIN_WITHIN, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// The relay's second address, which it tells members.
const SECOND: &str = "10.77.0.201";
/// An address that no machine of the test has.
const NOBODYS: &str = "10.77.0.250";

/// Starts a relay that listens on `listens` and tells members the address `told`, and two robots that may not link
/// directly.
async fn robots(listens: &'static str, told: &'static str) -> Option<(Network, Relay, Bots)> {
    let network = match Network::open(2) {
        Ok(network) => network,
        Err(why) => {
            println!("SKIPPED, no network for the test: {why}");
            return None;
        }
    };
    network.add_address(0, SECOND.parse().expect("an address"));
    let relay = Relay::start_with(network.place(0), &["--udp", listens, "--public-address", told]);
    let (robots, _) = Bots::found_at(network.place(1), &relay, 2, "relayed").await;
    Some((network, relay, robots))
}

fn meet_by(path: &'static str) -> impl Fn(&[Status]) -> bool {
    move |all| {
        let meets =
            |status: &Status| status.others().count() == 1 && status.others().all(|other| other.path == path);
        all.len() == 2 && all.iter().all(meets)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_leave_from_the_address_that_was_asked() {
    // An IPv6 socket that takes IPv4 as well reports addresses in another way, so both kinds are tested.
    for listens in ["0.0.0.0:0", "[::]:0"] {
        let Some((_network, relay, mut robots)) = robots(listens, SECOND).await else { return };
        robots.wait("both have channels to the second address", JOIN_WITHIN, meet_by("relayedUdp")).await;
        let (_, metrics) = relay.get("/metrics").expect("the relay answers");
        assert!(metrics.contains("samovar_offers_total{outcome=\"opened\"} 2\n"), "{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_public_address_is_told_to_the_operator() {
    let Some((_network, relay, mut robots)) = robots("0.0.0.0:0", NOBODYS).await else { return };
    robots.wait("both play by their WebSockets", JOIN_WITHIN, meet_by("relayed")).await;
    wait::until("the log says what is wrong", 3 * SETTLE_WITHIN, async || {
        let said = relay.said();
        let is_told = said.contains(NOBODYS) && said.contains("is --public-address right?");
        if is_told { Ok(()) } else { Err(said) }
    })
    .await;
}
