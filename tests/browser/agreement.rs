//! Two browsers and a native robot in one game see the same members, scores and objects.

use std::time::Duration;

use samovar_tests::bots::Bots;
use samovar_tests::place::Place;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::{Id, Status, distance};
use samovar_tests::wait;

/// The greatest distance between the places of a moving object at two members. A teapot is two units wide and drives
/// a few units a second. A member knows another's object as it was one trip ago, and extrapolates it in a straight
/// line.
const MOVING: f64 = 1.5;

/// The greatest distance between the places of a resting object at two members: the precision with which a place is
/// coded.
const STANDING: f64 = 0.01;

/// Time enough for a hunting player to hit something.
const HIT_WITHIN: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn members_with_direct_links_see_the_same_game() {
    members_see_the_same(Relay::start(), "auto", "direct").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_want_direct_links_only_see_the_same_game() {
    members_see_the_same(Relay::start(), "direct", "direct").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_over_the_relay_see_the_same_game() {
    members_see_the_same(Relay::start(), "relayed", "relayed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_server_table_outlives_its_host() {
    let relay = Relay::start();
    let query = |who: &str| format!("{who}&by=host");
    let mut players = vec![Player::join(&relay, &query("new=TEA&name=Ann&robots=1")).await];
    for name in ["Bob", "Cy", "Di"] {
        players.push(Player::join(&relay, &format!("game=TEA&name={name}")).await);
    }
    let carries = |status: &Status, peer: &Id| {
        status.host.as_ref() == Some(peer) || status.backup.as_ref() == Some(peer)
    };
    for player in &players {
        let ready = |status: &Status| {
            let me = status.peer.as_ref().expect("it plays");
            let path =
                |other: &Id| if carries(status, me) || carries(status, other) { "direct" } else { "byHost" };
            status.topology == "byHost"
                && status.backup.is_some()
                && status.others().count() == 3
                && status.others().all(|other| other.path == path(&other.peer))
        };
        player.wait("its paths are with host and backup", SETTLE_WITHIN, ready).await;
        player.hunt().await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    // The host's browser dies, and with it the packets that it carried.
    let before = players[1].status().await;
    players[0].kill();
    let host = |status: &Status| {
        status.term > before.term && status.host != before.host && status.others().count() == 2
    };
    let after = players[1].wait("another hosts", SETTLE_WITHIN, host).await;
    for player in &players[2..] {
        let same = |status: &Status| host(status) && status.host == after.host;
        player.wait("the others follow it", SETTLE_WITHIN, same).await;
    }
    // Members hear each other by a carrier, so all see the scores.
    let scored = |status: &Status| status.others().map(|other| other.score).sum::<i64>() > 0;
    for player in &players[1..] {
        player.wait("it sees another score", HIT_WITHIN, scored).await;
    }
    // Not before: a player that rests scores no more.
    for player in &players[1..] {
        player.rest().await;
    }
    for player in players.into_iter().skip(1) {
        player.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_over_the_relays_udp_port_see_the_same_game() {
    let udp = ["--udp", "127.0.0.1:0", "--public-address", "127.0.0.1"];
    members_see_the_same(Relay::start_with(&Place::here(), &udp), "relayed", "relayedUdp").await;
}

async fn members_see_the_same(relay: Relay, wish: &str, path: &str) {
    let ann = Player::join(&relay, &format!("new=TEA&name=Ann&robots=1&path={wish}")).await;
    let bob = Player::join(&relay, &format!("game=TEA&name=Bob&path={wish}")).await;
    let mut robot = Bots::join(&relay, "TEA", wish);
    let linked = |status: &Status| {
        status.members.len() == 4
            && status.others().count() == 2
            && status.others().all(|member| member.path == path && member.rtt_ms.is_some())
    };
    for player in [&ann, &bob] {
        player.wait(&format!("its links to both others are {path}"), JOIN_WITHIN, linked).await;
    }
    robot.wait("the robot's links are, too", JOIN_WITHIN, |all| all.iter().any(linked)).await;
    // One member must have a score, so that equal scores prove something.
    ann.hunt().await;
    let hit = |status: &Status| status.members.iter().any(|member| member.score > 0);
    bob.wait("somebody is hit", HIT_WITHIN, hit).await;
    ann.screenshot(&format!("agreement-{wish}-{path}")).await;
    ann.rest().await;
    let mut seen = None;
    wait::until("all three agree", SETTLE_WITHIN, async || {
        let (one, other) = tokio::join!(ann.status(), bob.status());
        let third = robot.newest().pop().ok_or("the robot is silent")?;
        same(&one, &other)?;
        same(&one, &third)?;
        seen = Some(one);
        Ok(())
    })
    .await;
    println!("{wish}: all see {}", seen.expect("just seen"));
    for (player, name) in [(&ann, "Ann"), (&bob, "Bob")] {
        let status = player.status().await;
        assert_eq!(status.member(name).map(|member| member.is_self), Ok(true));
        assert_eq!(status.errors, Vec::<String>::new());
    }
    drop(robot);
    ann.finish().await;
    bob.finish().await;
}

/// Returns the difference if two members do not see the same now.
fn same(one: &Status, other: &Status) -> Result<(), String> {
    if one.agreed() != other.agreed() {
        return Err(format!("{one}\n{other}"));
    }
    let seconds = (other.session_time_ms - one.session_time_ms) / 1_000.0;
    for object in &one.objects {
        let (Some(there), Some(velocity), Some(twin)) =
            (&object.position, &object.velocity, other.object(&object.id))
        else {
            continue;
        };
        let Some(seen) = &twin.position else { return Err(format!("{object:?} is nowhere in {other}")) };
        let expected: Vec<f64> =
            there.iter().zip(velocity).map(|(place, speed)| place + speed * seconds).collect();
        let stands = velocity.iter().all(|speed| *speed == 0.0);
        let apart = distance(&expected, seen);
        // If the two reports are apart in time, moving objects may differ by more.
        let limit = if stands { STANDING } else { MOVING * (1.0 + 4.0 * seconds.abs()) };
        if apart > limit {
            return Err(format!("{apart} apart after {seconds} s: {object:?} and {twin:?}"));
        }
    }
    Ok(())
}
