//! A host that has not heard of its renewed term, and one whose connection closes during a probe.

use samovar_wire::PeerId;
use samovar_wire::relay::{FromRelay, Purpose, ToRelay};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, code, seconds, term};

#[test]
fn a_host_unaware_of_its_renewal_is_not_deposed_on_return() {
    let mut world = World::with_members(2);
    world.disk_works = false;
    world.claim(0, 2);
    // Only the host notices that its socket is dead, so the relay puts no term in reserve.
    world.seats[0].cut = true;
    let now = world.now;
    world.seats[0].conn = None;
    world.seats[0].lose_socket(now);
    world.disk_works = true;
    world.write();
    assert_eq!((world.warrant(1).term, world.warrant(0).term), (term(2), term(1)));
    world.kill_relay();
    world.start_relay();
    world.run_for(seconds(2));
    world.miss(1, 1);
    world.seats[0].cut = false;
    world.run_for(seconds(4));
    assert!(world.issued(3).is_empty());
}

#[test]
fn a_host_that_disconnects_when_probed_leaves_no_timer() {
    let mut world = World::with_members(0);
    let host = world.raw_enter(Purpose::Create(Some(code("TEA"))));
    let claimant = world.raw_enter(Purpose::Join(code("TEA")));
    let other = world.raw_enter(Purpose::Join(code("TEA")));
    world.raw_send(claimant, &ToRelay::Claim(term(2), PeerId(9_999)));
    let probe = world.heard[&other].iter().rev().find_map(|said| match said {
        FromRelay::Probe(nonce) => Some(*nonce),
        _ => None,
    });
    world.raw_send(other, &ToRelay::Alive(probe.expect("it was asked")));
    let now = world.now;
    world.directory.handle_closed(now, host);
    world.settle();
    let timers = world.directory.usage().timers;
    world.run_for(seconds(3));
    assert_eq!(timers, world.directory.usage().timers, "only the pulse is left to wait for");
}
