//! Whole games of a random course, in which hosts, backups and players are lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::world::{TEAPOT, World};
use samovar_session::objects::ObjectError;
use samovar_session::{Event, Role, Rules, Session};
use samovar_wire::object::Traits;
use samovar_wire::{Entropy, ObjectId, PeerId, SeatId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A game whose host keeps a list of each seat's inputs, and a player on each seat.
struct Life {
    world: World,
    dice: Entropy,
    name: String,
    /// The host-owned list of each seat: the number of the last input, and the inputs.
    lists: BTreeMap<SeatId, ObjectId>,
    /// How many of each peer's events the game has seen.
    seen: BTreeMap<PeerId, usize>,
    /// The numbers and inputs that each seat submitted, and the numbers of those that were accepted.
    submitted: BTreeMap<SeatId, Vec<(u64, u16)>>,
    accepted: BTreeMap<SeatId, Vec<u64>>,
    /// Inputs that were accepted while more peers failed at once than acceptance promises to survive.
    excused: BTreeSet<u64>,
    /// The peer that submitted the last input of each seat.
    submitters: BTreeMap<SeatId, PeerId>,
    seats: BTreeMap<PeerId, SeatId>,
    /// Peers that the others went on without.
    replaced: BTreeSet<PeerId>,
    /// Inputs of which a host has heard, and which it has not carried out.
    waiting: BTreeMap<PeerId, VecDeque<(SeatId, u64, Vec<u8>)>>,
    /// A player submits an input in one of this many milliseconds on average; never if this is zero.
    rarity: u64,
}

/// How many inputs a list has room for.
const LIST_MAX: usize = 120;

impl Life {
    fn new(seed: u64, peers: usize, backups: u8) -> Self {
        let mut dice = Entropy::new(core::array::from_fn(|i| (seed >> (8 * (i % 8))) as u8));
        let loss = dice.number() % 21;
        let world = World::with_rules(seed as u8, loss, Rules { backups, ..Rules::default() });
        let mut life = Self {
            world,
            dice,
            name: format!("seed {seed}, {peers} peers, {loss} % loss"),
            lists: BTreeMap::new(),
            seen: BTreeMap::new(),
            submitted: BTreeMap::new(),
            accepted: BTreeMap::new(),
            excused: BTreeSet::new(),
            submitters: BTreeMap::new(),
            seats: BTreeMap::new(),
            replaced: BTreeSet::new(),
            waiting: BTreeMap::new(),
            rarity: 0,
        };
        let founder = life.host();
        life.run(20);
        for seat in 1..=8 {
            let list = Traits { with_host: true, ..TEAPOT };
            let list = life.world.create(founder, list, &[&0u64.to_le_bytes()]);
            life.lists.insert(SeatId(seat), list);
        }
        for _ in 1..peers {
            life.world.join(None);
        }
        life.run(2_500);
        life.settle();
        life
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.number() % sides
    }

    fn host(&self) -> PeerId {
        self.world.witness.warrant.host
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.world.step();
            self.play();
            // A peer that the others went on without takes its seat back, as a player's page does.
            let is_over = |(&peer, session): (&PeerId, &Session)| {
                let is_over = session.poll_timeout().is_none();
                is_over.then_some(peer)
            };
            let over: Vec<_> = self.world.peers.iter().filter_map(is_over).collect();
            for peer in over {
                let ticket = self.world.peers.remove(&peer).unwrap().ticket();
                self.world.join(ticket);
                self.replaced.insert(peer);
            }
        }
    }

    /// Runs until the host that lives is backed up as the rules want, or alone.
    fn settle(&mut self) {
        for _ in 0..20_000 {
            let now = self.world.now;
            let host = self.host();
            if let Some(session) = self.world.peers.get(&host)
                && session.is_host()
            {
                let peers = self.world.peers.len();
                let wanted = usize::from(self.world.rules.backups).min(peers - 1);
                let mut members: Vec<_> = session.view().members().map(|member| member.peer).collect();
                members.sort_unstable();
                let is_whole = members.into_iter().eq(self.world.peers.keys().copied());
                let is_backed_up = session.role(now) == Role::ActiveBackedUp || wanted == 0;
                if is_whole && session.view().backups().len() == wanted && is_backed_up {
                    return;
                }
            }
            self.run(1);
        }
        for (peer, session) in &self.world.peers {
            let members: Vec<_> = session.view().members().map(|member| member.peer).collect();
            let (role, backups) = (session.role(self.world.now), session.view().backups());
            let (host, term) = (session.host(), session.term());
            eprintln!("{peer} {role:?} under {host} in {term:?}, backups {backups:?}, members {members:?}");
            let is_told = |event: &&Event| {
                !matches!(
                    event,
                    Event::Accepted { .. }
                        | Event::Input { .. }
                        | Event::ObjectCreated(_)
                        | Event::OwnerChanged { .. }
                )
            };
            self.world.events[peer].iter().filter(is_told).for_each(|event| eprintln!("   {event:?}"));
        }
        panic!("{}: nobody is backed up, {} hosts", self.name, self.host());
    }

    fn play(&mut self) {
        let peers: Vec<_> = self.world.peers.keys().copied().collect();
        for peer in peers {
            if let Some(seat) = self.world.peers[&peer].seat() {
                self.seats.insert(peer, seat);
            }
            let seen = self.seen.entry(peer).or_default();
            let events = self.world.events[&peer][*seen..].to_vec();
            *seen += events.len();
            for event in events {
                match event {
                    Event::Accepted { number } => {
                        let seat = self.seats[&peer];
                        self.accepted.entry(seat).or_default().push(number);
                    }
                    // Skip inputs after the end of the session: no other peer would learn of their effect.
                    Event::Input { seat, number, bytes } if self.world.peers[&peer].is_member() => {
                        self.waiting.entry(peer).or_default().push_back((seat, number, bytes));
                    }
                    _ => {}
                }
            }
            self.carry_out_waiting(peer);
            if self.rarity > 0 && self.roll(self.rarity) == 0 {
                self.submit(peer);
            }
        }
    }

    /// Carries out the inputs in order. A new host may not own a list yet that a former host holds; its inputs wait. A
    /// host that was replaced forgets them, since the next host has them, too.
    fn carry_out_waiting(&mut self, host: PeerId) {
        if self.world.peers[&host].host() != host {
            self.waiting.remove(&host);
        }
        while let Some((seat, number, bytes)) = self.waiting.get(&host).and_then(|waiting| waiting.front()) {
            if !self.carry_out(host, *seat, *number, &bytes.clone()) {
                return;
            }
            self.waiting.get_mut(&host).unwrap().pop_front();
        }
    }

    /// `false` if the host does not own the seat's list yet.
    fn carry_out(&mut self, host: PeerId, seat: SeatId, number: u64, bytes: &[u8]) -> bool {
        let list = self.lists[&seat];
        let now = self.world.now;
        let session = self.world.peer(host);
        let mut value = session.object(list).unwrap().field(0).to_vec();
        let last = u64::from_le_bytes(value[..8].try_into().unwrap());
        if number > last {
            value[..8].copy_from_slice(&number.to_le_bytes());
            value.extend_from_slice(bytes);
            return session.edit(now).set(list, 0, &value) != Err(ObjectError::NotOwner);
        }
        true
    }

    fn submit(&mut self, peer: PeerId) {
        let now = self.world.now;
        let Some(&seat) = self.seats.get(&peer) else { return };
        let mine = self.submitted.entry(seat).or_default();
        if mine.len() >= LIST_MAX || !self.world.peers[&peer].is_member() {
            return;
        }
        let value = mine.len() as u16;
        let number = self.world.peer(peer).submit(now, &value.to_le_bytes()).unwrap();
        assert!(mine.last().is_none_or(|&(last, _)| last < number), "{}: numbers of {seat:?}", self.name);
        mine.push((number, value));
        self.submitters.insert(seat, peer);
    }

    fn run_up_to(&mut self, ms: u64) {
        let ms = self.roll(ms);
        self.run(ms);
    }

    /// The peers to kill: the host, its backups, and now and then any member.
    fn victims(&mut self, count: u8) -> Vec<PeerId> {
        let host = self.host();
        let view = self.world.peers[&host].view();
        let mut line: Vec<_> = core::iter::once(host).chain(view.backups().iter().copied()).collect();
        line.retain(|peer| self.world.peers.contains_key(peer));
        if self.roll(6) == 0 {
            line = self.world.peers.keys().copied().collect();
        }
        let count = usize::from(count).min(line.len()).min(self.world.peers.len() - 1);
        let mut victim = || line.swap_remove(self.dice.number() as usize % line.len());
        (0..count).map(|_| victim()).collect()
    }

    /// Cuts some paths between peers. Peers that are about to die are often not heard before.
    fn disturb(&mut self, victims: &[PeerId]) {
        let odds = self.roll(4) * 15;
        let is_mute = self.roll(2) == 0;
        let peers: Vec<_> = self.world.peers.keys().copied().collect();
        for &from in &peers {
            for &to in &peers {
                if self.roll(100) < odds || (is_mute && victims.contains(&from)) {
                    self.world.cuts.push((from, to));
                }
            }
        }
    }

    /// Kills a peer. Half of the time, no other peer is told that its connection closed.
    fn kill(&mut self, peer: PeerId) {
        if self.roll(2) == 0 {
            self.world.kill(peer);
        } else {
            self.world.peers.remove(&peer);
        }
    }

    /// Asserts that each accepted input has had its effect once, in order, and that nothing else had an effect.
    fn check(&mut self) {
        self.rarity = 0;
        self.settle();
        self.run(4_000);
        self.world.assert_converged();
        let host = &self.world.peers[&self.host()];
        for (seat, submitted) in &self.submitted {
            let value = host.object(self.lists[seat]).unwrap().field(0);
            let effects: Vec<_> = value[8..].chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
            let numbers = effects.iter().map(|&value| submitted[usize::from(value)].0);
            let numbers: Vec<_> = numbers.collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{}: {seat:?} has {numbers:?}", self.name);
            for accepted in self.accepted.get(seat).into_iter().flatten() {
                assert!(
                    numbers.contains(accepted) || self.excused.contains(accepted),
                    "{}: {accepted} of {seat:?} is accepted and not in {numbers:?}",
                    self.name
                );
            }
            // The inputs of a peer that is gone may have been accepted or not.
            let sits = self.submitters.get(seat).is_some_and(|peer| self.world.peers.contains_key(peer));
            let last = submitted.last().map_or(0, |&(number, _)| number);
            let accepted = self.accepted.get(seat).and_then(|numbers| numbers.last().copied());
            assert!(!sits || accepted >= Some(last), "{}: all that members submit is accepted", self.name);
        }
    }
}

