//! Players who use mouse, keys and fingers, with sound, to the end of a match.

use std::time::Duration;

use samovar_tests::hands::Key;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// Time enough for a match to a few points, or of a minute, on a machine that draws two pages in software meanwhile.
const MATCH_WITHIN: Duration = Duration::from_secs(180);

/// A visitor in the lobby who has written a name.
async fn visitor(visit: Visit<'_>, name: &str) -> Player {
    let player = visit.open().await;
    player.wait_text("lobby", "Set a table").await;
    player.hands().write("#name", name).await;
    player
}

/// Ann sets a table by mouse, without robots, and Bob joins it from the list. Both hear sounds. Only Ann's page is
/// drawn, because two drawn pages are too much for two processors.
async fn sit_down(relay: &Relay, query: &str, mode: &str) -> (Player, Player) {
    let ann = visitor(Visit::new(relay, query).drawn(), "Ann").await;
    ann.hands().click(&format!("input[name=mode][value={mode}]")).await;
    if mode == "duel" {
        ann.hands().click("input[name=robots][value='0']").await;
    }
    ann.hands().click("#new-game button").await;
    ann.joined().await;
    let bob = visitor(Visit::new(relay, query), "Bob").await;
    bob.hands().click("#games [data-action=join]").await;
    bob.joined().await;
    for player in [&ann, &bob] {
        let both = |status: &Status| status.members.len() == 2 && status.backup.is_some();
        player.wait("both sit at the table", SETTLE_WITHIN, both).await;
        player.hears().await;
    }
    (ann, bob)
}

/// Creating the audio takes a tenth of a second or more. A host that did so in a click would stall for too long.
#[tokio::test(flavor = "multi_thread")]
async fn audio_exists_before_the_first_click() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    assert_eq!(ann.audio().await.as_deref(), Ok("suspended"));
    ann.hands().click("#scene").await;
    ann.hears().await;
    ann.finish().await;
}

/// The distance of this player's teapot from its earlier place.
fn way(before: &Status, after: &Status) -> f64 {
    let own = |status: &Status| {
        status.objects_of("teapot").find(|pot| Some(&pot.owner) == status.peer.as_ref()).cloned()
    };
    own(before).zip(own(after)).map_or(0.0, |(before, after)| before.distance(&after))
}

#[tokio::test(flavor = "multi_thread")]
async fn page_with_sound_outlives_a_host_that_leaves() {
    let relay = Relay::start();
    let (ann, bob) = sit_down(&relay, "points=0&minutes=0&bowls=0", "duel").await;
    for player in [&ann, &bob] {
        let before = player.status().await;
        // The teapot drives in a circle, because it may stand in front of the rim.
        player.hands().hold_only(&[Key::W, Key::A]).await;
        player.wait("the teapot drives", SETTLE_WITHIN, |status| way(&before, status) > 0.5).await;
        player.hands().hold_only(&[]).await;
    }
    ann.hands().click("#game [data-action=leave]").await;
    ann.wait_text("lobby", "Set a table").await;
    bob.wait("Bob is the host", SETTLE_WITHIN, |status| status.is_host() && status.members.len() == 1).await;
    bob.lives().await;
    // Ann's tab works as before.
    ann.hands().click("#games [data-action=join]").await;
    ann.joined().await;
    let both = |status: &Status| status.members.len() == 2;
    bob.wait("Ann is back", JOIN_WITHIN, both).await;
    // Ann has her own seat again, so no other seat is kept for her.
    wait::until("two seats are told of", SETTLE_WITHIN, async || {
        let text = bob.text("scores").await;
        let is_good = text.matches("Ann").count() == 1 && !text.contains("away");
        if is_good { Ok(()) } else { Err(text) }
    })
    .await;
    for player in [ann, bob] {
        player.hears().await;
        player.finish().await;
    }
}

