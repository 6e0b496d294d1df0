//! A warrant in reserve: the relay gives it when the host's connection closes, and members that miss the host adopt
//! it.

use samovar_directory::ClientEvent;
use samovar_directory::limits::PROBE_WITHIN;
use samovar_wire::relay::{Denial, ToRelay};
use samovar_wire::{PeerId, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, denied, millis, seconds, term};

/// The terms in reserve that a seat was told of, with their hosts.
fn reserves(world: &mut World, i: usize) -> Vec<(Term, PeerId)> {
    let events = world.events(i);
    let reserve = |event: &ClientEvent| match event {
        ClientEvent::Successor(warrant) => Some((warrant.term, warrant.host)),
        _ => None,
    };
    events.iter().filter_map(reserve).collect()
}

fn named(count: usize) -> World {
    let mut world = World::with_members(count);
    let line: Vec<_> = (0..count).collect();
    world.name_members(0, &line);
    world
}

#[test]
fn closing_the_hosts_connection_tells_all_of_the_reserve() {
    let mut world = named(4);
    world.name_members(0, &[0, 2, 1, 3]);
    world.kill(0);
    for i in [1, 2, 3] {
        assert_eq!(reserves(&mut world, i), [(term(2), world.peer(2))]);
        assert_eq!(world.warrant(i).term, term(1), "it counts for nothing while the host is heard");
    }
    assert!(world.issued(2).is_empty());
}

#[test]
fn one_claim_begins_the_reserve_for_all_members() {
    let mut world = named(3);
    world.kill(0);
    world.claim_for(2, 2, 1);
    assert_eq!(world.warrant(1).host, world.peer(1));
    world.claim_for(2, 2, 2);
    assert_eq!(world.events(2).last(), Some(&denied(2, Denial::Stale)));
}

#[test]
fn a_strangers_claim_does_not_begin_an_unwritten_reserve() {
    let mut world = named(3);
    let stranger = world.join("TEA");
    world.disk_works = false;
    world.kill(0);
    assert_eq!(world.writes.len(), 1);
    world.events(stranger);
    world.claim(stranger, 2);
    assert_eq!(world.events(stranger), [denied(2, Denial::NotAMember)]);
    world.write();
    assert!(world.issued(2).is_empty(), "the host may be heard by all members");
    assert_eq!(reserves(&mut world, 1), [(term(2), world.peer(1))]);
}

#[test]
fn a_member_list_of_the_reserve_host_begins_the_reserve() {
    let mut world = named(3);
    world.kill(0);
    let (conn, line) = (world.seats[1].conn.expect("connected"), [1, 2].map(|i| world.peer(i)));
    world.raw_send(conn, &ToRelay::Members(line.to_vec(), 0));
    assert_eq!(world.warrant(2).host, world.peer(1));
}

#[test]
fn a_member_that_may_have_no_state_is_not_in_reserve() {
    let mut world = named(3);
    let (conn, line) = (world.seats[0].conn.expect("connected"), [0, 1, 2].map(|i| world.peer(i)));
    world.raw_send(conn, &ToRelay::Members(line.to_vec(), 1));
    world.kill(1);
    world.kill(0);
    assert_eq!(reserves(&mut world, 2), [], "others may have the state, and be on their way back");
    // It is the only one that claims, so it gets the term when it asks.
    world.claim(2, 2);
    world.write();
    assert_eq!(world.warrant(2).host, world.peer(2));
}

#[test]
fn a_host_back_before_it_was_missed_gets_a_later_term() {
    let mut world = named(3);
    world.drop_socket(0);
    world.run_for(seconds(5));
    assert_eq!(reserves(&mut world, 1), [(term(2), world.peer(1))]);
    for i in 0..3 {
        let warrant = world.warrant(i);
        assert_eq!((warrant.term, warrant.host), (term(3), world.peer(0)), "seat {i}");
    }
}

#[test]
fn a_gone_reserve_host_is_replaced_by_the_next_in_line() {
    let mut world = named(4);
    world.kill(0);
    world.kill(1);
    let (first, second) = ((term(2), world.peer(1)), (term(3), world.peer(2)));
    assert_eq!(reserves(&mut world, 3), [first, second]);
    world.claim_for(3, 2, 1);
    assert_eq!(world.warrant(3).host, world.peer(2), "of those that were given the last counts");
}

