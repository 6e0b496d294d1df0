//! The host closes its page while another is still joining.

use std::time::Duration;

use samovar_tests::player::{Player, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;

/// The relay waits five seconds for a host that is loaded anew. The rest is for a busy machine.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn newcomer_plays_though_the_host_closes_its_page() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    // While Ann's page is busy it answers nobody, so that Bob's page cannot get in yet.
    let busy = ann.stall(Duration::from_secs(4));
    let come = async {
        let bob = Visit::new(&relay, "game=TEA&name=Bob").open().await;
        bob.wait_text("curtain", "Joining TEA").await;
        ann.close().await;
        bob
    };
    let (bob, ()) = tokio::join!(come, busy);
    let is_alone = |status: &Status| status.is_host() && status.members.len() == 1;
    bob.wait("Bob plays at the table", BEGINS_WITHIN, is_alone).await;
    bob.joined().await;
    bob.finish().await;
}
