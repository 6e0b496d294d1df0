//! Three peers, the lanes and datagrams between them, and what is needed to check the promises.

use std::collections::{BTreeMap, VecDeque};

use samovar_objects::{Objects, Place, Schemas};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::{Kind, ObjectId, PeerId, Reader, Receipt, Stamp, Term, Time};

/// The number of times that each event may happen in one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) creates: u8,
    pub(crate) sets: u8,
    pub(crate) grants: u8,
    pub(crate) destroys: u8,
    /// Members that end without telling the others. If the host ends, another peer follows it under the second term.
    pub(crate) departures: u8,
    /// Datagrams that never arrive.
    pub(crate) losses: u8,
    /// Datagrams that are taken for lost and arrive nevertheless.
    pub(crate) mistakes: u8,
    /// Datagrams that arrive twice. Links drop the second copy, but the state machine must not depend on that.
    pub(crate) copies: u8,
}

impl Bounds {
    const NONE: Self = Self {
        creates: 1,
        sets: 0,
        grants: 0,
        destroys: 0,
        departures: 0,
        losses: 0,
        mistakes: 0,
        copies: 0,
    };
    /// Each of these bounds stresses another part: ownership through a departure, the network's effects on updates,
    /// and both. Together they have half a million states, and take 30 s of one core in the dev profile.
    pub(crate) const NARROW: [Self; 3] = [
        Self { grants: 2, destroys: 1, departures: 1, ..Self::NONE },
        Self { sets: 1, grants: 1, losses: 1, mistakes: 1, ..Self::NONE },
        Self { sets: 1, grants: 1, destroys: 1, departures: 1, ..Self::NONE },
    ];
    /// Bounds that take minutes, and some gigabytes.
    pub(crate) const WIDE: [Self; 3] = [
        Self { grants: 2, destroys: 1, departures: 1, ..Self::NONE },
        Self { sets: 2, grants: 1, losses: 1, mistakes: 1, ..Self::NONE },
        Self { sets: 1, grants: 1, destroys: 1, departures: 1, losses: 1, ..Self::NONE },
    ];
}

pub(crate) const PEERS: usize = 3;
/// The first host, and its successor.
pub(crate) const HOST: usize = 0;
pub(crate) const SECOND: usize = 1;

const TRAITS: Traits = Traits::of(Kind(1));

pub(crate) const fn id(peer: usize) -> PeerId {
    PeerId(peer as u32 + 1)
}

pub(crate) const fn index(peer: PeerId) -> usize {
    peer.0 as usize - 1
}

/// The content of a lane, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Letter {
    Warrant,
    /// The view without this peer.
    View(usize),
    Object(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    pub(crate) letters: VecDeque<Letter>,
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    /// Number of the next packet.
    pub(crate) packet: u64,
}

/// The most ticks. A tick is possible only while no message is under way. A fault that this many updates do not
/// repair is permanent.
const TICKS_MAX: u8 = 4;

/// A datagram on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Datagram {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) packet: u64,
    pub(crate) bytes: Vec<u8>,
    /// Whether its sender has been told already that it arrived or was lost.
    pub(crate) is_settled: bool,
}

/// One peer, and its state beside objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) objects: Objects,
    pub(crate) term: u64,
    pub(crate) linked: Vec<usize>,
    /// The highest stamp of each object that this peer has had, and whether it has the object now. By this the world
    /// checks that stamps only grow.
    highest: BTreeMap<ObjectId, (Stamp, bool)>,
}

/// One object as a member sees it: owner, stamp, value.
pub(crate) type Seen = (ObjectId, PeerId, Stamp, Vec<u8>);

/// The state of all peers, and the messages under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) left: Bounds,
    pub(crate) members: [Option<Member>; PEERS],
    pub(crate) lanes: [[Lane; PEERS]; PEERS],
    pub(crate) air: Vec<Datagram>,
    /// The number of ticks so far.
    pub(crate) ticks: u8,
    /// Whether the witness has given out the second term.
    pub(crate) is_issued: bool,
    pub(crate) departed: Option<usize>,
    /// The owners that stamps have named, at any peer at any time.
    owners: BTreeMap<(ObjectId, Stamp), PeerId>,
    is_contested: bool,
    pub(crate) revived: bool,
    /// The fault, in words.
    pub(crate) broken: Option<String>,
}

