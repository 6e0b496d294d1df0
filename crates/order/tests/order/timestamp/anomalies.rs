//! Anomalies that time-stamp order prevents, and causal and total order do not (docs/sources.md, "Fujimoto").
//!
//! Each is shown to happen under the weaker order, in a schedule in which time-stamp order gets it right.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::PeerId;

use crate::timestamp::world::{World, at};

const A: PeerId = PeerId(1);
const B: PeerId = PeerId(2);
const C: PeerId = PeerId(3);

/// Vector time stamps by the two rules of docs/sources.md, "Fujimoto", in the plainest form.
#[derive(Default)]
struct VectorClock {
    delivered: BTreeMap<PeerId, u64>,
    held: Vec<(PeerId, BTreeMap<PeerId, u64>, &'static str)>,
}

impl VectorClock {
    fn send(&mut self, me: PeerId) -> BTreeMap<PeerId, u64> {
        *self.delivered.entry(me).or_default() += 1;
        self.delivered.clone()
    }

    fn receive(
        &mut self,
        from: PeerId,
        stamp: BTreeMap<PeerId, u64>,
        what: &'static str,
    ) -> Vec<&'static str> {
        self.held.push((from, stamp, what));
        let mut delivered = Vec::new();
        loop {
            let due = self.held.iter().position(|(from, stamp, _)| {
                stamp.iter().all(|(of, count)| {
                    let known = self.delivered.get(of).copied().unwrap_or(0);
                    if of == from { *count == known + 1 } else { *count <= known }
                })
            });
            let Some(due) = due else { return delivered };
            let (from, _, what) = self.held.remove(due);
            *self.delivered.entry(from).or_default() += 1;
            delivered.push(what);
        }
    }
}

/// Federate A fires at the first target that comes into range. B comes at 10 ms, C at 12 ms. C is nearer to the
/// sequencer.
#[test]
fn total_order_targets_c_and_time_stamp_order_targets_b() {
    // Total order is the order of arrival at the sequencer, A.
    let (way_of_b, way_of_c) = (40, 5);
    let mut sequenced = [(10 + way_of_b, "B in range"), (12 + way_of_c, "C in range")];
    sequenced.sort_unstable();
    assert_eq!(sequenced[0].1, "C in range", "by total order C is fired upon");

    let mut world = World::new(&[A, B, C]);
    world.set_way(B, A, way_of_b);
    world.set_way(C, A, way_of_c);
    world.run_to(10);
    world.send(B, at(10), "B in range");
    world.run_to(12);
    world.send(C, at(12), "C in range");
    world.run_to(200);
    for id in [A, B, C] {
        assert_eq!(world.texts(id), ["B in range", "C in range"], "at {id}");
    }
}

/// A orders a diversion, and then the main attack. It does so outside the group, so that B and C know the times. The
/// enemy, D, sees the main attack first. Causal order allows that, because neither message depends on the other.
#[test]
fn time_stamps_keep_a_hidden_dependency_unlike_causal_order() {
    let mut enemy = VectorClock::default();
    let (mut of_b, mut of_c) = (VectorClock::default(), VectorClock::default());
    let diversion = of_b.send(B);
    let attack = of_c.send(C);
    let mut seen = enemy.receive(C, attack, "main attack");
    seen.extend(enemy.receive(B, diversion, "diversion"));
    assert_eq!(seen, ["main attack", "diversion"], "the two are concurrent for causal order");

    let enemy = PeerId(4);
    let mut world = World::new(&[A, B, C, enemy]);
    world.set_way(B, enemy, 80);
    world.set_way(C, enemy, 5);
    world.run_to(10);
    world.send(B, at(10), "diversion");
    world.run_to(30);
    world.send(C, at(30), "main attack");
    world.run_to(300);
    assert_eq!(world.texts(enemy), ["diversion", "main attack"]);
}

/// Pilot 1 attacks the first enemy that takes off, pilot 2 the second. By the order of receipt both attack the same
/// one.
#[test]
fn pilots_attack_different_enemies_in_time_stamp_order() {
    let (pilots, enemies) = ([PeerId(1), PeerId(2)], [PeerId(3), PeerId(4)]);
    let mut world = World::new(&[1, 2, 3, 4].map(PeerId));
    world.set_way(enemies[0], pilots[0], 60);
    world.set_way(enemies[1], pilots[1], 60);
    world.run_to(10);
    world.send(enemies[0], at(10), "enemy 1");
    world.run_to(15);
    world.send(enemies[1], at(15), "enemy 2");
    world.run_to(300);
    let received = |pilot| world.received(pilot);
    assert_eq!(received(pilots[0])[0], "enemy 2", "received first by pilot 1, whose target is the first");
    assert_eq!(received(pilots[1])[1], "enemy 2", "received second by pilot 2: both would attack it");
    let targets: BTreeSet<_> = [world.texts(pilots[0])[0].clone(), world.texts(pilots[1])[1].clone()].into();
    assert_eq!(targets.len(), 2, "{targets:?}");
}
