//! Seats: when a ticket is confirmed, and what it opens after the host that confirmed it is dead (PROTOCOL §4.1).

use std::collections::BTreeSet;

use crate::stranger::Stranger;
use crate::world::{TEAPOT, World, part};
use samovar_link::{Link, LinkConfig, Source};
use samovar_session::{EndReason, Event, Rules};
use samovar_wire::control::{Presence, Standing};
use samovar_wire::link_frame::PacketHeader;
use samovar_wire::{Duration, Generation, Generations, Mode, PeerId, SeatId, Ticket, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A host, its backup, and a former member that has just asked to join again.
struct Return {
    world: World,
    host: PeerId,
    backup: PeerId,
    seat: SeatId,
    old_ticket: Ticket,
    again: PeerId,
}

impl Return {
    fn new(seed: u8) -> Self {
        let mut world = World::new(seed, 0);
        let host = *world.peers.keys().next().unwrap();
        let backup = world.join(None);
        world.run(1_000);
        let guest = world.join(None);
        world.run(2_000);
        assert_eq!(world.peers[&host].view().backup(), Some(backup));
        let (seat, old_ticket) = (world.peers[&guest].seat().unwrap(), world.peers[&guest].ticket().unwrap());
        world.kill(guest);
        world.run(3_000);
        let again = world.join(Some(old_ticket));
        Self { world, host, backup, seat, old_ticket, again }
    }

    /// Runs until the returning peer is a member. That is before any other peer can have heard of it and answered.
    fn run_until_member(&mut self) {
        while !self.world.peers[&self.again].is_member() {
            self.world.step();
        }
    }

    /// Tells the host that its backup has replaced it. No other peer learns this before the backup is gone and the
    /// former host hosts again.
    fn replace_host_for_a_moment(&mut self) {
        let now = self.world.now;
        let term = self.world.peers[&self.host].term();
        let warrant = self.world.sign(term.next_witnessed(), self.backup);
        self.world.peer(self.host).witness(now).handle_warrant(&warrant);
        self.world.kill(self.backup);
        self.world.grant(warrant.term.next_witnessed(), self.host);
    }

    fn given(&self) -> Vec<Ticket> {
        let given = |event: &Event| match event {
            Event::Ticket(ticket) => Some(*ticket),
            _ => None,
        };
        self.world.events[&self.again].iter().filter_map(given).collect()
    }
}

#[test]
fn ticket_is_confirmed_once_the_backup_knows_of_it() {
    let mut came = Return::new(1);
    came.run_until_member();
    assert_eq!(came.world.peers[&came.again].seat(), Some(came.seat));
    assert_eq!(came.world.peers[&came.again].ticket(), None, "only the host can know");
    came.world.run(150);
    let [ticket] = came.given()[..] else { panic!("{:?}", came.given()) };
    assert_ne!(ticket, came.old_ticket);
    assert_eq!(came.world.peers[&came.again].ticket(), Some(ticket));
}

#[test]
fn ticket_shown_to_a_host_that_died_still_opens_the_seat() {
    let mut came = Return::new(2);
    came.world.cuts = vec![(came.host, came.backup)];
    came.run_until_member();
    came.world.run(100);
    assert_eq!(came.given(), []);
    came.world.kill(came.host);
    came.world.run(3_000);
    assert_eq!(came.world.events[&came.again].last(), Some(&Event::Ended(EndReason::Removed)));
    came.world.peers.remove(&came.again);
    let third = came.world.join(Some(came.old_ticket));
    came.world.run(3_000);
    assert_eq!(came.world.peers[&third].seat().unwrap(), came.seat);
    came.world.assert_converged();
}

#[test]
fn next_host_confirms_a_ticket_that_the_last_did_not() {
    let mut came = Return::new(3);
    // The backup knows of the return, and the host never hears that it does.
    came.world.cuts = vec![(came.backup, came.host)];
    came.run_until_member();
    came.world.run(100);
    assert_eq!(came.given(), []);
    came.world.kill(came.host);
    came.world.run(3_000);
    let [ticket] = came.given()[..] else { panic!("{:?}", came.given()) };
    assert_eq!(came.world.peers[&came.again].seat(), Some(came.seat));
    came.world.assert_converged();
    came.world.kill(came.again);
    came.world.run(3_000);
    let third = came.world.join(Some(ticket));
    came.world.run(3_000);
    assert_eq!(came.world.peers[&third].seat().unwrap(), came.seat);
    came.world.assert_converged();
}

#[test]
fn new_host_without_a_ticket_draws_one() {
    let mut came = Return::new(4);
    came.world.cuts = vec![(came.backup, came.host)];
    came.run_until_member();
    came.world.run(100);
    came.world.kill(came.host);
    came.world.kill(came.backup);
    came.world.run(3_000);
    assert!(came.world.peers[&came.again].is_host());
    assert_eq!(came.world.peers[&came.again].seat(), Some(came.seat));
    assert_eq!(came.given().len(), 1);
}

#[test]
fn host_replaced_for_a_moment_is_asked_again_for_the_ticket() {
    let mut came = Return::new(5);
    came.world.cuts = vec![(came.backup, came.host)];
    came.run_until_member();
    came.replace_host_for_a_moment();
    came.world.run(1_000);
    assert_eq!(came.world.peers[&came.again].seat(), Some(came.seat));
    assert_eq!(came.given().len(), 1);
    came.world.assert_converged();
}

#[test]
fn entrant_at_a_host_replaced_for_a_moment_gets_a_ticket() {
    let mut came = Return::new(15);
    came.world.cuts = vec![(came.backup, came.host), (came.host, came.again)];
    while !came.world.peers[&came.host].view().has(came.again) {
        came.world.step();
    }
    came.replace_host_for_a_moment();
    came.world.cuts.clear();
    came.world.run(1_000);
    assert_eq!((came.given().len(), came.world.peers[&came.again].seat()), (1, Some(came.seat)));
}

#[test]
fn request_for_a_ticket_does_not_change_presence() {
    let mut came = Return::new(14);
    came.world.cuts = vec![(came.backup, came.host)];
    came.run_until_member();
    let hidden = Standing { presence: Presence::Hidden, reach: 2 };
    let run_hidden = |came: &mut Return, ms: u64| {
        for _ in 0..ms {
            let now = came.world.now;
            came.world.peer(came.again).set_standing(now, hidden);
            came.world.step();
        }
    };
    run_hidden(&mut came, 100);
    came.world.kill(came.host);
    run_hidden(&mut came, 3_000);
    assert_eq!(came.given().len(), 1);
    assert_eq!(came.world.peers[&came.backup].seat_of(came.again).unwrap().standing, hidden);
}

/// A member's reach changes again before any view with the last change settles.
#[test]
fn changing_standing_of_a_member_keeps_no_newcomer_out() {
    let mut world = World::new(11, 0);
    world.join(None);
    world.run(1_000);
    let flapper = world.join(None);
    world.run(2_000);
    let flap = |world: &mut World, ms: u64| {
        for n in 0..ms {
            let (now, reach) = (world.now, (n / 40 % 5) as u8);
            world.peer(flapper).set_standing(now, Standing { presence: Presence::Visible, reach });
            world.step();
        }
    };
    flap(&mut world, 1_000);
    let new = world.join(None);
    flap(&mut world, 1_000);
    assert!(world.peers[&new].ticket().is_some());
}

#[test]
fn member_whose_ticket_was_lost_asks_on_the_next_link() {
    let mut came = Return::new(7);
    came.run_until_member();
    came.world.cuts = vec![(came.host, came.again)];
    came.world.run(600);
    assert_eq!(came.given(), []);
    // The host's end of the link began anew, as far as the other end can see.
    let now = came.world.now;
    let mut link = Link::new(now, LinkConfig::default(), Generation::FIRST.next());
    let (mut packet, source) = (Vec::new(), Source { wanted: true, compose: &mut |_, _, _| {} });
    let mode = link.poll_transmit(now, Time::ZERO, source, &mut packet).unwrap();
    came.world.peer(came.again).handle_packet(now, came.host, mode, &packet);
    came.world.cuts.clear();
    came.world.run(1_000);
    assert_eq!((came.given().len(), came.world.peers[&came.again].seat()), (1, Some(came.seat)));
    came.world.assert_converged();
}

/// The former host still hosts when the newcomer turns to the next host. Afterwards the former host must take the
/// newcomer for a member, and see its objects (seed 13001286 of `chaos`).
#[test]
fn newcomer_that_turned_to_the_next_host_is_linked_to_both() {
    let mut world = World::new(6, 0);
    let host = *world.peers.keys().next().unwrap();
    let heir = world.join(None);
    world.run(3_000);
    world.witness_alive = false;
    let late = world.join(None);
    world.cuts = vec![(host, late)];
    while !world.peers[&heir].view().has(late) {
        world.step();
    }
    let now = world.now;
    assert!(world.peer(host).hand_over(now));
    world.run(100);
    let warrant = world.sign(world.peers[&host].term().next_witnessed(), heir);
    let now = world.now;
    world.cuts.push((late, heir));
    world.peer(late).witness(now).handle_warrant(&warrant);
    world.run(60);
    assert!(world.peers[&host].is_host() && !world.peers[&late].is_member());
    world.cuts.clear();
    let now = world.now;
    world.peer(heir).witness(now).handle_warrant(&warrant);
    world.run(1_000);
    world.create(late, TEAPOT, &[b"pot of the late"]);
    world.run(2_000);
    world.assert_converged();
}

#[test]
fn seat_waits_for_its_member_for_the_grace_time() {
    for (away, is_kept) in [(2_000, true), (4_000, false)] {
        let rules = Rules { grace: Duration::from_millis(3_000), ..Rules::default() };
        let mut world = World::with_rules(31, 0, rules);
        let host = *world.peers.keys().next().unwrap();
        let a = world.join(None);
        world.run(2_000);
        let (seat, ticket) = (world.peers[&a].seat().unwrap(), world.peers[&a].ticket());
        assert!(ticket.is_some());
        world.kill(a);
        while world.peers[&host].view().has(a) {
            world.step();
        }
        world.run(away);
        let waits = world.peers[&host].view().seats().any(|record| record.seat == seat);
        assert_eq!(waits, is_kept, "{away} ms behind its removal");
        let back = world.join(ticket);
        world.run(1_000);
        assert_eq!(
            world.peers[&back].seat() == Some(seat),
            is_kept,
            "it sits on {:?}",
            world.peers[&back].seat()
        );
    }
}

/// The strangers take every place for entrants, and ask for nothing.
#[test]
fn silent_strangers_keep_no_newcomer_out() {
    let mut world = World::new(33, 0);
    let host = *world.peers.keys().next().unwrap();
    let member = world.join(None);
    world.run(1_000);
    for round in 0..3_u16 {
        for stranger in 0..40 {
            let mut bytes = Vec::new();
            let header = PacketHeader { generations: Generations::FIRST, number: round, ack: None };
            header.encode(&mut Writer::new(&mut bytes));
            let now = world.now;
            world.peer(host).handle_packet(now, PeerId(0xFFFF_0000 + stranger), Mode::Unreliable, &bytes);
        }
        let newcomer = world.join(None);
        world.run(1_000);
        assert!(world.peers[&newcomer].is_member(), "{round}");
    }
    assert!(world.peers[&member].is_member());
    world.assert_converged();
}

/// A ticket's secret goes only to the host that is asked to seat its member again. Any other peer that had the
/// secret, even a lost host, could take the seat.
#[test]
fn a_ticket_is_shown_only_to_the_host_that_is_asked() {
    let mut world = World::new(32, 0);
    world.record = Some(Vec::new());
    let host = *world.peers.keys().next().unwrap();
    let [heir, guest] = [world.join(None), world.join(None)];
    world.run(2_000);
    world.kill(host);
    world.run(3_000);
    let tickets = [heir, guest].map(|peer| world.peers[&peer].ticket().unwrap());
    let by = |world: &World, ticket: Ticket| -> BTreeSet<(PeerId, PeerId)> {
        let has = |bytes: &[u8]| bytes.windows(16).any(|part| part == ticket.secret);
        let record = world.record.iter().flatten();
        record.filter(|(_, _, bytes)| has(bytes)).map(|&(from, to, _)| (from, to)).collect()
    };
    assert!(tickets.iter().all(|&ticket| by(&world, ticket).is_empty()), "{:?}", by(&world, tickets[1]));
    let seat = world.peers[&guest].seat();
    world.kill(guest);
    world.run(3_000);
    let back = world.join(Some(tickets[1]));
    world.run(1_000);
    assert_eq!(world.peers[&back].seat(), seat);
    assert_eq!(by(&world, tickets[1]), BTreeSet::from([(back, heir)]));
    let next = world.peers[&back].ticket().unwrap();
    assert!(by(&world, next).is_empty(), "{:?}", by(&world, next));
}

#[test]
fn next_host_knows_the_seat_that_a_dead_host_gave() {
    let mut came = Return::new(8);
    let (host, backup, again) = (came.host, came.backup, came.again);
    // The host seats the returning peer and tells the backup. The returning peer learns nothing of this.
    came.world.cuts = vec![(host, again), (backup, again), (again, backup)];
    while !came.world.peers[&backup].view().has(again) {
        came.world.step();
    }
    came.world.kill(host);
    while came.world.peers[&backup].view().has(again) || !came.world.peers[&backup].is_host() {
        came.world.step();
    }
    // The peer hears that it is no longer a member, and comes back.
    came.world.cuts.clear();
    came.world.run(1_000);
    assert!(came.world.events[&again].contains(&Event::Ended(EndReason::Removed)));
    let tickets = came.world.peers[&again].tickets();
    let config = came.world.config(tickets);
    came.world.kill(again);
    let last = came.world.join_as(config);
    came.world.run(1_000);
    assert_eq!(came.world.peers[&last].seat(), Some(came.seat));
    assert_eq!(came.world.peers[&backup].view().seats().count(), 3, "no seat waits for it elsewhere");
}

/// A host and its backup confirm a ticket and die. Their successor was cut off from them, and never hears of that ticket.
#[test]
fn ticket_before_the_confirmed_one_opens_the_seat_elsewhere() {
    let mut world = World::new(9, 0);
    let host = *world.peers.keys().next().unwrap();
    let [backup, guest, other] = std::array::from_fn(|_| {
        let peer = world.join(None);
        world.run(1_000);
        peer
    });
    world.run(1_000);
    let (seat, ticket) = (world.peers[&guest].seat(), world.peers[&guest].ticket());
    world.kill(guest);
    world.run(3_000);
    let again = world.join(ticket);
    part(&mut world, &[other], &[host, backup, again]);
    while world.peers[&again].ticket().is_none() {
        world.step();
    }
    assert_eq!(world.peers[&again].seat(), seat);
    assert!(!world.peers[&other].view().has(again));
    let term = world.peers[&host].term().next_witnessed();
    [host, backup].into_iter().for_each(|peer| world.kill(peer));
    world.cuts.clear();
    world.grant(term, other);
    world.run(1_000);
    assert!(world.events[&again].contains(&Event::Ended(EndReason::Removed)));
    let tickets = world.peers[&again].tickets();
    let config = world.config(tickets);
    world.kill(again);
    let last = world.join_as(config);
    world.run(1_000);
    assert_eq!(world.peers[&last].seat(), seat);
    world.assert_converged();
}

#[test]
fn newcomer_with_the_ticket_hash_of_a_member_is_refused() {
    let (mut world, host, guests) = crate::world::world_of(33, 0, 3);
    let victim = world.peers[&guests[1]].ticket().unwrap();
    world.run(1_000);
    let seats: Vec<_> = guests.iter().map(|guest| world.peers[guest].seat()).collect();
    let mut mallory = Stranger::new(&world);
    let hello = Stranger::hello_with(victim.hash());
    mallory.say(&mut world, host, Some(&hello));
    world.run(500);
    assert!(!world.peers[&host].view().has(Stranger::ID));
    assert_eq!(guests.iter().map(|guest| world.peers[guest].seat()).collect::<Vec<_>>(), seats);
}
