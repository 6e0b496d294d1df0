//! Peers that slept. After waking, a peer does not act as the host before it knows that no other peer has replaced
//! it.

use crate::world::{hosts, world_of};
use samovar_session::{EndReason, Event, Role, Suspension};
use samovar_wire::Term;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn host_that_slept_is_suspended_and_ends_if_replaced() {
    let (mut world, host, others) = world_of(60, 0, 3);
    let sleeper = world.peers.remove(&host).unwrap();
    world.run(6_000);
    let heir = world.peers[&others[0]].host();
    assert_ne!(heir, host);
    world.peers.insert(host, sleeper);
    let now = world.now;
    world.peer(host).handle_timeout(now);
    assert!(!world.peers[&host].is_host(), "it knows that it slept");
    assert_eq!(world.peers[&host].role(now), Role::Suspended(Suspension::Slept));
    world.run(1_500);
    assert!(!world.peers[&host].is_host());
    assert!(world.events[&host].contains(&Event::Ended(EndReason::Removed)));
    assert_eq!(world.peers[&others[0]].host(), heir);
}

#[test]
fn a_host_that_slept_and_was_not_replaced_goes_on() {
    let (mut world, host, others) = world_of(61, 0, 3);
    let sleeping: Vec<_> = others.iter().map(|other| (*other, world.peers.remove(other).unwrap())).collect();
    let sleeper = world.peers.remove(&host).unwrap();
    world.run(3_000);
    world.peers.insert(host, sleeper);
    world.peers.extend(sleeping);
    world.run(2_000);
    assert!(world.peers[&host].is_host(), "all slept, so none is missed");
    assert_eq!(hosts(&world), [(world.witness.warrant.term, host)]);
    world.assert_converged();
}

#[test]
fn member_made_host_in_its_sleep_does_not_act_at_once() {
    let (mut world, host, others) = world_of(62, 0, 4);
    let (heir, next) = (others[0], others[1]);
    let sleeper = world.peers.remove(&heir).unwrap();
    world.run(3_000);
    assert_eq!(world.peers[&host].term(), Term::FIRST);
    let stale = world.sign(Term(512), heir);
    world.grant(Term(768), next);
    world.run(500);
    assert!(world.peers[&next].is_host());
    world.peers.insert(heir, sleeper);
    let now = world.now;
    // The older warrant reaches the sleeper first. The sleeper has not heard of the newer one yet.
    world.peer(heir).witness(now).handle_warrant(&stale);
    world.peer(heir).handle_timeout(now);
    assert_eq!(world.peers[&heir].role(now), Role::Suspended(Suspension::Slept));
    world.run(1_500);
    assert!(!world.peers[&heir].is_host());
    assert_eq!(world.peers[&next].term(), Term(768));
}
