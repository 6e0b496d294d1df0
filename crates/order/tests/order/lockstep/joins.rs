//! Members that join, watch, reload or were away.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::lockstep::{LockstepConfig, LockstepView, Player};
use samovar_wire::{SeatId, Term};

use crate::lockstep::world::{Net, World, peer, player};

const NET: Net = Net { way: 25_000, jitter: 10_000, loss: 20 };

#[test]
fn a_late_joiner_loads_a_state_and_delays_no_member() {
    let mut world = World::with_players(1, NET, LockstepConfig::new(1), 3);
    world.run(20_000);
    let from = world.now;
    world.add(peer(4), false);
    // The joiner's link is slow when the state comes, so later frames come from the log.
    world.slow.insert(peer(4), 1_500_000);
    world.tell_all(Term::FIRST, peer(1), &[1, 2, 3, 4].map(peer));
    world.run(4_000);
    world.slow.clear();
    world.run(4_000);
    world.assert_alike();
    let joiner = &world.nodes[&peer(4)];
    assert_eq!(joiner.loads.len(), 1);
    assert!(world.nodes[&peer(1)].game.frame - joiner.game.frame < 10);
    assert!(joiner.game.places.contains_key(&SeatId(4)));
    assert!(world.steadiness(peer(2), from).0 < 150_000);
}

#[test]
fn a_member_that_slept_longer_than_the_log_loads_a_state() {
    let mut world = World::with_players(2, NET, LockstepConfig::new(1), 3);
    world.run(3_000);
    world.cut(peer(3));
    world.run(15_000);
    world.mend(peer(3));
    world.run(10_000);
    world.assert_alike();
    assert_eq!(world.nodes[&peer(3)].loads.len(), 2);
    assert!(world.nodes[&peer(1)].game.frame - world.nodes[&peer(3)].game.frame < 10);
}

#[test]
fn a_reload_keeps_the_seat_in_play_and_a_leave_ends_it() {
    let mut world = World::with_players(3, NET, LockstepConfig::new(1), 3);
    world.run(2_000);
    world.kill(peer(3));
    world.add(peer(9), false);
    let now = world.now;
    let members = [player(peer(1)), player(peer(2)), Player { peer: peer(9), seat: SeatId(3), plays: true }];
    for id in [1, 2, 9].map(peer) {
        let view = LockstepView { term: Term::FIRST, host: peer(1), members: &members };
        world.nodes.get_mut(&id).unwrap().lockstep.handle_view(now, view);
    }
    world.run(3_000);
    world.assert_alike();
    let frames = &world.nodes[&peer(1)].stepped;
    assert!(frames.iter().all(|(_, frame)| !frame.left.contains(&SeatId(3))));
    world.kill(peer(9));
    world.tell_all(Term::FIRST, peer(1), &[1, 2].map(peer));
    world.run(1_000);
    world.assert_alike();
    let left = world.nodes[&peer(2)].stepped.iter().filter(|(_, frame)| frame.left == [SeatId(3)]);
    assert_eq!(left.count(), 1);
}

#[test]
fn a_host_without_a_state_loads_another_members_state() {
    let mut world = World::with_players(4, NET, LockstepConfig::new(1), 3);
    world.run(2_000);
    world.add(peer(4), false);
    world.kill(peer(1));
    world.tell_all(Term(512), peer(4), &[2, 3, 4].map(peer));
    world.run(3_000);
    world.assert_alike();
    let host = &world.nodes[&peer(4)];
    assert!(host.lockstep.is_host() && host.loads.len() == 1);
    assert!(host.game.frame > 250, "frame {}", host.game.frame);
}