#[test]
fn a_restarted_relay_knows_the_reserve_and_the_present_host() {
    let mut world = named(3);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.run_for(seconds(1));
    world.kill_relay();
    world.start_relay();
    world.run_for(seconds(5));
    assert_eq!(world.warrant(1).term, term(1), "the host may live: nobody has missed it");
    assert!(reserves(&mut world, 1).ends_with(&[(term(2), world.peer(1))]));
    world.seats[0].cut = false;
    world.run_for(seconds(10));
    assert_eq!((world.warrant(2).term, world.warrant(2).host), (term(3), world.peer(0)));
}

#[test]
fn a_returning_member_is_told_that_the_host_lost_the_relay() {
    let mut world = World::with_members(3);
    let host = world.peer(0);
    world.drop_socket(1);
    world.kill(0);
    world.events(1);
    world.run_for(seconds(5));
    let events = world.events(1);
    let [ClientEvent::Restored, ClientEvent::Gone(gone), ClientEvent::Successor(next)] = events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (gone, next.host),
        (host, world.peer(2)),
        "whom the reserve was given when the other was away"
    );
    let newcomer = world.join("TEA");
    assert_eq!(world.events(newcomer).last(), Some(&ClientEvent::Gone(host)));
    world.drop_socket(2);
    world.claim(1, 2);
    world.events(2);
    world.run_for(seconds(5));
    let warrant = world.warrant(2);
    assert_eq!(world.events(2), [ClientEvent::Restored, ClientEvent::Issued(warrant)], "its host is here");
}

#[test]
fn a_host_that_is_about_to_enter_is_not_reported_gone() {
    let mut world = World::with_members(4);
    let host = world.peer(0);
    world.kill_relay();
    world.disk_works = false;
    world.start_relay();
    world.run_for(seconds(8));
    assert!(world.seats.iter().all(|seat| seat.conn.is_some() && !seat.client.is_entered()));
    world.disk_works = true;
    world.write();
    for i in 1..4 {
        assert!(world.seats[i].client.is_entered());
        assert!(!world.events(i).contains(&ClientEvent::Gone(host)));
    }
}

#[test]
fn a_member_that_resumes_under_the_reserve_begins_it() {
    let mut world = named(3);
    world.kill(0);
    let events = world.events(1);
    let Some(ClientEvent::Successor(warrant)) = events.last() else { panic!("{events:?}") };
    let now = world.now;
    world.drop_socket(1);
    assert!(world.seats[1].client.set_warrant(now, *warrant));
    world.run_for(seconds(5));
    assert_eq!(world.warrant(2).host, world.peer(1));
}

/// The host's connection breaks, and the host is back before the reserve is on disk.
fn back_before_the_disk() -> World {
    let mut world = named(5);
    world.disk_works = false;
    world.drop_socket(0);
    world.settle();
    assert_eq!(world.writes.len(), 1, "the reserve");
    world.run_for(millis(400));
    assert!(world.seats[0].conn.is_some());
    world
}

#[test]
fn a_host_back_before_its_reserve_is_written_is_not_deposed() {
    // The claim is a member's, or the host's own, which renews its term.
    for i in [4, 0] {
        let mut world = back_before_the_disk();
        world.claim_for(i, 2, i);
        world.disk_works = true;
        world.write();
        world.run_for(millis(100));
        assert_eq!(world.warrant(2).host, world.peer(0), "claimed by {i}");
    }
}

#[test]
fn a_returning_former_host_does_not_undo_a_begun_reserve() {
    let mut world = named(4);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.settle();
    // The list names the same members as before, so the record changes by the term alone.
    world.name_members(1, &[0, 1, 2, 3]);
    world.claim_for(2, 2, 1);
    assert_eq!((world.warrant(3).term, world.warrant(3).host), (term(2), world.peer(1)));
    world.run_for(seconds(3_600));
    world.kill_relay();
    world.start_relay();
    (1..4).for_each(|i| world.seats[i].cut = true);
    world.seats[0].cut = false;
    while world.seats[0].conn.is_none() {
        world.run_for(millis(10));
    }
    (1..4).for_each(|i| world.seats[i].cut = false);
    world.run_for(seconds(10));
    assert_eq!(world.warrant(2).host, world.peer(1), "whom the relay had announced");
}

