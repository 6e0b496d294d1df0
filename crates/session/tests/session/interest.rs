//! Interest: each member is told of the objects that it wants to see.

use crate::world::{Craft, World};
use samovar_session::{Event, Focus, Traits};
use samovar_wire::{Kind, ObjectId, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const CRAFT: Traits = Traits::of(Kind(7));

fn three(seed: u8, loss: u64) -> (World, PeerId, PeerId, PeerId) {
    let mut world = World::new(seed, loss);
    let host = *world.peers.keys().next().unwrap();
    let (a, b) = (world.join(None), world.join(None));
    world.run(2_500);
    (world, host, a, b)
}

fn at(x: f32, radius: f32) -> Option<Focus> {
    Some(Focus { center: [x, 0.0, 0.0], radius })
}

fn x(world: &World, peer: PeerId, id: ObjectId) -> f32 {
    world.peers[&peer].read::<Craft>(id).unwrap().place[0]
}

fn sights(world: &World, peer: PeerId) -> Vec<(ObjectId, bool)> {
    let sight = |event: &Event| match event {
        Event::ObjectEntered(id) => Some((*id, true)),
        Event::ObjectLeft(id) => Some((*id, false)),
        _ => None,
    };
    world.events[&peer].iter().filter_map(sight).collect()
}

#[test]
fn far_object_stays_as_it_was_until_it_comes_near() {
    for seed in 0..4u8 {
        let (mut world, host, a, b) = three(seed, u64::from(seed) * 8);
        let now = world.now;
        let craft = world.peer(host).edit(now).create_as(CRAFT, &Craft::at(0.0)).unwrap();
        world.peer(a).interest().set_focus(at(0.0, 50.0));
        world.run(1_000);
        for step in 0..=100 {
            let now = world.now;
            world.peer(host).edit(now).write(craft, &Craft::at(step as f32 * 2.0)).unwrap();
            world.run(20);
        }
        world.run(500);
        assert_eq!(sights(&world, a), [(craft, false)]);
        let seen = x(&world, a, craft);
        assert!((40.0..=70.0).contains(&seen), "{seen}");
        assert!(!world.peers[&a].object(craft).unwrap().is_current());
        assert_eq!(x(&world, b, craft), 200.0, "b wants to see everything");
        // The craft has moved out of the focus of `a`. Then `a` moves its focus there.
        world.run(500);
        world.peer(a).interest().set_focus(at(190.0, 50.0));
        world.run(1_000);
        assert_eq!(sights(&world, a), [(craft, false), (craft, true)]);
        assert_eq!(x(&world, a, craft), 200.0);
        world.assert_converged();
    }
}

#[test]
fn unseen_object_keeps_no_link_busy() {
    let (mut world, host, a, b) = three(5, 0);
    let now = world.now;
    for peer in [a, b] {
        world.peer(peer).interest().set_focus(at(0.0, 20.0));
    }
    let far = world.peer(host).edit(now).create_as(CRAFT, &Craft::at(300.0)).unwrap();
    world.run(1_000);
    let sent = |world: &World| world.peers[&host].link(a).unwrap().stats().bytes_out;
    let before = sent(&world);
    world.run(1_000);
    let idle = sent(&world) - before;
    for step in 0..60 {
        let now = world.now;
        world.peer(host).edit(now).write(far, &Craft::at(300.0 + step as f32)).unwrap();
        world.run(16);
    }
    let busy = sent(&world) - before - idle;
    assert!(busy <= idle + 64, "{busy} bytes while it moves out of sight, {idle} at rest");
    assert_eq!(x(&world, a, far), 300.0);
}

#[test]
fn object_at_the_edge_of_a_focus_does_not_enter_and_leave() {
    let (mut world, host, a, _) = three(6, 0);
    let now = world.now;
    let craft = world.peer(host).edit(now).create_as(CRAFT, &Craft::at(0.0)).unwrap();
    world.peer(a).interest().set_focus(at(0.0, 80.0));
    world.run(500);
    for step in 0..200 {
        // The owner is told a focus that is an eighth larger: 90.
        let now = world.now;
        world
            .peer(host)
            .edit(now)
            .write(craft, &Craft::at(90.0 + if step % 2 == 0 { 3.0 } else { -3.0 }))
            .unwrap();
        world.run(16);
    }
    assert!(sights(&world, a).is_empty());
}

#[test]
fn newcomer_and_new_owner_know_the_foci_of_others() {
    let (mut world, host, a, b) = three(7, 5);
    world.peer(a).interest().set_focus(at(0.0, 50.0));
    let late = world.join(None);
    world.run(2_000);
    let now = world.now;
    let craft = world.peer(late).edit(now).create_as(CRAFT, &Craft::at(200.0)).unwrap();
    world.run(1_000);
    assert!(!world.peers[&a].object(craft).unwrap().is_current());
    assert!(world.peers[&b].object(craft).unwrap().is_current());
    let now = world.now;
    world.peer(late).edit(now).write(craft, &Craft::at(210.0)).unwrap();
    world.run(500);
    assert_eq!((x(&world, a, craft), x(&world, b, craft)), (200.0, 210.0));
    world.kill(late);
    world.run(4_000);
    let now = world.now;
    assert_eq!(world.peers[&a].object(craft).unwrap().owner(), host);
    world.peer(host).edit(now).write(craft, &Craft::at(10.0)).unwrap();
    world.run(1_000);
    assert_eq!(x(&world, a, craft), 10.0);
    assert!(world.peers[&a].object(craft).unwrap().is_current());
    world.peer(a).interest().set_focus(None);
    world.run(1_000);
    world.assert_converged();
}

#[test]
fn object_granted_from_beyond_the_focus_is_as_its_owner_left_it() {
    for seed in 20..24u8 {
        let (mut world, host, a, _) = three(seed, u64::from(seed - 20) * 5);
        let now = world.now;
        let craft = world.peer(host).edit(now).create_as(CRAFT, &Craft::at(0.0)).unwrap();
        world.peer(a).interest().set_focus(at(0.0, 20.0));
        world.run(1_000);
        for step in 0..=60 {
            let now = world.now;
            world.peer(host).edit(now).write(craft, &Craft::at(step as f32 * 3.0)).unwrap();
            world.run(20);
        }
        world.run(500);
        assert!(x(&world, a, craft) < 60.0, "it is out of sight");
        let now = world.now;
        world.peer(host).edit(now).grant(craft, a).unwrap();
        world.run(1_000);
        assert_eq!(world.peers[&a].object(craft).unwrap().owner(), a);
        for peer in world.peers.keys() {
            assert_eq!(x(&world, *peer, craft), 180.0, "seed {seed}: it does not jump back");
        }
        world.assert_converged();
    }
}
