//! The witness: one host per term, and no living host is deposed.

use samovar_directory::limits::{CLAIM_COUNTS_FOR, PROBE_WITHIN};
use samovar_directory::{ClientEvent, CloseReason};
use samovar_wire::Term;
use samovar_wire::relay::{Denial, FromRelay, Purpose, ToRelay};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, almost, code, denied, listing, millis, seconds, term};

#[test]
fn a_claim_that_makes_a_majority_gets_the_term() {
    let mut world = World::with_members(4);
    world.seats[0].frozen = true;
    (1..4).for_each(|i| drop(world.events(i)));
    world.claim_for(1, 2, 2);
    world.claim_for(3, 2, 2);
    assert!(world.issued(2).is_empty());
    world.claim(2, 2);
    let warrant = world.warrant(2);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(2)));
    for i in 1..4 {
        assert_eq!(world.events(i), [ClientEvent::Issued(warrant)]);
    }
}

#[test]
fn claims_for_the_candidate_that_hosts_are_not_denied() {
    let mut world = World::with_members(4);
    world.seats[0].frozen = true;
    world.disk_works = false;
    (1..4).for_each(|i| world.claim_for(i, 2, 3));
    (1..4).for_each(|i| drop(world.events(i)));
    world.write();
    let warrant = world.warrant(3);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(3)));
    (1..4).for_each(|i| assert_eq!(world.events(i), [ClientEvent::Issued(warrant)]));
}

#[test]
fn the_first_of_two_claims_for_different_candidates_wins() {
    let mut world = World::with_members(3);
    world.seats[0].frozen = true;
    world.disk_works = false;
    world.claim_for(1, 2, 2);
    world.claim_for(2, 2, 1);
    world.events(1);
    world.events(2);
    world.write();
    assert_eq!(world.issued(2).len(), 3);
    assert!(world.issued(2).iter().all(|warrant| warrant.host == world.peer(2)));
    let warrant = world.warrant(1);
    assert_eq!(world.events(1), [ClientEvent::Issued(warrant)]);
    assert_eq!(world.events(2), [ClientEvent::Issued(warrant), denied(2, Denial::Stale)]);
    assert_eq!(world.writes.len(), 0);
}

#[test]
fn a_candidate_that_is_not_connected_is_passed_over() {
    let mut world = World::with_members(5);
    world.seats[0].frozen = true;
    world.kill(4);
    (1..4).for_each(|i| world.claim_for(i, 2, 4));
    assert!(world.issued(2).is_empty(), "their candidate cannot hear that it hosts");
    world.claim_for(2, 2, 3);
    assert_eq!(world.warrant(1).host, world.peer(3), "who claims again may have changed its mind");
}

#[test]
fn a_candidate_of_another_game_gets_nothing() {
    let mut world = World::with_members(3);
    let stranger = world.create("MILK");
    world.seats[0].frozen = true;
    world.claim_for(1, 2, stranger);
    world.claim_for(2, 2, stranger);
    assert!(world.issued(2).is_empty());
    world.claim(1, 2);
    assert_eq!(world.warrant(1).host, world.peer(1));
}

#[test]
fn a_term_is_on_disk_before_anybody_hears_of_it() {
    let mut world = World::with_members(3);
    world.seats[0].frozen = true;
    world.disk_works = false;
    world.claim(1, 2);
    world.claim_for(2, 2, 1);
    assert_eq!(world.writes.len(), 1);
    let newcomer = world.join("TEA");
    world.run_for(seconds(4));
    assert!(world.issued(2).is_empty());
    assert_eq!(world.warrant(newcomer).term, term(1));
    world.write();
    assert_eq!(world.warrant(newcomer).term, term(2));
    assert_eq!(world.disk[&world.warrant(1).session].term, term(2));
}

#[test]
fn a_claimant_that_dies_keeps_its_term_and_others_get_the_next() {
    let mut world = World::with_members(3);
    world.seats[0].frozen = true;
    world.disk_works = false;
    world.claim(1, 2);
    world.claim(2, 2);
    let dead = world.peer(1);
    world.kill(1);
    world.kill(0);
    assert_eq!(world.writes.len(), 1, "a term that is on its way to disk has its host");
    world.disk_works = true;
    world.write();
    assert_eq!((world.warrant(2).term, world.warrant(2).host), (term(2), dead));
    assert!(world.events(2).contains(&denied(2, Denial::Stale)));
    world.claim(2, 3);
    assert_eq!((world.warrant(2).term, world.warrant(2).host), (term(3), world.peer(2)));
}

#[test]
fn a_host_that_answers_the_probe_keeps_its_term() {
    let mut world = World::with_members(3);
    world.events(1);
    world.claim(1, 2);
    assert_eq!(world.events(1), [denied(2, Denial::HostIsAlive)]);
    assert!(world.issued(2).is_empty());
    assert!(world.writes.is_empty());
}

