//! What becomes of messages when the host is lost.

use samovar_wire::PeerId;

use crate::orders::any::Kind;
use crate::orders::history::Message;
use crate::orders::world::World;
use samovar_wire::Rng;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOST: PeerId = PeerId(1);
const B: PeerId = PeerId(2);
const C: PeerId = PeerId(3);

/// The host ends, and so many frames of its lanes arrive; C takes over.
fn succeed(world: &mut World, left: impl FnMut(usize) -> usize) {
    world.crash(HOST, left);
    let members = world.view.members.iter().copied().filter(|&peer| peer != HOST).collect();
    let view = world.next_view(C, members);
    world.publish(view);
    world.drain();
}

#[test]
fn what_one_survivor_has_of_the_lost_host_reaches_all_survivors() {
    for kind in [Kind::Vector, Kind::Dispatcher, Kind::Total] {
        let mut world = World::new(kind, 3);
        let message = world.send(HOST).unwrap();
        world.arrive((HOST, B));
        assert_eq!(world.history.deliveries(B), [message], "{kind:?}");
        succeed(&mut world, |_| 0);
        assert_eq!(world.history.deliveries(B), [message], "{kind:?}");
        assert_eq!(world.history.deliveries(C), [message], "{kind:?}");
    }
}

#[test]
fn what_no_survivor_has_of_the_lost_host_is_seen_by_nobody() {
    for kind in [Kind::Vector, Kind::Dispatcher, Kind::Total, Kind::Barrier] {
        let mut world = World::new(kind, 3);
        assert!(world.send(HOST).is_some());
        succeed(&mut world, |_| 0);
        assert!(world.history.deliveries(B).is_empty() && world.history.deliveries(C).is_empty());
    }
}

#[test]
fn what_the_lost_host_gave_no_number_is_numbered_by_the_next() {
    let mut world = World::new(Kind::Total, 3);
    // One submission dies on its way, the other's number does.
    let lost = world.send(B).unwrap();
    world.lanes.clear();
    world.relink(HOST, B);
    let unnumbered = world.send(C).unwrap();
    world.arrive((C, HOST));
    assert_eq!(world.history.deliveries(HOST), [unnumbered]);
    succeed(&mut world, |_| 0);
    let seen = world.history.deliveries(B);
    assert_eq!(seen, world.history.deliveries(C));
    assert!(seen.len() == 2 && seen.contains(&lost) && seen.contains(&unnumbered), "{seen:?}");
}

#[test]
fn a_message_that_depends_on_one_lost_with_its_senders_is_not_seen() {
    // The host says something that B alone hears and answers; both end, and the answer alone has reached C.
    let mut world = World::new(Kind::Vector, 4);
    assert!(world.send(HOST).is_some());
    world.arrive((HOST, B));
    assert!(world.send(B).is_some());
    world.arrive((B, C));
    assert!(world.history.deliveries(C).is_empty(), "it waits for its cause");
    world.crash(HOST, |_| 0);
    world.crash(B, |_| 0);
    let view = world.next_view(C, vec![C, PeerId(4)]);
    world.publish(view);
    world.drain();
    assert!(world.history.deliveries(C).is_empty() && world.history.deliveries(PeerId(4)).is_empty());
    let next = world.send(C).unwrap();
    world.drain();
    assert_eq!(world.history.deliveries(PeerId(4)), [next], "the order goes on");
}

#[test]
fn what_follows_from_a_round_that_is_lost_is_lost_with_it() {
    // B alone sees the host's round and answers in the next one; both end, and the answer alone has reached C.
    let mut world = World::new(Kind::Barrier, 3);
    let slow = [(HOST, C)];
    assert!(world.send(HOST).is_some());
    world.drain_but(&slow);
    let answer = world.send(B).unwrap();
    world.drain_but(&slow);
    assert!(world.history.deliveries(B).len() == 1 && world.history.deliveries(C).is_empty());
    world.crash(HOST, |_| 0);
    world.crash(B, |_| 0);
    let view = world.next_view(C, vec![C]);
    world.publish(view);
    world.drain();
    assert!(!world.history.deliveries(C).contains(&answer), "without what it answers");
    assert_eq!(world.history.check_causal(), Ok(()));
}

#[test]
fn the_host_says_whom_a_new_view_waits_for() {
    for kind in [Kind::Vector, Kind::Barrier, Kind::Dispatcher, Kind::Total] {
        let mut world = World::new(kind, 3);
        let newcomer = PeerId(9);
        let view = world.next_view(HOST, vec![HOST, B, C, newcomer]);
        world.publish(view);
        let awaited = |world: &World| world.nodes[&HOST].get().awaited().iter().copied().collect::<Vec<_>>();
        assert_eq!(awaited(&world), [B, C], "{kind:?}: newcomers have nothing to say");
        let silent = [(C, HOST)];
        world.drain_but(&silent);
        assert_eq!(awaited(&world), [C], "{kind:?}");
        assert_eq!(world.history.views(B).len(), 1);
        world.arrive((C, HOST));
        world.drain_but(&silent);
        assert_eq!(world.history.views(C).len(), 2, "{kind:?}: those who were here are in the new view");
        assert_eq!(world.history.views(newcomer), [], "{kind:?}: it is let in when all others are");
        assert_eq!(awaited(&world), [C], "{kind:?}");
        world.drain();
        assert_eq!(awaited(&world), [], "{kind:?}");
        assert_eq!(world.history.views(newcomer), [world.view.id], "{kind:?}");
    }
}

