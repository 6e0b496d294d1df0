//! The relay has restarted: its disk tells which peers are members.

use samovar_directory::ClientEvent;
use samovar_directory::limits::{CODE_KEPT_FOR, HOST_GRACE};
use samovar_wire::relay::Denial;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, denied, millis, seconds, term};

#[test]
fn a_majority_replaces_a_host_not_back_after_a_restart() {
    let mut world = World::with_members(4);
    world.kill_relay();
    world.seats[0].cut = true;
    world.start_relay();
    world.run_for(seconds(1));
    (1..4).for_each(|i| assert!(world.seats[i].client.is_entered()));
    world.claim_for(1, 2, 3);
    assert!(world.issued(2).is_empty(), "one of four: the host counts although it is away");
    world.claim_for(2, 2, 3);
    assert!(world.issued(2).is_empty(), "two of four");
    world.claim_for(3, 2, 3);
    assert_eq!(world.warrant(1).host, world.peer(3));
}

/// A game of five whose second host is lost together with the relay. Its first host was cut off before that. This
/// first host comes back before all others, and misses the second.
fn a_former_host_is_back_first() -> World {
    let mut world = World::with_members(5);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.settle();
    world.claim(1, 2);
    world.kill_relay();
    world.kill(1);
    (2..5).for_each(|i| world.seats[i].cut = true);
    world.seats[0].cut = false;
    world.start_relay();
    world.run_for(seconds(2));
    world.claim_for(0, 3, 0);
    world
}

#[test]
fn a_lone_member_of_an_older_term_hosts_after_the_grace() {
    let mut world = a_former_host_is_back_first();
    world.miss(0, 0);
    world.run_for(HOST_GRACE);
    assert_eq!(world.warrant(0).host, world.peer(0));
}

/// A term begins without the relay's knowledge. Its members show it to the restarted relay, and its host is away.
#[test]
fn a_removed_member_cannot_depose_a_host_that_others_show() {
    let mut world = World::with_members(5);
    world.name_members(0, &[0, 2, 3, 4]);
    world.kill(0);
    let events = world.events(3);
    let Some(&ClientEvent::Successor(warrant)) = events.last() else { panic!("{events:?}") };
    assert_eq!(warrant.host, world.peer(2));
    world.kill_relay();
    let now = world.now;
    for i in [2, 3, 4] {
        world.seats[i].cut = true;
        assert!(world.seats[i].client.set_warrant(now, warrant));
    }
    world.start_relay();
    world.run_for(seconds(2));
    (3..5).for_each(|i| world.seats[i].cut = false);
    world.run_for(HOST_GRACE + seconds(2));
    assert_eq!(world.warrant(1).host, world.peer(2));
    world.miss(1, 1);
    world.run_for(seconds(1));
    assert!(world.issued(3).is_empty(), "it is no member by the disk");
    assert_eq!(world.events(1).last(), Some(&denied(3, Denial::NotAMember)));
    world.hear_host(1);
    world.seats[2].cut = false;
    world.run_for(seconds(10));
    assert_eq!(
        (world.warrant(1).term, world.warrant(1).host),
        (term(4), world.peer(2)),
        "above what 3 had in reserve"
    );
    world.name_members(2, &[2, 3, 4]);
    world.claim(1, 5);
    assert_eq!(world.events(1).last(), Some(&denied(5, Denial::NotAMember)));
}

#[test]
fn claims_against_an_awaited_host_wait_for_its_grace_time() {
    let mut world = World::with_members(3);
    world.kill_relay();
    world.kill(0);
    world.kill(2);
    world.start_relay();
    world.run_for(seconds(1));
    // New peers wait for the host like the others, and have no vote.
    world.join("TEA");
    world.join("TEA");
    world.miss(1, 1);
    world.run_for(seconds(4));
    assert!(world.issued(2).is_empty());
    world.run_for(HOST_GRACE);
    assert_eq!((world.warrant(1).term, world.warrant(1).host), (term(2), world.peer(1)));
}

#[test]
fn a_newcomer_cannot_host_a_game_whose_members_are_back() {
    let mut world = World::with_members(5);
    world.name_members(0, &[0, 1, 2, 3, 4]);
    world.kill_relay();
    world.seats[0].cut = true;
    world.start_relay();
    world.run_for(seconds(5));
    let newcomer = world.join("TEA");
    world.run_for(CODE_KEPT_FOR);
    world.miss(newcomer, newcomer);
    world.run_for(seconds(1));
    assert!(world.issued(2).is_empty(), "four are back");
}

#[test]
fn an_answering_member_hosts_before_a_silent_one() {
    let mut world = World::with_members(6);
    world.kill_relay();
    world.start_relay();
    world.run_for(seconds(6));
    world.seats[0].frozen = true;
    world.seats[1].frozen = true;
    world.claim_for(2, 2, 1);
    world.claim_for(3, 2, 1);
    world.claim_for(4, 2, 4);
    world.run_for(millis(700));
    assert_eq!(world.warrant(2).host, world.peer(4));
}

#[test]
fn members_replace_a_host_that_returned_and_left_again() {
    let mut world = World::with_members(4);
    (1..3).for_each(|i| world.seats[i].cut = true);
    (1..3).for_each(|i| world.drop_socket(i));
    world.kill(0);
    world.claim(3, 2);
    assert_eq!(world.warrant(3).host, world.peer(3));
    world.kill_relay();
    (1..3).for_each(|i| world.seats[i].cut = false);
    world.start_relay();
    world.run_for(seconds(5));
    assert_eq!(world.warrant(1).host, world.peer(3));
    world.kill(3);
    world.claim_for(1, 3, 1);
    world.claim_for(2, 3, 1);
    world.run_for(millis(10));
    assert_eq!(world.warrant(2).host, world.peer(1));
}

/// The host's list of members survives the restart. A peer that only joined before is no member, nor is one that the
/// host removed.
#[test]
fn a_restarted_relay_knows_the_members_from_its_disk() {
    let mut world = World::with_members(4);
    let newcomer = world.join("TEA");
    world.name_members(0, &[0, 1, 2]);
    world.kill_relay();
    world.kill(0);
    world.start_relay();
    world.run_for(HOST_GRACE + seconds(1));
    for stranger in [3, newcomer] {
        world.claim_for(stranger, 2, stranger);
        assert_eq!(world.events(stranger).last(), Some(&denied(2, Denial::NotAMember)));
    }
    for i in [1, 2] {
        world.miss(i, 1);
    }
    world.run_for(seconds(1));
    assert_eq!(world.warrant(2).host, world.peer(1));
}

/// While there was no relay, the members voted for seat 1 as host and dropped seat 4. Seat 4 is back before seat 1.
#[test]
fn claims_for_a_voted_host_wait_for_it_after_a_restart() {
    for returns in [true, false] {
        let mut world = World::with_members(5);
        world.name_members(0, &[0, 1, 2, 3, 4]);
        world.kill_relay();
        world.kill(0);
        world.seats[1].cut = true;
        world.start_relay();
        // A seat that is cut off tries again soon.
        world.run_for(millis(600));
        world.seats[1].cut = !returns;
        world.miss(4, 4);
        [2, 3].into_iter().for_each(|i| world.miss(i, 1));
        world.run_for(millis(10));
        assert!(world.seats[1].conn.is_none() && [2, 3, 4].iter().all(|&i| world.seats[i].conn.is_some()));
        assert!(
            world.issued(2).is_empty(),
            "three of five miss the host, and two of them want who is not here"
        );
        world.run_for(HOST_GRACE);
        assert_eq!(world.warrant(2).host, world.peer(if returns { 1 } else { 4 }));
    }
}
