//! Members and the lanes between them. A lane keeps the order, delivers each message once, and is as slow as the test
//! wants.

use std::collections::{BTreeMap, VecDeque};

use samovar_order::{Event, View, ViewId};
use samovar_wire::{PeerId, Term};

use crate::orders::any::{AnyOrder, Kind};
use crate::orders::history::{Act, History, Message};

/// This bit in a host's id marks the lane of its views, when that is not the lane of its frames.
const NEWS: u32 = 1 << 31;

/// A parcel in flight.
#[derive(Clone, Debug)]
pub(crate) enum Parcel {
    Frame(Vec<u8>),
    View(View),
}

/// A group under test.
#[derive(Clone, Debug)]
pub(crate) struct World {
    kind: Kind,
    pub(crate) nodes: BTreeMap<PeerId, AnyOrder>,
    pub(crate) lanes: BTreeMap<(PeerId, PeerId), VecDeque<Parcel>>,
    pub(crate) history: History,
    pub(crate) view: View,
    /// Whether members send their frames at once; otherwise they send when they are polled.
    pub(crate) is_eager: bool,
    /// Whether views come in a lane of their own, before or after the frames under them.
    pub(crate) is_split: bool,
    pub(crate) frames: usize,
    /// The newest view that each member was told of.
    pub(crate) told: BTreeMap<PeerId, View>,
    next: Message,
}

/// Members 1 to n; member 1 hosts.
pub(crate) fn view_of(n: u32) -> View {
    let members: Vec<_> = (1..=n).map(PeerId).collect();
    let backups = members.iter().copied().skip(1).take(1).collect();
    View { id: ViewId { term: Term::FIRST, number: 1 }, host: PeerId(1), backups, members }
}

impl World {
    /// A group in which all members are in the first view.
    pub(crate) fn new(kind: Kind, n: u32) -> Self {
        let view = view_of(n);
        let mut world = Self {
            kind,
            nodes: view.members.iter().map(|&peer| (peer, AnyOrder::new(kind, peer))).collect(),
            lanes: BTreeMap::new(),
            history: History::default(),
            told: view.members.iter().map(|&peer| (peer, view.clone())).collect(),
            view: view.clone(),
            is_eager: true,
            is_split: false,
            frames: 0,
            next: 1,
        };
        world.nodes.values_mut().for_each(|node| node.get_mut().handle_view(&view));
        world.drain();
        for peer in view.members {
            assert_eq!(world.history.views(peer), [view.id], "{peer} of {n}");
        }
        world
    }

    /// Sends a message if there is room.
    pub(crate) fn send(&mut self, by: PeerId) -> Option<Message> {
        self.send_by(by, |order, payload| order.get_mut().send(payload).is_ok())
    }

    pub(crate) fn send_stable(&mut self, by: PeerId) -> Option<Message> {
        self.send_by(by, |order, payload| order.send_stable(payload).is_ok())
    }

    fn send_by(&mut self, by: PeerId, send: impl FnOnce(&mut AnyOrder, &[u8]) -> bool) -> Option<Message> {
        let message = self.next;
        // The send is recorded before its consequences, some of which may occur at the sender itself.
        let owed = self.told.get(&by).map(|view| view.members.clone()).unwrap_or_default();
        self.history.sent(by, message, owed);
        if !send(self.nodes.get_mut(&by)?, &message.to_le_bytes()) {
            self.history.retract(by, message);
            return None;
        }
        self.next += 1;
        self.after(by);
        Some(message)
    }

    pub(crate) fn flush(&mut self, by: PeerId) {
        let Some(order) = self.nodes.get_mut(&by) else { return };
        order.get_mut().flush();
        self.after(by);
    }

    /// Handles a member's events and frames.
    fn after(&mut self, at: PeerId) {
        let Some(order) = self.nodes.get_mut(&at) else { return };
        while let Some(event) = order.get_mut().poll_event() {
            let act = match event {
                Event::Delivered(delivery) => {
                    let message = Message::from_le_bytes(delivery.payload.try_into().unwrap());
                    assert_eq!(self.history.sender(message), delivery.from);
                    Act::Delivered(message)
                }
                Event::View(id) => Act::View(id),
                Event::Behind => Act::Behind,
                Event::Broke(peer, code) => panic!("{at} says that {peer} broke a rule: {code:?}"),
            };
            self.history.saw(at, act);
        }
        if self.is_eager {
            self.poll(at);
        }
    }

