//! The host's own claims: a fresh term, or another host.

use samovar_directory::ClientEvent;
use samovar_directory::limits::ALIVE_HOLDS;
use samovar_wire::relay::Denial;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, denied, millis, seconds, term};

#[test]
fn a_host_renews_its_term_at_once() {
    let mut world = World::with_members(3);
    (0..3).for_each(|i| drop(world.events(i)));
    world.claim(0, 2);
    let warrant = world.warrant(0);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(0)));
    (0..3).for_each(|i| assert_eq!(world.events(i), [ClientEvent::Issued(warrant)]));
    world.claim(0, 3);
    assert_eq!(world.warrant(2).term, term(3));
}

#[test]
fn a_host_hands_over_to_a_member_at_once() {
    let mut world = World::with_members(3);
    world.name_members(0, &[0, 1, 2]);
    (0..3).for_each(|i| drop(world.events(i)));
    world.claim_for(0, 2, 2);
    let warrant = world.warrant(2);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(2)));
    (0..3).for_each(|i| assert_eq!(world.events(i), [ClientEvent::Issued(warrant)]));
}

#[test]
fn a_host_cannot_hand_over_to_absent_peers_or_strangers() {
    let mut world = World::with_members(4);
    world.name_members(0, &[0, 1, 2]);
    let away = world.join("TEA");
    world.kill(1);
    world.kill(away);
    world.events(0);
    for heir in [1, 3, away] {
        world.claim_for(0, 2, heir);
        assert_eq!(world.events(0), [denied(2, Denial::NotAMember)]);
    }
    assert!(world.issued(2).is_empty() && world.writes.is_empty());
    world.claim_for(0, 2, 2);
    assert_eq!(world.warrant(0).host, world.peer(2));
}

#[test]
fn claims_for_the_hosts_own_candidate_wait() {
    // The members voted for another host while the relay was away. The elected member is the last to come back.
    let mut world = World::with_members(6);
    world.name_members(0, &[0, 1, 2, 3, 4, 5]);
    world.seats[2].cut = true;
    world.drop_socket(2);
    world.run_for(millis(1));
    (0..6).for_each(|i| drop(world.events(i)));
    for _ in 0..8 {
        world.claim_for(0, 2, 2);
        assert_eq!(world.events(0), [denied(2, Denial::NotAMember)]);
        world.claim_for(1, 2, 2);
        assert!(world.events(1).is_empty(), "it waits");
        world.claim_for(3, 2, 1);
        assert_eq!(world.events(3), [denied(2, Denial::HostIsAlive)], "the host wants another");
        world.run_for(millis(250));
    }
    world.seats[2].cut = false;
    world.run_for(seconds(6));
    world.claim_for(0, 2, 2);
    assert_eq!(world.warrant(1).host, world.peer(2));
}

#[test]
fn a_deposed_host_can_neither_hand_over_nor_renew() {
    let mut world = World::with_members(3);
    world.claim_for(0, 2, 1);
    world.events(0);
    // The former host is now a member like others: term 2 is given already, and the new host keeps its term.
    world.claim_for(0, 2, 2);
    assert_eq!(world.events(0), [denied(2, Denial::Stale)]);
    world.claim_for(0, 3, 2);
    assert_eq!(world.events(0), [denied(3, Denial::HostIsAlive)]);
    assert!(world.issued(3).is_empty());
}

#[test]
fn a_hand_over_loses_to_a_term_that_is_being_written() {
    let mut world = World::with_members(4);
    world.disk_works = false;
    world.outvote(&[1, 2, 3], 2, 3);
    assert_eq!(world.writes.len(), 1);
    world.claim_for(0, 2, 1);
    world.claim_for(0, 2, 1);
    assert_eq!(world.writes.len(), 1, "a term that is on its way to disk has its host");
    world.events(0);
    world.write();
    let warrant = world.warrant(0);
    assert_eq!(warrant.host, world.peer(3));
    assert_eq!(world.events(0), [ClientEvent::Issued(warrant), denied(2, Denial::Stale)]);
}

#[test]
fn a_renewal_denies_the_claims_made_during_its_write() {
    let mut world = World::with_members(4);
    world.disk_works = false;
    world.claim(0, 2);
    (1..4).for_each(|i| world.claim_for(i, 2, 3));
    world.events(1);
    world.write();
    let warrant = world.warrant(1);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(0)));
    assert_eq!(world.events(1), [ClientEvent::Issued(warrant), denied(2, Denial::Stale)]);
    world.disk_works = true;
    (1..3).for_each(|i| world.claim_for(i, 3, 3));
    world.run_for(ALIVE_HOLDS + millis(1));
    assert!(world.issued(3).is_empty(), "what was missed before the renewal counts no longer");
    world.claim_for(3, 3, 3);
    assert_eq!(world.warrant(0).host, world.peer(3));
}
