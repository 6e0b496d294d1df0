//! Changes of host: no points are lost, no cube counts twice, and robots go on.

use std::collections::BTreeMap;

use samovar_duel::cube::Launch;
use samovar_duel::game::{CUBE, DuelEvent, SCOREBOARD, TEAPOT};
use samovar_duel::motion::Motion;
use samovar_duel::phase::Phase;
use samovar_duel::plane::{Vec2, distance};
use samovar_duel::player::PlayerKey;
use samovar_duel::state::LAUNCH;
use samovar_duel::teapot::TOP_SPEED;
use samovar_session::Cause;
use samovar_wire::{Duration, PeerId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::robots::assert_all_move;
use crate::duel::world::{Hands, SMOOTH, World, total};

/// Kills the host and waits until its robots move under the next one on every screen. Returns how long it took until
/// there was a new host, in milliseconds.
pub(crate) fn depose(world: &mut World) -> u64 {
    let host = world.warrant.host;
    world.kill(host);
    let took = world.run_until("a new host", 2_500, |world| world.warrant.host != host);
    world.run(300);
    assert_all_move(world, 2);
    took
}

#[test]
fn the_duel_goes_on_when_the_host_dies_in_play() {
    for seed in 10..14 {
        let mut world = World::new(seed, 3, 2);
        let (a, b) = (world.join(), world.join());
        world.run(2_000);
        world.all_play();
        world.run(20_000 + u64::from(seed) * 137);
        let before: Vec<_> = [a, b].map(|peer| world.players[&peer].duel.scoreboard().clone()).into();
        depose(&mut world);
        for (peer, before) in [a, b].iter().zip(&before) {
            let after = world.players[peer].duel.scoreboard();
            for row in before.rows() {
                assert!(after.row(row.player).unwrap().score >= row.score, "{:?} lost points", row.player);
            }
        }
        let points = total(world.host().duel.scoreboard());
        world.run(20_000);
        assert!(total(world.host().duel.scoreboard()) > points, "play goes on");
        world.all_rest();
        world.run(6_000);
        world.assert_agreed();
        assert_eq!(world.host().drivers().len(), 5, "robots, survivors, and the ghost of the former host");
        let ghost = world.host().teapot(world.now, PlayerKey::Seat(1));
        assert!(ghost.is_none(), "a long absent player is kept, and not shown");
    }
}

#[test]
fn the_duel_survives_the_loss_of_three_hosts() {
    let mut world = World::new(20, 2, 2);
    (0..3).for_each(|_| {
        world.join();
    });
    world.run(2_000);
    world.all_play();
    for _ in 0..3 {
        world.run(8_000);
        let before = total(world.host().duel.scoreboard());
        depose(&mut world);
        assert!(total(world.host().duel.scoreboard()) >= before.saturating_sub(1));
        world.assert_no_cube_scored_twice();
    }
    world.run(5_000);
    world.assert_agreed();
    assert_eq!(world.players.len(), 1);
    assert_eq!(world.host().duel.robots().len(), 2);
}

/// Two members and an idle host; one member fires one cube at the other. Returns the world at the moment of the
/// launch, the shooter and the struck member. If `is_shooter_next`, the shooter is the next host; otherwise the
/// struck member is.
fn one_shot(loss: u64, is_shooter_next: bool) -> (World, PeerId, PeerId) {
    let mut world = World::new(30, loss, 0);
    let (one, other) = (world.join(), world.join());
    world.run(2_500);
    let is_one_next = world.host().session.view().backup() == Some(one);
    let (a, b) = if is_one_next == is_shooter_next { (one, other) } else { (other, one) };
    let quarry = world.key(b);
    world.peer(a).hands = Hands::OneShotAt(quarry);
    world.run_until("a shot", 15_000, |world| {
        world.players[&a].count(|event| matches!(event, DuelEvent::Fired { .. })) == 1
    });
    (world, a, b)
}

#[test]
fn a_cube_in_flight_scores_exactly_once_whenever_the_host_dies() {
    for (loss, is_shooter_next) in [(0, false), (10, false), (0, true), (10, true)] {
        let (mut world, a, _) = one_shot(loss, is_shooter_next);
        let shooter = world.key(a);
        world.run_until("the hit", 2_000, |world| world.players[&a].duel.score(shooter) == Some(1));
        for after in (0..900).step_by(45) {
            let (mut world, a, b) = one_shot(loss, is_shooter_next);
            let (shooter, struck) = (world.key(a), world.key(b));
            world.run(after);
            let host = world.warrant.host;
            world.kill(host);
            world.run(6_000);
            for peer in [a, b] {
                let board = world.players[&peer].duel.scoreboard();
                let row = board.row(shooter).unwrap();
                assert_eq!(row.score, 1, "the host died {after} ms after the launch, loss {loss}");
                assert_eq!(board.row(struck).unwrap().lost, 1);
            }
            world.assert_no_cube_scored_twice();
        }
    }
}

#[test]
fn a_cube_scored_by_the_former_host_does_not_score_again() {
    let (mut world, a, b) = one_shot(0, false);
    let (shooter, struck) = (world.key(a), world.key(b));
    // The shooter's page sleeps, so it does not destroy the cube, and the next host still sees it.
    world.peer(a).frame = Duration::from_millis(1_000_000);
    world.run(60);
    // The host decides that the cube has hit the host's own teapot. All others will see it hit another teapot.
    let now = world.now;
    let host = world.warrant.host;
    let player = world.peer(host);
    let cube = player.session.objects().find(|object| object.traits().kind == CUBE).unwrap();
    let launch = Launch::decode(cube.field(LAUNCH)).unwrap();
    let mut board = player.duel.scoreboard().clone();
    assert!(board.record_hit(launch.shot(), PlayerKey::Seat(1), launch.launched_at + 50_000));
    let id = player.session.objects().find(|object| object.traits().kind == SCOREBOARD).unwrap().id();
    for (index, field) in board.to_fields().iter().enumerate() {
        player.session.edit(now).set(id, index, field).unwrap();
    }
    world.run(100);
    world.kill(host);
    world.run(6_000);
    assert_eq!(world.warrant.host, b);
    let board = world.host().duel.scoreboard();
    assert_eq!(board.row(shooter).unwrap().score, 1);
    assert_eq!(board.row(struck).unwrap().lost, 0);
    world.assert_no_cube_scored_twice();
}

#[test]
fn no_cube_scores_twice_across_changes_of_host_in_heavy_fire() {
    for seed in 40..46 {
        let mut world = World::new(seed, 5, 4);
        (0..2).for_each(|_| {
            world.join();
        });
        world.run(2_000);
        world.all_play();
        for _ in 0..2 {
            world.run(6_000 + u64::from(seed) * 61);
            let host = world.warrant.host;
            world.kill(host);
            world.run_until("a new host", 2_500, |world| world.warrant.host != host);
        }
        world.run(6_000);
        world.assert_agreed();
    }
}

/// Plays on for `ms` milliseconds. Returns two numbers. The first is the longest time that a moving teapot stood
/// still on a screen, in milliseconds. The second is the largest distance by which a teapot moved farther in a frame
/// than its top speed allows.
fn stutter(world: &mut World, ms: u64) -> (f64, f32) {
    let mut shown: BTreeMap<(PeerId, PlayerKey), (Time, Vec2)> = BTreeMap::new();
    let (mut longest, mut farthest) = (Duration::ZERO, 0.0_f32);
    let end = world.now + Duration::from_millis(ms);
    while world.now < end {
        world.step();
        let now = world.now;
        for (&peer, player) in &world.players {
            for teapot in player.duel.scene(now, &player.session).teapots {
                let Motion { position, velocity, .. } = teapot.motion;
                let key = (peer, teapot.player);
                let is_moving = velocity[0].hypot(velocity[1]) > 0.5 && teapot.phase == Phase::Alive;
                let Some((since, before)) = shown.get(&key).copied().filter(|_| is_moving) else {
                    shown.insert(key, (now, position));
                    continue;
                };
                let went = distance(before, position);
                if went > 0.0 {
                    let could = TOP_SPEED * now.since(since).as_millis_f64() as f32 / 1_000.0;
                    farthest = farthest.max(went - could);
                    shown.insert(key, (now, position));
                }
                longest = longest.max(now.since(since));
            }
        }
    }
    (longest.as_millis_f64(), farthest)
}

#[test]
fn a_host_that_hands_over_plays_on_and_nothing_stands_still() {
    for (seed, loss) in [(50, 0), (51, 5), (52, 5)] {
        let mut world = World::new(seed, loss, 2);
        let (former, _, _) = (world.warrant.host, world.join(), world.join());
        let away = world.join();
        world.run(2_000);
        world.leave(away);
        world.all_play();
        world.players.values_mut().for_each(|p| p.session.set_update_interval(SMOOTH));
        world.run(12_000);
        let usual = stutter(&mut world, 8_000);
        let before = world.host().duel.scoreboard().clone();
        let now = world.now;
        assert!(world.peer(former).session.hand_over(now));
        let (stood, jumped) = stutter(&mut world, 3_000);
        assert_ne!(world.warrant.host, former);
        assert!(stood <= 50.0, "something stood still for {stood} ms, {} usually", usual.0);
        assert!(jumped <= 0.3, "something jumped by {jumped}, {} usually", usual.1);
        for row in before.rows() {
            let after = world.host().duel.scoreboard().row(row.player).unwrap();
            assert!(after.score >= row.score && after.lost >= row.lost, "{:?} lost points", row.player);
        }
        let host = world.host();
        let kept =
            host.session.objects().filter(|object| matches!(object.traits().kind, SCOREBOARD | TEAPOT));
        let kept = kept.filter(|object| object.owner() == former && !object.traits().balanced);
        assert_eq!(kept.count(), 1, "the former host drives its own teapot and that of no other player");
        let ghosts = host.duel.scene(world.now, &host.session).teapots;
        assert_eq!(
            ghosts.iter().filter(|teapot| teapot.is_ghost).count(),
            0,
            "nobody sees who is away for long"
        );
        assert_eq!(host.drivers().len(), 6, "and its teapot is kept for it");
        let causes = world.players.values().map(|player| player.causes.clone());
        assert!(causes.into_iter().all(|causes| causes == [Cause::HandedOver]));
        let points = total(host.duel.scoreboard());
        world.run(20_000);
        assert!(total(world.host().duel.scoreboard()) > points, "play goes on");
        world.all_rest();
        world.run(6_000);
        world.assert_agreed();
        assert!(world.players[&former].session.is_member());
    }
}

/// Asserts that both robots move on this peer's screen.
fn robots_move(world: &mut World, peer: PeerId) {
    let places = |world: &World| {
        let robots = (0..2).map(PlayerKey::Robot);
        let place = |robot| world.players[&peer].teapot(world.now, robot).unwrap().motion.position;
        robots.map(place).collect::<Vec<_>>()
    };
    let before = places(world);
    world.run(2_500);
    for (one, other) in before.iter().zip(places(world)) {
        assert!(distance(*one, other) > 0.05, "a robot stands still at {one:?}");
    }
}

#[test]
fn robots_move_on_when_the_hosts_game_stands_still() {
    let mut world = World::new(70, 0, 2);
    let other = world.join();
    world.run(3_000);
    let host = world.warrant.host;
    world.peer(host).next_frame = Time::FAR;
    world.run_until("another hosts", 3_000, |world| world.warrant.host == other);
    world.run(500);
    robots_move(&mut world, other);
    assert!(world.players[&host].session.is_member());
}

#[test]
fn the_last_member_hosts_and_plays_on_without_the_relay() {
    let mut world = World::new(71, 0, 2);
    let survivor = world.join();
    world.run(3_000);
    let now = world.now;
    world.players.values_mut().for_each(|player| player.session.witness(now).set_reached(false));
    let scores = world.players[&survivor].duel.scoreboard().clone();
    world.kill(world.warrant.host);
    world.run_until("it hosts", 5_000, |world| world.players[&survivor].session.is_host());
    world.run(500);
    robots_move(&mut world, survivor);
    let after = world.players[&survivor].duel.scoreboard();
    assert!(scores.rows().all(|row| after.row(row.player).is_some_and(|now| now.score >= row.score)));
}