#[test]
fn what_was_said_to_newcomers_reaches_them_also_when_a_host_lets_them_in_that_was_not_there() {
    for kind in [Kind::Vector, Kind::Barrier, Kind::Dispatcher, Kind::Total] {
        let mut world = World::new(kind, 2);
        let (newcomer, second, third) = (PeerId(3), PeerId(4), PeerId(5));
        let view = world.next_view(HOST, vec![HOST, B, newcomer, second]);
        world.publish(view);
        // The newcomers know who is there; only B, who was there before, is in that view when the host is lost.
        world.arrive((HOST, newcomer));
        world.arrive((HOST, second));
        world.drain_but(&[(HOST, newcomer), (HOST, second)]);
        assert_eq!((world.history.views(B).len(), world.history.views(newcomer).len()), (2, 0), "{kind:?}");
        world.crash(HOST, |_| 0);
        let message = world.send(B).unwrap();
        // The next host hears nothing of B before it is lost, too, and lets in who was not in any of this.
        let view = world.next_view(second, vec![B, newcomer, second, third]);
        world.publish(view);
        world.drain_but(&[(B, newcomer), (B, second), (B, third)]);
        world.crash(second, |_| 0);
        let view = world.next_view(third, vec![B, newcomer, third]);
        world.publish(view);
        world.drain();
        assert_eq!(world.history.deliveries(newcomer), [message], "{kind:?}");
        assert_eq!(world.history.check_complete(&[B, newcomer, third], kind == Kind::Total), Ok(()));
    }
}

#[test]
fn a_newcomer_that_is_heard_late_to_lack_everything_is_told_what_follows_what_it_has() {
    let mut world = World::new(Kind::Vector, 2);
    let newcomer = PeerId(3);
    let view = world.next_view(HOST, vec![HOST, B, newcomer]);
    world.publish(view);
    // On a new link it says that it has nothing. B hears that only with what it says when it has all, which nobody keeps then.
    world.relink(B, newcomer);
    let slow = [(newcomer, B)];
    world.drain_but(&slow);
    let first = world.send(B).unwrap();
    world.drain_but(&slow);
    for peer in [HOST, newcomer] {
        assert_eq!(world.history.deliveries(peer).first(), Some(&first));
        assert!(world.send(peer).is_some());
        world.drain_but(&slow);
    }
    world.is_eager = false;
    while world.busy().contains(&slow[0]) {
        world.arrive(slow[0]);
    }
    world.is_eager = true;
    let second = world.send(B).unwrap();
    world.drain();
    assert!(world.history.deliveries(HOST).contains(&second));
    assert!(world.history.deliveries(newcomer).contains(&second));
}

/// A random life of a host that ends: what it delivered, and what a survivor did.
fn last_words(seed: u64, is_stable: bool) -> (Vec<Message>, Vec<Message>) {
    let mut dice = Rng::new(seed);
    let mut world = World::new(Kind::Total, 3 + dice.index(2) as u32);
    for _ in 0..dice.index(60) {
        let peer = dice.pick(&world.view.members.clone()).unwrap();
        if dice.chance(30, 100) {
            let _ = if is_stable { world.send_stable(peer) } else { world.send(peer) };
        } else if let Some(way) = dice.pick(&world.busy()) {
            world.arrive(way);
        }
    }
    let seen = world.history.deliveries(HOST);
    succeed(&mut world, |n| dice.index(n + 1));
    let survivors: Vec<_> = world.nodes.keys().copied().collect();
    assert_eq!(world.history.check_total(&survivors), Ok(()), "seed {seed}");
    assert_eq!(world.history.check_complete(&survivors, true), Ok(()), "seed {seed}");
    (seen, world.history.deliveries(C))
}

#[test]
fn a_stable_message_that_anybody_saw_survives_the_host_in_its_place() {
    for seed in 0..400 {
        let (host, survivor) = last_words(seed, true);
        assert!(survivor.starts_with(&host), "seed {seed}: the host saw {host:?}, a survivor {survivor:?}");
    }
}

#[test]
fn one_that_is_not_stable_may_get_another_place_or_none() {
    let differs = |seed| {
        let (host, survivor) = last_words(seed, false);
        !survivor.starts_with(&host)
    };
    assert!((0..400).any(differs));
}

