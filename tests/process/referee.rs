//! A relay with a referee, which hosts tables.

use std::time::{Duration, Instant};

use samovar_tests::bots::Bots;
use samovar_tests::place::Place;
use samovar_tests::player::{JOIN_WITHIN, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::status::{Member, Status};
use samovar_tests::wait;
use serde_json::json;

/// The default code of the first table.
const CODE: &str = "REFEREE";

/// The longest time until the referee is back. If it founds a game, it may have to wait until the relay releases the
/// old code, which it keeps for the former members.
const BACK_WITHIN: Duration = Duration::from_secs(45);

async fn refereed(more: &[&'static str]) -> Relay {
    let relay = Relay::start_with(&Place::here(), &[&["--referee"], more].concat());
    let expected =
        json!({ "code": CODE, "players": 0, "capacity": 8, "host": "The relay", "title": "", "open": true });
    wait::until("the referee's table is listed", SETTLE_WITHIN, async || {
        let mut listed = relay.listed(CODE).ok_or("it is not")?;
        listed.as_object_mut().map(|game| game.remove("params"));
        if listed == expected { Ok(()) } else { Err(listed.to_string()) }
    })
    .await;
    relay
}

/// Whether the referee hosts: a spectator without a page.
fn is_refereed(status: &Status) -> bool {
    let host = status.members.iter().find(|each| Some(&each.peer) == status.host.as_ref());
    host.is_some_and(|host| host.is_spectator && host.name == "The relay")
}

/// Whether this many play, with direct paths between all players that have links. In client-server only the backup's
/// links are direct.
fn are_linked(all: &[Status], players: usize) -> bool {
    let is_linked = |status: &Status| {
        let others = || status.others().filter(|each| !each.is_spectator);
        let has_link = |other: &&Member| {
            status.topology == "mesh" || status.is_backup() || Some(&other.peer) == status.backup.as_ref()
        };
        others().count() == players - 1 && others().filter(has_link).all(|each| each.path == "direct")
    };
    all.len() == players && all.iter().all(|status| status.backup.is_some() && is_linked(status))
}

async fn seat(relay: &Relay, players: u8) -> Bots {
    let count = players.to_string();
    let mut bots = Bots::start(&Place::here(), relay, &["--game", CODE, "--count", &count]);
    let seated = |all: &[Status]| are_linked(all, players.into()) && all.iter().all(is_refereed);
    let all = bots.wait("all play at the referee's table", JOIN_WITHIN, seated).await;
    let host = all[0].host.clone().expect("just seen");
    // The referee owns the scoreboard, the robot, and the objects of players that are away. It has no teapot of its
    // own.
    for status in &all {
        assert!(status.objects_of("scoreboard").all(|board| board.owner == host), "{status}");
        let driven = status.objects_of("teapot").filter(|teapot| teapot.owner != host);
        assert_eq!(driven.count(), usize::from(players), "{status}");
        assert!(status.objects_of("teapot").any(|teapot| teapot.owner == host), "{status}");
    }
    bots
}

async fn assert_moves(bots: &mut Bots, before: &Status) {
    let moved = |all: &[Status]| {
        let status = all.iter().find(|status| status.peer == before.peer);
        status.is_some_and(|status| {
            let far =
                |teapot| status.object(teapot).map(|now| now.distance(before.object(teapot).unwrap_or(now)));
            before.objects_of("teapot").all(|teapot| far(&teapot.id).is_some_and(|far| far > 1.0))
        })
    };
    bots.wait("everything drives on", SETTLE_WITHIN, moved).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_of_a_killed_referee_elect_a_host_and_keep_it() {
    relay_dies(refereed(&[]).await, "mesh").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn client_server_players_of_a_killed_referee_elect_a_host() {
    relay_dies(refereed(&["--by-host"]).await, "byHost").await;
}

async fn relay_dies(mut relay: Relay, topology: &str) {
    let mut bots = seat(&relay, 3).await;
    // Waits for some reports, which relate session time to the machine's clock, and for points.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = bots.newest();
    assert!(before.iter().all(|status| status.topology == topology), "{}", before[0]);
    let since = Instant::now();
    relay.kill();
    let term = before[0].term;
    let elected = |all: &[Status]| {
        all.iter().all(|status| {
            status.term > term
                && status.host == all[0].host
                && status.members.iter().all(|each| !each.is_spectator)
                && !is_refereed(status)
        }) && all.iter().any(|status| status.role == "ActiveBackedUp")
    };
    let after = bots.wait("the players have a host among them", SETTLE_WITHIN, elected).await;
    let host = after.iter().find(|status| status.is_host()).expect("one of them hosts");
    println!(
        "{topology}, the relay and its referee killed: {:.0} ms until a player hosted",
        bots.resumed_after(host, since)
    );
    for (name, points) in before[0].scores().iter().filter(|(name, _)| *name != "The relay") {
        assert!(host.score(name) >= Some(*points), "{name} had {points} points: {host}");
    }
    assert_moves(&mut bots, host).await;

    relay.restart();
    let back = |all: &[Status]| {
        all.iter().all(|status| {
            status.relay == "connected"
                && status.host == host.host
                && status.members.iter().any(|each| each.is_spectator && each.name == "The relay")
        })
    };
    bots.wait("the referee sits with them, and their host stays", BACK_WITHIN, back).await;
    wait::until("three play", SETTLE_WITHIN, async || match relay.listed(CODE) {
        Some(listed) if (&listed["players"], &listed["capacity"]) == (&json!(3), &json!(8)) => Ok(()),
        listed => Err(format!("{listed:?}")),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn referee_hosts_its_table_again_when_all_players_left() {
    let relay = refereed(&[]).await;
    let bots = seat(&relay, 2).await;
    drop(bots);
    wait::until("nobody plays", SETTLE_WITHIN, async || match relay.listed(CODE) {
        Some(listed) if (&listed["players"], &listed["host"]) == (&json!(0), &json!("The relay")) => Ok(()),
        listed => Err(format!("{listed:?}")),
    })
    .await;
    seat(&relay, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn referee_sets_another_table_when_all_are_full() {
    let relay = refereed(&[]).await;
    let mut bots =
        Bots::start(&Place::here(), &relay, &["--game", CODE, "--count", "8", "--path", "relayed"]);
    let seated = |all: &[Status]| all.len() == 8 && all.iter().all(is_refereed);
    bots.wait("eight play at the referee's table", JOIN_WITHIN, seated).await;
    wait::until("another table is listed", SETTLE_WITHIN, async || {
        let (_, body) = relay.get("/api/games")?;
        let games: Vec<serde_json::Value> = serde_json::from_str(&body).map_err(|error| error.to_string())?;
        let empty = games.iter().any(|game| game["players"] == 0 && game["host"] == "The relay");
        let full = games.iter().any(|game| game["code"] == CODE && game["players"] == 8);
        if empty && full { Ok(()) } else { Err(body) }
    })
    .await;
}
