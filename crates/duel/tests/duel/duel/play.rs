//! Playing: members and robots, with loss, at all frame rates.

use samovar_duel::game::{CUBE, DuelEvent, kinematics};
use samovar_duel::plane::distance;
use samovar_duel::player::PlayerKey;
use samovar_duel::teapot::Controls;
use samovar_wire::Duration;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{Hands, World, total};

#[test]
fn two_players_duel_and_all_scores_agree() {
    let mut points_of_all = 0;
    for (seed, loss) in [(1, 0), (2, 3), (3, 10)] {
        let mut world = World::new(seed, loss, 0);
        world.join();
        world.run(2_000);
        world.all_play();
        world.run(40_000);
        world.all_rest();
        world.run(4_000);
        world.assert_agreed();
        let points = total(world.host().duel.scoreboard());
        assert!(points >= 2, "{points} points in 40 s with {loss} % loss");
        points_of_all += points;
        for player in world.players.values() {
            assert_eq!(player.hits.len(), points as usize, "each point is a hit on the board");
            assert_eq!(player.count(|event| matches!(event, DuelEvent::HitScored { .. })), points as usize);
            let fired = player.count(|event| matches!(event, DuelEvent::Fired { .. }));
            let everywhere = world.host().count(|event| matches!(event, DuelEvent::Fired { .. }));
            assert!(fired == everywhere && fired >= points as usize, "{fired} of {everywhere} shots seen");
            let back = player.count(|event| matches!(event, DuelEvent::Respawned { .. }));
            assert!(back.abs_diff(points as usize) <= 1, "{back} returns after {points} hits");
        }
        let cubes = world.host().session.objects().filter(|object| object.traits().kind == CUBE).count();
        assert_eq!(cubes, 0, "shooters clear their cubes away");
    }
    assert!(points_of_all >= 12, "{points_of_all} points in 120 s");
}

#[test]
fn robots_fight_by_themselves() {
    let mut world = World::new(4, 0, 3);
    world.run(60_000);
    let host = world.host();
    assert_eq!(host.duel.robots().len(), 3);
    let by_robots: u32 = host.duel.robots().iter().map(|&(_, _, points)| u32::from(points)).sum();
    assert!(by_robots >= 6, "{by_robots} points in a minute");
    let names: Vec<_> = host.duel.robots().into_iter().map(|(_, name, _)| name).collect();
    assert!(names[0] != names[1] && names[1] != names[2]);
    world.assert_agreed();
}

#[test]
fn players_at_mixed_frame_rates_agree_on_all_scores() {
    let mut world = World::new(5, 2, 1);
    let (slow, fast) = (world.join(), world.join());
    let hidden = world.join();
    world.peer(slow).frame = Duration::from_millis(100);
    world.peer(fast).frame = Duration::from_micros(6_944);
    world.peer(hidden).frame = Duration::from_millis(1_000);
    world.run(3_000);
    world.all_play();
    world.run(40_000);
    world.all_rest();
    world.run(5_000);
    world.assert_agreed();
    assert!(total(world.host().duel.scoreboard()) > 8);
    for player in world.players.values() {
        assert_eq!(player.drivers().len(), 5);
    }
}

#[test]
fn a_host_that_steps_once_a_second_still_decides() {
    let mut world = World::new(6, 0, 2);
    let a = world.join();
    world.run(1_500);
    let host = world.warrant.host;
    world.peer(host).frame = Duration::from_millis(1_000);
    world.all_play();
    world.run(40_000);
    world.all_rest();
    world.run(6_000);
    world.assert_agreed();
    assert!(total(world.players[&a].duel.scoreboard()) > 4);
}

#[test]
fn other_members_see_a_teapot_within_a_unit_of_its_place() {
    let mut world = World::new(7, 3, 0);
    let (a, b) = (world.join(), world.join());
    world.run(2_000);
    world.peer(a).hands = Hands::Held(Controls { throttle: 0.6, turn: 1.0, fire: false });
    world.run(1_500);
    let mut worst = 0.0_f32;
    for _ in 0..200 {
        world.run(10);
        let key = world.key(a);
        let own = world.players[&a].teapot(world.now, key).unwrap();
        let seen = world.players[&b].teapot(world.now, key).unwrap();
        assert!(own.is_me && !seen.is_me && !seen.is_ghost && !seen.is_robot);
        assert_eq!((&own.name, own.glaze), (&seen.name, seen.glaze));
        worst = worst.max(distance(own.motion.position, seen.motion.position));
        let (player, object) = (&world.players[&b], world.players[&b].teapot_object(key).unwrap());
        let time = player.session.session_time(world.now);
        let (position, velocity) = kinematics(player.session.object(object).unwrap(), time).unwrap();
        assert!(distance([position[0], position[1]], own.motion.position) < 1.0);
        assert!(velocity[0].hypot(velocity[1]) > 2.0, "{velocity:?} {:?}", own.motion);
    }
    assert!(worst < 1.0, "{worst} units off");
}

#[test]
fn a_late_joiner_sees_all_players_and_no_old_news() {
    let mut world = World::new(8, 2, 2);
    world.join();
    world.run(2_000);
    world.all_play();
    world.run(30_000);
    let late = world.join();
    world.run(1_500);
    let player = &world.players[&late];
    assert_eq!(player.duel.scoreboard().rows().count(), 5);
    assert_eq!(player.drivers().len(), 5);
    let news =
        player.count(|event| matches!(event, DuelEvent::PlayerCame { .. } | DuelEvent::PlayerWent { .. }));
    assert_eq!(news, 0, "earlier members have not just come");
    let came = |event: &DuelEvent| matches!(event, DuelEvent::PlayerCame { is_back: false, .. });
    assert_eq!(world.host().count(came), 2);
    world.all_rest();
    world.run(4_000);
    let scene = world.players[&late].duel.scene(world.now, &world.players[&late].session);
    assert_eq!(scene.standings.len(), 5);
    assert!(scene.standings.is_sorted_by(|one, other| one.score >= other.score));
    assert_eq!(scene.standings.iter().filter(|line| line.is_robot).count(), 2);
    assert_eq!(scene.standings.iter().filter(|line| line.is_me).count(), 1);
    assert!(matches!(world.key(late), PlayerKey::Seat(3)));
}
