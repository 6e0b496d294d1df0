//! Mazes in lockstep: the host's browser is killed, all pages reload, or the link names another game.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use samovar_tests::bots::Bots;
use samovar_tests::hands::Key;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::{Maze, Status};
use samovar_tests::wait;

/// Time enough for a match of two minutes, on a machine that draws four pages in software meanwhile.
const MATCH_WITHIN: Duration = Duration::from_secs(300);

/// Makes a page drive in another random direction every 400 ms, so that there are inputs.
const WANDER: &str = r"window.__hunt = setInterval(() => {
  const way = () => Math.floor(Math.random() * 3) - 1;
  samovar.input({throttle: way(), turn: way()});
}, 400), null";

fn maze(status: &Status) -> &Maze {
    status.maze.as_ref().expect("the page plays the maze")
}

/// The checksums that pages reported, by frame.
#[derive(Default)]
struct Told(BTreeMap<u64, BTreeMap<String, String>>);

impl Told {
    fn note(&mut self, status: &Status) {
        for (frame, checksum) in &maze(status).checksums {
            self.0.entry(*frame).or_default().insert(status.name.clone(), checksum.clone());
        }
    }

    /// The number of these frames that `pages` pages reported with equal checksums. Fails at the first difference.
    fn alike(&self, frames: RangeInclusive<u64>, pages: usize) -> usize {
        for (frame, checksums) in &self.0 {
            let states: BTreeSet<_> = checksums.values().collect();
            assert_eq!(states.len(), 1, "behind frame {frame}: {checksums:?}");
        }
        self.0.range(frames).filter(|(_, checksums)| checksums.len() == pages).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn four_pages_stay_in_step_when_the_hosts_browser_is_killed() {
    let relay = Relay::start();
    let mut players = vec![Player::join(&relay, "new=TEA&mode=maze&minutes=2&name=Ann").await];
    for name in ["Bob", "Cy", "Di"] {
        // The links of Ann and Bob name the mode. The others learn it from the game.
        let mode = if name == "Bob" { "&mode=maze" } else { "" };
        players.push(Player::join(&relay, &format!("game=TEA&name={name}{mode}")).await);
    }
    let ready = |status: &Status| {
        status.others().count() == 3
            && status.backup.is_some()
            && status.maze.as_ref().is_some_and(|maze| maze.roles.values().all(Option::is_some))
    };
    for player in &players {
        player.wait("all four have a teapot", SETTLE_WITHIN, ready).await;
        player.tab().evaluate(WANDER).await;
    }
    let mut told = Told::default();
    let begin = maze(&players[0].status().await).frame;
    step(&players, &mut told, |maze| maze.frame >= begin + 150 && maze.stage != "over").await;
    assert!(told.alike(begin..=begin + 150, 4) > 60, "four pages in step");
    players[1].screenshot("maze").await;

    let before = players[1].status().await;
    let mut host = None;
    for (index, player) in players.iter().enumerate() {
        if player.status().await.is_host() {
            host = Some(index);
        }
    }
    let mut host = players.remove(host.expect("somebody hosts"));
    let killed = sampler::now();
    host.kill();
    let goes_on =
        |status: &Status| status.term > before.term && maze(status).frame > maze(&before).frame + 60;
    for player in &players {
        let after = player.wait("frames go on under a new host", SETTLE_WITHIN, goes_on).await;
        let robots = maze(&after).roles.values().filter(|peer| peer.is_none()).count();
        assert_eq!(robots, 1, "a robot drives for who is gone: {after}");
    }
    println!(
        "SIGKILL of the host to sixty frames further at all survivors: {:.0} ms",
        sampler::now() - killed
    );
    let mut from = 0;
    for player in &players {
        let status = player.status().await;
        told.note(&status);
        from = from.max(maze(&status).frame);
    }
    step(&players, &mut told, |maze| maze.stage == "over").await;
    let mut until = u64::MAX;
    for player in &players {
        let status = player.status().await;
        told.note(&status);
        until = until.min(maze(&status).frame);
    }
    let (alike, frames) = (told.alike(from..=until, 3) as u64, until + 1 - from);
    println!(
        "{alike} of {frames} frames from the host's end to that of the match were told by all three, with the same checksum"
    );
    assert_eq!(alike, frames, "all frames up to {until}");
    players[0].screenshot("maze-survivors").await;
    for player in players {
        let status = player.status().await;
        assert_eq!((maze(&status).desyncs, status.errors.len()), (0, 0), "{status}");
        player.finish().await;
    }
}

/// Waits until `is_there` has been true for each page, and records the checksums meanwhile.
async fn step(players: &[Player], told: &mut Told, is_there: impl Fn(&Maze) -> bool) {
    let mut waits_for: BTreeSet<_> = (0..players.len()).collect();
    wait::until("all pages have stepped that far", MATCH_WITHIN, async || {
        let mut frames = Vec::new();
        for (index, player) in players.iter().enumerate() {
            let status = player.try_status().await?;
            told.note(&status);
            frames.push(maze(&status).frame);
            if is_there(maze(&status)) {
                waits_for.remove(&index);
            }
        }
        if waits_for.is_empty() { Ok(()) } else { Err(format!("frames {frames:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn maze_goes_on_after_all_pages_reload_at_once() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&mode=maze&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&mode=maze&name=Bob").await;
    let later_than = |former: (u8, u16), status: &Status| {
        // The game goes on if the round has less time left than before. A new maze would begin with its first round.
        let maze = status.maze.as_ref();
        maze.is_some_and(|maze| {
            maze.round > former.0 || maze.stage != "ready" && (maze.round, maze.seconds_left) <= former
        })
    };
    ann.wait("the round is played", SETTLE_WITHIN, |status| later_than((1, 80), status)).await;
    let both = |status: &Status| later_than((1, 80), status) && status.others().count() == 1;
    bob.wait("both are there", SETTLE_WITHIN, both).await;
    let before = ann.status().await;
    let former = (maze(&before).round, maze(&before).seconds_left);
    // A tab saves the state of the game when it goes.
    tokio::join!(ann.reload(), bob.reload());
    for player in [&ann, &bob] {
        let is_back = |status: &Status| {
            let is_in = status.peer.is_some() && status.members.len() == 2;
            is_in && !before.members.iter().any(|member| Some(&member.peer) == status.peer.as_ref())
        };
        let after = player.wait("it is back", JOIN_WITHIN, is_back).await;
        assert!(later_than(former, &after), "another maze has begun: {after}\n{before}");
    }
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_a_duel_joins_it_even_if_the_link_says_maze() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Player::join(&relay, "game=TEA&mode=maze&name=Bob").await;
    let together = |status: &Status| status.mode == "duel" && status.others().count() == 1;
    for player in [&ann, &bob] {
        player.wait("both duel", SETTLE_WITHIN, together).await;
    }
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn native_robots_play_the_maze_that_a_page_hosts() {
    let relay = Relay::start();
    let host = Player::join(&relay, "new=TEA&mode=maze&name=Ann").await;
    // They are not told that the game is a maze.
    let mut robots = Bots::join(&relay, "TEA", "relayed");
    let plays = |status: &Status| status.others().count() == 1 && maze(status).role.is_some();
    host.wait("the page sees a robot", JOIN_WITHIN, plays).await;
    robots.wait("the robot plays", JOIN_WITHIN, |all| all.iter().any(plays)).await;
    let mut told = Told::default();
    wait::until("the page and the robot are in step", SETTLE_WITHIN, async || {
        told.note(&host.status().await);
        robots.newest().iter().for_each(|status| told.note(status));
        let alike = told.alike(0..=u64::MAX, 2);
        if alike > 10 { Ok(()) } else { Err(format!("{alike} frames are alike")) }
    })
    .await;
    host.finish().await;
    let goes_on = |status: &Status| status.is_host() && status.others().count() == 0;
    robots.wait("the robot goes on alone", SETTLE_WITHIN, |all| all.iter().any(goes_on)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_choose_their_teapots_by_key_and_by_mouse() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&mode=maze&name=Ann&low").await;
    let bob = Player::join(&relay, "game=TEA&mode=maze&name=Bob&low").await;
    let peers = [ann.peer().await, bob.peer().await];
    let plays = |player: usize, role| {
        let peer = Some(peers[player].clone());
        move |status: &Status| maze(status).roles.get(role) == Some(&peer)
    };
    for player in [&ann, &bob] {
        player.wait("both are there", SETTLE_WITHIN, |status| status.others().count() == 1).await;
    }
    ann.hands().tap_key(Key { key: "4", code: "Digit4" }).await;
    for player in [&ann, &bob] {
        player.wait("Ann has the second blue teapot", MATCH_WITHIN, plays(0, "B2")).await;
    }
    bob.hands().click("#scores [data-role='1']").await;
    ann.wait("Bob has the second red teapot", MATCH_WITHIN, plays(1, "R2")).await;
    // Before the round begins, no teapot has a bowl, and nobody has to wait.
    let status = ann.status().await;
    if maze(&status).stage == "ready" && maze(&status).round == 1 {
        for player in [&ann, &bob] {
            let told = player.text("toasts").await;
            assert!(!told.contains("when it is free"), "{told}");
        }
    }
    // A teapot that another player drives is not on offer.
    let offered = "document.querySelectorAll('#scores [data-action=take]').length";
    wait::until("two robots are on offer", SETTLE_WITHIN, async || {
        match bob.tab().try_evaluate(offered).await? {
            two if two == 2 => Ok(()),
            other => Err(other.to_string()),
        }
    })
    .await;
    ann.hands().tap_key(Key { key: "2", code: "Digit2" }).await;
    ann.wait_text("toasts", "when it is free").await;
    ann.screenshot("maze-roles").await;
    // A player who reloads has the same teapot, unless another took it meanwhile.
    bob.reload().await;
    let back = |status: &Status| status.maze.as_ref().is_some_and(|maze| maze.role.as_deref() == Some("R2"));
    bob.wait("Bob has the same teapot again", SETTLE_WITHIN, back).await;
    ann.finish().await;
    bob.finish().await;
}
