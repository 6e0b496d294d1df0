//! The fate of messages when the host is lost.

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

/// The host dies. On each of its lanes `left` says how many of its frames still arrive. C takes over.
fn succeed(world: &mut World, left: impl FnMut(usize) -> usize) {
    world.crash(HOST, left);
    let members = world.view.members.iter().copied().filter(|&peer| peer != HOST).collect();
    let view = world.next_view(C, members);
    world.publish(view);
    world.drain();
}

#[test]
fn lost_hosts_messages_that_one_survivor_has_reach_all() {
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
fn messages_of_the_lost_host_that_no_survivor_has_are_lost() {
    for kind in [Kind::Vector, Kind::Dispatcher, Kind::Total, Kind::Barrier] {
        let mut world = World::new(kind, 3);
        assert!(world.send(HOST).is_some());
        succeed(&mut world, |_| 0);
        assert!(world.history.deliveries(B).is_empty() && world.history.deliveries(C).is_empty());
    }
}

#[test]
fn unnumbered_submissions_are_numbered_by_the_next_host() {
    let mut world = World::new(Kind::Total, 3);
    // One submission is lost in flight. The other one arrives, but its number is lost.
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
fn a_message_whose_cause_is_lost_is_not_delivered() {
    // B alone hears the host's message and answers it. Both die, and only the answer has reached C.
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
fn an_answer_to_a_lost_round_is_not_delivered() {
    // B alone sees the host's round and answers in the next one. Both die, and only the answer has reached C.
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
    assert!(!world.history.deliveries(C).contains(&answer), "the answer has lost its cause");
    assert_eq!(world.history.check_causal(), Ok(()));
}

#[test]
fn the_host_names_the_members_a_new_view_waits_for() {
    for kind in [Kind::Vector, Kind::Barrier, Kind::Dispatcher, Kind::Total] {
        let mut world = World::new(kind, 3);
        let newcomer = PeerId(9);
        let view = world.next_view(HOST, vec![HOST, B, C, newcomer]);
        world.publish(view);
        let awaited = |world: &World| world.nodes[&HOST].get().awaited().iter().copied().collect::<Vec<_>>();
        assert_eq!(awaited(&world), [B, C], "{kind:?}: newcomers have nothing to report");
        let silent = [(C, HOST)];
        world.drain_but(&silent);
        assert_eq!(awaited(&world), [C], "{kind:?}");
        assert_eq!(world.history.views(B).len(), 1);
        world.arrive((C, HOST));
        world.drain_but(&silent);
        assert_eq!(world.history.views(C).len(), 2, "{kind:?}: the old members are in the new view");
        assert_eq!(world.history.views(newcomer), [], "{kind:?}: it is let in after all others");
        assert_eq!(awaited(&world), [C], "{kind:?}");
        world.drain();
        assert_eq!(awaited(&world), [], "{kind:?}");
        assert_eq!(world.history.views(newcomer), [world.view.id], "{kind:?}");
    }
}

#[test]
fn messages_to_newcomers_reach_them_through_a_third_host() {
    for kind in [Kind::Vector, Kind::Barrier, Kind::Dispatcher, Kind::Total] {
        let mut world = World::new(kind, 2);
        let (newcomer, second, third) = (PeerId(3), PeerId(4), PeerId(5));
        let view = world.next_view(HOST, vec![HOST, B, newcomer, second]);
        world.publish(view);
        // The newcomers know the members; only B, an old member, is in that view when the host is lost.
        world.arrive((HOST, newcomer));
        world.arrive((HOST, second));
        world.drain_but(&[(HOST, newcomer), (HOST, second)]);
        assert_eq!((world.history.views(B).len(), world.history.views(newcomer).len()), (2, 0), "{kind:?}");
        world.crash(HOST, |_| 0);
        let message = world.send(B).unwrap();
        // The next host is lost as well, before it hears from B. A third host, which saw none of this, lets them in.
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
fn a_late_report_of_a_newcomer_stalls_no_stream() {
    let mut world = World::new(Kind::Vector, 2);
    let newcomer = PeerId(3);
    let view = world.next_view(HOST, vec![HOST, B, newcomer]);
    world.publish(view);
    // On a new link the newcomer reports that it has nothing. B hears that only together with the newcomer's full
    // report, when no member keeps the items any more.
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

/// A random life of a host that dies. Returns its deliveries and those of a survivor.
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
fn stable_messages_keep_their_order_when_the_host_is_lost() {
    for seed in 0..400 {
        let (host, survivor) = last_words(seed, true);
        assert!(survivor.starts_with(&host), "seed {seed}: the host saw {host:?}, a survivor {survivor:?}");
    }
}

#[test]
fn messages_that_are_not_stable_may_change_their_order() {
    let differs = |seed| {
        let (host, survivor) = last_words(seed, false);
        !survivor.starts_with(&host)
    };
    assert!((0..400).any(differs));
}

#[test]
fn a_stable_message_without_a_backup_waits_for_the_next_view() {
    let mut world = World::new(Kind::Total, 2);
    let mut view = world.next_view(HOST, world.view.members.clone());
    view.backups.clear();
    world.publish(view);
    world.drain();
    let message = world.send_stable(B).unwrap();
    world.drain();
    assert!(world.history.deliveries(HOST).is_empty() && world.history.deliveries(B).is_empty());
    // All members hold it when the next view ends this one.
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

/// Only C hears how the first host ended the epoch; B, which did not, hosts next and waits for D.
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
fn host_one_epoch_behind_recovers_from_a_lost_link_to_c() {
    for kind in [Kind::Vector, Kind::Total] {
        let mut world = only_c_is_ahead(kind);
        world.relink(B, C);
        world.drain_but(&[(PeerId(4), B)]);
        world.drain();
        assert_eq!(world.history.views(B).len(), 3, "{kind:?}: {:?}", world.history.views(B));
    }
}

#[test]
fn host_one_epoch_behind_recovers_from_a_lost_link_to_d() {
    for kind in [Kind::Vector, Kind::Total] {
        let d = PeerId(4);
        let mut world = only_c_is_ahead(kind);
        while world.busy().contains(&(d, B)) {
            world.arrive((d, B));
        }
        while world.busy().contains(&(B, C)) {
            world.arrive((B, C));
        }
        assert!(world.busy().contains(&(C, B)), "the answer is in flight");
        world.relink(B, d);
        world.drain();
        assert_eq!(world.history.views(B).len(), 3, "{kind:?}: {:?}", world.history.views(B));
    }
}

#[test]
fn all_reach_the_last_view_whatever_links_are_renewed() {
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
