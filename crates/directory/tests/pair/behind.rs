//! Who comes back by an older term than others did may have been dropped long ago, and a host may be behind a close.

use samovar_wire::PeerId;
use samovar_wire::relay::{Denial, FromRelay, Purpose, ToRelay};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, code, denied, seconds, term};

#[test]
fn a_majority_of_those_who_are_behind_waits_until_the_host_has_answered() {
    let mut world = World::with_members(3);
    let other = world.raw_enter(Purpose::Join(code("TEA")));
    for i in 0..3 {
        world.seats[i].cut = true;
        world.drop_socket(i);
    }
    world.settle();
    let entered = world.heard[&other].iter().find_map(|said| match said {
        FromRelay::Entered(entered) => Some(entered.clone()),
        _ => None,
    });
    let pass = entered.expect("it joined").pass;
    world.raw_send(other, &ToRelay::Claim(term(2), pass.peer));
    let warrant = world.issued(2)[0];
    world.kill_relay();
    world.start_relay();
    (0..3).for_each(|i| world.seats[i].cut = false);
    world.run_for(seconds(5));
    let back = world.raw_enter(Purpose::Resume(code("TEA"), pass, warrant));
    (0..3).for_each(|i| world.claim_for(i, 3, 0));
    assert!(world.issued(3).is_empty(), "it has had no time to answer");
    let probe = world.heard[&back].iter().rev().find_map(|said| match said {
        FromRelay::Probe(nonce) => Some(*nonce),
        _ => None,
    });
    world.raw_send(back, &ToRelay::Alive(probe.expect("it was asked")));
    for i in 0..3 {
        assert_eq!(world.events(i).last(), Some(&denied(3, Denial::HostIsAlive)));
    }
}

#[test]
fn a_host_that_did_not_hear_of_its_renewal_is_not_deposed_when_it_is_back() {
    let mut world = World::with_members(2);
    world.disk_works = false;
    world.claim(0, 2);
    world.seats[0].cut = true;
    world.drop_socket(0);
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
fn a_host_that_closes_while_it_is_asked_is_asked_no_more() {
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
