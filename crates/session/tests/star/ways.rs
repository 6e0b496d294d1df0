//! What a star alone can get wrong: who has links, what goes through the host, and what of that its death may cost.

use std::collections::BTreeMap;

use samovar_link::{Link, LinkConfig, Source};
use samovar_session::{Call, CallOutcome, Delivery, Event, Lane, Reply, SendError, Target};
use samovar_wire::call::Call as CallBody;
use samovar_wire::control::{Hello, PeerControl, Vote, encode};
use samovar_wire::object::MessageKind;
use samovar_wire::via::{Via, Way};
use samovar_wire::{CloseCode, Duration, Generation, PROTOCOL_VERSION, PeerId, Term, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::sessions::world::{TEAPOT, World};

/// A host and so many others, settled.
fn star(seed: u8, loss: u64, others: usize) -> (World, PeerId, Vec<PeerId>) {
    let mut world = World::new(seed, loss);
    let host = *world.peers.keys().next().unwrap();
    let members = (0..others).map(|_| world.join(None)).collect();
    world.run(4_500);
    (world, host, members)
}

fn links(world: &World, of: PeerId) -> Vec<PeerId> {
    world.peers.keys().copied().filter(|&peer| world.peers[&of].link_stats(peer).is_some()).collect()
}

/// The messages that a peer has got from another by a lane, as numbers.
fn heard(world: &World, at: PeerId, by: PeerId, way: Lane) -> Vec<u32> {
    let number = |event: &Event| match event {
        Event::Message { from, delivery, bytes } if (*from, *delivery) == (by, Delivery::Lane(way)) => {
            Some(u32::from_le_bytes(bytes[..4].try_into().unwrap()))
        }
        _ => None,
    };
    world.events[&at].iter().filter_map(number).collect()
}

#[test]
fn members_have_links_to_the_host_and_its_backup_only() {
    let (mut world, host, members) = star(1, 2, 4);
    let backup = world.peers[&host].view().backup().unwrap();
    for &member in &members {
        let mut wanted: Vec<_> = world.peers.keys().copied().filter(|&peer| peer != member).collect();
        wanted.retain(|peer| member == backup || [host, backup].contains(peer));
        assert_eq!(links(&world, member), wanted, "of {member}");
    }
    let pot = world.create(members[3], TEAPOT, &[b"pot"]);
    world.run(500);
    world.assert_converged();
    // Another backup: its links are opened, and those of the former one that serve nothing given up.
    world.kill(backup);
    world.run(8_000);
    let next = world.peers[&host].view().backup().unwrap();
    let rest: Vec<_> = members.iter().copied().filter(|peer| ![backup, next].contains(peer)).collect();
    for &member in &rest {
        let mut wanted = vec![host, next];
        wanted.sort_unstable();
        assert_eq!(links(&world, member), wanted);
    }
    world.assert_converged();
    assert!(backup == members[3] || world.peers[&rest[0]].object(pot).is_some());
}

#[test]
fn many_hosts_leave_no_links_behind_that_serve_nothing() {
    let (mut world, _, members) = star(2, 2, 5);
    for _ in 0..3 {
        let host = world.witness.warrant.host;
        world.kill(host);
        world.run(7_000);
        world.assert_converged();
    }
    let host = world.witness.warrant.host;
    let backup = world.peers[&host].view().backup().unwrap();
    for member in members.into_iter().filter(|peer| world.peers.contains_key(peer)) {
        let is_central = [host, backup].contains(&member);
        assert!(is_central || links(&world, member).len() == 2, "{:?}", links(&world, member));
    }
}

#[test]
fn a_host_and_its_backup_that_die_at_once_cost_no_more_than_the_session_object() {
    for seed in 0..6 {
        let (mut world, host, members) = star(seed, 3, 5);
        let backup = world.peers[&host].view().backup().unwrap();
        let pots: Vec<_> = members.iter().map(|&member| world.create(member, TEAPOT, &[b"pot"])).collect();
        world.run(500);
        world.kill(host);
        world.kill(backup);
        world.run(9_000);
        world.assert_converged();
        let survivor = *world.peers.keys().next().unwrap();
        for pot in pots {
            assert!(world.peers[&survivor].object(pot).is_some(), "seed {seed}");
        }
    }
}

#[test]
fn what_the_host_told_one_member_only_before_it_died_with_the_owner_is_adopted() {
    let (mut world, host, members) = star(3, 0, 3);
    let backup = world.peers[&host].view().backup().unwrap();
    let others: Vec<_> = members.into_iter().filter(|&peer| peer != backup).collect();
    world.cuts = vec![(host, backup)];
    let pot = world.create(others[0], TEAPOT, &[b"seen by one"]);
    world.run(150);
    assert!(world.peers[&others[1]].object(pot).is_some() && world.peers[&backup].object(pot).is_none());
    world.kill(host);
    world.kill(others[0]);
    world.run(9_000);
    world.assert_converged();
    assert!(world.peers[&others[1]].object(pot).is_some());
}

/// Everybody speaks to everybody in two lanes while `trouble` happens; what each survivor heard of each other one.
fn talk(world: &mut World, trouble: impl Fn(&mut World)) {
    let mut said: BTreeMap<PeerId, u32> = BTreeMap::new();
    for n in 0..160u32 {
        if n == 60 {
            trouble(world);
        }
        let speakers: Vec<_> = world.peers.keys().copied().collect();
        for speaker in speakers {
            let number = said.entry(speaker).or_insert(0);
            for lane in [Lane::GAME, Lane::SESSION] {
                let sent = world.peer(speaker).send(Target::All, lane, &number.to_le_bytes());
                assert_eq!(sent, Ok(()), "at {n}");
            }
            *number += 1;
        }
        world.run(15);
    }
    world.run(6_000);
    for &at in world.peers.keys() {
        for (&by, &count) in said.iter().filter(|(by, _)| **by != at && world.peers.contains_key(by)) {
            for lane in [Lane::GAME, Lane::SESSION] {
                let all: Vec<_> = (0..count).collect();
                assert_eq!(heard(world, at, by, lane), all, "at {at} of {by} by {lane:?}");
            }
        }
    }
}

#[test]
fn what_members_say_arrives_once_and_in_order_through_the_host() {
    let (mut world, ..) = star(4, 10, 3);
    talk(&mut world, |_| {});
}

#[test]
fn what_members_say_arrives_once_and_in_order_though_the_host_dies() {
    for seed in 0..6 {
        let (mut world, host, _) = star(seed, u64::from(seed) * 2, 3);
        talk(&mut world, |world| world.kill(host));
        world.assert_converged();
    }
}

#[test]
fn what_members_say_arrives_once_and_in_order_though_the_host_hands_over() {
    for seed in 0..4 {
        let (mut world, host, _) = star(seed, u64::from(seed) * 3, 3);
        talk(&mut world, |world| {
            let now = world.now;
            assert!(world.peer(host).hand_over(now));
        });
        assert!(!world.peers[&host].is_host());
        world.assert_converged();
    }
}

#[test]
fn newest_and_loose_messages_come_at_most_once_and_never_late() {
    let (mut world, host, members) = star(5, 20, 3);
    for n in 0..200u32 {
        for &speaker in &members[..2] {
            for lane in [Lane::Sequenced(1), Lane::Unreliable] {
                world.peer(speaker).send(Target::Peer(members[2]), lane, &n.to_le_bytes()).unwrap();
            }
        }
        world.run(15);
    }
    world.run(500);
    for &speaker in &members[..2] {
        let newest = heard(&world, members[2], speaker, Lane::Sequenced(1));
        assert!(newest.is_sorted_by(|a, b| a < b) && newest.len() > 60, "{}", newest.len());
        let mut loose = heard(&world, members[2], speaker, Lane::Unreliable);
        loose.sort_unstable();
        assert!(loose.is_sorted_by(|a, b| a < b) && loose.len() > 60, "{}", loose.len());
    }
    assert!(heard(&world, host, members[0], Lane::Unreliable).is_empty(), "they were for one member");
}

#[test]
fn a_call_goes_through_the_host_and_its_answer_comes_back() {
    let (mut world, _, members) = star(6, 5, 3);
    let (now, timeout) = (world.now, Duration::from_millis(2_000));
    let (from, to) = (members[1], members[2]);
    let call = Call { target: Target::Peer(to), lane: Lane::GAME, method: 7, bytes: &[1, 2], timeout };
    let id = world.peer(from).call(now, call).unwrap();
    world.run(400);
    let incoming = world.peer(to).poll_call().unwrap();
    assert_eq!((incoming.key.from, &incoming.bytes[..]), (from, &[1, 2][..]));
    world.peer(to).reply(incoming.key, Reply::Done(&[3])).unwrap();
    world.run(400);
    let outcome = CallOutcome::Answered(vec![3]);
    assert!(world.events[&from].contains(&Event::Reply { call: id, from: to, outcome }));
}

#[test]
fn who_says_more_than_others_take_has_to_wait() {
    let (mut world, _, members) = star(7, 0, 2);
    let (a, b) = (members[0], members[1]);
    let mut count = 0;
    while world.peer(a).send(Target::Peer(b), Lane::GAME, &u32::to_le_bytes(count)) == Ok(()) {
        count += 1;
    }
    assert!((100..2_000).contains(&count), "{count} fitted");
    world.run(3_000);
    assert_eq!(heard(&world, b, a, Lane::GAME).len() as u32, count);
    assert_eq!(world.peer(a).send(Target::Peer(b), Lane::GAME, &u32::to_le_bytes(count)), Ok(()));
    assert_eq!(world.peer(a).send(Target::All, Lane::Reliable(9), &[1]), Err(SendError::NoSuchLane));
}

/// A member whose words are written by hand.
struct Mallory {
    link: Link,
}

const MALLORY: PeerId = PeerId(66);

impl Mallory {
    fn joins(world: &mut World, host: PeerId) -> Self {
        let mut mallory = Self { link: Link::new(world.now, LinkConfig::default(), Generation::FIRST) };
        let hello =
            Hello { version: PROTOCOL_VERSION, params: 1, name: "M".into(), attributes: 0, resume: None };
        let mut bytes = vec![MessageKind::Control as u8];
        encode(&PeerControl::Hello(hello), &mut bytes);
        mallory.says(world, host, Lane::SESSION, &bytes);
        for _ in 0..400 {
            world.run(1);
            mallory.hears(world, host);
        }
        assert!(world.peers[&host].view().has(MALLORY));
        mallory
    }

    fn hears(&mut self, world: &World, host: PeerId) {
        for (_, _, mode, bytes) in world.strays.iter().filter(|stray| (stray.0, stray.1) == (host, MALLORY)) {
            self.link.handle(world.now, *mode, bytes).unwrap();
            while self.link.poll_event().is_some() {}
        }
    }

    fn says(&mut self, world: &mut World, host: PeerId, lane: Lane, message: &[u8]) {
        self.link.send(lane, message).unwrap();
        let now = world.now;
        let mut packet = Vec::new();
        loop {
            let source = Source { wanted: true, compose: &mut |_, _, _| {} };
            let Some(mode) = self.link.poll_transmit(now, Time::ZERO, source, &mut packet) else { break };
            world.peer(host).handle_packet(now, MALLORY, mode, &packet);
            packet.clear();
        }
    }
}

fn via(way: Way, lane: Lane, number: u64, message: &[u8]) -> Vec<u8> {
    via_under(Term::FIRST, way, lane, number, message)
}

fn via_under(term: Term, way: Way, lane: Lane, number: u64, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![MessageKind::Via as u8];
    Via { way, term, lane, number, message }.encode(&mut Writer::new(&mut bytes));
    bytes
}

fn app(text: &[u8]) -> Vec<u8> {
    [&[MessageKind::App as u8], text].concat()
}

#[test]
fn a_message_that_no_honest_member_sends_through_the_host_ends_the_link() {
    let mut call = vec![MessageKind::Call as u8];
    CallBody { number: 1, method: 1, bytes: &[] }.encode(&mut Writer::new(&mut call));
    let lies: [(Vec<u8>, CloseCode); 6] = [
        (via(Way::ToAll, Lane::SESSION, 1, &[MessageKind::Control as u8, 0]), CloseCode::Unexpected),
        (via(Way::ToAll, Lane::SESSION, 1, &[MessageKind::Create as u8, 0]), CloseCode::Unexpected),
        (
            via(Way::ToAll, Lane::SESSION, 1, &via(Way::ToAll, Lane::SESSION, 1, &app(b"x"))),
            CloseCode::Unexpected,
        ),
        (via(Way::ToAll, Lane::GAME, 1, &app(b"another lane")), CloseCode::Malformed),
        (via(Way::ToAll, Lane::SESSION, 0, &app(b"uncounted")), CloseCode::Malformed),
        (via(Way::ToAll, Lane::SESSION, 1, &call[..2]), CloseCode::Malformed),
    ];
    for (lie, code) in lies {
        let (mut world, host, members) = star(8, 0, 2);
        let mut mallory = Mallory::joins(&mut world, host);
        mallory.says(&mut world, host, Lane::SESSION, &lie);
        world.run(300);
        let closed = Event::LinkClosed { peer: MALLORY, code };
        assert!(world.events[&host].contains(&closed), "{code:?} for {:02x?}", &lie[..8]);
        for member in members {
            assert!(
                world.peers[&member].is_member() && heard(&world, member, MALLORY, Lane::SESSION).is_empty()
            );
        }
    }
}

#[test]
fn a_message_that_overtakes_the_word_of_its_term_waits_for_it() {
    let (mut world, host, members) = star(11, 0, 2);
    let mut mallory = Mallory::joins(&mut world, host);
    let backup = world.peers[&host].view().backup().unwrap();
    mallory.link = Link::new(world.now, LinkConfig::default(), Generation::FIRST);
    let later = Term::FIRST.next_witnessed();
    for (term, number) in [(Term::FIRST, 1), (later, 2)] {
        let text = app(&(number as u32).to_le_bytes());
        // The first is for a host that this peer is not; the other one for the host that it will be.
        let early = via_under(term, Way::ToAll, Lane::GAME, number, &text);
        mallory.says(&mut world, backup, Lane::GAME, &early);
    }
    world.run(20);
    assert!(world.peers[&backup].link_stats(MALLORY).is_some());
    assert!(heard(&world, backup, MALLORY, Lane::GAME).is_empty());
    world.grant(later, backup);
    world.run(200);
    for at in members {
        assert_eq!(heard(&world, at, MALLORY, Lane::GAME), [2], "at {at}");
    }
}

/// A stranger that has a link of its own to the backup; and another member.
fn beside_the_backup(seed: u8) -> (World, Mallory, PeerId, PeerId) {
    let (mut world, host, members) = star(seed, 0, 2);
    let mut mallory = Mallory::joins(&mut world, host);
    let backup = world.peers[&host].view().backup().unwrap();
    let sender = members.into_iter().find(|&member| member != backup).unwrap();
    mallory.link = Link::new(world.now, LinkConfig::default(), Generation::FIRST);
    (world, mallory, backup, sender)
}

#[test]
fn what_was_ignored_under_a_term_is_a_gap_behind_which_nothing_of_that_term_counts() {
    let (mut world, mut mallory, backup, sender) = beside_the_backup(12);
    let mut passes_on = |world: &mut World, term: Term, number: u64| {
        let text = app(&(number as u32).to_le_bytes());
        mallory.says(
            world,
            backup,
            Lane::GAME,
            &via_under(term, Way::From(sender), Lane::GAME, number, &text),
        );
    };
    // It is not the host.
    passes_on(&mut world, Term::FIRST, 1);
    let later = Term::FIRST.next_witnessed();
    world.grant(later, MALLORY);
    passes_on(&mut world, Term::FIRST, 2);
    assert!(heard(&world, backup, sender, Lane::GAME).is_empty());
    for number in [1, 2] {
        passes_on(&mut world, later, number);
    }
    world.run(20);
    assert_eq!(heard(&world, backup, sender, Lane::GAME), [1, 2]);
}

#[test]
fn a_loose_message_that_overtakes_the_word_of_its_term_makes_no_gap() {
    let (mut world, mut mallory, backup, sender) = beside_the_backup(13);
    let later = Term::FIRST.next_witnessed();
    let text = app(&1u32.to_le_bytes());
    let loose = via_under(later, Way::From(sender), Lane::Unreliable, 0, &text);
    mallory.says(&mut world, backup, Lane::Unreliable, &loose);
    world.grant(later, MALLORY);
    mallory.says(&mut world, backup, Lane::GAME, &via_under(later, Way::From(sender), Lane::GAME, 1, &text));
    world.run(20);
    assert_eq!(heard(&world, backup, sender, Lane::GAME), [1]);
}

#[test]
fn what_members_say_arrives_once_and_in_order_though_much_else_is_said_while_the_host_dies() {
    for (seed, is_voted) in [(0, false), (1, true)] {
        let (mut world, host, _) = star(seed, 10, 3);
        for number in 0..120u32 {
            if number == 40 {
                let backup = world.peers[&host].view().backup().unwrap();
                world.kill(host);
                if is_voted {
                    super::sessions::world::relay_goes(&mut world);
                } else {
                    // Nobody but the next host has the relay's word at first.
                    let warrant = world.sign(Term::FIRST.next_witnessed(), backup);
                    let now = world.now;
                    world.peer(backup).handle_warrant(now, &warrant);
                }
            }
            for speaker in world.peers.keys().copied().collect::<Vec<_>>() {
                for lane in [Lane::Sequenced(1), Lane::Unreliable, Lane::GAME] {
                    let sent = world.peer(speaker).send(Target::All, lane, &number.to_le_bytes());
                    assert!(lane != Lane::GAME || sent.is_ok(), "{sent:?}");
                }
            }
            world.run(15);
        }
        world.run(3_000);
        for &at in world.peers.keys() {
            for &by in world.peers.keys().filter(|by| **by != at) {
                let numbers = heard(&world, at, by, Lane::GAME);
                assert!(numbers.iter().copied().eq(0..120), "{seed}: {by} at {at}: {numbers:?}");
            }
        }
    }
}

#[test]
fn what_waits_for_its_term_is_heard_before_what_comes_by_the_same_lane() {
    let (mut world, mut mallory, backup, sender) = beside_the_backup(14);
    let later = Term::FIRST.next_witnessed();
    let passed_on =
        |n: u32| via_under(later, Way::From(sender), Lane::GAME, u64::from(n), &app(&n.to_le_bytes()));
    mallory.says(&mut world, backup, Lane::GAME, &passed_on(1));
    // It lives under a later one by now, which this peer knows nothing of.
    let term = later.next_voted().unwrap();
    let mut reign = vec![MessageKind::Control as u8];
    encode(&PeerControl::Reign(Vote { term, candidate: sender, electorate: 1 }), &mut reign);
    mallory.says(&mut world, backup, Lane::SESSION, &reign);
    world.grant(later, MALLORY);
    mallory.says(&mut world, backup, Lane::GAME, &passed_on(2));
    world.run(20);
    assert_eq!(heard(&world, backup, sender, Lane::GAME), [1, 2]);
}

/// The host removes a member, and dies before anybody who could follow has heard of that.
#[test]
fn nothing_is_lost_by_a_removal_that_is_lost_with_its_host() {
    let (mut world, host, members) = star(15, 0, 3);
    let backup = world.peers[&host].view().backup().unwrap();
    let others: Vec<_> = members.into_iter().filter(|&peer| peer != backup).collect();
    let (sender, removed) = (others[0], others[1]);
    let say = |world: &mut World, numbers: core::ops::Range<u32>| {
        for number in numbers {
            world.peer(sender).send(Target::All, Lane::GAME, &number.to_le_bytes()).unwrap();
        }
    };
    say(&mut world, 0..3);
    world.run(500);
    world.cuts = vec![(host, removed), (removed, host)];
    let now = world.now;
    world.peer(host).handle_hint(now, removed);
    say(&mut world, 3..6);
    world.run(900);
    world.cuts.push((host, backup));
    while world.peers[&host].view().has(removed) {
        world.run(1);
    }
    world.run(60);
    world.kill(host);
    world.run(200);
    say(&mut world, 6..9);
    world.run(3_000);
    assert!(world.peers[&removed].is_member(), "the next host knows nothing of its removal");
    assert_eq!(heard(&world, removed, sender, Lane::GAME), (0..9).collect::<Vec<_>>());
}

#[test]
fn who_hears_of_a_newcomer_too_late_to_keep_what_it_says_comes_back_by_its_ticket() {
    let (mut world, host, members) = star(16, 0, 2);
    let backup = world.peers[&host].view().backup().unwrap();
    let late = members.into_iter().find(|&member| member != backup).unwrap();
    let newcomer = PeerId(world.next_peer);
    world.join(None);
    let (mut said, mut filled) = (0u32, 0);
    while world.peers.contains_key(&late) && world.peers[&late].is_member() && said < 3_000 {
        world.step();
        // What the host says of the newcomer waits behind that.
        while filled < 600 && world.peer(host).send(Target::Peer(late), Lane::SESSION, &[0; 1_000]).is_ok() {
            filled += 1;
        }
        let is_member = world.peers[&newcomer].is_member();
        while is_member && world.peer(newcomer).send(Target::All, Lane::GAME, &said.to_le_bytes()).is_ok() {
            said += 1;
        }
    }
    let numbers = heard(&world, late, newcomer, Lane::GAME);
    assert!(numbers.iter().copied().eq(0..numbers.len() as u32), "{numbers:?}");
}

#[test]
fn nobody_speaks_in_anothers_name() {
    let (mut world, host, members) = star(9, 0, 2);
    let mut mallory = Mallory::joins(&mut world, host);
    let lie = via(Way::From(members[0]), Lane::SESSION, 1, &app(&7u32.to_le_bytes()));
    mallory.says(&mut world, host, Lane::SESSION, &lie);
    let own = via(Way::ToAll, Lane::SESSION, 1, &app(&8u32.to_le_bytes()));
    mallory.says(&mut world, host, Lane::SESSION, &own);
    world.run(300);
    for at in [host, members[1]] {
        assert!(heard(&world, at, members[0], Lane::SESSION).is_empty());
        assert_eq!(heard(&world, at, MALLORY, Lane::SESSION), [8]);
    }
}

#[test]
fn who_has_more_under_way_than_allowed_is_shut_out() {
    let (mut world, host, members) = star(10, 0, 2);
    let mut mallory = Mallory::joins(&mut world, host);
    // Nobody is to be told, so that nothing is ever done with.
    world.cuts = vec![(host, members[0]), (members[0], host)];
    // Some more than that, as they take their time.
    for number in 1..=560 {
        let small = via(Way::To(members[0]), Lane::Bulk, number, &app(&[0; 4]));
        mallory.says(&mut world, host, Lane::Bulk, &small);
        world.run(1);
        mallory.hears(&world, host);
    }
    let code = CloseCode::LimitExceeded;
    assert!(world.events[&host].contains(&Event::LinkClosed { peer: MALLORY, code }));
}
