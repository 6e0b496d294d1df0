//! A small world in virtual time: sessions, paths that delay and lose, and a relay that signs.

use std::collections::BTreeMap;

use samovar_roster::authority::Signatory;
use samovar_session::objects::Kinded;
use samovar_session::{Edit, Event, Rules, Schemas, Session, SessionConfig};
use samovar_wire::object::{Orphan, Traits};
use samovar_wire::relay::Denial;
use samovar_wire::{Duration, Entropy, Kind, Mode, ObjectId, PeerId, SessionId, Term, Ticket, Time, Warrant};

/// A relay reduced to its witness: it grants one warrant per term.
pub(crate) struct Witness {
    pub(crate) signatory: Signatory,
    pub(crate) warrant: Warrant,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) peers: BTreeMap<PeerId, Session>,
    pub(crate) events: BTreeMap<PeerId, Vec<Event>>,
    pub(crate) witness: Witness,
    pub(crate) witness_alive: bool,
    wire: Vec<(Time, PeerId, PeerId, Mode, Vec<u8>)>,
    /// A hash of all that was sent.
    pub(crate) said: u64,
    /// All that was sent, and between whom, when a test wants it.
    pub(crate) record: Option<Vec<(PeerId, PeerId, Vec<u8>)>>,
    /// Packets that came in this step for peers without a session.
    pub(crate) strays: Vec<(PeerId, PeerId, Mode, Vec<u8>)>,
    dice: Entropy,
    pub(crate) loss_percent: u64,
    /// How much longer the packets of a directed pair take.
    pub(crate) delays: BTreeMap<(PeerId, PeerId), Duration>,
    /// How far each peer's clock has leapt ahead.
    pub(crate) leaps: BTreeMap<PeerId, Duration>,
    /// Directed pairs of peers between which no packet passes.
    pub(crate) cuts: Vec<(PeerId, PeerId)>,
    /// Peers whose games poll no events.
    pub(crate) still: Vec<PeerId>,
    pub(crate) next_peer: u32,
    /// When each peer last claimed.
    claims: BTreeMap<PeerId, Time>,
    pub(crate) rules: Rules,
}

/// No test takes as long as this.
const END: Time = Time::from_micros(600_000_000);
pub(crate) const TEAPOT: Traits = Traits::of(Kind(1));
pub(crate) const CUBE: Traits = Traits { orphan: Orphan::Destroy, ..Traits::of(Kind(2)) };

/// An object with a place.
#[derive(Clone, Debug, PartialEq, samovar_session::objects::Replicate)]
#[replicate(kind = 7, crate = samovar_session::objects)]
pub(crate) struct Craft {
    #[replicate(range = 1024.0, precision = 0.0625, place)]
    pub(crate) place: [f32; 3],
    #[replicate(min = 0, max = 15)]
    pub(crate) fuel: u8,
}

impl Craft {
    pub(crate) fn at(x: f32) -> Self {
        Self { place: [x, 0.0, 0.0], fuel: 3 }
    }
}

/// A world of a host and others, in which all are members.
pub(crate) fn world_of(seed: u8, loss: u64, members: usize) -> (World, PeerId, Vec<PeerId>) {
    let mut world = World::new(seed, loss);
    let host = *world.peers.keys().next().unwrap();
    let others = (1..members).map(|_| world.join(None)).collect();
    world.run(3_000);
    (world, host, others)
}

/// Cuts the paths between two groups, both ways.
pub(crate) fn part(world: &mut World, one: &[PeerId], other: &[PeerId]) {
    for &a in one {
        world.cuts.extend(other.iter().flat_map(|&b| [(a, b), (b, a)]));
    }
}

pub(crate) fn relay_goes(world: &mut World) {
    world.witness_alive = false;
    let now = world.now;
    world.peers.values_mut().for_each(|session| session.witness(now).set_reached(false));
}

pub(crate) fn relay_comes(world: &mut World) {
    world.witness_alive = true;
    let now = world.now;
    world.peers.values_mut().for_each(|session| session.witness(now).set_reached(true));
}

impl World {
    pub(crate) fn new(seed: u8, loss_percent: u64) -> Self {
        Self::with_rules(seed, loss_percent, Rules::default())
    }

    pub(crate) fn with_rules(seed: u8, loss_percent: u64, rules: Rules) -> Self {
        let signatory = Signatory::new(&[seed; 32]);
        let warrant = signatory.warrant(SessionId(7), Term::FIRST, PeerId(100));
        let mut world = Self {
            now: Time::from_micros(1_000_000),
            peers: BTreeMap::new(),
            events: BTreeMap::new(),
            witness: Witness { signatory, warrant },
            witness_alive: true,
            wire: Vec::new(),
            record: None,
            said: 0,
            strays: Vec::new(),
            dice: Entropy::new([seed; 32]),
            loss_percent,
            delays: BTreeMap::new(),
            leaps: BTreeMap::new(),
            cuts: Vec::new(),
            still: Vec::new(),
            next_peer: 100,
            claims: BTreeMap::new(),
            rules,
        };
        world.join(None);
        world
    }

