//! The anomalies of docs/sources.md, "Fujimoto": each happens under a weaker order, and not under the order that
//! prevents it.

use samovar_wire::PeerId;

use crate::orders::any::{CAUSAL, Kind};
use crate::orders::history::Message;
use crate::orders::world::World;
use samovar_wire::Rng;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// All ways to give three roles to members 1, 2 and 3, the host first.
const ROLES: [[u32; 3]; 6] = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];

/// A tank fires. Its target is destroyed and says so. The path from the tank to an observer is slow. Returns what the
/// observer saw, and the order of sending.
fn shoot(kind: Kind, roles: [u32; 3]) -> (Vec<Message>, [Message; 2]) {
    let [tank, target, observer] = roles.map(PeerId);
    let mut world = World::new(kind, 3);
    let slow = [(tank, observer)];
    let fired = world.send(tank).unwrap();
    world.drain_but(&slow);
    if !world.history.deliveries(target).contains(&fired) {
        // A barrier delivers no message before all members can.
        world.drain();
    }
    assert!(world.history.deliveries(target).contains(&fired));
    let destroyed = world.send(target).unwrap();
    world.drain_but(&slow);
    world.drain();
    (world.history.deliveries(observer), [fired, destroyed])
}

#[test]
fn receive_order_shows_the_hit_before_the_shot() {
    for roles in ROLES {
        let (seen, [fired, destroyed]) = shoot(Kind::Receive, roles);
        assert_eq!(seen, [destroyed, fired], "{roles:?}");
    }
}

#[test]
fn in_causal_order_the_shot_is_seen_before_the_hit() {
    for (kind, roles) in CAUSAL.into_iter().flat_map(|kind| ROLES.map(|roles| (kind, roles))) {
        let (seen, sent) = shoot(kind, roles);
        assert_eq!(seen, sent, "{kind:?}, {roles:?}");
    }
}

const ENEMIES: [PeerId; 2] = [PeerId(1), PeerId(2)];
const PILOTS: [PeerId; 2] = [PeerId(3), PeerId(4)];

/// The enemies that the pilots attack: pilot 1 the first that it sees, pilot 2 the second.
fn attacked(world: &World) -> [PeerId; 2] {
    let seen = PILOTS.map(|pilot| world.history.deliveries(pilot));
    [world.history.sender(seen[0][0]), world.history.sender(seen[1][1])]
}

/// Lets two enemies take off. The path from each enemy to one of the pilots is slow.
fn take_off(kind: Kind) -> World {
    let mut world = World::new(kind, 4);
    let slow = [(ENEMIES[0], PILOTS[0]), (ENEMIES[1], PILOTS[1])];
    ENEMIES.into_iter().for_each(|enemy| assert!(world.send(enemy).is_some()));
    world.drain_but(&slow);
    world.drain();
    world
}

#[test]
fn in_causal_order_both_pilots_attack_the_second_enemy() {
    let world = take_off(Kind::Vector);
    assert_eq!(attacked(&world), [ENEMIES[1]; 2]);
    assert_eq!(world.history.check_causal(), Ok(()), "nothing is wrong with the causal order");
}

#[test]
fn in_total_order_the_pilots_attack_different_enemies() {
    let both = |world: &World| {
        let mut attacked = attacked(world);
        attacked.sort_unstable();
        assert_eq!(attacked, ENEMIES);
    };
    both(&take_off(Kind::Total));
    for seed in 0..200 {
        let (mut world, mut dice) = (World::new(Kind::Total, 4), Rng::new(seed));
        ENEMIES.into_iter().for_each(|enemy| assert!(world.send(enemy).is_some()));
        while let Some(way) = dice.pick(&world.busy()) {
            world.arrive(way);
        }
        both(&world);
    }
}
