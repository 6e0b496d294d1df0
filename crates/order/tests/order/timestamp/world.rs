//! Members that send each other packets with promises at intervals, with delays that differ by pair, in virtual time.

use std::collections::{BTreeMap, BTreeSet};

use samovar_order::timestamp::{Delivery, Event, TimeOrder, TimeOrderConfig};
use samovar_wire::timed::{Promise, TimedMessage};
use samovar_wire::{PeerId, Reader, Time, Writer};

pub(crate) const fn at(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

/// Cargo in flight: a message, or a packet with a promise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cargo {
    Message(Vec<u8>),
    Promise(Vec<u8>),
}

pub(crate) struct Node {
    pub(crate) order: TimeOrder,
    pub(crate) events: Vec<(Time, Event)>,
    received: Vec<String>,
    pub(crate) is_alive: bool,
    /// Whether this member sends nothing.
    pub(crate) is_silent: bool,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) nodes: BTreeMap<PeerId, Node>,
    pub(crate) members: Vec<PeerId>,
    ways: BTreeMap<(PeerId, PeerId), u64>,
    /// Milliseconds between the packets from a member to another.
    pub(crate) interval: u64,
    /// Packets lost, in thousandths.
    pub(crate) loss: u64,
    /// Dice for the losses.
    pub(crate) dice: samovar_wire::Rng,
    on_the_way: BTreeSet<(u64, u64, PeerId, PeerId, Cargo)>,
    /// When the last message from a member to another arrives: messages keep their order.
    last_at: BTreeMap<(PeerId, PeerId), u64>,
    count: u64,
    /// The next millisecond at which members check which packets they owe.
    tick: u64,
    pub(crate) config: TimeOrderConfig,
}

impl World {
    pub(crate) fn new(members: &[PeerId]) -> Self {
        Self::with_config(members, TimeOrderConfig::default())
    }

    pub(crate) fn with_config(members: &[PeerId], config: TimeOrderConfig) -> Self {
        let mut world = Self {
            now: Time::ZERO,
            nodes: BTreeMap::new(),
            members: members.to_vec(),
            ways: BTreeMap::new(),
            interval: 16,
            loss: 0,
            dice: samovar_wire::Rng::new(1),
            on_the_way: BTreeSet::new(),
            last_at: BTreeMap::new(),
            count: 0,
            tick: 0,
            config,
        };
        members.iter().for_each(|&id| world.add(id));
        members.iter().for_each(|&id| world.tell(id));
        world
    }

    pub(crate) fn add(&mut self, id: PeerId) {
        let order = TimeOrder::new(id, self.config);
        let node = Node { order, events: Vec::new(), received: Vec::new(), is_alive: true, is_silent: false };
        self.nodes.insert(id, node);
    }

    /// Tells a peer the present members.
    pub(crate) fn tell(&mut self, id: PeerId) {
        let (now, members) = (self.now, self.members.clone());
        self.nodes.get_mut(&id).unwrap().order.handle_view(now, &members);
        self.serve(id);
    }

    /// Sets the delay from one member to another, in milliseconds; 10 unless set.
    pub(crate) fn set_way(&mut self, from: PeerId, to: PeerId, ms: u64) {
        self.ways.insert((from, to), ms * 1_000);
    }

    pub(crate) fn send(&mut self, from: PeerId, time: Time, text: &str) {
        let now = self.now;
        let node = self.nodes.get_mut(&from).unwrap();
        node.order.send(now, time, text.as_bytes()).unwrap();
        self.serve(from);
    }

    fn post(&mut self, from: PeerId, to: PeerId, cargo: Cargo) {
        let way = self.ways.get(&(from, to)).copied().unwrap_or(10_000);
        let mut arrives = self.now.as_micros() + way;
        let is_lost = self.dice.chance(self.loss, 1_000);
        if matches!(cargo, Cargo::Message(_)) {
            let last = self.last_at.entry((from, to)).or_default();
            arrives = (arrives + if is_lost { 2 * way + 20_000 } else { 0 }).max(*last);
            *last = arrives;
        } else if is_lost {
            return;
        }
        self.count += 1;
        self.on_the_way.insert((arrives, self.count, from, to, cargo));
    }

