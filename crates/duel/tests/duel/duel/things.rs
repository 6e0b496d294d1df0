//! Cups and bowls: whoever drives against one owns it, all see where it stands, and no host change puts it back.

use samovar_duel::arena::TEA_TABLE;
use samovar_duel::game::THING;
use samovar_duel::motion::Motion;
use samovar_duel::plane::{Vec2, distance};
use samovar_session::State;
use samovar_wire::object::{Access, Traits};
use samovar_wire::{ObjectId, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{Hands, World};

/// A cup, by its index on the table.
const CUP: usize = 1;

fn thing(world: &World, index: usize) -> ObjectId {
    world.host().duel.scoreboard().things.get(index as u8).unwrap()
}

fn owner(world: &World, at: PeerId, index: usize) -> PeerId {
    world.players[&at].session.object(thing(world, index)).unwrap().owner()
}

/// Where a peer shows an obstacle.
fn place(world: &World, at: PeerId, index: usize) -> Vec2 {
    let player = &world.players[&at];
    player.duel.scene(world.now, &player.session).obstacles[index].centre
}

fn assert_alike(world: &World, index: usize) {
    let places: Vec<_> = world.players.keys().map(|&peer| place(world, peer, index)).collect();
    assert!(places.iter().all(|&other| distance(places[0], other) < 0.05), "{index}: {places:?}");
}

/// Lets a player push a cup for a while, and then all of the table come to rest. Returns how far the cup moved.
fn push(world: &mut World, pusher: PeerId, index: usize) -> f32 {
    let before = place(world, pusher, index);
    world.peer(pusher).hands = Hands::Against(index);
    world.run_until("a push", 12_000, |world| distance(place(world, pusher, index), before) > 2.0);
    let live = place(world, pusher, index);
    world.run(300);
    let host = world.warrant.host;
    assert!(distance(place(world, host, index), live) < 2.0, "the others see it move, too");
    world.peer(pusher).hands = Hands::Idle;
    world.run(3_000);
    distance(place(world, pusher, index), before)
}

#[test]
fn whoever_pushes_a_cup_owns_it_and_all_see_it_move() {
    for (seed, loss) in [(90, 0), (91, 5)] {
        let mut world = World::new(seed, loss, 0);
        let (host, a, b) = (world.warrant.host, world.join(), world.join());
        world.run(2_500);
        for index in 0..TEA_TABLE.obstacles.len() - 1 {
            assert_eq!(owner(&world, a, index), host, "the host has laid the table");
            assert!(distance(place(&world, a, index), TEA_TABLE.obstacles[index].centre) < 0.001);
        }
        assert!(push(&mut world, a, CUP) > 2.0);
        assert!(world.players.keys().all(|&peer| owner(&world, peer, CUP) == a));
        assert_alike(&world, CUP);
        assert!(push(&mut world, b, CUP) > 2.0);
        assert!(world.players.keys().all(|&peer| owner(&world, peer, CUP) == b));
        assert_alike(&world, CUP);
        let plate = TEA_TABLE.obstacles.len() - 1;
        assert_eq!(place(&world, a, plate), TEA_TABLE.obstacles[plate].centre, "a plate stays");
        world.assert_agreed();
    }
}

#[test]
fn a_cup_stays_where_it_is_when_its_owner_or_the_host_goes() {
    for seed in 92..95 {
        let mut world = World::new(seed, 3, 0);
        let (host, a) = (world.warrant.host, world.join());
        world.join();
        world.run(2_500);
        push(&mut world, a, CUP);
        push(&mut world, host, CUP + 1);
        let stood: Vec<_> = (0..5).map(|index| place(&world, host, index)).collect();
        let unchanged = |world: &World| {
            for (index, &stood) in stood.iter().enumerate() {
                assert_alike(world, index);
                let now = place(world, world.warrant.host, index);
                assert!(distance(now, stood) < 0.05, "{index} from {stood:?} to {now:?}");
            }
        };
        unchanged(&world);
        world.kill(a);
        world.run(4_000);
        assert_eq!(owner(&world, host, CUP), host);
        unchanged(&world);
        let late = world.join();
        world.run(2_500);
        unchanged(&world);
        world.kill(host);
        world.run(5_000);
        assert_ne!(world.warrant.host, host);
        unchanged(&world);
        let things = world.players[&late].session.objects().filter(|object| object.traits().kind == THING);
        assert_eq!(things.count(), 5, "the next host lays no second table");
        assert!(push(&mut world, late, CUP) > 2.0);
        world.assert_agreed();
    }
}

#[test]
fn a_thing_that_the_host_did_not_name_is_not_on_the_table() {
    let mut world = World::new(95, 0, 0);
    let a = world.join();
    world.run(2_500);
    let mut state = State::default();
    Motion { position: [3.0, 8.0], ..Motion::default() }.encode(&mut state);
    let now = world.now;
    let traits = Traits { access: Access::Shared, ..Traits::of(THING) };
    let forged = world.peer(a).session.edit(now).create_state(traits, &state).unwrap();
    world.run(1_000);
    assert!(world.host().session.object(forged).is_some(), "it did arrive");
    for (index, laid) in TEA_TABLE.obstacles.iter().enumerate() {
        assert!(distance(place(&world, world.warrant.host, index), laid.centre) < 0.001);
    }
    world.kill(a);
    world.run(4_000);
    assert!(world.host().session.object(forged).is_none(), "the host clears it away");
}

#[test]
fn a_short_push_ends_at_one_place_on_all_screens() {
    for seed in 96..104 {
        let mut world = World::new(seed, 3, 0);
        let (host, a) = (world.warrant.host, world.join());
        world.run(2_500);
        world.detours.insert((a, host), samovar_wire::Duration::from_millis(150));
        world.peer(a).hands = Hands::Against(CUP);
        let before = place(&world, a, CUP);
        world.run_until("a touch", 12_000, |world| distance(place(world, a, CUP), before) > 0.01);
        world.peer(a).hands = Hands::Idle;
        world.run(4_000);
        assert_alike(&world, CUP);
        assert!(distance(place(&world, host, CUP), before) > 0.01, "seed {seed}: the push counts");
    }
}

#[test]
fn a_pushed_cup_leaves_room_for_a_teapot_at_the_rim() {
    let mut world = World::new(105, 0, 0);
    let a = world.join();
    world.run(2_500);
    let before = place(&world, a, CUP);
    let edge = |world: &World| samovar_duel::plane::length(place(world, a, CUP));
    world.peer(a).hands = Hands::Against(CUP);
    world.run(40_000);
    assert!(distance(place(&world, a, CUP), before) > 2.0, "it was pushed");
    let most = TEA_TABLE.radius - TEA_TABLE.obstacles[CUP].radius - 2.0 * samovar_duel::teapot::BODY_RADIUS;
    assert!(edge(&world) < most + 0.01, "{} leaves room for a teapot", edge(&world));
}
