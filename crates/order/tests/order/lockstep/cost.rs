//! The cost of lockstep in each direction between two peers.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::lockstep::LockstepConfig;

use crate::lockstep::world::{Net, World, peer};

#[test]
fn four_players_cost_at_most_1500_bytes_a_second_each_way() {
    for (name, net) in [
        ("60 ms, 5 % loss", Net { way: 30_000, jitter: 2_000, loss: 50 }),
        ("100 ms, 2 % loss", Net { way: 49_000, jitter: 2_000, loss: 20 }),
    ] {
        let mut world = World::with_players(1, net, LockstepConfig::new(1), 4);
        world.run(5_000);
        world.traffic.clear();
        world.run(20_000);
        for (&(from, to), traffic) in &world.traffic {
            let (packets, bytes) = (traffic.packets as f64 / 20.0, traffic.bytes as f64 / 20.0);
            println!(
                "{name}: {from} to {to}: {bytes:.0} B/s, {packets:.1} packets/s, {:.1} B each",
                bytes / packets
            );
            assert!(packets <= 60.5 && bytes <= 1_500.0, "{from} to {to}");
            assert_eq!(traffic.reliable, 0);
            assert!(from == peer(1) || to == peer(1), "players other than the host send each other nothing");
        }
        world.assert_alike();
    }
}

#[test]
fn packets_fit_a_datagram_when_all_inputs_change() {
    let net = Net { way: 30_000, jitter: 2_000, loss: 50 };
    for (name, size, changes) in
        [("a byte, always", 1, 60), ("8 bytes, always", 8, 60), ("8 bytes, 5 a second", 8, 5)]
    {
        let mut world = World::with_players(1, net, LockstepConfig::new(size), 4);
        world.fidgets = changes;
        world.run(5_000);
        world.traffic.clear();
        world.run(10_000);
        let rate = |from, to| world.traffic[&(peer(from), peer(to))].bytes / 10;
        println!("{name}: {} B/s from the host, {} B/s to it", rate(1, 2), rate(2, 1));
        assert!(rate(1, 2) < 60 * 1_100, "a packet is never larger than a datagram");
        world.assert_alike();
    }
}
