//! The ladder of paths: packets move up when a better path is proven, and down when it is silent. No message is lost or
//! delivered twice.

use super::world::{Process, TEAPOT, World};
use samovar_peer::{AttemptEnd, Path, PeerEvent};
use samovar_session::{Event, Target};
use samovar_wire::{Lane, PeerId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A host and a guest, two seconds after the guest began to join.
fn pair(world: &mut World) -> [Process; 2] {
    let host = world.create("TEA");
    world.run(300);
    let guest = world.join("TEA");
    world.run(2_000);
    assert!(world.session(guest).is_member());
    [host, guest]
}

/// The paths of a pair, each to the other.
fn paths(world: &World, [a, b]: [Process; 2]) -> [Path; 2] {
    let of = |from: Process, to: Process| world.peers[&from].path(world.now, world.session(to).me());
    [of(a, b), of(b, a)]
}

/// The numbers that a process received reliably.
fn told(world: &World, process: Process) -> Vec<u8> {
    let number = |event: &PeerEvent| match event {
        PeerEvent::Session(Event::Message { bytes, .. }) => bytes.first().copied(),
        _ => None,
    };
    world.events[&process].iter().filter_map(number).collect()
}

/// Lets both members of a pair send a number every 20 ms while `at` changes the world. Returns the longest silence in
/// milliseconds.
fn talk(world: &mut World, pair: [Process; 2], mut at: impl FnMut(&mut World, u64)) -> u64 {
    let mut longest = 0;
    for number in 0..200u8 {
        at(world, u64::from(number) * 20);
        for process in pair {
            world.session_mut(process).send(Target::All, Lane::GAME, &[number]).unwrap();
        }
        for _ in 0..20 {
            world.step();
            for [a, b] in [pair, [pair[1], pair[0]]] {
                let silence = world.session(a).link(world.session(b).me()).unwrap().silence(world.now);
                longest = longest.max(silence.as_micros() / 1_000);
            }
        }
    }
    world.run(2_000);
    world.assert_converged();
    for process in pair {
        assert_eq!(told(world, process), (0..200).collect::<Vec<_>>(), "each once, in order");
    }
    longest
}

#[test]
fn a_pair_moves_up_each_rung_when_it_can_be_opened() {
    let mut world = World::with_endpoint(1);
    (world.udp, world.endpoint.udp) = (false, false);
    let pair = pair(&mut world);
    assert_eq!(paths(&world, pair), [Path::Relayed; 2]);
    world.endpoint.udp = true;
    world.run(25_000);
    assert_eq!(paths(&world, pair), [Path::RelayedUdp; 2]);
    let relayed = world.relayed_packets;
    world.run(2_000);
    assert_eq!(world.relayed_packets, relayed, "the WebSocket carries no packets any more");
    world.udp = true;
    world.run(25_000);
    assert_eq!(paths(&world, pair), [Path::Direct; 2]);
    let channels = world.endpoint.packets;
    world.run(2_000);
    assert!(world.endpoint.packets - channels <= 22, "echoes, and nothing else");
    world.kill_relay();
    for process in pair {
        let now = world.now;
        world.session_mut(process).edit(now).create(TEAPOT, &[&[process.0 as u8]]).unwrap();
    }
    world.run(2_000);
    world.assert_converged();
    assert_eq!(paths(&world, pair), [Path::Direct; 2], "the relay took nothing along");
}

#[test]
fn changes_of_rung_lose_or_repeat_no_reliable_message() {
    let mut world = World::with_endpoint(2);
    let pair = pair(&mut world);
    assert_eq!(paths(&world, pair), [Path::Direct; 2]);
    let mut seen = Vec::new();
    let longest = talk(&mut world, pair, |world, ms| {
        match ms {
            500 => world.udp = false,
            2_000 => world.endpoint.udp = false,
            3_000 => world.endpoint.udp = true,
            3_400 => world.udp = true,
            _ => {}
        }
        seen.push(paths(world, pair)[0]);
    });
    seen.dedup();
    assert_eq!(seen[..3], [Path::Direct, Path::RelayedUdp, Path::Relayed]);
    // The relay of these tests never doubts its channels: it sends on them for 700 ms after they fell silent.
    assert!(longest <= 760, "{longest} ms");
}

#[test]
fn a_direct_path_cut_one_way_causes_no_long_silence() {
    for way in [[0, 1], [1, 0]] {
        let mut world = World::with_endpoint(3);
        let pair = pair(&mut world);
        let longest = talk(&mut world, pair, |world, ms| {
            if ms == 500 {
                world.deaf.insert((pair[way[0]], pair[way[1]]));
            }
        });
        assert!(longest <= 250, "{longest} ms");
        assert_eq!(paths(&world, pair)[way[1]], Path::RelayedUdp, "who hears nothing has a path that fell");
    }
}

/// The longest silence in six worlds, in ms, when the direct path is cut in the directions of `deaf`. The cut comes
/// 1.5 s after the pair began to send numbers. A trip takes 15 to 20 ms, one over the relay twice that.
fn hole(world: impl Fn(u8) -> World, deaf: &[[usize; 2]]) -> u64 {
    let of_seed = |seed| {
        let mut world = world(seed);
        let pair = pair(&mut world);
        talk(&mut world, pair, |world, ms| {
            if ms == 1_500 {
                world.deaf.extend(deaf.iter().map(|way| (pair[way[0]], pair[way[1]])));
            }
        })
    };
    (10..16).map(of_seed).max().unwrap()
}

const BOTH_WAYS: [[usize; 2]; 2] = [[0, 1], [1, 0]];

#[test]
fn late_packets_take_the_relays_channels_before_a_complaint() {
    let longest = hole(World::with_endpoint, &BOTH_WAYS);
    assert!(longest <= 110, "{longest} ms");
}

#[test]
fn the_packet_after_a_websocket_complaint_goes_there_too() {
    let longest = hole(World::new, &BOTH_WAYS);
    assert!(longest <= 130, "{longest} ms");
}

#[test]
fn a_one_way_cut_is_reported_over_the_other_direction() {
    for (way, most) in BOTH_WAYS.into_iter().zip([130, 150]) {
        let longest = hole(World::new, &[way]);
        assert!(longest <= most, "{longest} ms");
    }
}

#[test]
fn a_network_change_opens_connections_beside_the_old_ones() {
    let mut world = World::with_endpoint(4);
    let pair = pair(&mut world);
    // The change may happen at the peer with the lower id, or at the other.
    for process in pair {
        let (from, now) = (world.attempts.len(), world.now);
        let changed = talk_free_of_holes(&mut world, pair, process);
        assert!(changed >= 2, "a connection to the relay and one to the other");
        let since: Vec<_> = world.attempts.values().filter(|&&begun| begun > now).collect();
        assert!(since.len() >= 3 && world.attempts.len() >= from + 3);
        assert!(since.iter().all(|begun| begun.since(now).as_micros() < 400_000), "at once");
        assert_eq!(paths(&world, pair), [Path::Direct; 2]);
    }
}

/// Tells one of a pair that its network changed, and checks for a second that both hear each other. Returns the number
/// of its attempts that opened.
fn talk_free_of_holes(world: &mut World, pair: [Process; 2], process: Process) -> usize {
    let opened = |world: &World| {
        let ends = world.events[&process].iter();
        ends.filter(|event| matches!(event, PeerEvent::AttemptEnded(_, AttemptEnd::Opened))).count()
    };
    let (before, now) = (opened(world), world.now);
    world.peers.get_mut(&process).unwrap().handle_network_changed(now);
    for _ in 0..100 {
        world.run(10);
        let [a, b] = pair.map(|process| world.session(process).me());
        for (from, to) in [(pair[0], b), (pair[1], a)] {
            let silence = world.session(from).link(to).unwrap().silence(world.now);
            assert!(silence.as_micros() < 200_000, "{silence:?}");
        }
    }
    opened(world) - before
}

#[test]
fn every_attempt_ends_once_and_says_how() {
    let mut world = World::with_endpoint(5);
    let pair = pair(&mut world);
    let third = world.join("TEA");
    for round in 0..12 {
        (world.udp, world.endpoint.udp) = (round % 3 == 0, round % 4 == 1);
        if round == 5 {
            let now = world.now;
            world.peers.get_mut(&pair[1]).unwrap().handle_network_changed(now);
        }
        if round == 8 {
            world.kill(third);
        }
        world.run(2_500);
    }
    let now = world.now;
    world.peers.get_mut(&pair[1]).unwrap().leave(now);
    world.run(15_000);
    let left = &world.peers[&pair[1]];
    assert!(left.is_over() && left.poll_timeout().is_none_or(|due| due > world.now));
    let mut kinds = std::collections::BTreeSet::new();
    for (&(process, key), &begun) in &world.attempts {
        let end = |event: &PeerEvent| match event {
            PeerEvent::AttemptEnded(ended, end) if *ended == key => Some(*end),
            _ => None,
        };
        let ends: Vec<_> = world.events[&process].iter().filter_map(end).collect();
        kinds.extend(ends.iter().copied());
        let silent = ends == [AttemptEnd::Opened, AttemptEnd::Silent];
        let is_under_way = world.now.since(begun).as_micros() < 10_000_000 || process == third;
        assert!(
            ends.len() == 1 || silent || (ends.is_empty() && is_under_way),
            "{key:?} {begun:?}: {ends:?}"
        );
    }
    assert!(kinds.contains(&AttemptEnd::Opened) && kinds.contains(&AttemptEnd::Closed), "{kinds:?}");
    assert!(world.attempts.keys().any(|(_, key)| key.peer == PeerId::RELAY));
}

#[test]
fn a_drained_peer_has_nothing_due_on_any_rung() {
    let mut world = World::with_endpoint(6);
    let pair = pair(&mut world);
    for round in 0..8 {
        (world.udp, world.endpoint.udp) = (round % 2 == 0, round % 4 < 2);
        for _ in 0..1_500 {
            world.step();
            let now: Time = world.now;
            for process in pair {
                assert!(world.peers[&process].poll_timeout().is_none_or(|due| due > now));
            }
        }
    }
}
