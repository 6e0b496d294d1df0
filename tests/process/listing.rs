//! What the relay tells over HTTP.

use samovar_tests::bots::Bots;
use samovar_tests::player::SETTLE_WITHIN;
use samovar_tests::relay::Relay;
use samovar_tests::wait;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_is_healthy_and_serves_the_page() {
    let relay = Relay::start();
    assert_eq!(relay.get("/healthz"), Ok((200, "ok\n".to_owned())));
    assert_eq!(relay.get("/api/games"), Ok((200, "[]".to_owned())));
    let (status, body) = relay.get("/?game=TEA").expect("a page");
    assert!(status == 200 && body.contains("Dueling Teapots"), "{status} {body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_is_listed_while_somebody_plays_it() {
    let relay = Relay::start();
    let (robots, code) = Bots::found(&relay, 2, "relayed").await;
    let params = format!("{:016x}", samovar_duel::game::params());
    let expected = json!({
        "code": code, "players": 2, "capacity": 8, "host": "Bot 1", "open": true, "params": params
    });
    wait::until("the game is listed with both players", SETTLE_WITHIN, async || match relay.listed(&code) {
        Some(listed) if listed == expected => Ok(()),
        listed => Err(format!("{listed:?}")),
    })
    .await;
    drop(robots);
    wait::until("the game is listed no more", 3 * SETTLE_WITHIN, async || match relay.listed(&code) {
        None => Ok(()),
        Some(listed) => Err(listed.to_string()),
    })
    .await;
}
