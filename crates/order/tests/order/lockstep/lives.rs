//! Random lives of random groups: joins, leaves, crashes, host changes, silences. In every life, survivors step the
//! same frames, and each player's inputs count in the order in which it gave them.

use std::collections::BTreeMap;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::lockstep::LockstepConfig;
use samovar_wire::{PeerId, SeatId, Term};

use crate::lockstep::world::{Net, World, peer};
use samovar_wire::Rng;

/// The session, as its members should know it.
struct Session {
    term: u64,
    host: PeerId,
    members: Vec<PeerId>,
    next: u32,
}

impl Session {
    /// Tells all members the view, at slightly different times.
    fn publish(&self, world: &mut World, dice: &mut Rng) {
        let mut order = self.members.clone();
        for index in (1..order.len()).rev() {
            order.swap(index, dice.roll(index as u64 + 1) as usize);
        }
        for to in order {
            world.run(dice.roll(15));
            world.tell(to, Term(self.term), self.host, &self.members);
        }
    }

    fn succeed(&mut self, dice: &mut Rng) {
        self.term += if dice.chance(500, 1_000) { 1 } else { 256 };
        self.host = self.members[dice.roll(self.members.len() as u64) as usize];
    }

    fn live(&mut self, world: &mut World, dice: &mut Rng) {
        let someone = self.members[dice.roll(self.members.len() as u64) as usize];
        match dice.roll(8) {
            0 | 1 if self.members.len() < 7 => {
                world.add(peer(self.next), false);
                self.members.push(peer(self.next));
                self.next += 1;
            }
            2 if self.members.len() > 2 => {
                // A crash, of the host or of another peer.
                world.kill(someone);
                self.members.retain(|&id| id != someone);
                world.run(dice.roll(200));
                if someone == self.host {
                    self.succeed(dice);
                }
            }
            3 if self.members.len() > 2 => {
                world.kill(self.host);
                self.members.retain(|&id| id != self.host);
                self.succeed(dice);
            }
            // A host that hands over and stays.
            4 => self.succeed(dice),
            5 => {
                // A peer is out of reach for a while. If it is the host, another takes over.
                world.cut(someone);
                world.run(dice.roll(900));
                if someone == self.host && self.members.len() > 1 {
                    let all = self.members.clone();
                    self.members.retain(|&id| id != someone);
                    self.succeed(dice);
                    self.publish(world, dice);
                    world.run(dice.roll(900));
                    self.members = all;
                }
                world.mend(someone);
            }
            6 => drop(world.slow.insert(someone, dice.roll(200_000))),
            _ => world.slow.clear(),
        }
        self.publish(world, dice);
        world.run(dice.roll(1_200));
    }
}

fn assert_inputs_in_order(world: &World, seed: u64) {
    for id in world.alive() {
        let node = &world.nodes[&id];
        let from = node.loads.last().map_or(0, |&(steps, _)| steps);
        let mut last: BTreeMap<SeatId, u32> = BTreeMap::new();
        for (_, frame) in &node.stepped[from..] {
            for (&seat, input) in frame.inputs.iter() {
                let number = u32::from_le_bytes(input.as_slice().try_into().unwrap());
                let known = last.insert(seat, number).unwrap_or(0);
                let is_new = frame.joined.contains(&seat);
                let pressed = world.nodes.get(&peer(u32::from(seat.0))).map_or(0, |node| node.pressed);
                assert!(is_new || number >= known, "seed {seed}: seat {} went back", seat.0);
                assert!(number <= pressed, "seed {seed}: seat {} never did {number}", seat.0);
            }
        }
    }
}

#[test]
fn survivors_step_the_same_frames_with_inputs_in_order() {
    let (mut frames, mut loads) = (0, 0);
    // `SAMOVAR_LIVES` sets the number, since each life takes a tenth of a second.
    let lives = std::env::var("SAMOVAR_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(60);
    for seed in 0..lives {
        let mut dice = Rng::new(seed);
        let net = Net { way: 1_000 + dice.roll(90_000), jitter: 1 + dice.roll(40_000), loss: dice.roll(120) };
        let mut world = World::with_players(seed, net, LockstepConfig::new(4), 3);
        world.counts = true;
        let mut session =
            Session { term: 256, host: peer(1), members: [1, 2, 3].map(peer).to_vec(), next: 4 };
        for _ in 0..12 {
            session.live(&mut world, &mut dice);
        }
        // When changes stop, all go on together.
        world.slow.clear();
        world.run(8_000);
        let from = world.now;
        world.run(3_000);
        world.assert_alike();
        assert_inputs_in_order(&world, seed);
        for id in world.alive() {
            let (freeze, steps) = world.steadiness(id, from);
            assert!(steps > 170, "seed {seed}: {id} took {steps} steps, and {freeze} µs for one");
            frames += world.nodes[&id].stepped.len();
            loads += world.nodes[&id].loads.len();
        }
    }
    println!("{frames} steps of survivors were compared; {loads} states were loaded");
}
