//! Inputs: an accepted input survives the loss of any peer (docs/recovery.md, promise 7, PROTOCOL §4.12).

mod at_random;

use crate::world::{World, part, relay_goes};
use samovar_session::{Event, Role, Rules, SubmitError, Suspension};
use samovar_wire::{Duration, PeerId, SeatId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Peers 100 to 100 + `count` - 1, settled. Peer 100 hosts, and no game does anything.
fn world_of(seed: u8, count: usize) -> (World, Vec<PeerId>) {
    let mut world = World::new(seed, 0);
    for _ in 1..count {
        world.join(None);
    }
    world.run(2_500);
    let peers = world.peers.keys().copied().collect();
    (world, peers)
}

/// The inputs that the game of a peer was given, with their seats.
fn given(world: &World, peer: PeerId) -> Vec<(SeatId, Vec<u8>)> {
    let input = |event: &Event| match event {
        Event::Input { seat, bytes, .. } => Some((*seat, bytes.clone())),
        _ => None,
    };
    world.events[&peer].iter().filter_map(input).collect()
}

/// The numbers of a peer's accepted inputs.
fn accepted(world: &World, peer: PeerId) -> Vec<u64> {
    let number = |event: &Event| match event {
        Event::Accepted { number } => Some(*number),
        _ => None,
    };
    world.events[&peer].iter().filter_map(number).collect()
}

fn submit(world: &mut World, peer: PeerId, bytes: &[u8]) -> u64 {
    let now = world.now;
    world.peer(peer).submit(now, bytes).unwrap()
}

#[test]
fn input_is_accepted_once_host_and_backup_hold_it() {
    let (mut world, peers) = world_of(1, 4);
    let host = peers[0];
    let backup = world.peers[&host].view().backup().unwrap();
    let player = *peers[1..].iter().find(|peer| **peer != backup).unwrap();
    world.cuts.push((player, backup));
    let number = submit(&mut world, player, b"jump");
    let own = submit(&mut world, host, b"duck");
    world.cuts.push((host, backup));
    world.run(100);
    assert_eq!(given(&world, host).len(), 2, "the game need not wait");
    assert_eq!((accepted(&world, player), accepted(&world, host)), (vec![], vec![]));
    world.cuts.clear();
    world.run(150);
    assert_eq!((accepted(&world, player), accepted(&world, host)), (vec![number], vec![own]));
    assert_eq!(given(&world, host).len(), 2);
    assert_eq!(given(&world, backup).len(), 0, "only a host's game is asked");
}

#[test]
fn inputs_of_a_lone_peer_are_accepted_at_once() {
    let (mut world, peers) = world_of(2, 1);
    let number = submit(&mut world, peers[0], b"jump");
    world.step();
    assert_eq!(accepted(&world, peers[0]), [number]);
    assert_eq!(given(&world, peers[0]), [(SeatId(1), b"jump".to_vec())]);
}

#[test]
fn backup_passes_its_inputs_to_a_host_that_was_no_backup() {
    let (mut world, peers) = world_of(3, 4);
    let (host, heir) = (peers[0], peers[3]);
    assert_ne!(world.peers[&host].view().backup(), Some(heir));
    for bytes in [b"one", b"two"] {
        submit(&mut world, host, bytes);
    }
    let later = submit(&mut world, peers[2], b"three");
    world.run(200);
    assert_eq!((accepted(&world, host).len(), accepted(&world, peers[2])), (2, vec![later]));
    world.kill(host);
    let term = world.peers[&heir].term().next_witnessed();
    world.grant(term, heir);
    world.run(1_000);
    let (one, two) = ((SeatId(1), b"one".to_vec()), (SeatId(1), b"two".to_vec()));
    let seat = world.peers[&heir].view().member(peers[2]).unwrap().record.seat;
    let mut expected = vec![one, two, (seat, b"three".to_vec())];
    let mut found = given(&world, heir);
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "each input once");
}

#[test]
fn new_backup_gets_the_inputs_of_members_that_are_gone() {
    let (mut world, peers) = world_of(4, 5);
    let host = peers[0];
    let backup = world.peers[&host].view().backup().unwrap();
    let player = *peers[1..].iter().find(|peer| **peer != backup).unwrap();
    let seat = world.peers[&host].view().member(player).unwrap().record.seat;
    let number = submit(&mut world, player, b"last will");
    world.run(200);
    assert_eq!(accepted(&world, player), [number]);
    for dead in [player, backup] {
        world.kill(dead);
        world.run(1_500);
    }
    assert_eq!(world.peers[&host].role(world.now), Role::ActiveBackedUp);
    let heir = world.peers[&host].view().backup().unwrap();
    world.kill(host);
    world.run(2_000);
    assert!(world.peers[&heir].is_host());
    assert_eq!(given(&world, heir), [(seat, b"last will".to_vec())]);
}