#[test]
fn without_a_backup_a_stable_message_waits_unless_the_host_is_alone() {
    let mut world = World::new(Kind::Total, 2);
    let mut view = world.next_view(HOST, world.view.members.clone());
    view.backups.clear();
    world.publish(view);
    world.drain();
    let message = world.send_stable(B).unwrap();
    world.drain();
    assert!(world.history.deliveries(HOST).is_empty() && world.history.deliveries(B).is_empty());
    // The next view ends this one, at whose end everybody holds it.
    let view = world.next_view(HOST, world.view.members.clone());
    world.publish(view);
    world.drain();
    assert_eq!(world.history.deliveries(HOST), [message]);
    assert_eq!(world.history.deliveries(B), [message]);
    world.crash(B, |_| 0);
    let view = world.next_view(HOST, vec![HOST]);
    world.publish(view);
    world.drain();
    let alone = world.send_stable(HOST).unwrap();
    assert_eq!(world.history.deliveries(HOST), [message, alone]);
}

/// C alone hears how the first host ended the epoch; B, which did not, hosts next and waits for D.
fn only_c_is_ahead(kind: Kind) -> World {
    let d = PeerId(4);
    let mut world = World::new(kind, 4);
    let view = world.next_view(HOST, world.view.members.clone());
    world.publish(view);
    for to in [B, d] {
        for _ in 0..world.lanes[&(HOST, to)].len() {
            world.arrive((HOST, to));
        }
    }
    world.drain_but(&[(HOST, B), (HOST, d)]);
    assert_eq!((world.history.views(B).len(), world.history.views(C).len()), (1, 2), "{kind:?}");
    world.crash(HOST, |_| 0);
    let view = world.next_view(B, vec![B, C, d]);
    world.publish(view);
    world.drain_but(&[(d, B)]);
    world
}

#[test]
fn a_host_that_is_behind_goes_on_when_its_link_to_who_is_ahead_was_renewed_while_it_waited() {
    for kind in [Kind::Vector, Kind::Total] {
        let mut world = only_c_is_ahead(kind);
        world.relink(B, C);
        world.drain_but(&[(PeerId(4), B)]);
        world.drain();
        assert_eq!(world.history.views(B).len(), 3, "{kind:?}: {:?}", world.history.views(B));
    }
}

#[test]
fn a_host_that_is_behind_goes_on_when_another_link_was_renewed_before_the_answer_came() {
    for kind in [Kind::Vector, Kind::Total] {
        let d = PeerId(4);
        let mut world = only_c_is_ahead(kind);
        while world.busy().contains(&(d, B)) {
            world.arrive((d, B));
        }
        while world.busy().contains(&(B, C)) {
            world.arrive((B, C));
        }
        assert!(world.busy().contains(&(C, B)), "the answer is on its way");
        world.relink(B, d);
        world.drain();
        assert_eq!(world.history.views(B).len(), 3, "{kind:?}: {:?}", world.history.views(B));
    }
}

#[test]
fn whatever_links_are_renewed_everybody_comes_to_the_last_view() {
    let mut stalled = Vec::new();
    for seed in 0..if cfg!(target_arch = "wasm32") { 100_u64 } else { 3_000 } {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut dice = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as usize % below
        };
        let kind = [Kind::Vector, Kind::Total, Kind::Dispatcher][seed as usize % 3];
        let mut world = World::new(kind, 5);
        let mut members = world.view.members.clone();
        for _ in 0..3 {
            let host = world.view.host;
            let view = world.next_view(host, members.clone());
            world.publish(view);
            for _ in 0..dice(30) {
                match dice(8) {
                    0 => drop(world.send(members[dice(members.len())])),
                    1 => {
                        let (a, b) = (members[dice(members.len())], members[dice(members.len())]);
                        if a != b {
                            world.relink(a, b);
                        }
                    }
                    _ => {
                        let busy = world.busy();
                        if !busy.is_empty() {
                            world.arrive(busy[dice(busy.len())]);
                        }
                    }
                }
            }
            if members.len() > 2 && dice(2) == 0 {
                world.crash(host, |len| len / 2);
                members.retain(|&peer| peer != host);
                let next = members[dice(members.len())];
                let view = world.next_view(next, members.clone());
                world.publish(view);
            }
            for _ in 0..dice(30) {
                if dice(6) == 0 {
                    let (a, b) = (members[dice(members.len())], members[dice(members.len())]);
                    if a != b {
                        world.relink(a, b);
                    }
                }
                let busy = world.busy();
                if !busy.is_empty() {
                    world.arrive(busy[dice(busy.len())]);
                }
            }
        }
        world.drain();
        let last = world.view.id;
        if members.iter().any(|&peer| world.history.views(peer).last() != Some(&last)) {
            stalled.push(seed);
        }
    }
    assert!(stalled.is_empty(), "{} stall: {:?}", stalled.len(), &stalled[..stalled.len().min(8)]);
}
