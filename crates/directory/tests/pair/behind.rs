//! Who comes back by an older term than the present one may have been dropped long ago, or be all that is left.

use samovar_directory::ClientEvent;
use samovar_directory::limits::HOST_GRACE;
use samovar_wire::PeerId;
use samovar_wire::relay::{Denial, FromRelay, Purpose, ToRelay};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, code, denied, seconds, term};

/// A game of four in which the second became host while the first was cut off. The relay has restarted since; all but
/// the host are back, which only its members hear.
fn a_host_that_is_heard_and_not_connected() -> World {
    let mut world = World::with_members(4);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.settle();
    world.claim(1, 2);
    world.name_members(1, &[1, 2, 3]);
    world.kill_relay();
    world.seats[1].cut = true;
    world.start_relay();
    world.run_for(seconds(1));
    world.seats[0].cut = false;
    world.run_for(HOST_GRACE);
    (0..4).for_each(|i| drop(world.events(i)));
    world
}

#[test]
fn who_was_dropped_long_ago_deposes_nobody_whom_others_hear() {
    let mut world = a_host_that_is_heard_and_not_connected();
    assert_eq!(world.warrant(0).host, world.peer(1));
    world.claim(0, 3);
    world.run_for(seconds(2));
    assert!(world.issued(3).is_empty());
    assert_eq!(world.events(0), [denied(3, Denial::NotAMember)]);
    world.claim(2, 3);
    assert_eq!(world.warrant(0).host, world.peer(2), "a member's word counts");
    world.claim(0, 4);
    assert_eq!(world.events(0).last(), Some(&denied(4, Denial::NotAMember)), "it is still none");
    world.name_members(2, &[0, 2, 3]);
    world.kill(2);
    world.claim(0, 4);
    assert_eq!(world.warrant(3).host, world.peer(0), "the host has said that it is one");
}

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
fn those_who_are_left_go_on_whoever_has_joined_meanwhile() {
    let mut world = World::with_members(3);
    for i in [0, 2] {
        world.seats[i].cut = true;
        world.drop_socket(i);
    }
    world.settle();
    world.claim(1, 2);
    world.name_members(1, &[0, 1, 2]);
    let now = world.now;
    world.seats[1].client.leave(now);
    world.settle();
    let newcomer = world.join("TEA");
    (0..3).for_each(|i| world.seats[i].cut = false);
    world.run_for(seconds(4));
    assert!(world.seats[newcomer].client.is_entered());
    world.claim(newcomer, 3);
    assert_eq!(world.events(newcomer).last(), Some(&denied(3, Denial::NotAMember)));
    world.miss(0, 0);
    world.miss(2, 0);
    world.run_for(HOST_GRACE);
    for i in [0, 2, newcomer] {
        assert_eq!((world.warrant(i).term, world.warrant(i).host), (term(3), world.peer(0)));
    }
    assert!(world.events(0).contains(&ClientEvent::Restored));
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
