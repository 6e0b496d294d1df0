//! Random faults by seed: joins, deaths, leaves, reloads, losses, hangs and outages. When they end, all members must
//! agree.

use super::world::{Process, TEAPOT, World, policy};
use samovar_peer::{Peer, PeerEvent};
use samovar_session::{EndReason, Event};
use samovar_wire::relay::Purpose;
use samovar_wire::{Blame, Entropy, GameCode};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const MEMBERS_MAX: u64 = 6;
/// Few enough for every build. 250 seeds take two minutes.
const SEEDS: u8 = 10;

struct Chaos {
    world: World,
    dice: Entropy,
    log: Vec<String>,
}

impl Chaos {
    fn new(seed: u8) -> Self {
        let mut world = if seed.is_multiple_of(2) { World::new(seed) } else { World::with_endpoint(seed) };
        world.create("TEA");
        world.run(150);
        world.join("TEA");
        world.run(400);
        Self { world, dice: Entropy::new([seed ^ 0x55; 32]), log: Vec::new() }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.number() % sides
    }

    fn somebody(&mut self) -> Process {
        let at = self.roll(self.world.peers.len() as u64) as usize;
        *self.world.peers.keys().nth(at).unwrap()
    }

    fn is_member(&self, process: Process) -> bool {
        self.world.peers[&process].session().is_some_and(samovar_session::Session::is_member)
    }

    /// Closes the processes whose session has ended, as their users would.
    fn bury_the_over(&mut self) {
        let over: Vec<_> = self.world.peers.iter().filter(|(_, p)| p.is_over()).map(|(&p, _)| p).collect();
        over.into_iter().for_each(|process| self.world.kill(process));
    }

    /// Whether another member is left when this process goes.
    fn can_spare(&self, process: Process) -> bool {
        self.world.peers.keys().filter(|&&p| p != process && self.is_member(p)).count() >= 1
    }

    fn play(&mut self) {
        for process in self.world.peers.keys().copied().collect::<Vec<_>>() {
            if !self.is_member(process) {
                continue;
            }
            let now = self.world.now;
            let session = self.world.session_mut(process);
            let me = session.me();
            let own: Vec<_> = session.objects().filter(|o| o.owner() == me).map(|o| o.id()).collect();
            if own.len() < 4 {
                let _ = session.edit(now).create(TEAPOT, &[b"pot", b"0"]);
            }
            for id in own {
                let _ = session.edit(now).set(id, 1, &now.as_micros().to_le_bytes());
            }
        }
    }

    fn strike(&mut self) {
        let process = self.somebody();
        let roll = self.roll(16);
        self.log.push(format!("{:?}: {roll} {process:?}", self.world.now));
        match roll {
            0..=2 | 13..=15 if (self.world.peers.len() as u64) < MEMBERS_MAX => {
                self.world.join("TEA");
            }
            3 | 4 if self.can_spare(process) => self.world.kill(process),
            5 if self.can_spare(process) => {
                let now = self.world.now;
                self.world.peers.get_mut(&process).unwrap().leave(now);
                self.world.step();
                self.world.kill(process);
            }
            6 | 7 if self.can_spare(process) => self.reload(process),
            8 => self.world.loss_percent = self.dice.number() % 30,
            9 => self.world.udp = !self.world.udp,
            10 if self.can_spare(process) => self.hang(process),
            11 if self.can_spare(process) => {
                // Two die at once: this process, and then the host.
                self.world.kill(process);
                let host = self
                    .world
                    .peers
                    .keys()
                    .copied()
                    .find(|&p| self.is_member(p) && self.world.session(p).is_host());
                if let Some(host) = host.filter(|&host| self.can_spare(host)) {
                    self.world.kill(host);
                }
            }
            12 => {
                self.world.kill_relay();
                let outage = self.roll(1_500);
                self.world.run(outage);
                self.world.start_relay();
            }
            _ => {}
        }
    }

    fn reload(&mut self, process: Process) {
        let ticket = self.world.peers[&process].session().and_then(|s| s.ticket());
        self.world.kill(process);
        let code = GameCode::parse("TEA").unwrap();
        self.world.start(Purpose::Join(code), policy(), ticket);
    }

    fn hang(&mut self, process: Process) {
        let frozen: Peer = self.world.peers.remove(&process).unwrap();
        let time = self.roll(5_000);
        self.world.run(time);
        self.world.peers.insert(process, frozen);
    }

    fn heal_and_agree(&mut self, seed: u8) {
        self.world.loss_percent = 0;
        self.world.udp = true;
        self.world.run(8_000);
        self.bury_the_over();
        self.world.run(1_500);
        let members = self.world.peers.keys().filter(|&&p| self.is_member(p)).count();
        assert!(members > 0, "seed {seed}: nobody is left: {:#?}", self.log);
        for &process in self.world.peers.keys() {
            let last = self.world.events[&process].last();
            assert!(self.is_member(process), "seed {seed}: {process:?} is stuck: {last:?} {:#?}", self.log);
        }
        self.world.assert_converged();
        for event in self.world.events.values().flatten() {
            let blamed = match event {
                PeerEvent::Session(Event::LinkClosed { code, .. }) => code.blame() == Blame::Misbehaviour,
                PeerEvent::Session(Event::Ended(reason)) => matches!(reason, EndReason::Misbehaviour(_)),
                _ => false,
            };
            assert!(!blamed, "seed {seed}: {event:?} {:#?}", self.log);
        }
    }
}

#[test]
fn members_agree_after_random_faults_end() {
    for seed in 0..SEEDS {
        let mut chaos = Chaos::new(seed);
        for _ in 0..14 {
            chaos.play();
            chaos.strike();
            let pause = 5 + chaos.roll(200);
            chaos.world.run(pause);
            chaos.bury_the_over();
            if chaos.world.peers.is_empty() {
                break;
            }
        }
        chaos.heal_and_agree(seed);
    }
}
