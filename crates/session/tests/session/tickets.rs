//! Tickets and seats when the host changes, or when a newcomer asks for the host's own seat (PROTOCOL §4.4).

use crate::world::{TEAPOT, World, world_of};
use samovar_session::{Cause, EndReason, Event, Rules};
use samovar_wire::view::SPECTATOR;
use samovar_wire::{Duration, PeerId, Term, Ticket};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Runs on. If the peer of `page` is removed, the page comes back by its ticket. If its seat is taken, the page does
/// not come back. Returns the peer that came back.
fn play_on(world: &mut World, page: PeerId, ms: u64) -> Option<PeerId> {
    let mut second = None;
    for _ in 0..ms {
        world.step();
        if let Some(&Event::Ended(reason)) = world.events[&page].last()
            && let Some(session) = world.peers.remove(&page)
            && reason == EndReason::Removed
        {
            second = Some(world.join(session.ticket()));
        }
    }
    second
}

#[test]
fn host_whose_seat_is_asked_for_hands_over_and_ends() {
    for (members, slow) in [(3, 0), (3, 100), (2, 0)] {
        let (mut world, host, others) = world_of(41, 0, members);
        let pot = world.create(host, TEAPOT, &[b"the score"]);
        world.run(500);
        let (seat, ticket) = (world.peers[&host].seat(), world.peers[&host].ticket());
        let again = world.join(ticket);
        for &peer in &others {
            world.delays.insert((again, peer), Duration::from_millis(slow));
        }
        assert_eq!(play_on(&mut world, host, 6_000), None, "{members}, {slow} ms");
        assert_eq!(world.peers[&again].seat(), seat, "{members}, {slow} ms");
        assert!(world.peers[&again].object(pot).is_some());
        assert_eq!(world.events[&host].last(), Some(&Event::Ended(EndReason::SeatTaken)));
        let changed = world.events[&others[0]].iter().find_map(|event| match event {
            Event::HostChanged(migration) => Some(migration.cause),
            _ => None,
        });
        assert_eq!(changed, Some(Cause::HandedOver), "nothing stands still");
    }
}

#[test]
fn lone_host_frees_its_seat_for_a_newcomer_with_its_ticket() {
    for migrates in [true, false] {
        let mut world = World::with_rules(43, 0, Rules { migrates, ..Rules::default() });
        let host = *world.peers.keys().next().unwrap();
        world.run(1_000);
        let pot = world.create(host, TEAPOT, &[b"the score"]);
        world.run(1_000);
        let seat = world.peers[&host].seat().unwrap();
        let again = world.join(world.peers[&host].ticket());
        assert_eq!(play_on(&mut world, host, 6_000), None);
        assert_eq!(world.peers[&again].seat(), Some(seat));
        assert!(world.peers[&again].object(pot).is_some() && world.peers[&again].ticket().is_some());
        assert_eq!(world.peers[&again].is_host(), migrates);
        if migrates {
            assert_eq!(world.events[&host].last(), Some(&Event::Ended(EndReason::SeatTaken)));
            assert_eq!(world.peers[&again].view().members().count(), 1);
        } else {
            let watching = world.peers[&again].seat_of(host).map(|record| record.attributes & SPECTATOR);
            assert_eq!(watching, Some(SPECTATOR), "the rules allow no successor");
        }
    }
}

#[test]
fn a_lone_host_takes_its_seat_back_from_a_lost_newcomer() {
    let mut world = World::new(44, 0);
    let host = *world.peers.keys().next().unwrap();
    world.run(1_000);
    let (seat, ticket) = (world.peers[&host].seat(), world.peers[&host].ticket());
    let again = world.join(ticket);
    while !world.peers[&host].view().has(again) {
        world.step();
    }
    world.kill(again);
    world.run(6_000);
    assert!(world.peers[&host].is_host());
    assert_eq!(world.peers[&host].seat(), seat);
    assert!(world.peers[&host].ticket().is_some_and(|new| Some(new) != ticket));
    assert_eq!(world.peers[&host].seat_of(host).map(|record| record.attributes & SPECTATOR), Some(0));
}

/// A member that has no answer about the time yet and will host next, and a host that is about to die.
fn host_without_time(rules: Rules) -> (World, PeerId, PeerId, Option<Ticket>, PeerId) {
    let mut world = World::with_rules(13, 0, rules);
    let host = *world.peers.keys().next().unwrap();
    world.run(30_000);
    let guest = world.join(None);
    world.run(30_000);
    let ticket = world.peers[&guest].ticket();
    let late = world.join_without_time(host);
    (world, host, late, ticket, guest)
}

#[test]
fn successor_without_session_time_keeps_a_lost_hosts_seat() {
    let rules = Rules { grace: Duration::from_millis(30_000), ..Rules::default() };
    let (mut world, host, late, ..) = host_without_time(rules);
    let (seat, ticket) = (world.peers[&host].seat().unwrap(), world.peers[&host].ticket());
    world.kill(host);
    world.grant(Term::FIRST.next_witnessed(), late);
    world.run(3_000);
    let back = world.join(ticket);
    world.run(2_000);
    assert_eq!(world.peers[&back].seat(), Some(seat), "within 5 s of 30");
}

#[test]
fn inputs_stay_in_order_at_a_host_without_session_time() {
    let (mut world, host, late, ticket, guest) = host_without_time(Rules::default());
    let now = world.now;
    let before = world.peer(guest).submit(now, b"before").unwrap();
    world.kill(host);
    world.kill(guest);
    world.grant(Term::FIRST.next_witnessed(), late);
    let back = world.join(ticket);
    world.run(3_000);
    let now = world.now;
    let after = world.peer(back).submit(now, b"after").unwrap();
    assert!(after > before, "{after} behind {before}");
}

#[test]
fn cut_off_member_hears_later_that_its_seat_was_taken() {
    let mut world = World::new(93, 0);
    let host = *world.peers.keys().next().unwrap();
    let (a, b) = (world.join(None), world.join(None));
    world.run(3_000);
    let again = world.join(world.peers[&a].ticket());
    while !world.peers[&host].view().has(again) {
        world.cuts = vec![(host, a), (b, a)];
        world.step();
    }
    world.run(100);
    world.cuts.clear();
    world.run(2_000);
    assert!(world.peers[&again].is_member());
    assert_eq!(world.events[&a].last(), Some(&Event::Ended(EndReason::SeatTaken)));
}

#[test]
fn late_joiners_see_a_returning_member_as_resumed() {
    let (mut world, host, others) = world_of(94, 0, 3);
    let (guest, stays) = (others[0], others[1]);
    let ticket = world.peers[&guest].ticket();
    world.kill(guest);
    world.run(3_000);
    let late = world.join(None);
    world.run(2_000);
    let back = world.join(ticket);
    world.run(2_000);
    for peer in [host, stays, late] {
        let resumed = world.events[&peer].iter().find_map(|event| match event {
            Event::MemberJoined { member, resumed } if member.peer == back => Some(*resumed),
            _ => None,
        });
        assert_eq!(resumed, Some(true), "at {peer}");
    }
}