    fn serve(&mut self, id: PeerId) {
        let now = self.now;
        let node = self.nodes.get_mut(&id).unwrap();
        while let Some(event) = node.order.poll_event(now) {
            node.events.push((now, event));
        }
        let mut posted = Vec::new();
        while let Some(transmit) = node.order.poll_transmit() {
            posted.push(transmit);
        }
        if !node.is_silent {
            posted.into_iter().for_each(|sent| self.post(id, sent.to, Cargo::Message(sent.bytes)));
        }
    }

    fn promise_all(&mut self, id: PeerId) {
        let now = self.now;
        for to in self.members.clone().into_iter().filter(|&to| to != id) {
            let node = self.nodes.get_mut(&id).unwrap();
            if let Some(promise) = node.order.promise(now, to).filter(|_| !node.is_silent) {
                let mut bytes = Vec::new();
                promise.encode(&mut Writer::new(&mut bytes));
                self.post(id, to, Cargo::Promise(bytes));
            }
        }
    }

    fn deliver(&mut self, (_, _, from, to, cargo): (u64, u64, PeerId, PeerId, Cargo)) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&to).filter(|node| node.is_alive) else { return };
        match cargo {
            Cargo::Message(bytes) => {
                if let Ok(TimedMessage::Own(message)) = TimedMessage::decode(&mut Reader::new(&bytes)) {
                    node.received.push(String::from_utf8(message.bytes).unwrap());
                }
                assert_eq!(node.order.handle_message(now, from, &bytes), Ok(()));
            }
            Cargo::Promise(bytes) => {
                let promise = Promise::decode(&mut Reader::new(&bytes)).unwrap();
                node.order.handle_promise(now, from, promise);
            }
        }
        self.serve(to);
    }

    /// Runs the members until `ms` milliseconds after the beginning.
    pub(crate) fn run_to(&mut self, ms: u64) {
        let end = ms * 1_000;
        while self.now.as_micros() < end {
            let tick = self.tick * 1_000;
            let timers = self.nodes.values().filter(|node| node.is_alive);
            let timer = timers.filter_map(|node| node.order.poll_timeout(self.now)).min();
            let arrival = self.on_the_way.first().map_or(u64::MAX, |first| first.0);
            let next = tick.min(arrival).min(timer.map_or(u64::MAX, Time::as_micros));
            self.now = Time::from_micros(next.clamp(self.now.as_micros(), end));
            if arrival <= self.now.as_micros() {
                let first = self.on_the_way.pop_first().unwrap();
                self.deliver(first);
                continue;
            }
            let is_tick = self.now.as_micros() == tick;
            self.tick += u64::from(is_tick);
            let alive: Vec<_> =
                self.nodes.iter().filter(|(_, node)| node.is_alive).map(|(&id, _)| id).collect();
            for id in alive {
                let phase = u64::from(id.0) * 5;
                if is_tick && (tick / 1_000 + phase).is_multiple_of(self.interval) {
                    self.promise_all(id);
                }
                self.serve(id);
                let node = &self.nodes[&id];
                let again = node.order.poll_timeout(self.now);
                assert!(again.is_none_or(|again| again > self.now), "{id} wants {again:?} once more");
            }
        }
    }

    /// A member's deliveries in order.
    pub(crate) fn delivered(&self, id: PeerId) -> Vec<(Time, &Delivery)> {
        let messages = self.nodes[&id].events.iter().filter_map(|(at, event)| match event {
            Event::Message(message) => Some((*at, message)),
            _ => None,
        });
        messages.collect()
    }

    /// The messages that a member reported as late.
    pub(crate) fn late(&self, id: PeerId) -> Vec<&Delivery> {
        let messages = self.nodes[&id].events.iter().filter_map(|(_, event)| match event {
            Event::Late(message) => Some(message),
            _ => None,
        });
        messages.collect()
    }

    pub(crate) fn texts(&self, id: PeerId) -> Vec<String> {
        let delivered = self.delivered(id);
        delivered.into_iter().map(|(_, m)| String::from_utf8(m.bytes.clone()).unwrap()).collect()
    }

    /// The messages of others in the order in which they came.
    pub(crate) fn received(&self, id: PeerId) -> Vec<String> {
        self.nodes[&id].received.clone()
    }
}
