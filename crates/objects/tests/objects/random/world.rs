//! A group of peers and one random life of it.

use std::collections::{BTreeMap, BTreeSet};

use samovar_objects::{Objects, Place, State};
use samovar_wire::object::{MessageKind, Orphan, Traits};
use samovar_wire::{Kind, ObjectId, PeerId, Reader, Stamp, Term, Time};

use crate::random::network::{Arrival, Letter, Link, Weather};
use crate::random::promises::{Ledger, Past, value};
use crate::random::typed;
use samovar_wire::Rng;

/// Ticks without any traffic after which the world counts as quiet.
const QUIET: u64 = 12;
/// Ticks in which everything must have settled.
const SETTLED_WITHIN: u64 = 3_000;
pub(crate) const PEERS_MAX: usize = 16;
const OWN_OBJECTS_MAX: usize = 10;

/// How often each event happened in one random run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) ticks: u64,
    pub(crate) steps: u64,
    pub(crate) objects: u64,
    pub(crate) grants: u64,
    pub(crate) destroys: u64,
    pub(crate) joins: u64,
    pub(crate) departures: u64,
    pub(crate) host_changes: u64,
}

impl Tally {
    pub(crate) const fn add(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.steps += other.steps;
        self.objects += other.objects;
        self.grants += other.grants;
        self.destroys += other.destroys;
        self.joins += other.joins;
        self.departures += other.departures;
        self.host_changes += other.host_changes;
    }
}

/// One peer, and the part of a session that objects need.
pub(crate) struct Peer {
    pub(crate) objects: Objects,
    pub(crate) host: PeerId,
    pub(crate) term: u64,
    /// The members as the host named them. Only a member acts.
    pub(crate) view: Vec<PeerId>,
    pub(crate) linked: BTreeSet<PeerId>,
    pub(crate) past: Past,
}

pub(crate) struct World {
    seed: u64,
    is_told: bool,
    pub(crate) dice: Rng,
    pub(crate) weather: Weather,
    pub(crate) tick: u64,
    pub(crate) peers: BTreeMap<PeerId, Peer>,
    pub(crate) links: BTreeMap<(PeerId, PeerId), Link>,
    /// The term and the host of the newest warrant.
    pub(crate) warrant: (u64, PeerId),
    pub(crate) next_peer: u32,
    serial: u32,
    ledger: Ledger,
    last_traffic: u64,
    pub(crate) tally: Tally,
}

/// The objects of a new peer.
pub(crate) fn machine(me: PeerId, host: PeerId, term: u64) -> Objects {
    Objects::new(me, host, Term(term), typed::schemas())
}

impl World {
    pub(crate) fn new(seed: u64, is_told: bool) -> Self {
        let mut dice = Rng::new(seed);
        let weather = Weather { loss: dice.roll(501), doubled: dice.roll(100), delay: 1 + dice.roll(8) };
        let founder = PeerId(1);
        let mut world = Self {
            seed,
            is_told,
            dice,
            weather,
            tick: 0,
            peers: BTreeMap::new(),
            links: BTreeMap::new(),
            warrant: (1, founder),
            next_peer: 2,
            serial: 0,
            ledger: Ledger::default(),
            last_traffic: 0,
            tally: Tally::default(),
        };
        world.add(founder, founder, 1);
        world.peer(founder).view = vec![founder];
        world
    }

    pub(crate) fn peer(&mut self, id: PeerId) -> &mut Peer {
        self.peers.get_mut(&id).unwrap()
    }

