//! Pages learn their own address from their relay, and from no other server.

use samovar_tests::place::Place;
use samovar_tests::player::{JOIN_WITHIN, Player};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// The number of requests for an address that the relay has dropped as `unproven`. The relay does not answer a first
/// request, but counts it (docs/relay.md).
fn requests(relay: &Relay) -> Result<f64, String> {
    let (_, text) = relay.get("/metrics")?;
    let name = "samovar_datagrams_dropped_total{reason=\"unproven\"} ";
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.parse().ok()).ok_or_else(|| "it is not counted".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn page_asks_the_relays_udp_port_for_its_own_address() {
    let udp = ["--udp", "127.0.0.1:0", "--public-address", "127.0.0.1"];
    let relay = Relay::start_with(&Place::here(), &udp);
    let ann = Player::join(&relay, "new=TEA&name=Ann&robots=0").await;
    // A page's first connection is the one to the relay. The answer to it names the relay's UDP port.
    let has_port = async || {
        let (_, text) = relay.get("/metrics")?;
        let carries = text.contains("samovar_members{path=\"webrtc\"} 1");
        if carries { Ok(()) } else { Err("no data channels to the relay yet".to_owned()) }
    };
    wait::until("Ann has data channels to the relay", JOIN_WITHIN, has_port).await;
    assert_eq!(requests(&relay), Ok(0.0), "there is nobody to link to");
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let linked = |status: &Status| {
        status.others().count() == 1 && status.others().all(|member| member.path == "direct")
    };
    for player in [&ann, &bob] {
        player.wait("its link is direct", JOIN_WITHIN, linked).await;
    }
    let asked = async || match requests(&relay)? {
        0.0 => Err("nobody has asked".to_owned()),
        _ => Ok(()),
    };
    wait::until("the relay was asked for an address", JOIN_WITHIN, asked).await;
    ann.finish().await;
    bob.finish().await;
}
