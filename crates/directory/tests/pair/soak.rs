//! All failures at once, from a seed: deaths, freezes, cuts, restarts and slow disks, in any order.

use std::collections::BTreeMap;

use samovar_wire::relay::FromRelay;
use samovar_wire::{Entropy, PeerId, SessionId, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, millis, seconds};

const SEATS: usize = 5;
const STEPS: usize = 120;

/// Checks that each term has one host, and that no peer hears of a term before it is on disk.
fn check(world: &mut World, hosts: &mut BTreeMap<(SessionId, Term), PeerId>) {
    for (_, message) in std::mem::take(&mut world.said) {
        let warrant = match message {
            FromRelay::Issued(warrant) => warrant,
            FromRelay::Entered(entered) => entered.warrant,
            _ => continue,
        };
        let host = *hosts.entry((warrant.session, warrant.term)).or_insert(warrant.host);
        assert_eq!(host, warrant.host, "two hosts of {:?}", warrant.term);
        assert!(world.disk[&warrant.session].term >= warrant.term, "announced before it was on disk");
    }
}

fn act(world: &mut World, number: u64) {
    let i = (number >> 8) as usize % SEATS;
    let seat = &mut world.seats[i];
    match number % 10 {
        0 => seat.frozen = true,
        1 => seat.frozen = false,
        2 => seat.cut = !seat.cut && number >> 16 & 1 == 0,
        3 => world.drop_socket(i),
        4 => world.disk_works = number >> 16 & 3 != 0,
        5 => {
            world.disk_works = true;
            world.write();
        }
        6 if world.relay_up && number >> 16 & 3 == 0 => world.kill_relay(),
        6 | 7 if !world.relay_up => world.start_relay(),
        _ => {
            // Up to three clients claim the next term, mostly for the same candidate. The host may be one of them.
            let wanted = world.seats[(number >> 24) as usize % SEATS].client.peer();
            let now = world.now;
            for seat in world.seats.iter_mut().filter(|seat| !seat.frozen).skip(i % 3).take(3) {
                let (Some(warrant), Some(me)) = (seat.client.warrant(), seat.client.peer()) else { continue };
                let candidate = wanted.filter(|_| number >> 32 & 3 != 0).unwrap_or(me);
                seat.client.claim(now, warrant.term.next_witnessed(), candidate);
            }
        }
    }
    world.settle();
}

/// Runs one seed. Returns the number of terms in the run.
fn soak(seed: u8) -> usize {
    let mut world = World::with_members(SEATS);
    let mut hosts = BTreeMap::new();
    let mut entropy = Entropy::new([seed; 32]);
    for _ in 0..STEPS {
        act(&mut world, entropy.number());
        check(&mut world, &mut hosts);
        world.run_for(millis(entropy.number() % 1_500));
        check(&mut world, &mut hosts);
    }
    // All failures end. Then all seats are in the game under one warrant, the highest ever given.
    world.disk_works = true;
    world.write();
    if !world.relay_up {
        world.start_relay();
    }
    for i in 0..SEATS {
        (world.seats[i].frozen, world.seats[i].cut) = (false, false);
    }
    world.settle();
    world.run_for(seconds(30));
    check(&mut world, &mut hosts);
    let last = hosts.last_key_value().map(|((_, term), host)| (*term, *host)).expect("term 1");
    for i in 0..SEATS {
        assert!(world.seats[i].client.is_entered() && !world.seats[i].over, "seat {i} of seed {seed}");
        assert_eq!((world.warrant(i).term, world.warrant(i).host), last, "seat {i} of seed {seed}");
    }
    assert!(world.closed.values().all(|reason| *reason == samovar_directory::CloseReason::Replaced));
    hosts.len()
}

#[test]
fn each_term_has_one_host_through_any_failures() {
    let terms: usize = (0..60).map(soak).sum();
    assert!(terms > 60 * 6, "only {terms} terms: the failures hide what they should test");
}
