//! The host dies, in the middle of a frame and at any other time.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::lockstep::LockstepConfig;
use samovar_wire::Term;

use crate::lockstep::world::{Net, World, peer};

const NET: Net = Net { way: 25_000, jitter: 10_000, loss: 20 };

#[test]
fn survivors_of_a_host_that_dies_in_mid_frame_step_alike() {
    for seed in 0..40 {
        let mut world = World::with_players(seed, NET, LockstepConfig::new(2), 5);
        world.run(2_000 + seed);
        world.kill(peer(1));
        // Each survivor learns of the death, and of the new host, at a different time.
        let survivors = [2, 3, 4, 5].map(peer);
        for (index, &id) in survivors.iter().enumerate() {
            world.run(7 * index as u64 * (seed % 5));
            world.tell(id, Term(512), peer(2), &survivors);
        }
        let from = world.now;
        world.run(3_000);
        world.assert_alike();
        for id in survivors {
            let (freeze, steps) = world.steadiness(id, from);
            assert!(freeze <= 250_000, "seed {seed}: {id} froze for {freeze} µs");
            assert!(steps > 165, "seed {seed}: {id} took {steps} steps in three seconds");
            assert!(world.nodes[&id].loads.len() <= 1, "seed {seed}: {id} need not load anything");
        }
    }
}

#[test]
fn all_step_frames_that_the_old_host_and_a_survivor_knew() {
    let mut told = 0;
    for seed in 0..30 {
        let mut world = World::with_players(seed, NET, LockstepConfig::new(1), 4);
        world.run(2_000);
        // The new host does not receive the last frames.
        world.cut(peer(2));
        world.run(100);
        world.kill(peer(1));
        world.run(60);
        world.mend(peer(2));
        let ahead = world.nodes[&peer(3)].game.frame;
        told += ahead - world.nodes[&peer(2)].game.frame;
        world.tell_all(Term(512), peer(2), &[2, 3, 4].map(peer));
        world.run(1_000);
        world.assert_alike();
        let known = world.nodes[&peer(2)].stepped.iter().find(|(_, frame)| frame.number == ahead);
        let other = world.nodes[&peer(3)].stepped.iter().find(|(_, frame)| frame.number == ahead);
        assert_eq!(known.unwrap().1, other.unwrap().1);
        assert_eq!(world.nodes[&peer(3)].loads.len(), 1, "it loaded a state only when it joined");
    }
    assert!(told > 60, "the new host lacked {told} frames in all");
}

#[test]
fn a_host_that_comes_back_loads_the_others_state() {
    let mut world = World::with_players(8, NET, LockstepConfig::new(1), 4);
    world.run(2_000);
    // The old host goes on alone for a while, and decides frames that no other peer receives.
    world.cut(peer(1));
    world.run(500);
    world.tell_all(Term(512), peer(2), &[2, 3, 4].map(peer));
    world.run(1_000);
    world.mend(peer(1));
    let all = [1, 2, 3, 4].map(peer);
    world.tell_all(Term(512), peer(2), &all);
    world.run(2_000);
    world.assert_alike();
    assert_eq!(world.nodes[&peer(1)].loads.len(), 1, "it had diverged");
    assert!(!world.nodes[&peer(1)].lockstep.is_host());
}

#[test]
fn hosts_may_die_one_after_another_until_one_member_is_left() {
    let mut world = World::with_players(11, NET, LockstepConfig::new(1), 6);
    world.run(1_500);
    for dead in 1..6 {
        world.kill(peer(dead));
        world.run(30);
        let alive = world.alive();
        world.tell_all(Term(256 * (1 + u64::from(dead))), peer(dead + 1), &alive);
        world.run(600);
        world.assert_alike();
    }
    let last = &world.nodes[&peer(6)];
    assert!(last.game.frame > 200, "frame {}", last.game.frame);
    assert_eq!(last.game.places.len(), 1);
}

#[test]
fn all_step_a_survivors_frames_after_a_host_decided_nothing() {
    for seed in 0..10 {
        let mut world = World::with_players(seed, NET, LockstepConfig::new(1), 4);
        world.run(2_000);
        world.cut(peer(2));
        world.cut(peer(4));
        world.run(100);
        world.kill(peer(1));
        world.run(60);
        world.mend(peer(2));
        world.mend(peer(4));
        let ahead = world.nodes[&peer(3)].game.frame;
        if ahead <= world.nodes[&peer(2)].game.frame {
            continue;
        }
        let all = [2, 3, 4].map(peer);
        // Peer 4 hosts for an instant, and has decided nothing when peer 2 becomes the host.
        world.tell_all(Term(512), peer(4), &all);
        world.run(5);
        world.tell_all(Term(768), peer(2), &all);
        world.run(1_000);
        let known = world.nodes[&peer(2)].stepped.iter().find(|(_, frame)| frame.number == ahead);
        let other = world.nodes[&peer(3)].stepped.iter().find(|(_, frame)| frame.number == ahead);
        assert_eq!(
            world.nodes[&peer(3)].loads.len(),
            1,
            "seed {seed}: it had to load, other than when it joined"
        );
        assert_eq!(known.unwrap().1, other.unwrap().1);
    }
}

#[test]
fn a_host_that_slept_through_a_term_adopts_the_others_frames() {
    let mut world = World::with_players(3, NET, LockstepConfig::new(1), 4);
    world.run(2_000);
    world.nodes.get_mut(&peer(1)).unwrap().is_alive = false;
    world.run(200);
    [2, 3, 4].into_iter().for_each(|to| world.tell(peer(to), Term(512), peer(2), &[2, 3, 4].map(peer)));
    world.run(600);
    let ahead = world.nodes[&peer(3)].game.frame;
    let behind = world.nodes[&peer(1)].game.frame;
    world.kill(peer(2));
    world.nodes.get_mut(&peer(1)).unwrap().is_alive = true;
    let left = [1, 3, 4].map(peer);
    world.tell_all(Term(768), peer(1), &left);
    world.run(2_000);
    assert_eq!(world.nodes[&peer(3)].loads.len(), 1, "{behind} to {ahead}: it went back to its old frames");
}

#[test]
fn a_host_that_missed_a_term_adopts_the_longest_log() {
    for seed in 0..10 {
        let mut world = World::with_players(seed, NET, LockstepConfig::new(1), 4);
        world.run(2_000);
        let all = [1, 2, 3, 4].map(peer);
        // Peer 4 does not hear of the term in which peer 2 hosts.
        [1, 2, 3].into_iter().for_each(|to| world.tell(peer(to), Term(512), peer(2), &all));
        world.run(500);
        world.cut(peer(1));
        world.run(150);
        world.kill(peer(2));
        world.run(60);
        world.mend(peer(1));
        world.tell_all(Term(768), peer(4), &[1, 3, 4].map(peer));
        world.run(1_500);
        assert_eq!(world.nodes[&peer(3)].loads.len(), 1, "seed {seed}");
    }
}
