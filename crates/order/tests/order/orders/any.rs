//! All orders behind one type, and receive order for comparison.

use std::collections::VecDeque;

use samovar_order::causal::{Barrier, Dispatcher, Vector};
use samovar_order::total::Total;
use samovar_order::{Delivery, Event, Order, SendError, Transmit, View};
use samovar_wire::{CloseCode, PeerId, SortedSet};

/// The kind of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Receive,
    Vector,
    Dispatcher,
    Barrier,
    Total,
}

/// The orders that promise causal order.
pub(crate) const CAUSAL: [Kind; 4] = [Kind::Vector, Kind::Dispatcher, Kind::Barrier, Kind::Total];

/// Receive order: messages are delivered as they come.
#[derive(Clone, Debug)]
pub(crate) struct Receive {
    me: PeerId,
    members: Vec<PeerId>,
    outbox: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl Order for Receive {
    fn handle_view(&mut self, view: &View) {
        self.members = view.members.clone();
        self.events.push_back(Event::View(view.id));
    }

    fn handle_link(&mut self, _peer: PeerId) {}

    fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        self.events.push_back(Event::Delivered(Delivery { from, payload: bytes.to_vec() }));
        Ok(())
    }

    fn send(&mut self, payload: &[u8]) -> Result<(), SendError> {
        let others = self.members.iter().filter(|&&member| member != self.me);
        self.outbox.extend(others.map(|&to| Transmit { to, bytes: payload.to_vec() }));
        Ok(())
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop_front()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn awaited(&self) -> SortedSet<PeerId> {
        SortedSet::new()
    }

    fn stored_bytes(&self) -> usize {
        0
    }
}

/// An order of any kind.
#[derive(Clone, Debug)]
pub(crate) enum AnyOrder {
    Receive(Receive),
    Vector(Vector),
    Dispatcher(Dispatcher),
    Barrier(Barrier),
    Total(Total),
}

impl AnyOrder {
    pub(crate) fn new(kind: Kind, me: PeerId) -> Self {
        match kind {
            Kind::Receive => {
                let (outbox, events) = (VecDeque::new(), VecDeque::new());
                Self::Receive(Receive { me, members: Vec::new(), outbox, events })
            }
            Kind::Vector => Self::Vector(Vector::new(me)),
            Kind::Dispatcher => Self::Dispatcher(Dispatcher::new(me)),
            Kind::Barrier => Self::Barrier(Barrier::new(me)),
            Kind::Total => Self::Total(Total::new(me)),
        }
    }

    pub(crate) fn get(&self) -> &dyn Order {
        match self {
            Self::Receive(order) => order,
            Self::Vector(order) => order,
            Self::Dispatcher(order) => order,
            Self::Barrier(order) => order,
            Self::Total(order) => order,
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut dyn Order {
        match self {
            Self::Receive(order) => order,
            Self::Vector(order) => order,
            Self::Dispatcher(order) => order,
            Self::Barrier(order) => order,
            Self::Total(order) => order,
        }
    }

    /// Sends a message that must survive any single failure, where the order supports that.
    pub(crate) fn send_stable(&mut self, payload: &[u8]) -> Result<(), SendError> {
        match self {
            Self::Total(order) => order.send_stable(payload),
            other => other.get_mut().send(payload),
        }
    }
}
