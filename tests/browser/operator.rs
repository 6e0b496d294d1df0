//! The relay's operator puts players out and ends games, and the game's own server says who may enter.

use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use samovar_tests::place::Place;
use samovar_tests::player::{Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::scratch::Scratch;
use serde_json::{Value, json};

const SECRET: &str = "a secret of the game's own server, of enough bytes";

/// The number by which the operator calls a player.
async fn number_of(relay: &Relay, player: &Player) -> String {
    let status = player.status().await;
    let me = &status.members.iter().find(|member| member.is_self).expect("it is in").peer;
    let members = relay.order(&["members", "TEA"]);
    let all = members["members"].as_array().expect("members");
    // The operator sees decimal digits, and the page shows hexadecimal ones.
    let me = u32::from_str_radix(&me.to_string(), 16).expect("an id");
    assert!(all.iter().any(|member| member["member"] == me), "{me} is not in {members}");
    me.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_puts_players_out_and_ends_the_game() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let cyd = Player::join(&relay, "game=TEA&name=Cyd").await;
    ann.wait("all are there", SETTLE_WITHIN, |status| status.members.len() == 3).await;
    relay.order(&["kick", "TEA", &number_of(&relay, &bob).await]);
    bob.wait_text("curtain-title", "You were put out").await;
    for player in [&ann, &cyd] {
        player.wait("two play on", SETTLE_WITHIN, |status| status.members.len() == 2).await;
        player.wait_text("feed", "Bob was put out").await;
    }
    // Ann hosts. Cyd has a direct link to her, and plays on without her all the same.
    relay.order(&["kick", "TEA", &number_of(&relay, &ann).await]);
    ann.wait_text("curtain-title", "You were put out").await;
    ann.screenshot("put-out-by-operator").await;
    cyd.wait("Cyd hosts", SETTLE_WITHIN, |status| status.is_host() && status.members.len() == 1).await;
    // Bob comes back as a newcomer.
    bob.tab().open(&relay.page("game=TEA&name=Bob")).await;
    bob.joined().await;
    cyd.wait("Bob is back", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    relay.order(&["close", "TEA"]);
    for player in [&bob, &cyd] {
        player.wait_text("curtain-title", "You are not let in").await;
        assert!(player.text("curtain").await.contains("has ended the game"));
    }
    cyd.screenshot("ended-by-operator").await;
    cyd.reload().await;
    cyd.wait_text("curtain-title", "You are not let in").await;
    for player in [ann, bob, cyd] {
        player.finish().await;
    }
}

/// A token of the game's own server.
fn token(claims: &Value) -> String {
    let mut claims = claims.clone();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    claims["exp"] = json!(now + 300);
    let key = EncodingKey::from_secret(SECRET.as_bytes()).expect("a key");
    encode(&Header::new(Algorithm::HS256), &claims, &key).expect("a token")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_enters_by_a_token_in_its_link() {
    let scratch = Scratch::new();
    let file = scratch.path().join("secret");
    std::fs::write(&file, SECRET).expect("writes");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("our own");
    let file: &'static str = file.to_str().expect("text").to_owned().leak();
    let relay = Relay::start_with(&Place::here(), &["--token-secret", file]);
    let eve = Visit::new(&relay, "new=TEA&name=Eve").open().await;
    eve.wait_text("curtain-title", "You are not let in").await;
    assert!(eve.text("curtain").await.contains("is missing"));
    eve.screenshot("no-token").await;

    let link = |query: &str, claims: Value| format!("{query}#token={}", token(&claims));
    let ann =
        Player::join(&relay, &link("new=TEA&name=Someone", json!({ "name": "Ann", "game": "TEA" }))).await;
    let bob_link = link("game=TEA&name=Eve", json!({ "name": "Bob", "role": "player" }));
    let bob = Player::join(&relay, &bob_link).await;
    for player in [&ann, &bob] {
        player
            .wait("the names are the server's", SETTLE_WITHIN, |status| {
                let mut names: Vec<_> = status.members.iter().map(|member| member.name.as_str()).collect();
                names.sort_unstable();
                names == ["Ann", "Bob"]
            })
            .await;
    }
    let address = bob.tab().evaluate("location.href").await;
    assert!(!address.to_string().contains("token"), "the token is gone from the address: {address}");
    // A reload needs no other token, and the host's loss no relay that vouches anew.
    ann.reload().await;
    ann.joined().await;
    bob.reload().await;
    bob.joined().await;
    // Somebody else who got the link comes too late.
    eve.tab().open(&relay.page(&bob_link)).await;
    eve.wait_text("curtain-title", "You are not let in").await;
    assert!(eve.text("curtain").await.contains("was used already"));
    for player in [ann, bob, eve] {
        player.finish().await;
    }
}
