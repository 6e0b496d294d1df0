//! Pages at a table that a referee beside the relay hosts.

use samovar_tests::place::Place;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;

#[tokio::test(flavor = "multi_thread")]
async fn pages_show_the_referee_as_host_and_not_as_a_player() {
    for (more, topology) in [(&["--referee"][..], "mesh"), (&["--referee", "--by-host"], "byHost")] {
        let relay = Relay::start_with(&Place::here(), more);
        relay.lists("REFEREE", SETTLE_WITHIN).await;
        let ann = Player::join(&relay, "game=REFEREE&name=Ann").await;
        let bob = Player::join(&relay, "game=REFEREE&name=Bob").await;
        for player in [&ann, &bob] {
            let seated = |status: &samovar_tests::status::Status| {
                status.members.len() == 4 && status.objects_of("teapot").count() == 3
            };
            let status = player.wait("both sit, and a robot", JOIN_WITHIN, seated).await;
            assert!(status.member("The relay").is_ok_and(|referee| referee.is_spectator), "{status}");
            assert_eq!(status.topology, topology);
            player.wait_text("session-summary", "Host: The relay").await;
            let rows = player.tab().evaluate("document.querySelectorAll('#scores > li').length").await;
            assert_eq!(rows, 3, "{}", player.text("scores").await);
            assert!(!player.text("scores").await.contains("The relay"));
        }
        ann.screenshot(&format!("referee-{topology}")).await;
        ann.finish().await;
        bob.finish().await;
    }
}
