//! A game in lockstep over a session, through losses, late joiners, and hosts that die in the middle of a frame.

use std::collections::BTreeMap;

use crate::world::World;
use samovar_session::lockstep::{FieldHash, LockstepConfig, Request};
use samovar_session::{Orders, Rules};
use samovar_wire::{Entropy, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A game whose state is a hash of all inputs that it was stepped by.
#[derive(Clone, Default)]
struct Game {
    frame: u64,
    state: u64,
    /// The state after each frame that it stepped.
    past: BTreeMap<u64, u64>,
    /// The longest time between two steps in milliseconds, since [`Steps::forget_standstills`].
    standstill: u64,
    stepped_at: u64,
}

struct Steps {
    world: World,
    dice: Entropy,
    games: BTreeMap<PeerId, Game>,
    ms: u64,
}

impl Steps {
    fn new(seed: u8, loss: u64, members: usize) -> Self {
        let orders = Orders { lockstep: Some(LockstepConfig::new(1)), ..Orders::default() };
        let mut world = World::with_rules(seed, loss, Rules { orders, ..Rules::default() });
        for _ in 1..members {
            world.join(None);
        }
        let mut steps = Self { world, dice: Entropy::new([seed; 32]), games: BTreeMap::new(), ms: 0 };
        steps.run(3_000);
        steps
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.ms += 1;
            self.world.step();
            let now = self.world.now;
            for (&peer, session) in &mut self.world.peers {
                let game = self.games.entry(peer).or_default();
                let Some(mut lockstep) = session.lockstep(now) else { continue };
                if self.ms.is_multiple_of(50) {
                    lockstep.set_input(&[self.dice.number() as u8]).unwrap();
                }
                while let Some(request) = lockstep.poll_request() {
                    match request {
                        Request::Step(frame) => {
                            for (seat, input) in &frame.inputs {
                                let read = u64::from(seat.0) << 8 | u64::from(input[0]);
                                game.state = (game.state ^ read).wrapping_mul(0x100_0000_01b3).rotate_left(9);
                            }
                            (game.frame, game.state) = (frame.number, game.state ^ frame.number);
                            if game.stepped_at > 0 {
                                game.standstill = game.standstill.max(self.ms - game.stepped_at);
                            }
                            game.stepped_at = self.ms;
                            game.past.insert(frame.number, game.state);
                            lockstep.stepped(frame.number, game.state);
                        }
                        Request::Load { frame, state, .. } => {
                            game.state = u64::from_le_bytes(state.try_into().unwrap());
                            game.frame = frame;
                            game.past.retain(|&past, _| past <= frame);
                            game.past.insert(frame, game.state);
                        }
                        Request::Save => lockstep.answer_state(&game.state.to_le_bytes()).unwrap(),
                        Request::Fields { frame } => {
                            let hash = game.past.get(&frame).copied().unwrap_or_default();
                            lockstep.answer_fields(frame, vec![FieldHash { name: "state".into(), hash }]);
                        }
                    }
                }
            }
        }
    }

    /// Checks that all games that stepped the same frame have the same state after it. Returns the frame of the game
    /// that is furthest behind.
    fn check(&self) -> u64 {
        let alive = self.world.peers.keys().map(|peer| &self.games[peer]);
        let mut states = BTreeMap::new();
        for game in alive.clone() {
            for (frame, state) in &game.past {
                assert_eq!(states.entry(*frame).or_insert(*state), state, "frame {frame}");
            }
        }
        alive.map(|game| game.frame).min().unwrap()
    }

    fn forget_standstills(&mut self) {
        self.games.values_mut().for_each(|game| game.standstill = 0);
    }

    fn longest_standstill(&self) -> u64 {
        self.world.peers.keys().map(|peer| self.games[peer].standstill).max().unwrap()
    }
}

#[test]
fn all_members_step_the_same_frames_sixty_times_a_second() {
    let mut steps = Steps::new(1, 2, 4);
    let before = steps.check();
    steps.forget_standstills();
    steps.run(10_000);
    let stepped = steps.check() - before;
    assert!((595..=605).contains(&stepped), "{stepped} frames in ten seconds");
    assert!(steps.longest_standstill() <= 150, "{} ms", steps.longest_standstill());
}

#[test]
fn lockstep_survives_dead_hosts_and_takes_late_joiners() {
    for seed in 2..6 {
        let mut steps = Steps::new(seed, 5, 4);
        let before = steps.check();
        steps.forget_standstills();
        let host = steps.world.witness.warrant.host;
        steps.world.kill(host);
        steps.run(2_000);
        assert!(steps.longest_standstill() < 1_500, "seed {seed}: {} ms", steps.longest_standstill());
        let after = steps.check();
        assert!(after > before + 30, "seed {seed}: from {before} to {after}");
        let newcomer = steps.world.join(None);
        steps.run(2_000);
        assert!(steps.check() > after + 100, "seed {seed}");
        assert!(steps.games[&newcomer].past.len() > 60, "seed {seed}: the newcomer steps");
        let second = steps.world.witness.warrant.host;
        assert_ne!(second, host);
        steps.world.kill(second);
        steps.run(3_000);
        assert!(steps.check() > after + 200, "seed {seed}");
    }
}

/// After hand-overs and short partitions all members step the same frames.
#[test]
fn lockstep_goes_on_after_hand_overs_and_short_partitions() {
    for seed in 0..if cfg!(target_arch = "wasm32") { 2_u64 } else { 12 } {
        let mut steps = Steps::new(seed as u8, seed % 8, 5);
        let all: Vec<_> = steps.world.peers.keys().copied().collect();
        for _ in 0..6 {
            steps.run(300);
            let mut roll = |sides: u64| steps.dice.number() % sides;
            let (kind, a, b, ms) = (roll(4), roll(5) as usize, roll(5) as usize, 200 + roll(2_000));
            let now = steps.world.now;
            match kind {
                0 => {
                    let host = steps.world.peers.iter().find(|(_, s)| s.is_host()).map(|(&peer, _)| peer);
                    if let Some(host) = host {
                        steps.world.peer(host).hand_over(now);
                    }
                }
                1 if a != b => steps.world.cuts.extend([(all[a], all[b]), (all[b], all[a])]),
                2 => {
                    let rest: Vec<_> = all.iter().copied().filter(|peer| *peer != all[a]).collect();
                    crate::world::part(&mut steps.world, &[all[a]], &rest);
                }
                _ => steps.world.cuts.push((all[a], all[b])),
            }
            steps.run(ms);
            steps.world.cuts.clear();
            steps.run(1_000);
        }
        steps.run(8_000);
        steps.world.peers.retain(|_, session| session.is_member());
        let before: BTreeMap<_, _> =
            steps.world.peers.keys().map(|peer| (*peer, steps.games[peer].frame)).collect();
        steps.games.values_mut().for_each(|game| game.past.clear());
        steps.run(3_000);
        for (peer, frame) in &before {
            let game = &steps.games[peer];
            assert!(
                game.frame > frame + 150,
                "seed {seed}: {peer} is at {} after {frame}: {before:?}",
                game.frame
            );
        }
        steps.check();
    }
}
