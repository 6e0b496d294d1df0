//! Peers that were away for a moment, or slept. When such a peer is back, something else reaches it before the
//! packets that others sent meanwhile. It judges no member by a silence that its own absence caused (PROTOCOL §4.10).

use crate::world::{World, part, world_of};
use samovar_session::{EndReason, Event, Rules};
use samovar_wire::{Duration, PeerId, SeatId, Term, Ticket};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn sleeper_that_learns_of_a_lost_relay_first_does_not_fork() {
    for forks in [false, true] {
        let mut world = World::with_rules(90, 0, Rules { forks, ..Rules::default() });
        let host = *world.peers.keys().next().unwrap();
        let others: Vec<_> = (0..3).map(|_| world.join(None)).collect();
        world.run(3_000);
        let sleeper = others[1];
        // The driver hands over the packets of three seconds of sleep after the news that the relay is lost.
        let slept = Duration::from_millis(3_000);
        world.leaps.insert(sleeper, slept);
        world.witness_alive = false;
        let now = world.now;
        for (&id, session) in &mut world.peers {
            session.witness(if id == sleeper { now + slept } else { now }).set_reached(false);
        }
        world.run(10_000);
        assert_eq!(world.peers[&sleeper].host(), host, "forks {forks}: {:?}", world.peers[&sleeper].term());
        world.assert_agreed();
    }
}

#[test]
fn short_absence_does_not_count_as_hearing_the_host() {
    let (mut world, host, others) = world_of(97, 0, 4);
    let member = others[1];
    part(&mut world, &[host], &[member]);
    world.run(600);
    let before = world.peers[&member].session_time(world.now);
    let away = Duration::from_millis(150);
    world.leaps.insert(member, away);
    let now = world.now + away;
    world.peer(member).witness(now).set_reached(true);
    world.run(100);
    world.grant(Term::FIRST.next_witnessed(), others[0]);
    world.run(500);
    let detected = world.events[&member].iter().find_map(|event| match event {
        Event::HostChanged(migration) => Some(migration.detected),
        _ => None,
    });
    assert!(detected.unwrap() < before, "{detected:?}, {before:?}");
}

#[test]
fn sleeper_that_is_made_host_does_not_act_at_once() {
    let (mut world, host, others) = world_of(95, 0, 4);
    let sleeper = others[0];
    world.kill(host);
    world.leaps.insert(sleeper, Duration::from_millis(3_000));
    world.grant(Term::FIRST.next_witnessed(), sleeper);
    let session = &world.peers[&sleeper];
    assert!(!session.is_host());
    assert!(session.view().electorate().peers.len() >= 3);
}

/// A world in which a host is away for a second just before a newcomer's first packet arrives. The newcomer may have
/// the ticket of a member that is gone; `seat` and `ticket` are that member's.
struct Knock {
    world: World,
    host: PeerId,
    seat: Option<SeatId>,
    ticket: Option<Ticket>,
    back: PeerId,
}

fn knock(seed: u8, members: usize, with_ticket: bool) -> Knock {
    let come = |away_at: Option<u32>| {
        let (mut world, host, others) = world_of(seed, 0, members);
        let (mut seat, mut ticket) = (None, None);
        if with_ticket {
            let backup = world.peers[&host].view().backup();
            let guest = *others.iter().find(|peer| Some(**peer) != backup).unwrap();
            (seat, ticket) = (world.peers[&guest].seat(), world.peers[&guest].ticket());
            world.kill(guest);
            world.run(3_000);
        }
        world.cuts.extend(others.iter().map(|&other| (other, host)));
        world.run(34);
        let back = world.join(ticket);
        for step in 0..100 {
            if away_at == Some(step) {
                world.leaps.insert(host, Duration::from_millis(1_000));
                world.cuts.clear();
            }
            world.step();
            if world.peers[&host].link(back).is_some() {
                return (step, Knock { world, host, seat, ticket, back });
            }
        }
        panic!("the newcomer does not arrive")
    };
    let (at, _) = come(None);
    come(Some(at)).1
}

#[test]
fn host_that_was_away_keeps_its_backup_at_a_join_request() {
    let Knock { mut world, host, back, .. } = knock(92, 3, false);
    world.run(3);
    let backups = world.peers[&host].view().backups();
    assert!(!backups.is_empty() && !backups.contains(&back), "{backups:?}");
}

#[test]
fn ticket_shown_to_a_replaced_host_still_opens_its_seat() {
    let Knock { mut world, host, seat, ticket, back } = knock(96, 4, true);
    let heir = world.peers[&host].view().backup().unwrap();
    // Meanwhile the relay has given the next term to the backup; the newcomer hears of that later.
    let warrant = world.sign(world.peers[&host].term().next_witnessed(), heir);
    let now = world.now;
    world.peer(heir).witness(now).handle_warrant(&warrant);
    world.run(45);
    let now = world.now;
    world.peer(back).witness(now).handle_warrant(&warrant);
    world.run(4_000);
    let mut last = back;
    if world.events[&back].last() == Some(&Event::Ended(EndReason::Removed)) {
        // A page comes back with the last ticket that it was given.
        let ticket = world.peers.remove(&back).unwrap().ticket().or(ticket);
        last = world.join(ticket);
        world.run(2_000);
    }
    assert_eq!(world.peers[&last].seat(), seat);
}
