//! Carried packets: the members that carry, those they carry for, and the limits.

use super::world::{Process, TEAPOT, World, game};
use samovar_peer::{Path, PathPolicy, PeerEvent};
use samovar_session::{Event, Target};
use samovar_wire::carried::{Entry, Leg};
use samovar_wire::relay::Purpose;
use samovar_wire::{CloseCode, GameCode, Lane, Mode, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn me(world: &World, process: Process) -> PeerId {
    world.session(process).me()
}

fn path(world: &World, from: Process, to: Process) -> Path {
    world.peers[&from].path(world.now, me(world, to))
}

/// The carriers, and the other members.
fn parts(world: &World, all: &[Process]) -> (Vec<Process>, Vec<Process>) {
    let session = world.session(all[0]);
    let (host, view) = (session.host(), session.view());
    all.iter().partition(|&&process| view.carries(host, me(world, process)))
}

/// The game's reliable messages that a process received.
fn told(world: &World, process: Process) -> Vec<Vec<u8>> {
    let bytes = |event: &PeerEvent| match event {
        PeerEvent::Session(Event::Message { bytes, .. }) => Some(bytes.clone()),
        _ => None,
    };
    world.events[&process].iter().filter_map(bytes).collect()
}

#[test]
fn members_have_direct_paths_with_host_and_backups_only() {
    let (mut world, all) = game(World::new(3), 6);
    let (carriers, others) = parts(&world, &all);
    assert_eq!((carriers.len(), others.len()), (2, 4));
    for &process in &all {
        let now = world.now;
        world.session_mut(process).edit(now).create(TEAPOT, &[&[process.0 as u8]]).unwrap();
        world.session_mut(process).send(Target::All, Lane::GAME, &[process.0 as u8]).unwrap();
    }
    world.run(1_000);
    world.assert_converged();
    let relayed = world.relayed_packets;
    world.run(1_000);
    assert_eq!(world.relayed_packets, relayed, "nothing needs the relay");
    for &from in &all {
        assert_eq!(told(&world, from).len(), 5, "all the others");
        for &to in all.iter().filter(|&&to| to != from) {
            let is_direct = carriers.contains(&from) || carriers.contains(&to);
            let expected = if is_direct { Path::Direct } else { Path::ByHost };
            assert_eq!(path(&world, from, to), expected, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn carried_messages_survive_a_change_of_carrier() {
    let (mut world, all) = game(World::new(4), 4);
    let (_, others) = parts(&world, &all);
    let [a, b] = others[..] else { panic!("two of four carry nothing") };
    let host = *all.iter().find(|&&process| world.session(process).is_host()).unwrap();
    world.kill(host);
    let term = world.session(a).term();
    let mut longest = 0;
    for number in 0..100u8 {
        world.session_mut(a).send(Target::All, Lane::GAME, &[number]).unwrap();
        for _ in 0..20 {
            world.step();
            let silence = world.session(b).link(me(&world, a)).unwrap().silence(world.now);
            longest = longest.max(silence.as_micros() / 1_000);
        }
    }
    assert!(world.session(a).term() > term, "another hosts");
    assert!(
        world.session(b).view().has(me(&world, a)),
        "nobody was missed for what its carrier did not bring"
    );
    assert_eq!(told(&world, b), (0..100).map(|number| vec![number]).collect::<Vec<_>>());
    assert!(longest < 400, "{longest} ms without a word");
    world.assert_converged();
}

#[test]
fn members_with_auto_policy_follow_the_hosts_policy() {
    let mut world = World::new(5);
    let code = GameCode::parse("TEA").unwrap();
    let mut all = vec![world.start(Purpose::Create(Some(code.clone())), PathPolicy::ByHost, None)];
    world.run(300);
    for _ in 0..4 {
        all.push(world.start(Purpose::Join(code.clone()), PathPolicy::Auto, None));
        world.run(700);
    }
    world.run(2_000);
    let (_, others) = parts(&world, &all);
    assert_eq!([path(&world, others[0], others[1]), path(&world, others[1], others[0])], [Path::ByHost; 2]);
}

#[test]
fn members_with_different_path_policies_exchange_messages() {
    let mut world = World::new(6);
    let code = GameCode::parse("TEA").unwrap();
    let mut all = vec![world.start(Purpose::Create(Some(code.clone())), PathPolicy::Auto, None)];
    world.run(300);
    for number in 0..5 {
        let paths = if number % 2 == 0 { PathPolicy::ByHost } else { PathPolicy::Auto };
        all.push(world.start(Purpose::Join(code.clone()), paths, None));
        world.run(700);
    }
    for &process in &all {
        world.session_mut(process).send(Target::All, Lane::GAME, &[process.0 as u8]).unwrap();
    }
    world.run(1_000);
    world.assert_converged();
    assert!(all.iter().all(|&process| told(&world, process).len() == 5));
}

/// Lets a process receive bytes on its direct connection with another.
fn hear(world: &mut World, to: Process, from: Process, bytes: &[u8]) {
    let (now, from) = (world.now, me(world, from));
    let attempt = world.attempt_with(to, from).expect("there is a direct connection");
    world.peers.get_mut(&to).unwrap().handle_direct_packet(now, from, attempt, Mode::Unreliable, bytes);
}

#[test]
fn a_malformed_bundle_is_blamed_on_its_sender() {
    let (mut world, all) = game(World::new(7), 5);
    let (_, others) = parts(&world, &all);
    let host = *all.iter().find(|&&process| world.session(process).is_host()).unwrap();
    hear(&mut world, host, others[0], &[1, 9, 9]);
    let culprit = me(&world, others[0]);
    world.step();
    let closed = PeerEvent::Session(Event::LinkClosed { peer: culprit, code: CloseCode::Malformed });
    assert!(world.events[&host].contains(&closed), "{:?}", world.events[&host].last());
}

#[test]
fn only_a_carrier_delivers_packets_of_others() {
    let (mut world, all) = game(World::new(8), 4);
    let (carriers, others) = parts(&world, &all);
    let [a, b] = others[..] else { panic!("two of four carry nothing") };
    let backup = *carriers.iter().find(|&&process| !world.session(process).is_host()).unwrap();
    // The payload is no packet, so a receiver that takes it blames its sender.
    let said = |peer: PeerId, leg: Leg| {
        let mut bytes = Vec::new();
        Entry { peer, payload: b"?" }.encode(leg, &mut bytes);
        bytes
    };
    let count = world.events.values().map(Vec::len).sum::<usize>();
    let (innocent, stranger) = (me(&world, b), PeerId(77));
    hear(&mut world, backup, a, &said(innocent, Leg::Down));
    hear(&mut world, backup, a, &said(stranger, Leg::Up));
    hear(&mut world, a, backup, &said(stranger, Leg::Down));
    world.run(300);
    assert_eq!(world.events.values().map(Vec::len).sum::<usize>(), count, "nothing happened to anybody");
    // A member believes what a carrier says about a packet's sender. That is why it must not believe other members.
    hear(&mut world, a, backup, &said(innocent, Leg::Down));
    world.step();
    let closed = PeerEvent::Session(Event::LinkClosed { peer: innocent, code: CloseCode::Malformed });
    assert!(world.events[&a].contains(&closed));
}

#[test]
fn bytes_carried_for_one_member_are_bounded() {
    let (mut world, all) = game(World::new(9), 4);
    let (_, others) = parts(&world, &all);
    let [a, b] = others[..] else { panic!("two of four carry nothing") };
    let host = *all.iter().find(|&&process| world.session(process).is_host()).unwrap();
    let mut flood = Vec::new();
    Entry { peer: me(&world, b), payload: &[0; 1_000] }.encode(Leg::Up, &mut flood);
    let before = world.peers[&host].traffic().bytes_out;
    (0..2_000).for_each(|_| hear(&mut world, host, a, &flood));
    world.run(100);
    let carried = world.peers[&host].traffic().bytes_out - before;
    assert!((200_000..500_000).contains(&carried), "{carried} bytes of 2,000,000");
}