/// Five peers: the host, its backup, two others, and one whose packets take long to get to the first of these two.
fn world_with_a_slow_peer(seed: u8) -> (World, [PeerId; 5]) {
    let (mut world, peers) = world_of(seed, 5);
    let host = peers[0];
    let backup = world.peers[&host].view().backup().unwrap();
    let others: Vec<_> = peers.into_iter().filter(|peer| ![host, backup].contains(peer)).collect();
    let [heir, other, slow] = others[..] else { panic!("five peers") };
    world.delays.insert((slow, heir), Duration::from_millis(700));
    world.run(3_000);
    assert_eq!(world.peers[&host].view().backup(), Some(backup));
    (world, [host, backup, heir, other, slow])
}

#[test]
fn new_hosts_game_waits_until_all_have_passed_their_inputs() {
    let (mut world, [host, _, heir, other, _]) = world_with_a_slow_peer(8);
    submit(&mut world, host, b"last will");
    world.run(200);
    world.kill(host);
    let term = world.peers[&heir].term().next_witnessed();
    world.grant(term, heir);
    submit(&mut world, heir, b"duck");
    submit(&mut world, other, b"jump");
    world.run(300);
    assert!(world.peers[&heir].is_host());
    assert_eq!(given(&world, heir), [], "one member has not told yet");
    world.run(1_000);
    let mut texts: Vec<_> = given(&world, heir).into_iter().map(|(_, bytes)| bytes).collect();
    texts.sort();
    assert_eq!(texts, [&b"duck"[..], b"jump", b"last will"]);
}

#[test]
fn new_host_passes_collected_inputs_to_its_backup() {
    let mut world = World::with_rules(9, 0, Rules { backups: 2, ..Rules::default() });
    for _ in 1..6 {
        world.join(None);
    }
    world.run(3_000);
    let host = *world.peers.keys().next().unwrap();
    let backups = world.peers[&host].view().backups().to_vec();
    let [first, second] = backups[..] else { panic!("two backups") };
    let number = submit(&mut world, host, b"last will");
    world.run(200);
    assert_eq!(accepted(&world, host), [number]);
    // The second backup is gone. The backup that takes its place learns this from the host, and nothing more.
    world.kill(second);
    let newest =
        |world: &World| world.peers[&host].view().backups().iter().copied().find(|b| !backups.contains(b));
    while newest(&world).is_none() {
        world.step();
    }
    let third = newest(&world).unwrap();
    world.cuts.push((host, third));
    world.run(50);
    let others: Vec<_> =
        world.peers.keys().copied().filter(|peer| ![host, first, third].contains(peer)).collect();
    let [heir, slow] = others[..] else { panic!("six peers, and one is gone") };
    assert!(world.peers[&heir].view().backups().contains(&third));
    world.kill(host);
    world.cuts.clear();
    world.delays.insert((slow, heir), Duration::from_millis(300));
    let term = world.peers[&heir].term().next_witnessed();
    world.grant(term, heir);
    world.run(2_500);
    assert_eq!(given(&world, heir), [(SeatId(1), b"last will".to_vec())]);
    assert_eq!(world.peers[&heir].role(world.now), Role::ActiveBackedUp);
    // With two backups, two peers may be lost at once.
    world.kill(first);
    world.kill(heir);
    world.grant(term.next_witnessed(), third);
    world.run(2_000);
    assert_eq!(given(&world, third), [(SeatId(1), b"last will".to_vec())]);
}

#[test]
fn held_message_of_a_former_term_does_not_count() {
    let (mut world, peers) = world_of(10, 4);
    let host = peers[0];
    let backup = world.peers[&host].view().backup().unwrap();
    let others: Vec<_> = peers.into_iter().filter(|peer| ![host, backup].contains(peer)).collect();
    let [heir, player] = others[..] else { panic!("four peers") };
    // The backup's HELD does not arrive before the next term.
    world.delays.insert((backup, player), Duration::from_millis(100));
    let number = submit(&mut world, player, b"jump");
    world.run(50);
    let term = world.peers[&heir].term().next_witnessed();
    world.grant(term, heir);
    world.cuts.push((player, backup));
    world.run(150);
    assert!(accepted(&world, player).is_empty(), "the backup's word of the former term does not count");
    world.cuts.clear();
    world.run(1_000);
    assert_eq!(accepted(&world, player), [number]);
}

