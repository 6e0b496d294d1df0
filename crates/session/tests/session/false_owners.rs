//! False owners: a member claims an object that it was not granted. The other members believe in a new owner only
//! when the host tells them of the grant.

use crate::liars::{Liar, world_with_a_liar};
use crate::world::{TEAPOT, World, world_of};
use samovar_session::{Access, Traits};
use samovar_wire::object::{Announcement, MessageKind, encode_announcement};
use samovar_wire::{Duration, ObjectId, PeerId, Stamp, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SHARED: Traits = Traits { access: Access::Shared, ..TEAPOT };
const RELIABLE: Traits = Traits { reliable: true, ..SHARED };

/// A stamp of the present term that is above the stamp that a peer knows.
fn above(world: &World, at: PeerId, id: ObjectId, more: u32) -> Stamp {
    let known = world.peers[&at].object(id).unwrap().stamp();
    Stamp { term: world.peers[&at].term(), counter: known.counter + more }
}

fn forged(liar: &Liar, id: ObjectId, stamp: Stamp) -> Vec<u8> {
    let mut bytes = vec![MessageKind::Migrate as u8];
    let head = Announcement::head(id, liar.me, stamp, SHARED, samovar_wire::Time::ZERO);
    encode_announcement(&head, [&b"stolen"[..]].into_iter(), &mut Writer::new(&mut bytes));
    bytes
}

fn owner(world: &World, at: PeerId, id: ObjectId) -> Option<PeerId> {
    world.peers[&at].object(id).map(samovar_session::Object::owner)
}

#[test]
fn false_owner_is_not_believed() {
    for more in [1, 3, 1_000] {
        let (mut world, host, [_, honest, other], mut liar) = world_with_a_liar();
        let cup = world.create(honest, SHARED, &[b"1"]);
        world.run(300);
        let stamp = above(&world, other, cup, more);
        let lie = forged(&liar, cup, stamp);
        liar.tell(&mut world, other, &lie);
        world.run(300);
        assert_eq!(owner(&world, other, cup), Some(honest), "{more} above");
        world.edit(honest).set(cup, 0, b"2").unwrap();
        world.run(300);
        assert_eq!(world.peers[&other].object(cup).unwrap().field(0), b"2", "{more} above");
        // The host knows its own grants, and removes a member that forges one.
        liar.tell(&mut world, host, &lie);
        world.run(300);
        assert!(!world.peers[&host].view().has(liar.me));
        world.assert_converged();
        // The other members forget the forged announcement when they drop the liar.
        world.kill(host);
        world.run(3_000);
        assert_eq!(owner(&world, other, cup), Some(honest), "{more} above");
        world.assert_converged();
    }
}

#[test]
fn object_end_from_a_false_owner_is_ignored() {
    let (mut world, _, [_, honest, other], mut liar) = world_with_a_liar();
    let cup = world.create(honest, SHARED, &[b"1"]);
    world.run(300);
    let mut end = vec![MessageKind::Destroy as u8];
    let mut out = Writer::new(&mut end);
    out.object_id(cup);
    out.stamp(above(&world, other, cup, 1));
    liar.tell(&mut world, other, &end);
    world.run(300);
    assert_eq!(owner(&world, other, cup), Some(honest));
}

/// The host grants an object to a member. A third member hears everything from the new owner, but nothing from the
/// host. `backup` is the index of the next host among the giver, the taker and the third member.
fn granted_unheard(traits: Traits, changes: &[u8], backup: usize) -> (World, [PeerId; 4], ObjectId) {
    let (mut world, host, mut others) = world_of(7, 0, 4);
    let first = world.peers[&host].view().backup().unwrap();
    let at = others.iter().position(|&peer| peer == first).unwrap();
    others.swap(at, backup);
    let [giver, taker, third] = others[..] else { panic!("three others") };
    let cup = world.create(giver, traits, &[b"0"]);
    world.run(500);
    world.delays.insert((host, third), Duration::from_millis(600));
    world.run(20);
    let now = world.now;
    world.peer(taker).ownership(now).request(cup).unwrap();
    world.run(150);
    assert_eq!(owner(&world, host, cup), Some(taker));
    for &change in changes {
        world.edit(taker).set(cup, 0, &[change]).unwrap();
        world.run(50);
    }
    (world, [host, giver, taker, third], cup)
}

#[test]
fn updates_that_arrive_before_the_grant_are_kept() {
    for traits in [SHARED, RELIABLE] {
        let (mut world, [_, giver, taker, third], cup) = granted_unheard(traits, b"123", 1);
        assert_eq!(owner(&world, third, cup), Some(giver));
        world.delays.clear();
        world.run(1_500);
        assert_eq!(owner(&world, third, cup), Some(taker));
        assert_eq!(world.peers[&third].object(cup).unwrap().field(0), b"3");
        world.assert_converged();
    }
}

#[test]
fn object_end_that_arrives_before_the_grant_counts_later() {
    let (mut world, [host, giver, taker, third], cup) = granted_unheard(SHARED, b"1", 1);
    world.edit(taker).destroy(cup).unwrap();
    world.run(100);
    assert_eq!((owner(&world, host, cup), owner(&world, third, cup)), (None, Some(giver)));
    world.delays.clear();
    world.run(1_500);
    assert_eq!(owner(&world, third, cup), None);
    world.assert_converged();
}

#[test]
fn new_host_confirms_the_grants_of_the_former_host() {
    for (traits, backup) in [(SHARED, 0), (RELIABLE, 0), (SHARED, 1), (SHARED, 2), (RELIABLE, 2)] {
        let (mut world, [host, giver, taker, third], cup) = granted_unheard(traits, b"12", backup);
        assert_eq!(owner(&world, third, cup), Some(giver));
        world.cuts.push((host, third));
        world.kill(host);
        world.run(4_000);
        assert_eq!(world.peers[&third].warrant().host, [giver, taker, third][backup]);
        assert_eq!(owner(&world, third, cup), Some(taker));
        world.edit(taker).set(cup, 0, b"3").unwrap();
        world.run(500);
        world.assert_converged();
    }
}

#[test]
fn newcomer_learns_of_all_grants() {
    let (mut world, host, others) = world_of(8, 10, 3);
    let cups: Vec<_> = (0..100).map(|_| world.create(host, SHARED, &[b"0"])).collect();
    world.run(1_000);
    for &cup in &cups {
        let now = world.now;
        world.peer(others[0]).ownership(now).request(cup).unwrap();
        world.run(20);
    }
    world.run(1_000);
    let newcomer = world.join(None);
    world.run(2_000);
    assert!(cups.iter().all(|&cup| owner(&world, newcomer, cup) == Some(others[0])));
    world.assert_converged();
    world.kill(host);
    world.run(3_000);
    let newcomer = world.join(None);
    world.run(2_000);
    assert!(cups.iter().all(|&cup| owner(&world, newcomer, cup) == Some(others[0])));
    world.assert_converged();
}