    pub(crate) fn fail(&self, what: &str) -> ! {
        panic!("tick {}: {what}\nSAMOVAR_SEED={} replays it", self.tick, self.seed)
    }

    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.is_told {
            println!("{:5} {}", self.tick, what());
        }
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_micros(self.tick * 16_667)
    }

    /// Runs the whole life: first a busy time, then a quiet one, after which all peers must agree.
    pub(crate) fn live(mut self) -> Tally {
        let sizes = if self.dice.chance(300, 1_000) { 15 } else { 5 };
        let size = 2 + self.dice.roll(sizes);
        let busy = 40 + self.dice.roll(120);
        while self.tick < busy {
            if self.tick < size {
                self.join();
            }
            self.deeds(size as usize);
            self.advance(true);
        }
        self.last_traffic = self.tick;
        while self.tick < self.last_traffic + QUIET || !self.is_settled() {
            if self.tick > busy + SETTLED_WITHIN {
                self.fail("it does not come to rest");
            }
            self.advance(false);
        }
        self.compare();
        self.tally.ticks = self.tick;
        self.tally
    }

    fn advance(&mut self, is_busy: bool) {
        self.tick += 1;
        self.membership();
        self.deliver();
        self.transmit(is_busy);
    }

    /// The applications' actions in a tick.
    fn deeds(&mut self, size: usize) {
        if self.peers.len() < size.min(PEERS_MAX) && self.dice.chance(60, 1_000) {
            self.join();
        }
        if self.peers.len() > 1 && self.dice.chance(15, 1_000) {
            let mut all: Vec<_> = self.peers.keys().copied().collect();
            let host = self.warrant.1;
            if self.dice.chance(500, 1_000) && self.peers.contains_key(&host) {
                all = vec![host];
            }
            let gone = self.dice.pick(&all).unwrap();
            self.depart(gone);
        }
        let members: Vec<_> =
            self.peers.iter().filter(|(id, peer)| peer.view.contains(id)).map(|(&id, _)| id).collect();
        for me in members {
            self.deed(me);
        }
    }

    fn deed(&mut self, me: PeerId) {
        let peer = &self.peers[&me];
        let own: Vec<_> = peer.objects.iter().filter(|o| o.owner() == me).map(|o| o.id()).collect();
        let is_host = peer.host == me;
        let (all, heirs): (Vec<_>, _) = (peer.objects.iter().map(|o| o.id()).collect(), peer.view.clone());
        if own.len() < OWN_OBJECTS_MAX && self.dice.chance(80, 1_000) {
            self.create(me);
        }
        for _ in 0..self.dice.roll(3) {
            if let Some(id) = self.dice.pick(&own) {
                self.set(me, id);
            }
        }
        if self.dice.chance(20, 1_000)
            && let Some(id) = self.dice.pick(&own)
        {
            self.tell(|| format!("{me} destroys {id}"));
            self.peer(me).objects.destroy(id).unwrap();
            self.tally.destroys += 1;
            self.check(me);
        }
        if is_host
            && self.dice.chance(250, 1_000)
            && let (Some(id), Some(to)) = (self.dice.pick(&all), self.dice.pick(&heirs))
        {
            let granted = self.peer(me).objects.grant(id, to);
            self.tell(|| format!("{me} grants {id} to {to}: {granted:?}"));
            self.tally.grants += u64::from(granted.is_ok());
            self.check(me);
        }
    }

    fn padding(&mut self) -> usize {
        if self.dice.chance(50, 1_000) { 200 } else { self.dice.roll(9) as usize }
    }

    fn create(&mut self, me: PeerId) {
        let flags = self.dice.roll(8);
        let kind = if self.dice.chance(500, 1_000) { typed::MOVER } else { Kind(1) };
        let orphan = if flags & 1 == 1 { Orphan::Destroy } else { Orphan::ToHost };
        let traits = Traits { reliable: flags == 0, orphan, ..Traits::of(kind) };
        let (now, fields) = (self.now(), 1 + self.dice.roll(4));
        let stamp = Stamp::created(Term(self.peers[&me].term));
        if kind == typed::MOVER {
            let state = self.state(&[], me, stamp);
            let id = self.peer(me).objects.create_state(now, traits, &state).unwrap();
            self.tell(|| format!("{me} creates {id}, which moves"));
            self.tally.objects += 1;
            return self.check(me);
        }
        let values: Vec<_> = (0..fields)
            .map(|_| {
                self.serial += 1;
                value(me, stamp, self.serial, self.padding())
            })
            .collect();
        let values: Vec<_> = values.iter().map(|value| &value[..]).collect();
        let id = self.peer(me).objects.create(now, traits, &values).unwrap();
        self.tell(|| format!("{me} creates {id}"));
        self.tally.objects += 1;
        self.check(me);
    }

    /// A new state of an object that moves. It is noted, because the check accepts only states that were set.
    fn state(&mut self, before: &[i32], me: PeerId, stamp: Stamp) -> State {
        self.serial += 1;
        let state = typed::state(before, (me, stamp, self.serial), &mut self.dice);
        self.ledger.states.insert(self.serial, state.numbers().to_vec());
        state
    }

    fn set(&mut self, me: PeerId, id: ObjectId) {
        let object = self.peers[&me].objects.get(id).unwrap();
        if object.traits().kind == typed::MOVER {
            let (now, stamp, before) = (self.now(), object.stamp(), object.numbers().to_vec());
            let state = self.state(&before, me, stamp);
            self.peer(me).objects.set_state(now, id, &state).unwrap();
            return self.tell(|| format!("{me} moves {id}: {:?}", state.numbers()));
        }
        let (now, padding, serial) = (self.now(), self.padding(), self.serial + 1);
        self.serial = serial;
        let object = self.peers[&me].objects.get(id).unwrap();
        let index = self.dice.roll(object.field_count() as u64) as usize;
        let value = value(me, object.stamp(), serial, padding);
        self.peer(me).objects.set(now, id, index, &value).unwrap();
        self.tell(|| format!("{me} sets {id}.{index} to {serial}"));
    }

    /// Checks that a peer keeps promises 2 and 3 of docs/recovery.md.
    pub(crate) fn check(&mut self, me: PeerId) {
        self.tally.steps += 1;
        let Some(peer) = self.peers.get_mut(&me) else { return };
        while peer.objects.poll_event().is_some() {}
        if let Err(what) = peer.past.check(me, &peer.objects, &mut self.ledger) {
            self.fail(&what);
        }
    }

    /// Delivers what arrives in this tick. Messages of a peer that is not linked yet wait, as if a link resent them.
    fn deliver(&mut self) {
        let pairs: Vec<_> = self.links.keys().copied().collect();
        for (from, to) in pairs {
            if self.peers.get(&to).is_some_and(|peer| peer.linked.contains(&from)) {
                while let Some(arrival) = self.links.get_mut(&(from, to)).and_then(|l| l.arrival(self.tick)) {
                    self.arrive(from, to, arrival);
                }
            }
            let Some(link) = self.links.get_mut(&(from, to)) else { continue };
            let fates = link.fates(self.tick);
            if let Some(peer) = self.peers.get_mut(&from).filter(|peer| peer.linked.contains(&to)) {
                fates.into_iter().for_each(|(packet, fate)| peer.objects.on_fate(to, packet, fate));
            }
        }
    }

    fn arrive(&mut self, from: PeerId, to: PeerId, arrival: Arrival) {
        self.last_traffic = self.tick;
        let Some(peer) = self.peers.get_mut(&to) else { return };
        let kind = |bytes: &[u8]| MessageKind::decode(&mut Reader::new(bytes)).unwrap();
        let what = |bytes: &[u8]| {
            format!("{from} to {to}: {:?} {:02x?}", kind(bytes), &bytes[1..bytes.len().min(16)])
        };
        let (heard, said) = match &arrival {
            Arrival::Letter(Letter::Warrant(term, host)) => return self.hear_warrant(to, *term, *host),
            Arrival::Letter(Letter::View(term, members)) => return self.hear_view(from, to, *term, members),
            Arrival::Letter(Letter::Object(bytes)) | Arrival::Snapshot(bytes) => {
                (peer.objects.handle_message(from, kind(bytes), &bytes[1..]), what(bytes))
            }
            Arrival::Datagram(bytes) => (peer.objects.handle_datagram(from, &bytes[1..]), what(bytes)),
        };
        self.tell(|| said.clone());
        if let Err(code) = heard {
            self.fail(&format!("an honest peer is blamed: {said} is {code:?}"));
        }
        self.check(to);
    }

    /// Lets every peer send its messages. In busy times a peer sometimes does not send.
    fn transmit(&mut self, is_busy: bool) {
        let (now, tick, weather) = (self.now(), self.tick, self.weather);
        for (&me, peer) in &mut self.peers {
            for &to in &peer.linked {
                if is_busy && self.dice.chance(200, 1_000) {
                    continue;
                }
                let link = self.links.entry((me, to)).or_default();
                let mut bytes = Vec::new();
                if let Some(pending) = peer.objects.poll_snapshot(to, &mut bytes) {
                    let receipt = link.post_bulk(tick, weather, &mut self.dice, core::mem::take(&mut bytes));
                    peer.objects.on_sent(to, pending, receipt);
                }
                bytes.clear();
                while let Some(pending) = peer.objects.poll_message(now, to, &mut bytes) {
                    let letter = Letter::Object(core::mem::take(&mut bytes));
                    let receipt = link.post(tick, weather, &mut self.dice, letter);
                    peer.objects.on_sent(to, pending, receipt);
                }
                bytes.clear();
                let place =
                    Place { now, peer: to, packet: link.packet, room: 400 + self.dice.roll(700) as usize };
                peer.objects.write_datagram(place, &|receipt| link.is_delivered(receipt), &mut bytes);
                if !bytes.is_empty() {
                    link.throw(tick, weather, &mut self.dice, bytes);
                    self.last_traffic = tick;
                }
            }
        }
    }

    /// Checks that all live members have the same objects, owners and field values (docs/recovery.md, promise 1).
    fn compare(&self) {
        let picture = |peer: &Peer| -> Vec<_> {
            let fields = |o: &samovar_objects::Object| {
                (0..o.field_count()).map(|i| o.field(i).to_vec()).collect::<Vec<_>>()
            };
            peer.objects
                .iter()
                .map(|o| (o.id(), o.owner(), o.stamp(), o.traits(), o.numbers().to_vec(), fields(o)))
                .collect()
        };
        let (first, one) = self.peers.first_key_value().unwrap();
        for (other, peer) in &self.peers {
            for (ours, theirs) in [(one, peer), (peer, one)] {
                let theirs = picture(theirs);
                if let Some(odd) = picture(ours).into_iter().find(|object| !theirs.contains(object)) {
                    let found = theirs.iter().find(|object| object.0 == odd.0);
                    self.fail(&format!("{first} and {other} differ: {odd:?}, and {found:?}"));
                }
            }
        }
    }
}
