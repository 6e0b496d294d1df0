//! Newcomers: a member that may not have the session's state yet takes over no session (PROTOCOL §4.10 rule 1).

use crate::world::{TEAPOT, World, hosts, part, world_of};
use samovar_wire::PeerId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A host that hears its other member no more, and a newcomer that it has seated and that has read nothing yet.
fn seated(seed: u8) -> (World, PeerId, PeerId, PeerId) {
    let (mut world, host, others) = world_of(seed, 0, 2);
    world.create(host, TEAPOT, &[b"score 7"]);
    world.run(500);
    part(&mut world, &[host], &others);
    world.run(300);
    let newcomer = world.join(None);
    world.cuts.push((host, newcomer));
    while !world.peers[&host].view().has(newcomer) {
        world.step();
    }
    (world, host, others[0], newcomer)
}

#[test]
fn host_hands_over_to_no_member_without_the_state() {
    for seed in 0..8 {
        let (mut world, host, _, newcomer) = seated(seed);
        let now = world.now;
        assert!(world.peer(host).hand_over(now), "seed {seed}: there will be somebody");
        world.run(300);
        assert!(world.peers[&host].is_host() && world.peers[&host].view().backup().is_none(), "seed {seed}");
        // Once the newcomer has read the view, it can host.
        world.cuts.retain(|&cut| cut != (host, newcomer));
        world.run(1_000);
        assert_eq!(world.peers[&newcomer].host(), newcomer, "seed {seed}");
        assert_eq!(world.picture(newcomer), world.picture(host), "seed {seed}");
    }
}

#[test]
fn member_with_the_state_succeeds_before_a_newcomer() {
    for seed in 0..8 {
        let (mut world, host, member, newcomer) = seated(seed);
        world.cuts = vec![(host, newcomer)];
        while !world.peers[&member].view().has(newcomer) {
            world.step();
        }
        world.kill(host);
        world.run(3_000);
        assert_eq!(hosts(&world).iter().map(|&(_, host)| host).collect::<Vec<_>>(), [member], "seed {seed}");
        assert!(world.peers[&newcomer].is_member(), "seed {seed}");
        assert_eq!(world.picture(newcomer).len(), world.picture(member).len());
        world.assert_converged();
    }
}