/// Plays all these pages by keys until match number `over` is won. Returns its winner.
async fn play_on(players: &[&Player], over: u64) -> String {
    let winners = wait::until("a match is won", MATCH_WITHIN, async || {
        let mut winners = Vec::new();
        for player in players {
            let status = player.try_status().await?;
            player.hands().chase(&status).await;
            let contest = status.contest.as_ref().filter(|contest| contest.number == over);
            winners.extend(contest.and_then(|contest| contest.winner.clone()));
        }
        if winners.len() == players.len() { Ok(winners) } else { Err(format!("won: {winners:?}")) }
    })
    .await;
    assert!(winners.iter().all(|winner| *winner == winners[0]), "all tell of the same winner: {winners:?}");
    for player in players {
        player.hands().hold_only(&[]).await;
        let next =
            |status: &Status| status.contest.as_ref().is_some_and(|contest| contest.number == over + 1);
        player.wait("the next match begins", SETTLE_WITHIN, next).await;
    }
    winners[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn duels_end_though_a_page_reloads_and_the_host_leaves() {
    let relay = Relay::start();
    let (ann, bob) = sit_down(&relay, "points=1&minutes=0&bowls=4", "duel").await;
    play_on(&[&ann, &bob], 1).await;
    // A teapot that still rolls could drive over a bowl and win the next match.
    let rests = |status: &Status| {
        status
            .objects_of("teapot")
            .all(|pot| pot.velocity.as_deref().is_some_and(|v| v.iter().all(|part: &f64| part.abs() < 0.05)))
    };
    for player in [&ann, &bob] {
        player.wait("both teapots rest", SETTLE_WITHIN, rests).await;
    }
    let before = bob.status().await;
    let match_number = before.contest.as_ref().expect("a match").number;
    let score = [before.score("Ann"), before.score("Bob")];
    // The objects of a game arrive one after the other, so the score is awaited.
    let keeps_score =
        |status: &Status| status.members.len() == 2 && [status.score("Ann"), status.score("Bob")] == score;
    // In the middle of the match one page reloads, and then the host leaves.
    bob.reload().await;
    let is_back = |status: &Status| status.peer != before.peer && keeps_score(status);
    bob.wait("Bob has his seat and his points again", JOIN_WITHIN, is_back).await;
    let both = |status: &Status| status.members.len() == 2 && status.backup.is_some();
    let status = ann.wait("one backs the other up", SETTLE_WITHIN, both).await;
    // On a busy machine Bob may host by now.
    let (host, backup) = if status.is_host() { (&ann, &bob) } else { (&bob, &ann) };
    host.hands().click("#game [data-action=leave]").await;
    backup.wait("the backup is the host", SETTLE_WITHIN, Status::is_host).await;
    host.wait_text("lobby", "Set a table").await;
    host.hands().click("#games [data-action=join]").await;
    host.joined().await;
    for player in [&ann, &bob] {
        player.wait("both sit at the table with their points", JOIN_WITHIN, keeps_score).await;
    }
    play_on(&[&ann, &bob], match_number).await;
    ann.hears().await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn maze_is_played_to_its_end_though_the_host_leaves() {
    let relay = Relay::start();
    let (ann, bob) = sit_down(&relay, "minutes=1", "maze").await;
    let frame = |status: &Status| status.maze.as_ref().map_or(0, |maze| maze.frame);
    let before = frame(&bob.status().await);
    let mut turn = 0;
    wait::until("the match goes on", MATCH_WITHIN, async || {
        turn += 1;
        for player in [&ann, &bob] {
            player.hands().hold_only(&[[Key::W, Key::A, Key::S, Key::D][turn / 5 % 4]]).await;
        }
        let status = bob.status().await;
        if frame(&status) > before + 100 { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    let places = bob.status().await.maze.map(|maze| maze.places);
    ann.close().await;
    bob.wait("Bob is the host", SETTLE_WITHIN, Status::is_host).await;
    wait::until("the match is over", MATCH_WITHIN, async || {
        turn += 1;
        bob.hands().hold_only(&[[Key::W, Key::D, Key::S, Key::A][turn / 5 % 4]]).await;
        let status = bob.status().await;
        let is_over = status.maze.as_ref().is_some_and(|maze| maze.stage == "over");
        if is_over { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    let status = bob.status().await;
    assert!(status.maze.as_ref().is_some_and(|maze| Some(&maze.places) != places.as_ref()), "{status}");
    bob.hears().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_plays_a_match_by_stick_and_button() {
    let relay = Relay::start();
    let phone = visitor(Visit::new(&relay, "points=1&minutes=0&bowls=0").drawn().on_a_phone(), "Ann").await;
    phone.hands().tap("input[name=robots][value='0']").await;
    phone.hands().tap("#new-game button").await;
    phone.joined().await;
    phone.hears().await;
    let has_teapot = |status: &Status| status.objects_of("teapot").next().is_some();
    let before = phone.wait("the teapot stands on the table", SETTLE_WITHIN, has_teapot).await;
    let (x, y) = phone.hands().touch(1, "#stick").await;
    phone.hands().slide(1, (x - 25.0, y - 30.0)).await;
    phone.wait("the teapot drives", SETTLE_WITHIN, |status| way(&before, status) > 0.5).await;
    phone.hands().touch(2, "#fire").await;
    let cubes =
        |status: &Status| status.objects_of("cube").any(|cube| Some(&cube.owner) == status.peer.as_ref());
    phone.wait("sugar flies while the thumb drives", SETTLE_WITHIN, cubes).await;
    phone.screenshot("phone").await;
    phone.hands().lift(2).await;
    phone.hands().lift(1).await;
    let stands = |status: &Status| {
        let own = status.objects_of("teapot").find(|pot| Some(&pot.owner) == status.peer.as_ref());
        own.and_then(|pot| pot.velocity.as_ref()).is_some_and(|velocity| velocity[0].hypot(velocity[1]) < 0.1)
    };
    phone.wait("the teapot rolls out", SETTLE_WITHIN, stands).await;
    // A player with a keyboard joins, and wins or is hit by the throws of the phone.
    let bob = visitor(Visit::new(&relay, ""), "Bob").await;
    bob.hands().click("#games [data-action=join]").await;
    bob.joined().await;
    phone.hands().touch(2, "#fire").await;
    let winner = play_on(&[&bob], 1).await;
    phone.hands().lift(2).await;
    let next = |status: &Status| status.contest.as_ref().is_some_and(|contest| contest.number == 2);
    let after = phone.wait("the next match begins on the phone, too", SETTLE_WITHIN, next).await;
    assert!(after.member(&winner).is_ok(), "{winner:?} won: {after}");
    phone.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_and_sound_outlive_reload_and_the_back_button() {
    let relay = Relay::start();
    let (ann, bob) = sit_down(&relay, "points=0&minutes=0&bowls=0", "duel").await;
    let back = async |former: &Status| {
        let is_back = |status: &Status| status.peer != former.peer && status.members.len() == 2;
        bob.wait("the page has its seat again", JOIN_WITHIN, is_back).await
    };
    let first = bob.status().await;
    bob.reload().await;
    let second = back(&first).await;
    assert_eq!(second.name, "Bob");
    bob.tab().open("about:blank").await;
    bob.go(-1).await;
    let third = back(&second).await;
    assert_eq!(third.name, "Bob");
    bob.hide().await;
    bob.show().await;
    // A reloaded page is silent until its player acts.
    bob.hands().hold(Key::A).await;
    bob.hears().await;
    for player in [&ann, &bob] {
        player.wait("both are there", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    }
    ann.finish().await;
    bob.finish().await;
}
