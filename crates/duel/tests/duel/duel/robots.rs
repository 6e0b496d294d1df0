//! Robots over the members: each member drives its share, and no robot stops when its driver goes.

use samovar_duel::arena::TEA_TABLE;
use samovar_duel::game::TEAPOT;
use samovar_duel::motion::Motion;
use samovar_duel::plane::distance;
use samovar_duel::player::PlayerKey;
use samovar_session::Object;
use samovar_wire::PeerId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::hostile::create_teapot;
use crate::duel::world::{SMOOTH, World};

/// How many robots a member drives, as the host sees it.
fn driven_by(world: &World, member: PeerId) -> usize {
    let teapots = world.host().session.objects().filter(|object| object.traits().kind == TEAPOT);
    teapots.filter(|object| object.traits().balanced && object.owner() == member).count()
}

/// Asserts that all robots move on all screens within 5 seconds; one that was hit is off the table for a while.
pub(crate) fn assert_all_move(world: &mut World, robots: u8) {
    let places = |world: &World| -> Vec<_> {
        let on = |player: &crate::duel::world::Player| -> Vec<_> {
            (0..robots)
                .map(|number| player.teapot(world.now, PlayerKey::Robot(number)).unwrap().motion.position)
                .collect()
        };
        world.players.values().flat_map(on).collect()
    };
    let before = places(world);
    let mut moved = vec![false; before.len()];
    for _ in 0..50 {
        world.run(100);
        for (moved, (now, before)) in moved.iter_mut().zip(places(world).into_iter().zip(&before)) {
            *moved |= distance(now, *before) > 0.05;
        }
    }
    assert!(moved.iter().all(|&moved| moved), "a robot stands still: {moved:?}");
}

#[test]
fn members_share_the_robots_and_take_over_those_of_the_gone() {
    for (seed, loss) in [(96, 0), (97, 5), (98, 5)] {
        let mut world = World::new(seed, loss, 6);
        let (host, a, b) = (world.warrant.host, world.join(), world.join());
        world.run(6_000);
        assert_eq!([host, a, b].map(|member| driven_by(&world, member)), [2, 2, 2]);
        assert_all_move(&mut world, 6);
        world.run(20_000);
        let points = |world: &World| crate::duel::world::total(world.host().duel.scoreboard());
        let before = points(&world);
        assert!(before > 3, "they hit each other, whoever drives them: {before}");
        world.kill(a);
        world.run(8_000);
        assert_eq!([host, b].map(|member| driven_by(&world, member)), [3, 3]);
        assert_all_move(&mut world, 6);
        world.kill(host);
        world.run(4_000);
        assert_eq!(driven_by(&world, b), 6);
        assert_all_move(&mut world, 6);
        world.join();
        world.run(6_000);
        assert_eq!(driven_by(&world, b), 3);
        assert!(points(&world) >= before);
        let rows = world.host().duel.robots().len();
        assert_eq!(rows, 6);
        world.assert_agreed();
    }
}

#[test]
fn a_member_cannot_pass_off_its_own_teapot_as_a_robots() {
    let mut world = World::new(99, 0, 2);
    let (a, b) = (world.join(), world.join());
    world.run(4_000);
    let robot = PlayerKey::Robot(0);
    let real = world.players[&b].teapot(world.now, robot).unwrap().id;
    let place = TEA_TABLE.spawn(3);
    let forged = create_teapot(&mut world, a, robot, Motion::at_rest(place)).unwrap();
    for _ in 0..10 {
        world.run(200);
        for player in world.players.values() {
            assert_eq!(player.teapot(world.now, robot).unwrap().id, real);
        }
    }
    let is_there = |world: &World| world.host().session.object(forged).map(Object::owner);
    world.run(2_000);
    assert_eq!(is_there(&world), None, "the host clears it away");
    world.assert_agreed();
}

#[test]
fn a_robot_whose_driver_spoils_it_plays_on() {
    let mut world = World::new(100, 0, 2);
    let a = world.join();
    world.run(4_000);
    // The page of the cheat stands still, so that it does not mend what it spoils.
    world.peer(a).frame = samovar_wire::Duration::from_millis(1_000_000);
    let names = world.host().duel.scoreboard().robots.clone();
    let (number, id) =
        names.iter().find(|&(_, id)| world.host().session.object(id).unwrap().owner() == a).unwrap();
    let now = world.now;
    world.peer(a).session.edit(now).set(id, samovar_duel::state::IDENTITY, &[9; 20]).unwrap();
    let late = world.join();
    let robot = PlayerKey::Robot(number);
    let is_seen = |world: &World| world.players[&late].teapot(world.now, robot).is_some();
    world.run_until("the robot at a newcomer", 6_000, is_seen);
    let now = world.now;
    let player = world.peer(a);
    (player.frame, player.next_frame) = (SMOOTH, now);
    world.run(2_000);
    assert_all_move(&mut world, 2);
}
