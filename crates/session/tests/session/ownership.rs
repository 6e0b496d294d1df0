//! Ownership: requests and their outcomes, orphans, and the load of the members.

use crate::world::{Craft, TEAPOT, World};
use samovar_session::{
    Access, Denial, Event, Focus, Orphan, Outcome, OwnershipPolicy, Traits, WISHES_MAX, Wish, WishError,
};
use samovar_wire::control::{Presence, Standing};
use samovar_wire::{Duration, Kind, ObjectId, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FREE: Traits = Traits { access: Access::Free, ..TEAPOT };
const SHARED: Traits = Traits { access: Access::Shared, ..TEAPOT };

/// A host and two other members, settled.
fn three(seed: u8, loss: u64) -> (World, PeerId, PeerId, PeerId) {
    let mut world = World::new(seed, loss);
    let host = *world.peers.keys().next().unwrap();
    let (a, b) = (world.join(None), world.join(None));
    world.run(2_500);
    (world, host, a, b)
}

/// The outcomes of a peer's requests for an object, and its own state of the object for each request that failed.
fn outcomes(world: &World, peer: PeerId, object: ObjectId) -> Vec<(Wish, Outcome, Option<Vec<u8>>)> {
    let outcome = |event: &Event| match event {
        Event::Ownership { id, wish, outcome, last } if *id == object => {
            Some((*wish, *outcome, last.as_ref().map(|object| object.field(0).to_vec())))
        }
        _ => None,
    };
    world.events[&peer].iter().filter_map(outcome).collect()
}

fn owner(world: &World, at: PeerId, id: ObjectId) -> PeerId {
    world.peers[&at].object(id).unwrap().owner()
}

#[test]
fn changes_before_the_grant_count_once_it_is_given() {
    for seed in 0..5 {
        let (mut world, host, a, b) = three(seed, u64::from(seed) * 6);
        let cup = world.create(host, FREE, &[b"full"]);
        world.run(1_000);
        let now = world.now;
        world.peer(a).ownership(now).request(cup).unwrap();
        world.peer(a).edit(now).set(cup, 0, b"sipped").unwrap();
        let seen = world.peers[&a].object(cup).unwrap();
        assert!(seen.is_claimed() && seen.owner() == host && seen.field(0) == b"sipped");
        assert_eq!(world.peers[&b].object(cup).unwrap().field(0), b"full");
        world.run(1_500);
        assert_eq!(outcomes(&world, a, cup), [(Wish::Request, Outcome::Granted, None)]);
        for peer in [host, a, b] {
            let object = world.peers[&peer].object(cup).unwrap();
            assert!(object.owner() == a && object.field(0) == b"sipped" && !object.is_claimed());
        }
        world.assert_converged();
    }
}

#[test]
fn one_of_two_requests_wins_and_the_other_learns_the_owner() {
    let (mut world, host, a, b) = three(1, 0);
    let cup = world.create(host, FREE, &[b"full"]);
    world.run(500);
    let now = world.now;
    for (peer, mark) in [(a, b"by a"), (b, b"by b")] {
        world.peer(peer).ownership(now).request(cup).unwrap();
        world.peer(peer).edit(now).set(cup, 0, mark).unwrap();
    }
    world.run(1_000);
    let winner = owner(&world, host, cup);
    let (loser, mark) = if winner == a { (b, b"by b") } else { (a, b"by a") };
    assert_eq!(outcomes(&world, winner, cup), [(Wish::Request, Outcome::Granted, None)]);
    let lost = (Wish::Request, Outcome::LostTo(winner), Some(mark.to_vec()));
    assert_eq!(outcomes(&world, loser, cup), [lost]);
    assert!(!world.peers[&loser].object(cup).unwrap().is_claimed());
    world.assert_converged();
}

#[test]
fn objects_are_not_granted_against_their_traits() {
    let (mut world, host, a, b) = three(2, 0);
    let board = world.create(host, TEAPOT, &[b"score"]);
    let cup = world.create(b, FREE, &[b"of b"]);
    world.run(500);
    let now = world.now;
    for id in [board, cup] {
        world.peer(a).ownership(now).request(id).unwrap();
    }
    world.run(500);
    assert_eq!(outcomes(&world, a, board), [(Wish::Request, Outcome::Denied(Denial::Forbidden), None)]);
    assert_eq!(outcomes(&world, a, cup), [(Wish::Request, Outcome::Denied(Denial::NotAvailable), None)]);
    assert_eq!((owner(&world, a, board), owner(&world, a, cup)), (host, b));
    let now = world.now;
    let stranger = PeerId(9_999);
    assert_eq!(world.peer(a).ownership(now).transfer(cup, stranger), Err(WishError::NotAMember));
    assert_eq!(world.peer(a).ownership(now).release(cup), Err(WishError::NotOwner));
    assert_eq!(world.peer(a).ownership(now).request(ObjectId::SESSION), Err(WishError::Forbidden));
    let none = ObjectId { creator: a, number: 77 };
    assert_eq!(world.peer(a).ownership(now).request(none), Err(WishError::Unknown));
}

#[test]
fn owner_can_release_and_transfer_its_objects() {
    let (mut world, host, a, b) = three(3, 10);
    let cup = world.create(a, FREE, &[b"of a"]);
    let pot = world.create(a, TEAPOT, &[b"of a"]);
    world.run(1_000);
    let now = world.now;
    world.peer(a).ownership(now).release(cup).unwrap();
    world.peer(a).ownership(now).transfer(pot, b).unwrap();
    world.run(2_000);
    assert_eq!(outcomes(&world, a, cup), [(Wish::Release, Outcome::Moved(host), None)]);
    assert_eq!(outcomes(&world, a, pot), [(Wish::Transfer(b), Outcome::Moved(b), None)]);
    assert_eq!((owner(&world, b, cup), owner(&world, host, pot)), (host, b));
    let now = world.now;
    world.peer(b).ownership(now).request(cup).unwrap();
    world.run(1_500);
    assert_eq!(owner(&world, a, cup), b);
    world.assert_converged();
}

#[test]
fn request_is_repeated_to_a_new_host() {
    for seed in 0..8u8 {
        let (mut world, host, a, b) = three(seed, 0);
        let cup = world.create(host, FREE, &[b"full"]);
        world.run(1_000);
        let backup = world.peers[&a].view().backup().unwrap();
        let asker = if backup == a { b } else { a };
        let now = world.now;
        world.peer(asker).ownership(now).request(cup).unwrap();
        world.peer(asker).edit(now).set(cup, 0, b"mine").unwrap();
        world.run(u64::from(seed) * 8);
        world.kill(host);
        world.run(4_000);
        assert_eq!(outcomes(&world, asker, cup), [(Wish::Request, Outcome::Granted, None)], "seed {seed}");
        assert_eq!(owner(&world, backup, cup), asker);
        world.assert_converged();
    }
}

#[test]
fn request_without_an_answer_ends_as_denied() {
    let (mut world, host, a, _) = three(4, 0);
    let cup = world.create(host, FREE, &[b"full"]);
    world.run(500);
    world.ownership(host).set_policy(OwnershipPolicy::Ask);
    let now = world.now;
    world.peer(a).ownership(now).request(cup).unwrap();
    world.run(8_000);
    assert_eq!(outcomes(&world, a, cup), [(Wish::Request, Outcome::Denied(Denial::NoAnswer), None)]);
    assert!(world.ownership(host).poll_request().is_some());
    assert!(world.ownership(host).poll_request().is_none(), "a repeated request is put to the game once");
}

#[test]
fn hosts_game_decides_requests_under_the_ask_policy() {
    let (mut world, host, a, b) = three(5, 0);
    let (cup, pot) = (world.create(host, FREE, &[b"full"]), world.create(host, TEAPOT, &[b"tea"]));
    world.run(500);
    world.ownership(host).set_policy(OwnershipPolicy::Ask);
    let now = world.now;
    world.peer(a).ownership(now).request(pot).unwrap();
    world.peer(b).ownership(now).request(cup).unwrap();
    world.run(200);
    while let Some(asked) = world.ownership(host).poll_request() {
        let now = world.now;
        world.peer(host).ownership(now).answer(&asked, asked.from == a);
        // A second answer to the same request does nothing.
        world.peer(host).ownership(now).answer(&asked, true);
    }
    world.run(500);
    assert_eq!(outcomes(&world, a, pot), [(Wish::Request, Outcome::Granted, None)]);
    assert_eq!(outcomes(&world, b, cup), [(Wish::Request, Outcome::Denied(Denial::Refused), None)]);
}

#[test]
fn touched_object_goes_to_the_first_by_session_time() {
    let (mut world, host, a, b) = three(6, 0);
    let ball = world.create(host, SHARED, &[b"ball"]);
    world.run(500);
    // The touch of `b` arrives first, though `a` touched the object earlier.
    world.delays.insert((a, host), Duration::from_millis(60));
    let now = world.now;
    world.peer(a).ownership(now).touch(ball).unwrap();
    world.run(10);
    let now = world.now;
    world.peer(b).ownership(now).touch(ball).unwrap();
    world.run(300);
    assert_eq!(owner(&world, host, ball), a);
    assert_eq!(outcomes(&world, b, ball), [(Wish::Touch, Outcome::LostTo(a), None)]);
    let now = world.now;
    world.peer(b).ownership(now).touch(ball).unwrap();
    world.run(100);
    let held = &outcomes(&world, b, ball)[1].1;
    assert!(matches!(held, Outcome::Denied(Denial::TooSoon) | Outcome::LostTo(_)), "{held:?}");
    world.run(600);
    let now = world.now;
    world.peer(b).ownership(now).touch(ball).unwrap();
    world.run(500);
    assert_eq!(owner(&world, host, ball), b);
    world.assert_converged();
}

#[test]
fn requests_are_bounded_and_end_with_their_object() {
    let (mut world, host, a, _) = three(7, 0);
    let cups: Vec<_> = (0..=WISHES_MAX).map(|_| world.create(host, FREE, &[b"full"])).collect();
    world.run(1_000);
    world.ownership(host).set_policy(OwnershipPolicy::Ask);
    let now = world.now;
    for &cup in &cups[..WISHES_MAX] {
        world.peer(a).ownership(now).request(cup).unwrap();
    }
    assert_eq!(world.peer(a).ownership(now).request(cups[WISHES_MAX]), Err(WishError::TooMany));
    assert_eq!(world.peer(a).ownership(now).request(cups[0]), Ok(()), "it is asked for already");
    world.edit(host).destroy(cups[0]).unwrap();
    world.run(500);
    assert_eq!(outcomes(&world, a, cups[0]), [(Wish::Request, Outcome::Denied(Denial::Unknown), None)]);
    let now = world.now;
    world.peer(a).ownership(now).request(cups[WISHES_MAX]).unwrap();
}

#[test]
fn an_orphan_goes_where_its_traits_say() {
    for seed in 0..4u8 {
        let (mut world, host, a, b) = three(seed, u64::from(seed) * 5);
        let near = |orphan| Traits { orphan, ..Traits::of(Kind(7)) };
        let now = world.now;
        let [dies, stays, nearest, frozen] =
            [Orphan::Destroy, Orphan::ToHost, Orphan::ToNearest, Orphan::Freeze]
                .map(|orphan| world.peer(a).edit(now).create_as(near(orphan), &Craft::at(100.0)).unwrap());
        world.peer(host).interest().set_focus(Some(Focus { center: [0.0; 3], radius: 500.0 }));
        world.peer(b).edit(now).create_as(near(Orphan::ToHost), &Craft::at(120.0)).unwrap();
        world.run(1_500);
        let (seat, ticket) = (world.peers[&a].seat().unwrap(), world.peers[&a].ticket().unwrap());
        world.kill(a);
        world.run(4_000);
        world.assert_converged();
        assert!(world.peers[&b].object(dies).is_none());
        assert_eq!(owner(&world, b, stays), host);
        assert_eq!(owner(&world, host, nearest), b, "b has something at 120, the host looks at 0");
        assert_eq!(owner(&world, b, frozen), host);
        let now = world.now;
        world.peer(b).ownership(now).request(frozen).unwrap();
        world.run(500);
        assert_eq!(outcomes(&world, b, frozen), [(Wish::Request, Outcome::Denied(Denial::Frozen), None)]);
        let again = world.join(Some(ticket));
        world.run(3_000);
        assert_eq!(world.peers[&again].seat().unwrap(), seat);
        assert_eq!(owner(&world, b, frozen), again, "it waited for the seat");
        world.assert_converged();
    }
}

#[test]
fn frozen_object_stays_frozen_under_the_next_host() {
    let (mut world, host, a, b) = three(9, 0);
    let c = world.join(None);
    world.run(1_500);
    let cup = world.create(a, Traits { orphan: Orphan::Freeze, ..FREE }, &[b"of a"]);
    world.run(500);
    let ticket = world.peers[&a].ticket().unwrap();
    world.kill(a);
    world.run(3_000);
    world.kill(host);
    world.run(3_000);
    let next = world.witness.warrant.host;
    assert_eq!(owner(&world, b, cup), next);
    let asker = if next == b { c } else { b };
    let now = world.now;
    world.peer(asker).ownership(now).request(cup).unwrap();
    world.run(1_000);
    assert_eq!(outcomes(&world, asker, cup), [(Wish::Request, Outcome::Denied(Denial::Frozen), None)]);
    let again = world.join(Some(ticket));
    world.run(2_500);
    assert_eq!(owner(&world, b, cup), again);
}

#[test]
fn free_objects_are_spread_evenly_and_then_stay() {
    let (mut world, host, a, b) = three(8, 3);
    let crate_of = Traits { balanced: true, ..FREE };
    let boxes: Vec<_> = (0..13).map(|n| world.create(host, crate_of, &[&[n]])).collect();
    world.run(1_000);
    let load = |world: &World, peer| boxes.iter().filter(|&&id| owner(world, host, id) == peer).count();
    assert_eq!(load(&world, host), 13);
    world.ownership(host).set_balancing(true);
    world.run(1_000);
    assert!(load(&world, host) >= 8, "at most a few a second");
    world.run(6_000);
    let mut loads = [host, a, b].map(|peer| load(&world, peer));
    loads.sort_unstable();
    assert_eq!(loads, [4, 4, 5]);
    let stamps = |world: &World| {
        boxes.iter().map(|&id| world.peers[&host].object(id).unwrap().stamp()).collect::<Vec<_>>()
    };
    let before = stamps(&world);
    world.run(5_000);
    assert_eq!(stamps(&world), before, "nothing moves once it is even");
    let c = world.join(None);
    world.run(4_000);
    assert_eq!(load(&world, c), 3);
    world.assert_converged();
    // The page of a member is hidden: the others take over what it had.
    let shown = |is_visible| {
        let presence = if is_visible { Presence::Visible } else { Presence::Hidden };
        Standing { presence, reach: 1 }
    };
    let now = world.now;
    world.peer(b).set_standing(now, shown(false));
    world.run(4_000);
    assert_eq!(load(&world, b), 0);
    world.peer(b).set_standing(now, shown(true));
    world.run(4_000);
    assert_eq!(load(&world, b), 3);
    world.kill(a);
    world.run(6_000);
    let loads = [host, b, c].map(|peer| load(&world, peer));
    assert!(loads.iter().all(|load| (4..=5).contains(load)), "{loads:?}");
    world.assert_converged();
}

#[test]
fn next_host_moves_what_its_predecessor_spread() {
    let (mut world, host, a, b) = three(9, 3);
    let robot = Traits { balanced: true, ..TEAPOT };
    let robots: Vec<_> = (0..6).map(|n| world.create(host, robot, &[&[n]])).collect();
    for peer in [host, a, b] {
        world.ownership(peer).set_balancing(true);
    }
    let load = |world: &World, at, peer| robots.iter().filter(|&&id| owner(world, at, id) == peer).count();
    world.run(4_000);
    assert_eq!([host, a, b].map(|peer| load(&world, host, peer)), [2, 2, 2]);
    // The host hands over and stays, with a hidden page.
    let now = world.now;
    world.peer(host).set_standing(now, Standing { presence: Presence::Hidden, reach: 1 });
    assert!(world.peer(host).hand_over(now) || !world.peers[&host].is_host());
    world.run(6_000);
    let next = world.peers[&a].host();
    assert_ne!(next, host);
    assert_eq!([host, a, b].map(|peer| load(&world, next, peer)), [0, 3, 3]);
    world.assert_converged();
}