/// Kills the host, backups and others, as many at once as there are backups, and lets some come back to their seats.
fn live(seed: u64, backups: u8) {
    let mut life = Life::new(seed, 3 + (seed % 4) as usize, backups);
    life.rarity = 20 + life.roll(60);
    let mut away = Vec::new();
    for _ in 0..4 {
        if life.world.peers.len() == 1 {
            break;
        }
        life.run_up_to(400);
        let victims = life.victims(backups);
        life.disturb(&victims);
        life.run_up_to(150);
        for &victim in &victims {
            (0..life.roll(4)).for_each(|_| life.submit(victim));
        }
        let more = life.roll(3);
        life.run(more);
        let host = life.host();
        let backups: Vec<_> = life.world.peers[&host].view().backups().to_vec();
        away.extend(victims.iter().map(|&victim| (victim, life.world.peers[&victim].ticket())));
        victims.iter().for_each(|&victim| life.kill(victim));
        life.run_up_to(250);
        life.world.cuts.clear();
        life.run_up_to(400);
        if life.roll(2) == 0 && life.host() != away[0].0 && life.world.peers.contains_key(&life.host()) {
            let (_, ticket) = away.remove(0);
            life.world.join(ticket);
        }
        life.settle();
        // The inputs that only the host and its backups held are lost with them: with those that were killed, and with
        // those that were cut off, so that the others went on without them.
        let is_lost = |peer: &PeerId| victims.contains(peer) || life.replaced.contains(peer);
        if life.host() != host && backups.iter().all(is_lost) {
            life.excused.extend(life.accepted.values().flatten());
        }
    }
    life.check();
}

#[test]
fn accepted_inputs_survive_the_death_of_any_single_peer() {
    (0..40).for_each(|seed| live(seed, 1));
}

#[test]
fn accepted_inputs_with_two_backups_survive_two_deaths() {
    (0..20).for_each(|seed| live(1_000 + seed, 2));
}
