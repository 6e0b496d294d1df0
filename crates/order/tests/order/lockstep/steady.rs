//! Sixty steps a second despite slow or lost players.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::lockstep::LockstepConfig;
use samovar_wire::SeatId;

use crate::lockstep::world::{Net, World, peer};

const RTT_100: Net = Net { way: 49_000, jitter: 2_000, loss: 20 };

#[test]
fn eight_players_at_2_percent_loss_step_within_150_ms() {
    let mut longest = 0;
    for seed in 0..4 {
        let mut world = World::with_players(seed, RTT_100, LockstepConfig::new(1), 8);
        world.run(5_000);
        let from = world.now;
        world.run(60_000);
        world.assert_alike();
        for id in world.alive() {
            let (freeze, steps) = world.steadiness(id, from);
            longest = longest.max(freeze);
            assert!(freeze <= 150_000, "{id} froze for {freeze} µs");
            assert!((3_590..=3_606).contains(&steps), "{id} took {steps} steps in a minute");
        }
        let delays: Vec<_> = world.nodes.values().map(|node| node.lockstep.input_delay()).collect();
        let stats = world.nodes[&peer(1)].lockstep.stats();
        println!("seed {seed}: input delays {delays:?} frames, {stats:?}");
    }
    println!("8 players, 100 ms, 2 % loss: the longest time between two steps is {longest} µs");
}

#[test]
fn slow_or_lost_player_delays_the_others_at_most_150_ms() {
    let mut world = World::with_players(3, RTT_100, LockstepConfig::new(1), 4);
    world.run(5_000);
    let from = world.now;
    world.slow.insert(peer(3), 400_000);
    world.run(4_000);
    world.kill(peer(4));
    world.run(4_000);
    world.assert_alike();
    for id in [peer(1), peer(2)] {
        let (freeze, steps) = world.steadiness(id, from);
        assert!(freeze <= 150_000, "{id} froze for {freeze} µs");
        assert!(steps >= 470, "{id} took {steps} steps");
    }
    // The slow player plays on, with more delay.
    let frames = &world.nodes[&peer(1)].stepped;
    let inputs: Vec<_> = frames.iter().rev().take(120).map(|(_, frame)| &frame.inputs).collect();
    let changes = |seat| {
        let of = |pair: &[&samovar_order::lockstep::Players]| pair[0].get(&seat) != pair[1].get(&seat);
        inputs.windows(2).filter(|pair| of(pair)).count()
    };
    assert!(changes(SeatId(3)) > 0, "the slow player's inputs count again");
    assert_eq!(changes(SeatId(4)), 0, "the lost player's input is unchanged");
}