    pub(crate) fn config(&mut self, tickets: Vec<Ticket>) -> SessionConfig {
        let me = PeerId(self.next_peer);
        self.next_peer += 1;
        SessionConfig {
            schemas: Schemas::new().with(Craft::schema()),
            me,
            voucher: None,
            key: self.witness.signatory.key(),
            warrant: self.witness.warrant,
            params: 1,
            name: format!("Peer {}", me.0),
            attributes: 0,
            tickets,
            capacity: 8,
            entropy: self.dice.bytes(),
            rules: self.rules,
        }
    }

    pub(crate) fn join(&mut self, ticket: Option<Ticket>) -> PeerId {
        let config = self.config(ticket.into_iter().collect());
        self.join_as(config)
    }

    pub(crate) fn join_as(&mut self, config: SessionConfig) -> PeerId {
        let me = config.me;
        self.peers.insert(me, Session::new(self.now, config).unwrap());
        self.events.insert(me, Vec::new());
        me
    }

    /// Lets a newcomer join that has no answer about session time yet: the host's first packet is lost, and the
    /// answer with it.
    pub(crate) fn join_without_time(&mut self, host: PeerId) -> PeerId {
        let late = self.join(None);
        self.cuts.push((host, late));
        while self.peers[&host].link(late).is_none() {
            self.step();
        }
        self.cuts.clear();
        while !self.peers[&late].is_member() {
            self.step();
        }
        late
    }

    pub(crate) fn kill(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
        let ids: Vec<_> = self.peers.keys().copied().collect();
        for id in ids {
            let now = self.local(id);
            self.peer(id).path(now, peer).handle_closed();
        }
    }

    /// The time that a peer's clock shows.
    fn local(&self, peer: PeerId) -> Time {
        self.now + self.leaps.get(&peer).copied().unwrap_or_default()
    }

    pub(crate) fn step(&mut self) {
        self.now += Duration::from_millis(1);
        assert!(self.now < END, "what the test waits for does not come");
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.wire).into_iter().partition(|p| p.0 <= now);
        self.wire = later;
        self.strays.clear();
        for (_, from, to, mode, bytes) in due {
            let now = self.local(to);
            match self.peers.get_mut(&to) {
                Some(session) => session.handle_packet(now, from, mode, &bytes),
                None => self.strays.push((from, to, mode, bytes)),
            }
        }
        let ids: Vec<_> = self.peers.keys().copied().collect();
        for id in ids {
            let local = self.local(id);
            let session = self.peers.get_mut(&id).unwrap();
            session.handle_timeout(local);
            while let Some(out) = session.poll_transmit(local) {
                for &byte in &out.bytes {
                    // The hash is FNV-1a.
                    self.said = (self.said ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
                }
                if let Some(record) = &mut self.record {
                    record.push((id, out.to, out.bytes.clone()));
                }
                let lost = out.mode == Mode::Unreliable && self.dice.number() % 100 < self.loss_percent;
                if !lost && !self.cuts.contains(&(id, out.to)) {
                    let jitter =
                        if out.mode == Mode::Unreliable { self.dice.number() % 8_000 } else { 8_000 };
                    let more = self.delays.get(&(id, out.to)).copied().unwrap_or_default();
                    let arrival = now + Duration::from_micros(25_000 + jitter) + more;
                    self.wire.push((arrival, id, out.to, out.mode, out.bytes));
                }
            }
            assert!(session.poll_timeout().is_none_or(|t| t > local), "a drained session has nothing due");
            let claim = session.witness(local).poll_claim();
            while !self.still.contains(&id)
                && let Some(event) = session.poll_event()
            {
                self.events.get_mut(&id).unwrap().push(event);
            }
            if let Some((term, candidate)) = claim {
                self.claim(id, term, candidate);
            }
        }
        self.check_promises();
    }

    /// The witness knows which peers live. It grants a term when the host is dead or claims it itself, or when most
    /// peers claim it within half a second (PROTOCOL §5.5).
    fn claim(&mut self, by: PeerId, term: Term, candidate: PeerId) {
        let warrant = self.witness.warrant;
        let is_up = self.witness_alive && self.peers.contains_key(&candidate);
        let (now, local) = (self.now, self.local(by));
        if !self.witness_alive {
            return;
        }
        if term != warrant.term.next_witnessed() {
            self.peers.get_mut(&by).unwrap().witness(local).handle_warrant(&warrant);
        }
        if !is_up || term != warrant.term.next_witnessed() {
            return;
        }
        self.claims.retain(|_, at| now.since(*at) <= Duration::from_millis(500));
        let is_repeated = self.claims.insert(by, now).is_some();
        let is_gone = !self.peers.contains_key(&warrant.host) || by == warrant.host;
        if !is_gone && self.claims.len() * 2 <= self.peers.len() {
            if is_repeated {
                self.peers.get_mut(&by).unwrap().witness(local).handle_denial(term, Denial::HostIsAlive);
            }
            return;
        }
        self.grant(term, candidate);
    }

