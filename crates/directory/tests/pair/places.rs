//! Places in a game for peers that no host has named (PROTOCOL §5.2).

use samovar_directory::limits::{NAMED_WITHIN, Quota, RESTORED_WAIT, RETURNS_PER_GAME_MAX};
use samovar_directory::{Class, CloseReason, ConnId, Origin, Output};
use samovar_wire::relay::{FromRelay, Purpose, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Mode, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, code, millis, seconds};

fn join_from(world: &mut World, origin: u64) -> ConnId {
    world.raw_enter_from(Some(Origin(origin)), Purpose::Join(code("TEA")))
}

fn is_in(world: &World, conn: ConnId) -> bool {
    matches!(world.heard[&conn].first(), Some(FromRelay::Entered(_))) && !world.closed.contains_key(&conn)
}

#[test]
fn a_fifth_stranger_of_an_address_waits_for_a_place() {
    let mut world = World::with_members(1);
    let four = [0; 4].map(|_| join_from(&mut world, 7));
    assert!(four.iter().all(|&conn| is_in(&world, conn)));
    let [fifth, sixth] = [0; 2].map(|_| join_from(&mut world, 7));
    assert!(world.heard[&fifth].is_empty());
    let other = join_from(&mut world, 8);
    assert!(is_in(&world, other), "other addresses have places of their own");
    let host = world.peer(0);
    let named = world.raw_peer(four[2]);
    world.name_peers(0, vec![host, named]);
    assert!(is_in(&world, fifth) && world.heard[&sixth].is_empty());
    let now = world.now;
    world.directory.handle_closed(now, four[0]);
    world.settle();
    assert!(is_in(&world, sixth));
    let seventh = join_from(&mut world, 7);
    world.run_for(RESTORED_WAIT);
    assert_eq!(world.heard[&seventh], [FromRelay::Refused(Refusal::Busy)]);
}

#[test]
fn at_most_32_connections_of_an_address_wait_for_a_place() {
    let mut world = World::with_members(1);
    for _ in 0..36 {
        join_from(&mut world, 7);
    }
    let refused = join_from(&mut world, 7);
    assert_eq!(world.heard[&refused], [FromRelay::Refused(Refusal::Busy)]);
    for _ in 0..4 {
        join_from(&mut world, 8);
    }
    let waits = join_from(&mut world, 8);
    assert!(world.heard[&waits].is_empty());
}

#[test]
fn a_peer_unnamed_for_30_s_gives_way_in_a_full_game() {
    let mut world = World::with_members(2);
    world.directory.set_quota(Quota { connections_per_game: 6, ..Quota::default() });
    let mut strangers = Vec::new();
    for origin in 0..4 {
        strangers.push(join_from(&mut world, origin));
        world.run_for(millis(1));
    }
    world.run_for(millis(29_990));
    let early = join_from(&mut world, 20);
    assert_eq!(world.heard[&early], [FromRelay::Refused(Refusal::Busy)]);
    world.run_for(millis(6));
    let newcomer = join_from(&mut world, 21);
    assert!(is_in(&world, newcomer));
    assert_eq!(world.closed.get(&strangers[0]), Some(&CloseReason::GaveWay));
    assert!(strangers[1..].iter().all(|&conn| is_in(&world, conn)));
    assert!((0..2).all(|i| world.seats[i].client.is_entered()));
}

#[test]
fn an_old_stranger_gives_way_to_a_newcomer_of_its_address() {
    let mut world = World::with_members(1);
    let other = join_from(&mut world, 1);
    let four = [0; 4].map(|_| join_from(&mut world, 7));
    world.run_for(NAMED_WITHIN);
    let newcomer = join_from(&mut world, 7);
    assert!(is_in(&world, newcomer) && is_in(&world, other));
    assert_eq!(world.closed.get(&four[0]), Some(&CloseReason::GaveWay));
}