#[test]
fn a_frozen_host_is_replaced_when_the_probe_times_out() {
    let mut world = World::with_members(4);
    world.seats[0].frozen = true;
    world.claim(1, 2);
    world.run_for(almost(PROBE_WITHIN));
    assert!(world.issued(2).is_empty());
    world.run_for(millis(1));
    assert_eq!(world.warrant(3).host, world.peer(1));
    world.seats[0].frozen = false;
    world.settle();
    assert_eq!(world.warrant(0).host, world.peer(1), "the host that thaws learns of its successor");
}

#[test]
fn no_term_is_given_while_no_candidate_is_connected() {
    let mut world = World::with_members(3);
    world.seats[0].frozen = true;
    world.kill(2);
    world.miss(1, 2);
    world.run_for(seconds(3));
    assert!(world.issued(2).is_empty());
    world.seats[0].frozen = false;
    world.run_for(millis(1));
    assert_eq!(world.events(1).last(), Some(&denied(2, Denial::HostIsAlive)));
}

#[test]
fn a_claim_that_is_not_repeated_is_forgotten() {
    let mut world = World::with_members(5);
    world.seats[0].frozen = true;
    world.kill(4);
    world.miss(1, 4);
    world.run_for(seconds(1));
    world.hear_host(1);
    world.run_for(CLAIM_COUNTS_FOR + millis(1));
    world.seats[0].frozen = false;
    world.kill(0);
    assert!(world.issued(2).is_empty(), "nobody misses the host by now");
    world.claim_for(2, 2, 3);
    assert_eq!(world.warrant(1).host, world.peer(1), "who is next in line");
}

#[test]
fn a_frozen_host_whose_connection_closes_is_replaced_at_once() {
    let mut world = World::with_members(4);
    world.seats[0].frozen = true;
    world.claim(1, 2);
    world.kill(0);
    assert_eq!(world.warrant(3).host, world.peer(1));
}

#[test]
fn only_the_host_can_answer_its_probe() {
    let mut world = World::with_members(4);
    world.seats[0].frozen = true;
    world.claim(1, 2);
    let nonce = world.said.iter().find_map(|(_, message)| match message {
        FromRelay::Probe(nonce) => Some(*nonce),
        _ => None,
    });
    let conn = world.seats[2].conn.expect("connected");
    world.raw_send(conn, &ToRelay::Alive(nonce.expect("a probe")));
    world.raw_send(world.seats[0].conn.expect("connected"), &ToRelay::Alive(nonce.expect("a probe") ^ 1));
    world.run_for(PROBE_WITHIN);
    assert_eq!(world.warrant(3).host, world.peer(1));
}

#[test]
fn endless_claims_neither_depose_nor_overload_the_host() {
    let mut world = World::with_members(3);
    let conns = [1, 2].map(|i| world.seats[i].conn.expect("connected"));
    let claim = ToRelay::Claim(term(2), world.peer(1));
    for _ in 0..500 {
        world.raw_send(conns[0], &claim);
        world.run_for(millis(20));
    }
    assert!(world.issued(2).is_empty());
    assert!(world.closed.is_empty());
    let host = world.seats[0].conn.expect("connected");
    let probes = world.said.iter().filter(|(_, message)| matches!(message, FromRelay::Probe(_)));
    let (to_host, to_others): (Vec<_>, Vec<_>) = probes.partition(|(conn, _)| *conn == host);
    assert!(to_host.len() <= 100, "{} probes in ten seconds", to_host.len());
    // Each of the two others is probed whenever all are, and four more times to measure its answers.
    assert!(to_others.len() <= 2 * (10_000 / 150 + 4), "{} probes of two others", to_others.len());
    // A claimant that sends faster exceeds the limit on messages.
    for _ in 0..500 {
        world.raw_send(conns[1], &claim);
    }
    assert!(matches!(world.closed.get(&conns[1]), Some(CloseReason::Refused(_))));
}

#[test]
fn a_claim_of_a_wrong_term_gets_the_present_warrant() {
    let mut world = World::with_members(3);
    world.kill(0);
    world.claim(1, 2);
    let conn = world.seats[2].conn.expect("connected");
    let me = world.peer(2);
    for stale in [0, 1, 255, 256, 257, 512, 513, 1_024, u64::MAX] {
        world.said.clear();
        world.raw_send(conn, &ToRelay::Claim(Term(stale), me));
        let answers: Vec<_> = world.said.iter().map(|(_, message)| message.clone()).collect();
        let expected = [FromRelay::Issued(world.warrant(1)), FromRelay::Denied(Term(stale), Denial::Stale)];
        assert_eq!(answers, expected);
    }
}

