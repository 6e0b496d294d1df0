//! The relay's answers over HTTP.

use std::collections::BTreeSet;

use samovar_tests::bots::Bots;
use samovar_tests::place::Place;
use samovar_tests::player::SETTLE_WITHIN;
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
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
    let (mut robots, code) = Bots::found(&relay, 2, "relayed").await;
    let params = format!("{:016x}", samovar_duel::game::params());
    let hosts = |all: &[Status]| all.iter().any(Status::is_host);
    let all = robots.wait("one robot hosts", SETTLE_WITHIN, hosts).await;
    let host = &all.iter().find(|status| status.is_host()).expect("just seen").name;
    let expected = json!({
        "code": code, "players": 2, "capacity": 8, "host": host, "title": "", "open": true, "params": params
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

#[tokio::test(flavor = "multi_thread")]
async fn robots_of_two_processes_have_names_of_their_own() {
    let relay = Relay::start();
    let (first, code) = Bots::found(&relay, 2, "relayed").await;
    let mut second =
        Bots::start(&Place::here(), &relay, &["--game", &code, "--count", "2", "--path", "relayed"]);
    let four = |all: &[Status]| all.iter().any(|status| status.members.len() == 4);
    let all = second.wait("four robots play", SETTLE_WITHIN, four).await;
    let four = all.iter().find(|status| status.members.len() == 4).expect("just seen");
    let names: BTreeSet<_> = four.members.iter().map(|member| &member.name).collect();
    assert_eq!(names.len(), 4, "{four}");
    drop(first);
}