#[test]
fn suspended_host_accepts_no_input() {
    let (mut world, peers) = world_of(5, 5);
    let host = peers[0];
    let backup = world.peers[&host].view().backup().unwrap();
    let now = world.now;
    world.peers.values_mut().for_each(|session| session.witness(now).set_reached(false));
    world.witness_alive = false;
    for &few in &[host, backup] {
        for &many in peers.iter().filter(|peer| ![host, backup].contains(peer)) {
            world.cuts.extend([(few, many), (many, few)]);
        }
    }
    world.run(2_000);
    assert_eq!(world.peers[&host].suspension(world.now), Some(Suspension::NoMajority));
    for peer in [host, backup] {
        submit(&mut world, peer, b"alone");
    }
    world.run(1_000);
    assert_eq!(world.peers[&host].suspension(world.now), Some(Suspension::NoMajority));
    for peer in [host, backup] {
        assert_eq!(accepted(&world, peer), [0; 0]);
    }
    assert_eq!(given(&world, host), []);
}

#[test]
fn submit_beyond_what_others_can_hold_would_block() {
    let (mut world, peers) = world_of(6, 3);
    let (host, player) = (peers[0], peers[2]);
    let now = world.now;
    let session = world.peer(player);
    assert_eq!(session.submit(now, &[0; 1_025]), Err(SubmitError::TooLarge));
    for n in 0..256u16 {
        session.submit(now, &n.to_le_bytes()).unwrap();
    }
    assert_eq!(session.submit(now, b"more"), Err(SubmitError::WouldBlock));
    world.run(2_000);
    assert_eq!(accepted(&world, player).len(), 256);
    let values: Vec<_> = given(&world, host).into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(values, (0..256u16).map(|n| n.to_le_bytes().to_vec()).collect::<Vec<_>>());
    let now = world.now;
    assert_eq!(world.peer(player).submit(now, b"more"), Err(SubmitError::WouldBlock), "they are held still");
    world.run(9_000);
    submit(&mut world, player, b"more");
    let now = world.now;
    for _ in 0..16 {
        let _ = world.peer(player).submit(now, &[1; 1_024]);
    }
    assert_eq!(world.peer(player).submit(now, &[1; 1_024]), Err(SubmitError::WouldBlock), "16 KiB");
    world.run(1_000);
    world.assert_converged();
}

#[test]
fn player_back_on_its_seat_continues_its_input_numbers() {
    let (mut world, peers) = world_of(7, 3);
    let player = peers[2];
    let (seat, ticket) = (world.peers[&player].seat().unwrap(), world.peers[&player].ticket().unwrap());
    let first: Vec<_> = (0..200).map(|_| submit(&mut world, player, b"x")).collect();
    let back = world.join(Some(ticket));
    world.run(1_000);
    assert_eq!(world.peers[&back].seat().unwrap(), seat);
    let next = submit(&mut world, back, b"y");
    assert!(first.iter().all(|&number| number < next));
    world.run(300);
    assert_eq!(accepted(&world, back), [next]);
    assert_eq!(given(&world, peers[0]).last(), Some(&(seat, b"y".to_vec())));
}

#[test]
fn inputs_to_a_long_suspended_host_reach_its_game() {
    for away in [5_000, 12_000] {
        let mut world = World::new(91, 0);
        let host = *world.peers.keys().next().unwrap();
        let others: Vec<_> = (0..3).map(|_| world.join(None)).collect();
        world.run(3_000);
        relay_goes(&mut world);
        let backup = world.peers[&host].view().backup().unwrap();
        let far: Vec<_> = others.iter().copied().filter(|peer| *peer != backup).collect();
        part(&mut world, &[host, backup], &far);
        world.run(4_500);
        assert!(world.peers[&host].suspension(world.now).is_some());
        let now = world.now;
        let numbers = [host, backup].map(|peer| (peer, world.peer(peer).submit(now, b"shoot").unwrap()));
        world.run(away);
        let term = world.peers[&host].term();
        let is_accepted =
            |world: &World, (peer, number)| world.events[&peer].contains(&Event::Accepted { number });
        assert!(!numbers.iter().any(|&own| is_accepted(&world, own)));
        world.cuts.clear();
        world.run(3_000);
        assert_eq!((world.peers[&host].host(), world.peers[&host].term()), (host, term));
        for own in numbers {
            let is_given = |event: &Event| matches!(event, Event::Input { number, .. } if *number == own.1);
            assert!(
                is_accepted(&world, own) && world.events[&host].iter().any(is_given),
                "{away} ms: {own:?}"
            );
        }
    }
}
