//! Random groups with delays, losses, joins, leaves and deaths, against the definition of the order.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::collections::{BTreeMap, BTreeSet};

use samovar_order::timestamp::TimeOrderConfig;
use samovar_wire::{Duration, PeerId, Time};

use crate::timestamp::world::World;
use samovar_wire::Rng;

type Key = (Time, PeerId, u64);

/// Each message's key, and the members at that time that all others already knew.
type Said = BTreeMap<Key, Vec<PeerId>>;

fn live(seed: u64) -> (World, Said) {
    let mut dice = Rng::new(seed);
    let config =
        TimeOrderConfig { lookahead: Duration::from_millis(dice.roll(3) * 20), ..Default::default() };
    let mut world = World::with_config(&[1, 2, 3].map(PeerId), config);
    (world.loss, world.interval) = (dice.roll(30), 8 + dice.roll(20));
    let mut said = Said::new();
    let mut next = 4;
    let mut came: BTreeMap<PeerId, Time> = BTreeMap::new();
    world.run_to(300);
    for _ in 0..60 {
        let now = world.now.as_micros() / 1_000;
        world.run_to(now + 1 + dice.roll(60));
        for _ in 0..dice.roll(4) {
            let from = world.members[dice.roll(world.members.len() as u64) as usize];
            let order = &mut world.nodes.get_mut(&from).unwrap().order;
            let time = order.earliest().max(world.now + config.lookahead)
                + Duration::from_micros(dice.roll(2) * dice.roll(30_000));
            let number = order.send(world.now, time, &[]).unwrap();
            let known =
                |id: &PeerId| came.get(id).is_none_or(|&at| at + Duration::from_millis(150) < world.now);
            said.insert((time, from, number), world.members.iter().copied().filter(known).collect());
        }
        match dice.roll(14) {
            0 if world.members.len() < 6 => {
                world.add(PeerId(next));
                world.members.push(PeerId(next));
                came.insert(PeerId(next), world.now);
                next += 1;
                world.members.clone().into_iter().for_each(|id| world.tell(id));
            }
            1 if world.members.len() > 2 => {
                let dead = world.members.remove(dice.roll(world.members.len() as u64) as usize);
                world.nodes.get_mut(&dead).unwrap().is_alive = false;
                let now = world.now.as_micros() / 1_000;
                world.run_to(now + dice.roll(60));
                for id in world.members.clone() {
                    let now = world.now.as_micros() / 1_000;
                    world.run_to(now + dice.roll(4));
                    world.tell(id);
                }
            }
            2 => {
                let (from, to) = (1 + dice.roll(6) as u32, 1 + dice.roll(6) as u32);
                world.set_way(PeerId(from), PeerId(to), 1 + dice.roll(40));
            }
            _ => (),
        }
    }
    let now = world.now.as_micros() / 1_000;
    world.run_to(now + 2_000);
    (world, said)
}

#[test]
fn deliveries_are_ordered_complete_and_the_same_for_all() {
    let mut count = 0;
    for seed in 0..200 {
        let (world, said) = live(seed);
        let mut agreed: BTreeMap<PeerId, BTreeSet<Key>> = BTreeMap::new();
        for &id in &world.members {
            let keys: Vec<Key> =
                world.delivered(id).iter().map(|(_, m)| (m.time, m.from, m.number)).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "seed {seed}: {id} delivered out of order");
            assert!(
                keys.iter().all(|key| said.contains_key(key)),
                "seed {seed}: {id} delivered a message that was never sent"
            );
            assert!(world.late(id).is_empty(), "seed {seed}: all ways are shorter than the patience");
            count += keys.len();
            agreed.insert(id, keys.into_iter().collect());
        }
        for (key, members) in &said {
            let receivers = world.members.iter().filter(|id| members.contains(id));
            let has = |id: &&PeerId| agreed[id].contains(key);
            let holders = receivers.clone().filter(has).count();
            let is_sender_alive = world.members.contains(&key.1);
            if is_sender_alive || holders > 0 {
                assert_eq!(holders, receivers.count(), "seed {seed}: {key:?} is not with all survivors");
            }
        }
    }
    println!("{count} deliveries of 200 random lives were compared");
}