#[test]
fn places_for_returning_members_are_not_for_strangers() {
    let mut world = World::with_members(2);
    world.directory.set_quota(Quota { connections_per_game: 6, ..Quota::default() });
    let warrant = world.warrant(0);
    let signatory = samovar_roster::authority::Signatory::new(&world.secret);
    let pass = |peer| signatory.pass(warrant.session, peer, false);
    let resume = |peer| Purpose::Resume(code("TEA"), pass(peer), warrant);
    for origin in 0..4 {
        join_from(&mut world, origin);
    }
    for n in 0..RETURNS_PER_GAME_MAX as u32 {
        let conn = world.raw_enter(resume(PeerId(90_000 + n)));
        assert_eq!(world.heard[&conn], [FromRelay::Refused(Refusal::Busy)], "a pass says who it is, no more");
    }
    let member = world.peer(1);
    world.kill(1);
    join_from(&mut world, 9);
    let back = world.raw_enter(resume(member));
    assert!(is_in(&world, back), "the host has named it");
}

#[test]
fn a_reloaded_page_gets_exactly_one_place_in_a_full_game() {
    let mut world = World::with_members(2);
    world.directory.set_quota(Quota { connections_per_game: 6, ..Quota::default() });
    let pass = world.seats[1].client.pass().expect("entered");
    world.kill(1);
    for origin in 0..5 {
        join_from(&mut world, origin);
    }
    let rejoin = Purpose::Rejoin(code("TEA"), pass);
    let first = world.raw_enter_from(Some(Origin(0)), rejoin.clone());
    assert!(is_in(&world, first));
    let second = world.raw_enter_from(Some(Origin(0)), rejoin.clone());
    assert!(is_in(&world, second));
    assert_eq!(world.closed.get(&first), Some(&CloseReason::Replaced));
    // A named peer keeps its place, even if another connection shows the same pass again.
    let peers = vec![world.peer(0), world.raw_peer(second)];
    world.name_peers(0, peers);
    let third = world.raw_enter_from(Some(Origin(0)), rejoin);
    assert!(is_in(&world, second) && is_in(&world, third));
}

#[test]
fn a_waiting_connection_replaces_an_older_one_of_its_pass() {
    let mut world = World::with_members(2);
    let pass = world.seats[1].client.pass().expect("entered");
    (0..2).for_each(|i| world.kill(i));
    let rejoin = Purpose::Rejoin(code("TEA"), pass);
    let [first, second] = [0; 2].map(|_| world.raw_enter(rejoin.clone()));
    assert_eq!(world.closed.get(&first), Some(&CloseReason::Replaced));
    world.run_for(seconds(20));
    assert!(is_in(&world, second));
}

#[test]
fn messages_caused_by_strangers_are_marked_as_theirs() {
    let mut world = World::with_members(2);
    let stranger = join_from(&mut world, 7);
    let (host, member) = (world.peer(0), world.seats[1].conn.expect("connected"));
    let classes = |world: &mut World, from: ConnId| {
        let now = world.now;
        let signal = ToRelay::Signal(host, Signal::Answer(0, String::new()));
        world.directory.handle_message(now, from, &RelayFrame::control(&signal));
        world.directory.handle_message(now, from, &RelayFrame::forward(host, Mode::Reliable, b"bulk"));
        let mut classes = Vec::new();
        while let Some(output) = world.directory.poll_output() {
            if let Output::Send { class, .. } = output {
                classes.push(class);
            }
        }
        classes
    };
    assert_eq!(classes(&mut world, member), [Class::Member; 2]);
    assert_eq!(classes(&mut world, stranger), [Class::Stranger(stranger); 2]);
    let now = world.now;
    world.directory.handle_closed(now, stranger);
    let first = world.directory.poll_output();
    let marked = matches!(first, Some(Output::Send { class, .. }) if class == Class::Stranger(stranger));
    assert!(marked, "that it is gone");
}
