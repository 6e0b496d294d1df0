//! A peer that is cut off, and one that the others have merely left.

use crate::world::{World, part, relay_goes, world_of};
use samovar_session::Rules;
use samovar_wire::PeerId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Cuts a peer off from all others. Its connection to the relay stays open, but nothing comes by it.
fn cut_off(world: &mut World, peer: PeerId) {
    let others: Vec<_> = world.peers.keys().copied().filter(|&other| other != peer).collect();
    part(world, &[peer], &others);
    world.witness_alive = false;
}

#[test]
fn member_and_host_know_that_they_are_cut_off() {
    for (forks, is_host) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut world = World::with_rules(70, 0, Rules { forks, ..Rules::default() });
        let host = *world.peers.keys().next().unwrap();
        let member = world.join(None);
        world.join(None);
        world.run(3_000);
        let cut = if is_host { host } else { member };
        cut_off(&mut world, cut);
        world.run(900);
        assert!(!world.peers[&cut].is_cut_off(), "that may be a moment");
        world.run(2_100);
        assert!(world.peers[&cut].is_cut_off(), "within three seconds: forks {forks}, host {is_host}");
        // The driver gives the relay up in the end, and the others are removed from the view.
        let now = world.now;
        world.peer(cut).witness(now).set_reached(false);
        world.run(8_000);
        assert!(world.peers[&cut].is_cut_off());
        world.witness_alive = true;
        let now = world.now;
        world.peer(cut).witness(now).set_reached(true);
        world.run(100);
        assert!(!world.peers[&cut].is_cut_off());
    }
}

#[test]
fn survivor_of_relay_and_host_is_not_cut_off() {
    let (mut world, host, others) = world_of(71, 0, 2);
    relay_goes(&mut world);
    world.peers.remove(&host);
    world.run(6_000);
    assert!(!world.peers[&others[0]].is_cut_off());
}

#[test]
fn peer_that_hears_another_is_not_cut_off() {
    let (mut world, host, others) = world_of(72, 0, 3);
    part(&mut world, &[host], &others);
    world.witness_alive = false;
    world.run(4_000);
    assert!(others.iter().all(|other| !world.peers[other].is_cut_off()));
    assert!(world.peers[&host].is_cut_off());
}

#[test]
fn lone_founder_is_not_cut_off() {
    let mut world = World::new(73, 0);
    let host = *world.peers.keys().next().unwrap();
    world.witness_alive = false;
    world.run(4_000);
    assert!(!world.peers[&host].is_cut_off());
}
