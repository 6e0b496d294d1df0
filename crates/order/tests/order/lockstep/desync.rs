//! One member's game computes a different state from the same inputs.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::lockstep::{Event, LockstepConfig};
use samovar_wire::Term;

use crate::lockstep::world::{Net, World, peer};

const NET: Net = Net { way: 25_000, jitter: 10_000, loss: 20 };

#[test]
fn a_difference_is_named_at_both_ends_and_repaired() {
    for seed in 0..10 {
        let mut world = World::with_players(seed, NET, LockstepConfig::new(1), 4);
        world.nodes.get_mut(&peer(3)).unwrap().wrong_at = Some(150 + seed);
        world.run(8_000);
        let expected = Event::Desync { peer: peer(3), frame: 150 + seed, field: Some("steam".to_owned()) };
        for id in [1, 3].map(peer) {
            let found = world.nodes[&id].events.iter().filter(|event| matches!(event, Event::Desync { .. }));
            assert_eq!(found.collect::<Vec<_>>(), [&expected], "at {id}");
        }
        assert_eq!(world.nodes[&peer(3)].loads.len(), 2);
        world.assert_alike();
    }
}

#[test]
fn the_next_host_finds_a_state_that_differs_from_its_own() {
    let mut world = World::with_players(5, NET, LockstepConfig::new(1), 4);
    world.nodes.get_mut(&peer(1)).unwrap().wrong_at = Some(100);
    world.run(1_500);
    world.kill(peer(1));
    world.tell_all(Term(512), peer(2), &[2, 3, 4].map(peer));
    world.nodes.get_mut(&peer(4)).unwrap().wrong_at = Some(200);
    world.run(6_000);
    world.assert_alike();
    let found = |id| {
        let is_desync = |event: &&Event| matches!(event, Event::Desync { frame: 200, .. });
        world.nodes[&peer(id)].events.iter().filter(is_desync).count()
    };
    assert_eq!((found(2), found(3), found(4)), (1, 0, 1));
}