#[test]
fn a_host_that_comes_back_on_a_new_connection_is_probed_there() {
    let mut world = World::with_members(3);
    // Only the host notices that the old socket is dead; the relay does not.
    let (now, older) = (world.now, world.seats[0].conn.take().expect("connected"));
    world.seats[0].lose_socket(now);
    world.run_for(millis(200));
    world.claim(1, 2);
    world.run_for(millis(200));
    assert_eq!(world.closed.get(&older), Some(&CloseReason::Replaced));
    assert_eq!(world.events(1).last(), Some(&denied(2, Denial::HostIsAlive)));
    world.run_for(seconds(2));
    assert!(world.issued(2).is_empty());
    let gone = world.said.iter().any(|(_, message)| matches!(message, FromRelay::Gone(_)));
    assert!(!gone, "a peer that came back before it was missed is not gone");
}

#[test]
fn a_new_hosts_listing_replaces_the_former_hosts_at_once() {
    let mut world = World::with_members(3);
    for i in 0..3 {
        let now = world.now;
        world.seats[i].client.set_listing(now, listing(i as u8 + 1));
    }
    world.settle();
    assert_eq!(world.directory.games().next().map(|game| game.listing.players), Some(1));
    world.outvote(&[1, 2], 2, 2);
    assert_eq!(world.warrant(0).host, world.peer(2));
    assert_eq!(world.directory.games().next().map(|game| game.listing.players), Some(3));
}

#[test]
fn a_far_host_gets_the_time_that_its_answers_take() {
    // The host's first answer takes `trip`, and the second 200 ms. In between, two of five members miss the host, and
    // no other member answers.
    for (trip, is_kept) in [(millis(200), true), (millis(60), false)] {
        let mut world = World::new();
        let host = world.raw_enter(Purpose::Create(Some(code("TEA"))));
        let others = [(); 4].map(|()| world.raw_enter(Purpose::Join(code("TEA"))));
        let named = others.iter().map(|&conn| world.raw_peer(conn));
        let named = [world.raw_peer(host)].into_iter().chain(named).collect();
        world.raw_send(host, &ToRelay::Members(named, 0));
        let asked = |world: &World, conn| {
            let asked = world.heard[&conn].iter().rev();
            asked
                .filter_map(|said| if let FromRelay::Probe(nonce) = said { Some(*nonce) } else { None })
                .next()
        };
        world.run_for(trip);
        let nonce = asked(&world, host).expect("who enters is asked");
        world.raw_send(host, &ToRelay::Alive(nonce));
        let FromRelay::Entered(entered) = world.heard[&others[0]][0].clone() else { panic!("not entered") };
        for &conn in &others[..2] {
            world.raw_send(conn, &ToRelay::Claim(entered.warrant.term.next_witnessed(), entered.pass.peer));
        }
        world.run_for(millis(200));
        let nonce = asked(&world, host).expect("it is asked again");
        world.raw_send(host, &ToRelay::Alive(nonce));
        world.run_for(millis(50));
        let is_replaced = world.heard[&host].iter().any(|said| matches!(said, FromRelay::Issued(_)));
        assert_eq!(!is_replaced, is_kept, "{trip:?}");
    }
}

#[test]
fn a_claim_of_another_term_than_the_given_one_is_denied() {
    let mut world = World::with_members(5);
    world.seats[0].frozen = true;
    world.disk_works = false;
    [1, 3, 4].into_iter().for_each(|i| world.claim_for(i, 2, 1));
    (2..4).for_each(|i| drop(world.events(i)));
    world.claim_for(2, 3, 1);
    world.write();
    let warrant = world.warrant(2);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(1)));
    assert_eq!(world.events(2), [ClientEvent::Issued(warrant), denied(3, Denial::Stale)]);
    assert_eq!(world.events(3), [ClientEvent::Issued(warrant)]);
}

#[test]
fn between_equal_candidates_the_unexpired_claim_wins() {
    let mut world = World::with_members(5);
    world.claim_for(1, 2, 3);
    world.run_for(CLAIM_COUNTS_FOR + millis(1));
    world.seats[0].frozen = true;
    world.claim_for(2, 2, 2);
    world.claim_for(1, 2, 3);
    world.run_for(PROBE_WITHIN);
    assert_eq!(world.warrant(1).host, world.peer(2));
}

#[test]
fn a_probe_to_a_dead_connection_is_repeated_on_the_new_one() {
    let mut world = World::with_members(4);
    // Seats 2 and 3 stand still, because their answers would cause another probe.
    (2..4).for_each(|i| world.seats[i].frozen = true);
    world.seats[0].frozen = true;
    world.claim_for(1, 2, 1);
    // The probe went to a dead connection that the relay takes for open.
    let now = world.now;
    world.seats[0].conn = None;
    world.seats[0].frozen = false;
    world.seats[0].lose_socket(now);
    world.run_for(PROBE_WITHIN.times(2));
    assert!(world.seats[0].client.is_entered());
    assert!(world.issued(2).is_empty(), "it lives, and would have answered");
}
