//! The large table: members hear of what is near them, the host of everything.

use std::collections::BTreeSet;

use samovar_duel::arena::{BANQUET_TABLE, Table};
use samovar_duel::course::Stakes;
use samovar_duel::phase::Phase;
use samovar_duel::plane::distance;
use samovar_duel::player::PlayerKey;
use samovar_wire::PeerId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{Hands, World, total};

const LARGE: Stakes = Stakes { table: Table::Banquet, ..Stakes::NONE };

/// The players that a peer shows.
fn shown(world: &World, at: PeerId) -> BTreeSet<PlayerKey> {
    let player = &world.players[&at];
    player.duel.scene(world.now, &player.session).teapots.iter().map(|teapot| teapot.player).collect()
}

/// The distance of two players, as the host sees them.
fn apart(world: &World, one: PlayerKey, other: PlayerKey) -> f32 {
    let place = |player| world.host().teapot(world.now, player).unwrap().motion.position;
    distance(place(one), place(other))
}

fn assert_sight(world: &World) {
    let host = world.warrant.host;
    let all: BTreeSet<_> = world.players.keys().map(|&peer| world.key(peer)).collect();
    assert!(all.is_subset(&shown(world, host)), "the host sees all, and so do its backups");
    let backups = world.host().session.view().backups();
    for &peer in world.players.keys().filter(|&&peer| peer != host && !backups.contains(&peer)) {
        let (me, shown) = (world.key(peer), shown(world, peer));
        for &other in &all {
            // A teapot that has just appeared at another place is not known there yet.
            let is_alive = |player| world.host().teapot(world.now, player).unwrap().phase == Phase::Alive;
            if !is_alive(me) || !is_alive(other) {
                continue;
            }
            let away = apart(world, me, other);
            assert!(away > 20.0 || shown.contains(&other), "{other:?} is {away} away of {me:?}");
            assert!(away < 35.0 || !shown.contains(&other), "{other:?} is {away} away of {me:?}");
        }
    }
}

#[test]
fn members_see_who_is_near_and_the_host_sees_all() {
    for (seed, loss) in [(110, 0), (111, 5)] {
        let mut world = World::with_stakes(seed, loss, 0, LARGE);
        for _ in 0..6 {
            world.join();
        }
        world.run(4_000);
        assert_sight(&world);
        let seen_before: usize = world.players.keys().map(|&peer| shown(&world, peer).len()).sum();
        assert!(seen_before < 7 * 5, "not everybody sees everybody: {seen_before}");
        world.all_play();
        let mut met = 0;
        for _ in 0..60 {
            world.run(1_000);
            assert_sight(&world);
            met = met.max(world.players.keys().map(|&peer| shown(&world, peer).len()).sum());
        }
        assert!(met > seen_before, "they meet");
        assert!(total(world.host().duel.scoreboard()) > 0, "and hit each other");
        let former = world.warrant.host;
        world.kill(former);
        world.run(4_000);
        assert_sight(&world);
        let points = total(world.host().duel.scoreboard());
        world.run_until("a hit under the next host", 60_000, |world| {
            total(world.host().duel.scoreboard()) > points
        });
        world.assert_agreed();
    }
}

#[test]
fn a_large_table_takes_fewer_bytes_than_one_that_all_oversee() {
    let sent = |stakes| {
        let mut world = World::with_stakes(112, 0, 0, stakes);
        for _ in 0..7 {
            world.join();
        }
        world.run(4_000);
        for player in world.players.values_mut() {
            let controls = samovar_duel::teapot::Controls { throttle: 0.5, turn: 0.6, fire: false };
            player.hands = Hands::Held(controls);
        }
        let before = world.bytes;
        world.run(10_000);
        world.bytes - before
    };
    let (large, small) = (sent(LARGE), sent(Stakes::NONE));
    println!("{large} bytes on the large table, {small} on the tea table");
    assert!(large * 10 < small * 7, "{large} {small}");
}

#[test]
fn things_on_a_large_table_stay_for_who_comes_near() {
    let mut world = World::with_stakes(113, 0, 0, LARGE);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let cup = 4;
    world.peer(a).hands = Hands::Against(cup);
    let laid = BANQUET_TABLE.obstacles[cup].centre;
    let place = |world: &World, peer| {
        let player = &world.players[&peer];
        player.duel.scene(world.now, &player.session).obstacles[cup].centre
    };
    let host = world.warrant.host;
    world.run_until("a push", 30_000, |world| distance(place(world, host), laid) > 3.0);
    world.peer(a).hands = Hands::Idle;
    world.run(2_000);
    world.peer(b).hands = Hands::Against(cup);
    world.run_until("a second push", 40_000, |world| {
        let id = world.host().duel.scoreboard().things.get(cup as u8).unwrap();
        world.host().session.object(id).unwrap().owner() == b
    });
    assert!(distance(place(&world, b), place(&world, host)) < 1.5);
    world.assert_agreed();
}