    /// Sends a member's frames.
    pub(crate) fn poll(&mut self, at: PeerId) {
        let Some(order) = self.nodes.get_mut(&at) else { return };
        let frames: Vec<_> = core::iter::from_fn(|| order.get_mut().poll_transmit()).collect();
        for frame in frames {
            assert_ne!(frame.to, at);
            self.frames += 1;
            if self.nodes.contains_key(&frame.to) {
                self.lanes.entry((at, frame.to)).or_default().push_back(Parcel::Frame(frame.bytes));
            }
        }
    }

    /// The lanes that are not empty.
    pub(crate) fn busy(&self) -> Vec<(PeerId, PeerId)> {
        self.lanes.iter().filter(|(_, lane)| !lane.is_empty()).map(|(&way, _)| way).collect()
    }

    /// Lets the first parcel of a lane arrive.
    pub(crate) fn arrive(&mut self, way: (PeerId, PeerId)) {
        let Some(parcel) = self.lanes.get_mut(&way).and_then(VecDeque::pop_front) else { return };
        let Some(order) = self.nodes.get_mut(&way.1) else { return };
        match parcel {
            Parcel::Frame(bytes) => {
                let result = order.get_mut().handle_frame(way.0, &bytes);
                assert_eq!(result, Ok(()), "{} to {}: {bytes:02x?}", way.0, way.1);
            }
            Parcel::View(view) => {
                order.get_mut().handle_view(&view);
                self.told.insert(way.1, view);
            }
        }
        self.after(way.1);
    }

    /// Delivers everything except on these lanes, and ends rounds, until nothing is left to deliver.
    pub(crate) fn drain_but(&mut self, slow: &[(PeerId, PeerId)]) {
        loop {
            let peers: Vec<_> = self.nodes.keys().copied().collect();
            peers.into_iter().for_each(|peer| self.flush(peer));
            let busy: Vec<_> = self.busy().into_iter().filter(|way| !slow.contains(way)).collect();
            if busy.is_empty() {
                return;
            }
            busy.into_iter().for_each(|way| self.arrive(way));
        }
    }

    /// Delivers everything, and ends rounds, until nothing is left to deliver.
    pub(crate) fn drain(&mut self) {
        for _ in 0..10_000 {
            let peers: Vec<_> = self.nodes.keys().copied().collect();
            for &peer in &peers {
                self.flush(peer);
                self.poll(peer);
            }
            let busy = self.busy();
            if busy.is_empty() {
                return;
            }
            busy.into_iter().for_each(|way| self.arrive(way));
        }
        panic!("the members never come to rest: {:?}", self.lanes);
    }

    /// The host publishes a view; the others hear of it in the lane from the host.
    pub(crate) fn publish(&mut self, view: View) {
        self.view = view.clone();
        for &peer in &view.members {
            self.nodes.entry(peer).or_insert_with(|| AnyOrder::new(self.kind, peer));
        }
        let host = view.host;
        self.told.insert(host, view.clone());
        self.nodes.get_mut(&host).unwrap().get_mut().handle_view(&view);
        for &peer in view.members.iter().filter(|&&peer| peer != host) {
            self.poll(host);
            let from = if self.is_split { PeerId(host.0 | NEWS) } else { host };
            self.lanes.entry((from, peer)).or_default().push_back(Parcel::View(view.clone()));
        }
        self.after(host);
    }

    /// The next view, with these members and this host. It has a later term when the host is another.
    pub(crate) fn next_view(&self, host: PeerId, members: Vec<PeerId>) -> View {
        let mut id = self.view.id;
        id.number += 1;
        if host != self.view.host {
            id.term = id.term.next_witnessed();
        }
        let backups = members.iter().copied().filter(|&peer| peer != host).take(1).collect();
        View { id, host, backups, members }
    }

    /// A process dies. `left` says how many of the frames on each of its lanes still arrive.
    pub(crate) fn crash(&mut self, peer: PeerId, mut left: impl FnMut(usize) -> usize) {
        self.nodes.remove(&peer);
        for (way, lane) in &mut self.lanes {
            if way.0.0 & !NEWS == peer.0 {
                let kept = left(lane.len());
                lane.truncate(kept);
            } else if way.1 == peer {
                lane.clear();
            }
        }
    }

    /// A link is lost, with everything on it except views, and opened anew.
    pub(crate) fn relink(&mut self, a: PeerId, b: PeerId) {
        for (from, to) in [(a, b), (b, a)] {
            if let Some(lane) = self.lanes.get_mut(&(from, to)) {
                lane.retain(|parcel| matches!(parcel, Parcel::View(_)));
            }
        }
        for (at, peer) in [(a, b), (b, a)] {
            if let Some(order) = self.nodes.get_mut(&at) {
                order.get_mut().handle_link(peer);
                self.after(at);
            }
        }
    }
}