impl World {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let member = |me: usize| {
            let mut objects = Objects::new(id(me), id(HOST), Term(1), Schemas::new());
            let linked: Vec<_> = (0..PEERS).filter(|&peer| peer != me).collect();
            linked.iter().for_each(|&peer| objects.add_peer(id(peer)));
            Some(Member { objects, term: 1, linked, highest: BTreeMap::new() })
        };
        let lane = Lane { letters: VecDeque::new(), sent: 0, delivered: 0, packet: 0 };
        Self {
            left: bounds,
            members: core::array::from_fn(member),
            lanes: core::array::from_fn(|_| core::array::from_fn(|_| lane.clone())),
            air: Vec::new(),
            ticks: 0,
            is_issued: false,
            departed: None,
            owners: BTreeMap::new(),
            is_contested: false,
            revived: false,
            broken: None,
        }
    }

    pub(crate) fn member(&mut self, peer: usize) -> &mut Member {
        self.members[peer].as_mut().unwrap()
    }

    pub(crate) fn living(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter_map(|(peer, member)| Some((peer, member.as_ref()?)))
    }

    /// The present time. It moves on only with the application's acts and the network's failures, so that otherwise
    /// equal states do not differ in time. A frame goes out once for each time, and again if it is lost.
    fn now(&self) -> Time {
        let Bounds { creates, sets, losses, mistakes, .. } = self.left;
        let left: u64 = [creates, sets, losses, mistakes].map(u64::from).iter().sum();
        Time::from_micros((1_100 - left + u64::from(self.ticks)) * 20_000)
    }

    /// Whether no message is under way, and a peer will send one when time passes. For example, an update that
    /// arrives before its object's announcement is dropped, and is sent again later.
    pub(crate) fn waits(&self) -> bool {
        let is_done = self.air.is_empty() && self.lanes.iter().flatten().all(|lane| lane.letters.is_empty());
        let wants = |(_, member): (usize, &Member)| {
            let mut others = member.linked.iter().filter(|&&to| self.members[to].is_some());
            others.any(|&to| member.objects.wants_datagram(id(to)))
        };
        is_done && self.ticks < TICKS_MAX && self.living().any(wants)
    }

    pub(crate) fn create(&mut self, peer: usize) {
        let now = self.now();
        self.member(peer).objects.create(now, TRAITS, &[b"-"]).unwrap();
    }

    /// Sets the object's field. Every value is unique, and names its author and its stamp.
    pub(crate) fn set(&mut self, peer: usize) {
        let (now, number) = (self.now(), self.left.sets);
        let objects = &mut self.member(peer).objects;
        let object = objects.iter().find(|object| object.owner() == id(peer)).unwrap();
        let (object, stamp) = (object.id(), object.stamp());
        let value = [peer as u8, stamp.term.0 as u8, stamp.counter as u8, number];
        objects.set(now, object, 0, &value).unwrap();
    }

    /// Every peer sends each linked peer all its reliable messages, and one datagram.
    pub(crate) fn transmit(&mut self) {
        let now = self.now();
        let alive: Vec<_> = self.living().map(|(peer, _)| peer).collect();
        for &from in &alive {
            let Some(member) = self.members[from].as_mut() else { continue };
            for &to in &member.linked {
                let lane = &mut self.lanes[from][to];
                let mut bytes = Vec::new();
                while let Some(pending) = member.objects.poll_message(now, id(to), &mut bytes) {
                    member.objects.on_sent(id(to), pending, Receipt::Lane(lane.sent));
                    lane.sent += 1;
                    let letter = Letter::Object(core::mem::take(&mut bytes));
                    if alive.contains(&to) {
                        lane.letters.push_back(letter);
                    }
                }
                let delivered = lane.delivered;
                let is_delivered = |receipt| matches!(receipt, Receipt::Lane(n) if n < delivered);
                let place = Place { now, peer: id(to), packet: lane.packet, room: 1_000 };
                member.objects.write_datagram(place, &is_delivered, &mut bytes);
                if !bytes.is_empty() {
                    let datagram = Datagram { from, to, packet: lane.packet, bytes, is_settled: false };
                    lane.packet += 1;
                    if alive.contains(&to) {
                        self.air.push(datagram);
                    }
                }
            }
        }
        self.air.sort_by_key(|d| (d.from, d.to, d.packet));
    }

    /// Hands over an object message. A peer that blames an honest sender breaks a promise.
    pub(crate) fn hand_over(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        let kind = MessageKind::decode(&mut reader).unwrap();
        let heard = self.member(to).objects.handle_message(id(from), kind, &bytes[1..]);
        if let Err(code) = heard {
            self.broken = Some(format!("{kind:?} of {from} is {code:?} to {to}"));
        }
    }

    /// Hands over a datagram and checks that its sender may make its changes.
    pub(crate) fn hand_datagram(&mut self, datagram: &Datagram) {
        let Datagram { from, to, ref bytes, .. } = *datagram;
        let before = self.member(to).objects.clone();
        let heard = self.member(to).objects.handle_datagram(id(from), &bytes[1..]);
        if let Err(code) = heard {
            self.broken = Some(format!("a datagram of {from} is {code:?} to {to}"));
        }
        for old in before.iter() {
            let new = self.members[to].as_ref().and_then(|member| member.objects.get(old.id()));
            let Some(new) = new.filter(|new| new.field(0) != old.field(0)) else { continue };
            let stamp = new.stamp();
            let own = [from as u8, stamp.term.0 as u8, stamp.counter as u8];
            if old.owner() != id(from) || !new.field(0).starts_with(&own) {
                self.broken = Some(format!("{from} changed what {} owns at {to}", old.owner()));
            }
        }
    }

    /// Runs after every step: each peer's knowledge must only become newer.
    pub(crate) fn take_note(&mut self) {
        for member in self.members.iter_mut().flatten() {
            while member.objects.poll_event().is_some() {}
            for object in member.objects.iter() {
                let (known, stamp) = (object.id(), object.stamp());
                let owner = *self.owners.entry((known, stamp)).or_insert(object.owner());
                self.is_contested |= owner != object.owner();
                let (highest, was_alive) = *member.highest.get(&known).unwrap_or(&(stamp, true));
                if stamp < highest || stamp == highest && !was_alive {
                    self.broken = Some(format!("{stamp:?} after {highest:?}"));
                }
                self.revived |= !was_alive;
                member.highest.insert(known, (stamp, true));
            }
            for (known, (_, is_alive)) in &mut member.highest {
                *is_alive = member.objects.get(*known).is_some();
            }
        }
    }

    /// Whether no message is under way, and all peers have the same view.
    pub(crate) fn is_quiet(&self) -> bool {
        let knows = |member: &Member| self.departed.is_none_or(|gone| !member.linked.contains(&gone));
        !self.waits()
            && self.air.is_empty()
            && self.lanes.iter().flatten().all(|lane| lane.letters.is_empty())
            && self.living().all(|(_, member)| knows(member))
    }

    /// The state of each living member: objects, owners, stamps, values.
    pub(crate) fn pictures(&self) -> Vec<(usize, Vec<Seen>)> {
        let picture = |member: &Member| {
            member.objects.iter().map(|o| (o.id(), o.owner(), o.stamp(), o.field(0).to_vec())).collect()
        };
        self.living().map(|(peer, member)| (peer, picture(member))).collect()
    }

    pub(crate) fn is_converged(&self) -> bool {
        let pictures = self.pictures();
        pictures.iter().all(|(_, picture)| *picture == pictures[0].1)
    }

    pub(crate) fn has_one_owner_each(&self) -> bool {
        !self.is_contested
    }

    pub(crate) fn has_object_of_second_term(&self) -> bool {
        self.owners.keys().any(|(_, stamp)| stamp.term == Term(2) && stamp.counter > 0)
            && !self.has_only_dead()
    }

    /// Whether there were objects, and none is left.
    pub(crate) fn has_only_dead(&self) -> bool {
        !self.owners.is_empty() && self.living().all(|(_, member)| member.objects.iter().next().is_none())
    }
}
