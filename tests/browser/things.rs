//! Cups and bowls, robots and tables: who has what, and what stays when a browser is killed.

use samovar_tests::hands::Key;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::{Id, Object, Status};

const AHEAD: Key = Key { key: "w", code: "KeyW" };

/// The things of a peer.
fn things<'a>(status: &'a Status, owner: &Id) -> Vec<&'a Object> {
    status.objects.iter().filter(|object| object.kind == "thing" && object.owner == *owner).collect()
}

/// How many robots a peer drives.
fn driven_by(status: &Status, peer: &Id) -> usize {
    status.members.iter().filter(|member| member.driver.as_ref() == Some(peer)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn player_pushes_a_bowl_which_stays_when_the_browser_is_killed() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann&bowls=0").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob&bowls=0").await;
    let (host, pusher) = (ann.peer().await, bob.peer().await);
    for player in [&ann, &bob] {
        player
            .wait("the host has laid the table", SETTLE_WITHIN, |status| things(status, &host).len() == 5)
            .await;
    }
    // A teapot appears facing the middle, where the large bowl stands, perhaps behind a cup.
    bob.hands().hold(AHEAD).await;
    let pushes = |status: &Status| {
        let speed =
            |object: &Object| object.velocity.iter().flatten().fold(0.0, |sum: f64, axis| sum.hypot(*axis));
        things(status, &pusher).into_iter().any(|object| speed(object) > 0.5)
    };
    ann.wait("the other page sees the push", JOIN_WITHIN, pushes).await;
    bob.hands().release(AHEAD).await;
    let rests = |status: &Status| {
        let pushed = things(status, &pusher);
        !pushed.is_empty() && pushed.iter().all(|object| object.velocity == Some(vec![0.0; 3]))
    };
    let before = ann.wait("it comes to rest", SETTLE_WITHIN, rests).await;
    let pushed: Vec<_> = things(&before, &pusher).into_iter().cloned().collect();
    drop(bob);
    let after =
        ann.wait("the host has the things", SETTLE_WITHIN, |status| things(status, &host).len() == 5).await;
    for thing in pushed {
        let now = after.objects.iter().find(|object| object.id == thing.id).expect("it is still there");
        let places = now.position.iter().flatten().zip(thing.position.iter().flatten());
        let is_near = places.map(|(now, before)| (now - before).abs()).all(|moved| moved < 0.01);
        assert!(is_near, "it stays where it was pushed: {now:?} {thing:?}");
    }
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_share_the_robots_and_take_over_those_of_a_killed_one() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann&robots=3").await;
    let bob = Player::join(&relay, "game=TEA&name=Bob").await;
    let (host, other) = (ann.peer().await, bob.peer().await);
    let shared = |status: &Status| driven_by(status, &host) == 2 && driven_by(status, &other) == 1;
    for player in [&ann, &bob] {
        player.wait("each drives its share", SETTLE_WITHIN, shared).await;
    }
    drop(ann);
    let before = bob
        .wait("all robots are here", SETTLE_WITHIN, |status| {
            status.is_host() && driven_by(status, &other) == 3
        })
        .await;
    let places = |status: &Status| -> Vec<_> {
        let teapots = status.objects.iter().filter(|object| object.kind == "teapot");
        teapots.map(|object| (object.id.clone(), object.position.clone())).collect()
    };
    let all_moved = |status: &Status| {
        let now = places(status);
        places(&before).iter().filter(|former| !now.contains(former)).count() >= 3
    };
    bob.wait("the robots drive on", SETTLE_WITHIN, all_moved).await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn player_sets_a_large_table_in_the_lobby_and_another_joins_it() {
    let relay = Relay::start();
    let ann = Visit::new(&relay, "name=Ann").open().await;
    ann.hands().click("input[name=table][value=banquet]").await;
    ann.hands().click("input[name=robots][value='0']").await;
    ann.hands().click("#new-game button").await;
    let laid = |status: &Status| status.objects.iter().filter(|object| object.kind == "thing").count() == 16;
    ann.wait("the table is laid", JOIN_WITHIN, laid).await;
    let address = ann.tab().evaluate("location.search").await;
    assert!(address.to_string().contains("table=banquet"), "{address}");
    let code = ann.tab().evaluate("new URLSearchParams(location.search).get('game')").await;
    let code = code.as_str().expect("the address has the code").to_owned();
    let bob = Player::join(&relay, &format!("game={code}&name=Bob")).await;
    bob.wait("the same table", SETTLE_WITHIN, |status| laid(status) && status.others().count() == 1).await;
    ann.screenshot("large-table").await;
    ann.finish().await;
    bob.finish().await;
}