/// The reserve names seat 1 as the host. When the relay restarts, all members except the former host have adopted the
/// reserve. The former host comes back first.
#[test]
fn a_begun_reserve_is_learnt_while_the_record_is_written() {
    let mut world = named(4);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.settle();
    let events = world.events(2);
    let Some(&ClientEvent::Successor(warrant)) = events.last() else { panic!("{events:?}") };
    assert_eq!(warrant.host, world.peer(1));
    world.kill_relay();
    let now = world.now;
    for i in 1..4 {
        assert!(world.seats[i].client.set_warrant(now, warrant));
        world.seats[i].cut = true;
    }
    world.seats[0].cut = false;
    world.disk_works = false;
    world.start_relay();
    while world.seats[0].conn.is_none() {
        world.run_for(millis(50));
    }
    (1..4).for_each(|i| world.seats[i].cut = false);
    while (1..4).any(|i| world.seats[i].conn.is_none()) {
        world.run_for(millis(50));
    }
    world.disk_works = true;
    world.write();
    world.run_for(seconds(1));
    assert_eq!(world.warrant(2).host, world.peer(1), "all three live under its term, and showed it");
}

#[test]
fn a_new_host_that_is_connected_is_not_awaited() {
    let mut world = named(4);
    world.kill(0);
    world.kill_relay();
    world.start_relay();
    while (1..4).any(|i| world.seats[i].conn.is_none()) {
        world.run_for(millis(50));
    }
    let line = [1, 2, 3].map(|i| world.peer(i));
    let conn = world.seats[1].conn.expect("connected");
    world.raw_send(conn, &ToRelay::Members(line.to_vec(), 0));
    assert_eq!(world.warrant(2).host, world.peer(1));
    world.kill(1);
    world.claim_for(3, 3, 2);
    world.run_for(millis(500));
    assert_eq!(world.warrant(3).host, world.peer(2));
}

#[test]
fn a_removed_member_is_not_told_of_the_reserve() {
    let mut world = named(5);
    world.name_members(0, &[0, 1, 2, 3]);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.settle();
    assert_eq!(reserves(&mut world, 4), []);
    assert_eq!(reserves(&mut world, 3), [(term(2), world.peer(1))]);
    world.drop_socket(4);
    world.run_for(seconds(1));
    assert!(world.seats[4].conn.is_some());
    assert_eq!(reserves(&mut world, 4), []);
}

#[test]
fn a_claim_does_not_begin_the_reserve_of_an_absent_host() {
    let mut world = named(4);
    world.kill(0);
    world.kill_relay();
    world.kill(1);
    world.start_relay();
    world.run_for(seconds(20));
    world.claim_for(2, 2, 2);
    assert_eq!(world.warrant(3).host, world.peer(2));
}

#[test]
fn a_claim_against_the_reserve_host_also_begins_its_term() {
    let mut world = named(3);
    world.kill(0);
    world.seats[1].frozen = true;
    world.claim_for(2, 3, 2);
    assert_eq!(world.warrant(2).host, world.peer(1));
    world.run_for(PROBE_WITHIN);
    assert_eq!((world.warrant(2).term, world.warrant(2).host), (term(3), world.peer(2)));
}

#[test]
fn a_claim_for_another_than_the_reserve_host_is_denied() {
    let mut world = named(3);
    world.kill(0);
    world.events(2);
    world.claim_for(2, 2, 2);
    let warrant = world.warrant(2);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(1)));
    assert_eq!(world.events(2), [ClientEvent::Issued(warrant), denied(2, Denial::Stale)]);
}

/// Two warrants were in reserve, one after the other. The first has begun without the relay's knowledge.
#[test]
fn a_restarted_relay_learns_that_an_earlier_reserve_began() {
    let mut world = named(4);
    world.kill(0);
    let events = world.events(3);
    let Some(&ClientEvent::Successor(first)) = events.last() else { panic!("{events:?}") };
    world.kill(1);
    assert_eq!(reserves(&mut world, 3), [(term(3), world.peer(2))]);
    let now = world.now;
    world.kill_relay();
    world.kill(2);
    assert!(world.seats[3].client.set_warrant(now, first));
    world.said.clear();
    world.start_relay();
    world.run_for(seconds(1));
    assert_eq!(world.issued(2), [first], "not the term before it, which the disk has");
}
