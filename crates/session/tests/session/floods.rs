//! Floods: when one peer sends too much, no event of another peer is lost, however seldom the game polls events.

use crate::world::{CUBE, World, world_of};
use samovar_session::{Delivery, Event, SendError, Target};
use samovar_wire::{Lane, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The numbers in the messages of one peer that reached another, in their order.
fn heard(world: &World, at: PeerId, from: PeerId, lane: Lane) -> Vec<u32> {
    let events = world.events[&at].iter();
    let number = |event: &Event| match event {
        Event::Message { from: sender, delivery, bytes } if *sender == from => {
            (*delivery == Delivery::Lane(lane)).then(|| u32::from_le_bytes(bytes[..4].try_into().unwrap()))
        }
        _ => None,
    };
    events.filter_map(number).collect()
}

/// Sends the next `count` numbers from one peer to another, or as many as there is room for.
fn say(world: &mut World, (from, to): (PeerId, PeerId), lane: Lane, next: &mut u32, count: u32) {
    let until = *next + count;
    while *next < until {
        match world.peer(from).send(Target::Peer(to), lane, &next.to_le_bytes()) {
            Ok(()) => *next += 1,
            Err(SendError::WouldBlock) => break,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Asserts that all numbers below `count` were heard, once each and in order.
fn assert_whole(heard: &[u32], count: u32, what: &str) {
    let first_wrong = heard.iter().zip(0..).find(|(number, index)| **number != *index);
    assert_eq!((first_wrong, heard.len() as u32), (None, count), "{what}");
}

#[test]
fn flood_of_unreliable_messages_drops_no_other_event() {
    let (mut world, host, others) = world_of(1, 0, 3);
    let (flooder, victim) = (others[0], others[1]);
    world.still.push(victim);
    let (mut noise, mut news) = (0, 0);
    for ms in 0..1_000 {
        say(&mut world, (flooder, victim), Lane::Unreliable, &mut noise, 64);
        say(&mut world, (host, victim), Lane::GAME, &mut news, u32::from(ms % 10 == 0));
        world.step();
    }
    let late = world.create(host, CUBE, &[&[1]]);
    world.run(500);
    world.still.clear();
    world.run(200);
    assert_whole(&heard(&world, victim, host, Lane::GAME), 100, "news");
    assert!(world.events[&victim].contains(&Event::ObjectCreated(late)));
    // The latest messages wait, so those of the flood that are heard are not old.
    let loud = heard(&world, victim, flooder, Lane::Unreliable);
    assert!((256..2_000).contains(&loud.len()), "{}", loud.len());
    assert!(loud.iter().all(|&number| number > noise / 2), "the latest of {noise}");
    world.assert_agreed();
}

#[test]
fn a_flood_of_reliable_messages_waits_at_its_sender() {
    for lane in [Lane::GAME, Lane::SESSION, Lane::Bulk] {
        let (mut world, host, others) = world_of(2, 5, 3);
        let (flooder, victim) = (others[0], others[1]);
        world.still.push(victim);
        let (mut flood, mut news) = (0, 0);
        for ms in 0..4_000 {
            say(&mut world, (flooder, victim), lane, &mut flood, 2);
            say(&mut world, (host, victim), Lane::GAME, &mut news, u32::from(ms % 40 == 0));
            world.step();
        }
        world.run(500);
        assert!(world.peers[&flooder].link(victim).unwrap().stats().unacked > 0 || lane == Lane::Bulk);
        world.still.clear();
        world.run(10);
        let lane_name = format!("{lane:?}");
        assert_whole(&heard(&world, victim, host, Lane::GAME), 100, &lane_name);
        world.run(3_000);
        assert!(flood > 1_024, "{lane:?}: {flood}");
        assert_whole(&heard(&world, victim, flooder, lane), flood, &lane_name);
        assert!(world.peers.values().all(samovar_session::Session::is_member), "{lane:?}");
        world.assert_agreed();
    }
}

#[test]
fn flood_of_objects_drops_no_other_event() {
    let (mut world, host, others) = world_of(3, 0, 3);
    let (flooder, victim) = (others[0], others[1]);
    world.still.push(victim);
    let mut news = 0;
    let mut created = Vec::new();
    for ms in 0..2_000 {
        let id = world.create(flooder, CUBE, &[&[1]]);
        created.push(id);
        world.edit(flooder).destroy(id).unwrap();
        let kept = world.create(flooder, CUBE, &[&[2]]);
        if created.len() > 900 {
            world.edit(flooder).destroy(created[created.len() - 900]).ok();
        }
        created.push(kept);
        say(&mut world, (host, victim), Lane::GAME, &mut news, u32::from(ms % 20 == 0));
        world.step();
    }
    world.still.clear();
    world.run(10);
    assert_whole(&heard(&world, victim, host, Lane::GAME), 100, "news");
    world.run(5_000);
    world.assert_agreed();
    let alive = |id| world.peers[&victim].object(id).is_some();
    let told = |id| {
        let last = world.events[&victim].iter().rev().find_map(|event| match event {
            Event::ObjectCreated(of) if *of == id => Some(true),
            Event::ObjectDestroyed { id: of, .. } if *of == id => Some(false),
            _ => None,
        });
        last.unwrap_or(false)
    };
    assert!(created.iter().all(|&id| alive(id) == told(id)), "the game knows which objects there are");
}
