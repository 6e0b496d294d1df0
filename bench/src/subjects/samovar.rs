//! Samovar: objects, and a link for each observer, put together as in a session.

mod body;

use samovar_link::{Fate, Link, LinkConfig, LinkEvent, Source};
use samovar_objects::{Objects, Place};
use samovar_wire::object::MessageKind;
use samovar_wire::{Duration, Generation, Lane, Mode, ObjectId, PeerId, Reader, Term, Time};

use super::{Replicator, Setup, Subject};
use crate::network::Outbox;
use crate::state::{Key, State};

/// Samovar at the workload's precision, with prediction by velocity and spin.
pub const SUBJECT: Subject = Subject { name: "samovar", start: |setup| Box::new(Samovar::new(setup)) };

const OWNER: PeerId = PeerId(1);
const TERM: Term = Term(1);

fn observer_id(observer: usize) -> PeerId {
    PeerId(2 + observer as u32)
}

fn time(tick: u64) -> Time {
    Time::ZERO + Duration::from_micros(tick * 1_000_000 / 60)
}

struct Samovar {
    owner: Objects,
    /// The owner's end of each link.
    links: Vec<Link>,
    ids: Vec<ObjectId>,
    now: Time,
    scratch: Scratch,
    numbers: samovar_objects::State,
    observers: Vec<Observer>,
}

struct Observer {
    objects: Objects,
    link: Link,
    scratch: Scratch,
}

impl Samovar {
    fn new(setup: Setup<'_>) -> Self {
        let now = time(0);
        let mut owner = body::objects(OWNER, OWNER, TERM);
        let ids = setup.states.iter().map(|state| body::create(&mut owner, now, state)).collect();
        let observers = (0..setup.observers).map(|observer| {
            owner.add_peer(observer_id(observer));
            let mut objects = body::objects(observer_id(observer), OWNER, TERM);
            objects.add_peer(OWNER);
            Observer {
                objects,
                link: Link::new(now, LinkConfig::default(), Generation::FIRST),
                scratch: Scratch::default(),
            }
        });
        let observers = observers.collect();
        let links =
            (0..setup.observers).map(|_| Link::new(now, LinkConfig::default(), Generation::FIRST)).collect();
        Self {
            owner,
            links,
            ids,
            now,
            scratch: Scratch::default(),
            numbers: samovar_objects::State::default(),
            observers,
        }
    }
}

/// Takes a datagram at one end. It does not check whether the other end keeps the rules; in a game the session does.
fn receive(now: Time, datagram: &[u8], from: PeerId, link: &mut Link, objects: &mut Objects) {
    link.handle(now, Mode::Unreliable, datagram).expect("the other end keeps the protocol");
    drain(from, link, objects);
}

/// Passes the events of a link to the objects.
fn drain(from: PeerId, link: &mut Link, objects: &mut Objects) {
    while let Some(event) = link.poll_event() {
        let outcome = match event {
            LinkEvent::Message(_, bytes) => {
                let mut reader = Reader::new(&bytes);
                let kind = MessageKind::decode(&mut reader).expect("a message has a kind");
                let outcome = objects.handle_message(from, kind, reader.rest());
                link.recycle(bytes);
                outcome
            }
            LinkEvent::Datagram(_, bytes) => {
                let mut reader = Reader::new(&bytes);
                MessageKind::decode(&mut reader).expect("a datagram has a kind");
                let outcome = objects.handle_datagram(from, reader.rest());
                link.recycle(bytes);
                outcome
            }
            LinkEvent::Fate(packet, fate) => {
                objects.on_fate(from, packet, fate == Fate::Delivered);
                Ok(())
            }
            _ => Ok(()),
        };
        outcome.expect("the other end keeps the protocol");
    }
}

/// Buffers that are reused.
#[derive(Default)]
struct Scratch {
    message: Vec<u8>,
    packet: Vec<u8>,
}

/// Sends everything that one end has for a peer. `give` gets the packets.
fn transmit(
    now: Time,
    to: PeerId,
    (link, objects): (&mut Link, &mut Objects),
    scratch: &mut Scratch,
    mut give: impl FnMut(&[u8]),
) {
    link.handle_timeout(now);
    drain(to, link, objects);
    loop {
        scratch.message.clear();
        let Some(pending) = objects.poll_message(now, to, &mut scratch.message) else { break };
        let Ok(receipt) = link.send(Lane::SESSION, &scratch.message) else { break };
        objects.on_sent(to, pending, receipt);
    }
    let mut wanted = objects.wants_datagram(to);
    loop {
        let deliveries = link.deliveries();
        let due = wanted && link.budget_at() <= now;
        let mut compose = |packet, room, out: &mut Vec<u8>| {
            if due {
                let place = Place { now, peer: to, packet, room };
                // If the packet has no room for everything, another one follows.
                wanted = objects.write_datagram(place, &|receipt| deliveries.cover(receipt), out);
            }
        };
        let source = Source { wanted: due, compose: &mut compose };
        scratch.packet.clear();
        if link.poll_transmit(now, now, source, &mut scratch.packet).is_none() {
            break;
        }
        give(&scratch.packet);
    }
}

impl Replicator for Samovar {
    fn receive_at_owner(&mut self, observer: usize, datagram: &[u8]) {
        receive(self.now, datagram, observer_id(observer), &mut self.links[observer], &mut self.owner);
    }

    fn tick_owner(&mut self, tick: u64, states: &[State], out: &mut Outbox) {
        self.now = time(tick);
        for (id, state) in self.ids.iter().zip(states) {
            body::set(&mut self.owner, self.now, *id, state, &mut self.numbers);
        }
        for (observer, link) in self.links.iter_mut().enumerate() {
            let ends = (link, &mut self.owner);
            transmit(self.now, observer_id(observer), ends, &mut self.scratch, |packet| {
                out.push(observer, packet);
            });
        }
    }

    fn tick_observer(&mut self, tick: u64, id: usize, arrived: &[Vec<u8>], out: &mut Outbox) {
        let now = time(tick);
        let Observer { objects, link, scratch } = &mut self.observers[id];
        arrived.iter().for_each(|datagram| receive(now, datagram, OWNER, link, objects));
        while objects.poll_event().is_some() {}
        transmit(now, OWNER, (link, objects), scratch, |packet| out.push(id, packet));
    }

    fn shown(&self, observer: usize, object: usize) -> Option<Key> {
        body::shown(self.observers[observer].objects.get(self.ids[object])?)
    }

    fn key(&self, state: &State) -> Key {
        body::key(state)
    }
}
