//! Connections that break the protocol: they are closed, and no other peer notices.

use samovar_directory::limits::{CODE_KEPT_FOR, DORMANT_FOR, SIGNAL_BURST};
use samovar_directory::{CloseReason, ConnId, Usage};
use samovar_wire::relay::{Enter, FromRelay, Purpose, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Entropy, Mode, PROTOCOL_VERSION, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, code, seconds, term};

fn enter(purpose: Purpose) -> ToRelay {
    ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: PARAMS, purpose })
}

fn assert_misbehaved(world: &World, conn: ConnId) {
    assert_eq!(world.heard[&conn].last(), Some(&FromRelay::Refused(Refusal::Misbehaved)));
    assert_eq!(world.closed.get(&conn), Some(&CloseReason::Refused(Refusal::Misbehaved)));
}

#[test]
fn garbage_of_any_length_ends_only_its_own_connection() {
    let mut world = World::with_members(2);
    let before = world.directory.usage();
    let mut entropy = Entropy::new([3; 32]);
    for length in (0..600).chain([16_448, 16_449, 20_000, 70_000]) {
        for kind in [0, 1, 2] {
            let conn = world.raw_enter(Purpose::Join(code("TEA")));
            let mut bytes: Vec<u8> = (0..length / 32 + 1).flat_map(|_| entropy.bytes()).collect();
            bytes.truncate(length);
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            world.raw_bytes(conn, &bytes);
            if !world.closed.contains_key(&conn) {
                // A few random bytes may form a packet for no peer, or a message that asks for nothing.
                let now = world.now;
                world.directory.handle_closed(now, conn);
            }
            world.settle();
        }
        world.run_for(samovar_wire::Duration::from_millis(1));
    }
    assert_eq!(world.directory.usage(), before);
    assert!([0, 1].iter().all(|&i| world.seats[i].client.is_entered()));
}

#[test]
fn mutated_messages_never_disturb_the_game() {
    let mut world = World::with_members(2);
    let mut entropy = Entropy::new([4; 32]);
    let (session, peer) = (world.warrant(0).session, world.peer(1));
    let signatory = samovar_roster::authority::Signatory::new(&world.secret);
    let pass = signatory.pass(session, peer, false);
    let originals = [
        enter(Purpose::Create(None)),
        enter(Purpose::Resume(code("TEA"), pass, world.warrant(0))),
        ToRelay::Claim(term(2), peer),
        ToRelay::Members(vec![PeerId(1), peer], 0),
        ToRelay::Signal(peer, Signal::Offer(1, "v=0".to_owned())),
        ToRelay::Listing(crate::world::listing(2)),
    ];
    for round in 0..1_500 {
        let mut bytes = RelayFrame::control(&originals[round % originals.len()]);
        let number = entropy.number();
        let at = (number % bytes.len() as u64) as usize;
        bytes[at] ^= 1 << (number >> 32 & 7);
        bytes.truncate(bytes.len() - (number >> 40 & 1) as usize);
        let conn = if round % 2 == 0 { world.raw() } else { world.raw_enter(Purpose::Join(code("TEA"))) };
        world.raw_bytes(conn, &bytes);
        let now = world.now;
        world.directory.handle_closed(now, conn);
        world.settle();
    }
    assert_eq!(world.warrant(0).term, term(1));
    assert!(world.seats[0].client.is_entered());
    assert_eq!(world.directory.usage().connections, 2);
}

#[test]
fn entering_twice_or_speaking_before_entering_is_misbehaviour() {
    let mut world = World::with_members(1);
    let twice = world.raw_enter(Purpose::Join(code("TEA")));
    world.raw_send(twice, &enter(Purpose::Join(code("TEA"))));
    assert_misbehaved(&world, twice);
    let early = world.raw();
    world.raw_send(early, &ToRelay::Claim(term(2), PeerId(1)));
    assert_misbehaved(&world, early);
    let packet = world.raw();
    world.raw_bytes(packet, &RelayFrame::forward(world.peer(0), Mode::Unreliable, b"x"));
    assert_misbehaved(&world, packet);
    world.disk_works = false;
    let founder = world.raw_enter(Purpose::Create(Some(code("MILK"))));
    world.raw_send(founder, &ToRelay::Alive(0));
    assert_misbehaved(&world, founder);
    world.write();
    assert_eq!(world.directory.usage().games, 1, "a founder that misbehaved founds nothing");
}

#[test]
fn signals_beyond_the_burst_and_rate_end_the_connection() {
    let mut world = World::with_members(1);
    let conn = world.raw_enter(Purpose::Join(code("TEA")));
    let signal = ToRelay::Signal(PeerId(1), Signal::Answer(0, String::new()));
    for _ in 0..SIGNAL_BURST {
        world.raw_send(conn, &signal);
    }
    assert!(!world.closed.contains_key(&conn));
    world.run_for(seconds(1));
    for _ in 0..20 {
        world.raw_send(conn, &signal);
    }
    assert!(!world.closed.contains_key(&conn));
    world.raw_send(conn, &signal);
    assert_misbehaved(&world, conn);
}

#[test]
fn messages_after_the_close_are_ignored() {
    let mut world = World::with_members(1);
    let conn = world.raw();
    world.raw_bytes(conn, &[]);
    assert_misbehaved(&world, conn);
    let now = world.now;
    world.raw_send(conn, &enter(Purpose::Join(code("TEA"))));
    world.directory.handle_closed(now, conn);
    world.directory.handle_closed(now, ConnId(99_999));
    world.settle();
    assert_eq!(world.directory.usage().connections, 1);
}

#[test]
fn games_that_ended_leave_nothing_behind() {
    let mut world = World::new();
    for round in 0..300 {
        let founder = world.raw_enter(Purpose::Create(None));
        let Some(FromRelay::Entered(entered)) = world.heard[&founder].first().cloned() else {
            panic!("not entered")
        };
        let member = world.raw_enter(Purpose::Join(entered.code.clone()));
        world.raw_send(member, &ToRelay::Claim(term(2), PeerId(1)));
        if round % 2 == 0 {
            let peers = [founder, member].map(|conn| world.raw_peer(conn));
            world.raw_send(founder, &ToRelay::Members(peers.to_vec(), 0));
        }
        world.run_for(seconds(round % 3));
        for conn in [founder, member] {
            let now = world.now;
            world.directory.handle_closed(now, conn);
            world.settle();
        }
    }
    world.run_for(CODE_KEPT_FOR);
    let dormant = Usage { dormant: 150, timers: 150, ..Usage::default() };
    assert_eq!(world.directory.usage(), dormant, "what its founder left alone is not remembered");
    world.run_for(DORMANT_FOR);
    assert_eq!(world.directory.usage(), Usage::default());
    assert!(world.disk.is_empty());
}
