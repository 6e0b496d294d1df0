//! Whole peers with the real directory in virtual time.

use super::world::{Process, TEAPOT, World, game};
use samovar_peer::{Buffer, ConnectionKey, Path, PathPolicy, PeerEvent, Request, Transmit};
use samovar_session::{EndReason, Event, Lane, Target};
use samovar_wire::relay::{FromRelay, Purpose, Refusal, Signal};
use samovar_wire::{CloseCode, Duration, GameCode, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn move_something(world: &mut World, processes: &[Process]) {
    for &process in processes {
        let now = world.now;
        world.session_mut(process).edit(now).create(TEAPOT, &[&[process.0 as u8]]).unwrap();
    }
    world.run(1_000);
}

#[test]
fn members_start_relayed_and_move_to_direct_paths() {
    let (mut world, processes) = game(World::new(1), 3);
    move_something(&mut world, &processes);
    world.assert_converged();
    for &a in &processes {
        for &b in processes.iter().filter(|&&b| b != a) {
            assert_eq!(world.peers[&a].path(world.now, world.session(b).me()), Path::Direct);
        }
    }
    let relayed = world.relayed_packets;
    assert!(relayed > 0, "the join was relayed");
    world.run(2_000);
    assert_eq!(world.relayed_packets, relayed, "nothing is relayed once direct paths are proven");
}

#[test]
fn without_udp_everything_is_relayed() {
    let mut world = World::with_endpoint(2);
    (world.udp, world.endpoint.udp) = (false, false);
    let mut processes = vec![world.create("TEA")];
    world.run(300);
    processes.push(world.join("TEA"));
    world.run(2_000);
    move_something(&mut world, &processes);
    world.assert_converged();
    assert_eq!((world.direct_packets, world.endpoint.packets), (0, 0));
}

#[test]
fn small_messages_are_copied_on_direct_paths_only() {
    for (policy, copies) in [(PathPolicy::Relayed, false), (PathPolicy::Auto, true)] {
        let mut world = World::new(12);
        let code = GameCode::parse("TEA").unwrap();
        let host = world.start(Purpose::Create(Some(code.clone())), policy, None);
        world.run(300);
        let guest = world.start(Purpose::Join(code), policy, None);
        world.run(2_000);
        let to = world.session(guest).me();
        for n in 0..50u8 {
            world.session_mut(host).send(Target::All, Lane::GAME, &[n; 30]).unwrap();
            world.run(20);
        }
        world.run(500);
        let stats = world.session(host).link(to).unwrap().stats();
        assert!(stats.segments >= 50 && stats.unacked == 0, "{stats:?}");
        assert_eq!(stats.copies > 0, copies, "{stats:?}");
        assert!(copies || stats.resends == 0, "{stats:?}");
    }
}

#[test]
fn a_full_driver_buffer_holds_back_messages() {
    let (mut world, processes) = game(World::new(13), 2);
    let (now, other) = (world.now, world.session(processes[1]).me());
    let peer = world.peers.get_mut(&processes[0]).unwrap();
    // The number of the attempt is known from the peer's packets.
    let attempt = (0..200u64).find_map(|ms| {
        let now = now + Duration::from_millis(ms);
        peer.handle_timeout(now);
        core::iter::from_fn(|| peer.poll_transmit(now)).find_map(|out| match out {
            Transmit::Direct { attempt, .. } => Some(attempt),
            Transmit::Relay { .. } => None,
        })
    });
    let key = ConnectionKey { peer: other, attempt: attempt.unwrap() };
    let now = now + Duration::from_millis(200);
    peer.handle_backlog(now, Buffer::Direct(key), 500_000);
    peer.session_mut().unwrap().send(Target::All, Lane::GAME, &[1; 900]).unwrap();
    let mut late = None;
    for ms in 0..1_000 {
        let now = now + Duration::from_millis(ms);
        peer.handle_timeout(now);
        while let Some(out) = peer.poll_transmit(now) {
            if matches!(&out, Transmit::Direct { bytes, .. } if bytes.len() > 900) {
                late.get_or_insert(ms);
            }
        }
    }
    assert!(late.is_some_and(|ms| (400..600).contains(&ms)), "{late:?}");
}

#[test]
fn packets_take_only_the_paths_of_the_policy() {
    for (policy, path) in [(PathPolicy::Direct, Path::Direct), (PathPolicy::Relayed, Path::Relayed)] {
        let mut world = World::new(3);
        let code = GameCode::parse("TEA").unwrap();
        let host = world.start(Purpose::Create(Some(code.clone())), policy, None);
        world.run(300);
        let guest = world.start(Purpose::Join(code), policy, None);
        world.run(3_000);
        move_something(&mut world, &[host, guest]);
        world.assert_converged();
        assert_eq!(world.peers[&guest].path(world.now, world.session(host).me()), path);
        assert_eq!(world.relayed_packets == 0, policy == PathPolicy::Direct);
        assert_eq!(world.direct_packets == 0, policy == PathPolicy::Relayed);
    }
}

#[test]
fn a_dead_direct_path_is_relayed_and_later_reopened() {
    let (mut world, processes) = game(World::new(4), 2);
    let other = world.session(processes[1]).me();
    world.udp = false;
    world.run(900);
    assert_eq!(world.peers[&processes[0]].path(world.now, other), Path::Relayed);
    assert!(
        world.session(processes[0]).link(other).unwrap().silence(world.now).as_micros() < 200_000,
        "no hole"
    );
    world.run(4_000);
    move_something(&mut world, &processes);
    world.assert_converged();
    world.udp = true;
    world.run(60_000);
    assert_eq!(world.peers[&processes[0]].path(world.now, other), Path::Direct);
}

#[test]
fn a_game_goes_on_under_one_new_host_when_the_host_dies() {
    for seed in 0..5 {
        let (mut world, processes) = game(World::new(seed), 4);
        world.loss_percent = 5;
        move_something(&mut world, &processes);
        world.kill(processes[0]);
        let died = world.now;
        while !world.peers.values().all(|p| p.session().unwrap().term().0 == 512) {
            world.step();
            assert!(world.now.since(died).as_micros() < 1_000_000, "no successor in a second");
        }
        world.run(2_000);
        world.assert_converged();
    }
}

#[test]
fn the_game_survives_the_death_of_host_and_backup() {
    let (mut world, processes) = game(World::new(6), 4);
    let backup = world.session(processes[1]).view().backup();
    let backup = *processes.iter().find(|&&p| Some(world.session(p).me()) == backup).unwrap();
    world.kill(processes[0]);
    world.kill(backup);
    world.run(3_000);
    world.assert_converged();
}

#[test]
fn a_host_that_hangs_has_its_seat_back_when_it_wakes() {
    let (mut world, processes) = game(World::new(7), 3);
    let (peer, seat) = (world.session(processes[0]).me(), world.session(processes[0]).seat());
    // The process stops: its sockets stay open, and it answers nothing.
    let frozen = world.peers.remove(&processes[0]).unwrap();
    let stopped = world.now;
    while !world.peers.values().all(|p| p.session().unwrap().term().0 == 512) {
        world.step();
        assert!(world.now.since(stopped).as_micros() < 3_500_000, "no successor");
    }
    world.run(3_000);
    world.peers.insert(processes[0], frozen);
    world.run(4_000);
    let events = &world.events[&processes[0]];
    assert!(
        events.iter().any(|e| matches!(e, PeerEvent::Session(Event::Ended(EndReason::Removed)))),
        "{events:?}"
    );
    assert!(events.iter().any(|e| matches!(e, PeerEvent::Rejoining { .. })), "{events:?}");
    let back = world.session(processes[0]);
    assert!(back.is_member() && back.me() != peer, "as another peer");
    assert_eq!(back.seat(), seat);
    world.assert_converged();
}

#[test]
fn a_direct_game_survives_a_restart_of_the_relay() {
    let (mut world, processes) = game(World::new(8), 3);
    world.kill_relay();
    world.run(5_000);
    move_something(&mut world, &processes);
    world.assert_converged();
    assert!(!world.peers[&processes[0]].is_relay_connected());
    world.start_relay();
    world.run(200);
    let late = world.join("TEA");
    world.run(8_000);
    world.assert_converged();
    assert_eq!(world.session(late).view().members().count(), 4);
    assert!(world.events[&processes[1]].contains(&PeerEvent::RelayRestored));
    // The relay that came back remembers the terms that it granted.
    world.kill(processes[0]);
    world.run(3_000);
    world.assert_converged();
    assert_eq!(world.session(late).term().0, 512);
}

#[test]
fn a_stopping_relay_makes_relayed_peers_offer_direct_paths() {
    let mut world = World::new(9);
    world.udp = false;
    let mut processes = vec![world.create("TEA")];
    world.run(300);
    processes.push(world.join("TEA"));
    // Attempt after attempt fails in this time, so that the pauses get long.
    world.run(60_000);
    world.udp = true;
    let now = world.now;
    world.directory.as_mut().unwrap().handle_draining(now, Duration::from_millis(5_000));
    world.run(1_000);
    let told = PeerEvent::RelayDraining(Duration::from_millis(5_000));
    assert!(processes.iter().all(|process| world.events[process].contains(&told)));
    let other = world.session(processes[1]).me();
    assert_eq!(world.peers[&processes[0]].path(world.now, other), Path::Direct);
    world.run(4_000);
    world.kill_relay();
    world.run(3_000);
    move_something(&mut world, &processes);
    world.assert_converged();
}

#[test]
fn a_draining_relay_makes_only_a_relayed_host_hand_over() {
    for (paths, hands_over) in [(PathPolicy::Relayed, true), (PathPolicy::Auto, false)] {
        let mut world = World::new(11);
        let founder = world.start(Purpose::Create(GameCode::parse("TEA")), paths, None);
        world.run(300);
        let others = [world.join("TEA"), world.join("TEA")];
        world.run(3_000);
        let former = world.session(founder).me();
        assert_eq!(world.session(others[0]).host(), former);
        let now = world.now;
        world.directory.as_mut().unwrap().handle_draining(now, Duration::from_millis(30_000));
        world.run(5_000);
        assert_eq!(world.session(others[0]).host() != former, hands_over, "{paths:?}");
        world.kill_relay();
        world.run(3_000);
        move_something(&mut world, &others);
        assert_eq!(world.session(others[0]).host() != former, hands_over, "{paths:?}");
    }
}

#[test]
fn a_reloaded_host_gets_its_seat_back_from_its_only_guest() {
    let (mut world, processes) = game(World::new(9), 2);
    let (seat, ticket) = (world.session(processes[0]).seat().unwrap(), world.session(processes[0]).ticket());
    world.kill(processes[0]);
    let code = GameCode::parse("TEA").unwrap();
    let again = world.start(Purpose::Join(code), PathPolicy::Auto, ticket);
    world.run(4_000);
    world.assert_converged();
    assert_eq!(world.session(again).seat().unwrap(), seat);
    assert!(world.session(processes[1]).is_host());
}

#[test]
fn refusals_give_their_reason() {
    let (mut world, _) = game(World::new(10), 1);
    let unknown = world.join("NOSUCH");
    let taken = world.create("TEA");
    world.run(500);
    let events = &world.events[&unknown];
    assert!(events.contains(&PeerEvent::Refused(Refusal::UnknownGame)), "{events:?}");
    assert!(world.events[&taken].contains(&PeerEvent::Refused(Refusal::CodeTaken)));
}

/// Whether a process answers an offer of which the relay says that it comes from `from`.
fn answers(world: &mut World, process: Process, from: PeerId) -> bool {
    let signal = FromRelay::Signal(from, Signal::Offer(1, "an offer".to_owned()));
    world.hear_from_relay(process, &signal);
    let peer = world.peers.get_mut(&process).unwrap();
    let mut requests = core::iter::from_fn(|| peer.poll_request());
    requests.any(|request| matches!(request, Request::Answer { peer, .. } if peer == from))
}

/// A description with `candidates` candidates, as a machine with many networks makes.
fn description(candidates: usize) -> String {
    let candidate = |n: usize| format!("a=candidate:{n} 1 udp 2122 192.0.2.{n} 5000 typ host\r\n");
    ["v=0\r\n".to_owned()]
        .into_iter()
        .chain((0..candidates).map(candidate))
        .chain(["a=end\r\n".to_owned()])
        .collect()
}

#[test]
fn implausible_descriptions_reach_no_browser() {
    let (mut world, all) = game(World::new(13), 1);
    for (text, is_answered) in [(description(33), false), ("x\n".repeat(300), false), (description(32), true)]
    {
        let signal = FromRelay::Signal(PeerId(10_000), Signal::Offer(1, text));
        world.hear_from_relay(all[0], &signal);
        let peer = world.peers.get_mut(&all[0]).unwrap();
        assert_eq!(peer.poll_request().is_some(), is_answered);
    }
    // The peer shortens its own description, so that others accept it.
    let peer = world.peers.get_mut(&all[0]).unwrap();
    peer.handle_local_description(world.now, PeerId(10_000), 1, description(40));
    let said = core::iter::from_fn(|| peer.poll_transmit(world.now)).find_map(|transmit| match transmit {
        Transmit::Relay { bytes, .. } => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Transmit::Direct { .. } => None,
    });
    let said = said.expect("the answer goes to the relay");
    assert_eq!(said.matches("a=candidate:").count(), 32);
    assert!(said.contains("a=candidate:31 ") && said.contains("a=end"), "{said}");
}

#[test]
fn a_host_answers_two_strangers_and_a_member_answers_none() {
    let (mut world, all) = game(World::new(12), 3);
    for (process, most) in [(all[0], 2), (all[1], 0), (all[2], 0)] {
        assert!(!answers(&mut world, process, PeerId::RELAY));
        let answered = (10_000..10_100).filter(|&id| answers(&mut world, process, PeerId(id))).count();
        assert_eq!(answered, most);
    }
    // Members do not answer strangers later either, except a stranger that has become a member.
    world.attempts.clear();
    let newcomer = world.join("TEA");
    world.run(3_000);
    let newcomer = world.session(newcomer).me();
    assert!(world.attempts.keys().all(|(process, key)| {
        let is_member = world.session(all[0]).view().has(key.peer);
        is_member || *process == all[0]
    }));
    for process in all {
        assert!(matches!(world.peers[&process].path(world.now, newcomer), Path::Direct | Path::ByHost));
    }
}

#[test]
fn a_barred_member_ends_even_if_only_the_relay_tells_it() {
    let (mut world, processes) = game(World::new(44), 3);
    let [host, out, other] = processes[..] else { panic!("three processes") };
    let peer = world.session(out).me();
    let session = world.session(host).warrant().session;
    // The relay is away when the host bars the peer, and the peer hears nothing from its host.
    world.kill_relay();
    world.run(500);
    world.cut_channels();
    let now = world.now;
    assert!(world.session_mut(host).bar(now, peer));
    world.run(500);
    world.start_relay();
    world.run(15_000);
    assert_eq!(world.disk[&session].barred.peers, [peer]);
    assert!(world.peers[&out].is_over());
    let is_told =
        |event: &PeerEvent| *event == PeerEvent::Session(Event::Ended(EndReason::Refused(CloseCode::PutOut)));
    assert!(world.events[&out].iter().any(is_told), "{:?}", world.events[&out].last());
    assert!(world.session(host).view().has(world.session(other).me()));
    assert_eq!(world.session(host).view().members().count(), 2);
}