    /// The witness makes a peer host, whatever the peers claim.
    pub(crate) fn grant(&mut self, term: Term, host: PeerId) {
        let warrant = self.sign(term, host);
        let ids: Vec<_> = self.peers.keys().copied().collect();
        for id in ids {
            let now = self.local(id);
            self.peer(id).witness(now).handle_warrant(&warrant);
        }
    }

    /// Signs the warrant for this term and host, but tells no peer yet.
    pub(crate) fn sign(&mut self, term: Term, host: PeerId) -> Warrant {
        let session = self.witness.warrant.session;
        self.claims.clear();
        self.witness.warrant = self.witness.signatory.warrant(session, term, host);
        self.witness.warrant
    }

    /// Checks promise 2 of docs/recovery.md: a stamp names one owner.
    fn check_promises(&self) {
        let mut owners = BTreeMap::new();
        for object in self.peers.values().filter(|s| s.is_member()).flat_map(Session::objects) {
            let owner = owners.entry((object.id(), object.stamp())).or_insert(object.owner());
            assert_eq!(*owner, object.owner(), "{} has two owners under {:?}", object.id(), object.stamp());
        }
    }

    pub(crate) fn run(&mut self, ms: u64) {
        (0..ms).for_each(|_| self.step());
    }

    pub(crate) fn peer(&mut self, id: PeerId) -> &mut Session {
        self.peers.get_mut(&id).unwrap()
    }

    #[cfg(all(feature = "ownership", feature = "extras"))]
    pub(crate) fn ownership(&mut self, peer: PeerId) -> samovar_session::Ownership<'_> {
        let now = self.now;
        self.peer(peer).ownership(now)
    }

    #[cfg(feature = "extras")]
    pub(crate) fn calls(&mut self, peer: PeerId) -> samovar_session::Calls<'_> {
        let now = self.now;
        self.peer(peer).calls(now)
    }

    pub(crate) fn edit(&mut self, peer: PeerId) -> Edit<'_> {
        let now = self.now;
        self.peer(peer).edit(now)
    }

    /// Whether this peer wants the relay to ask whether the host lives.
    pub(crate) fn doubts(&mut self, peer: PeerId) -> bool {
        let now = self.now;
        self.peer(peer).witness(now).poll_doubt()
    }

    pub(crate) fn create(&mut self, owner: PeerId, traits: Traits, fields: &[&[u8]]) -> ObjectId {
        let now = self.local(owner);
        self.peer(owner).edit(now).create(traits, fields).unwrap()
    }

    pub(crate) fn picture(&self, id: PeerId) -> Vec<(ObjectId, PeerId, String, Vec<Vec<u8>>)> {
        let object = |o: &samovar_session::Object| {
            let mut fields: Vec<_> = (0..o.field_count()).map(|i| o.field(i).to_vec()).collect();
            fields.push(o.numbers().iter().flat_map(|number| number.to_le_bytes()).collect());
            (o.id(), o.owner(), format!("{:?}", o.stamp()), fields)
        };
        self.peers[&id].objects().map(object).collect()
    }

    /// Asserts the same as [`World::assert_agreed`], and that the host of all peers is the one that the witness
    /// named.
    pub(crate) fn assert_converged(&self) {
        self.assert_agreed();
        for (id, session) in &self.peers {
            assert_eq!(session.host(), self.witness.warrant.host, "host at {id}");
        }
    }

    /// Checks promise 1 of docs/recovery.md: when changes stop, all live members have the same objects, owners and
    /// values.
    pub(crate) fn assert_agreed(&self) {
        let ids: Vec<_> = self.peers.keys().copied().collect();
        for &id in &ids {
            assert!(self.peers[&id].is_member(), "{id} is no member: {:?}", self.events[&id].last());
            assert_eq!(self.picture(id), self.picture(ids[0]), "{id} against {}", ids[0]);
            assert_eq!(self.peers[&id].view(), self.peers[&ids[0]].view());
        }
    }
}

/// The terms that peers live in, with their hosts; one if all agree.
pub(crate) fn hosts(world: &World) -> Vec<(Term, PeerId)> {
    let mut hosts: Vec<_> = world.peers.values().map(|s| (s.term(), s.host())).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}
