//! The orders that the rules of a session name, behind one interface.

use std::collections::VecDeque;

use samovar_order::causal::{Dispatcher, Vector};
use samovar_order::lockstep::Lockstep;
use samovar_order::timestamp::{self, TimeOrder};
use samovar_order::total::Total;
use samovar_order::{Event, Order, View};
use samovar_wire::object::{FrameHead, MessageKind, SAMPLE_UNIT};
use samovar_wire::timed::Promise;
use samovar_wire::{CloseCode, Duration, Lane, PeerId, Reader, SortedMap, Time};

use super::early::Early;
use super::part::{InLockstep, InOrders};
use crate::{Causality, Orders, SendError, SessionConfig};

/// An active host checks for stalling members at shorter intervals than this.
const LOOKS_WITHIN: Duration = Duration::from_millis(2_000);

/// How a message is delivered: in which order with others, and whether it may be lost. Lanes are always there. An order
/// is there when the session's [`Rules::orders`](crate::Rules::orders) name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// By a lane of each link: [`Lane::Unreliable`], sequenced, reliable and in the order of its sender (FIFO), or in
    /// bulk.
    Lane(Lane),
    /// After all messages in this order that its sender had sent or received before. The sender itself does not get
    /// it.
    Causal,
    /// In the same order at all members, which is causal, too. The sender gets it as well.
    Total,
    /// As [`Delivery::Total`], but not before the host and all backups hold it. So no single failure undoes a message
    /// that a member has seen. Its event names [`Delivery::Total`].
    Stable,
    /// In the order of the session times at which the events in the messages happened. So a nearer sender does not
    /// come first. The sender gets it as well.
    Timestamp(Time),
}

impl From<Lane> for Delivery {
    fn from(lane: Lane) -> Self {
        Self::Lane(lane)
    }
}

/// An event of an order.
#[derive(Debug)]
pub(super) enum Happened {
    Message(PeerId, Delivery, Vec<u8>),
    Late(PeerId, Time, Vec<u8>),
    Straggles(PeerId, bool),
    Behind(Delivery),
    Broke(PeerId, CloseCode),
}

#[derive(Debug)]
enum Causal {
    Vector(Box<Vector>),
    Dispatcher(Box<Dispatcher>),
}

impl Causal {
    fn order(&mut self) -> &mut dyn Order {
        match self {
            Self::Vector(order) => &mut **order,
            Self::Dispatcher(order) => &mut **order,
        }
    }
}

/// Takes a message that an order has to send: the receiver, the kind, the lane and the body.
type Put<'a> = dyn FnMut(PeerId, MessageKind, Lane, &[u8]) + 'a;

/// The local time and the session time.
type Times = (Time, Time);

/// The time that an update states: nothing in it is newer.
pub(crate) fn time_of(body: &[u8]) -> Option<Time> {
    let head = FrameHead::decode(&mut Reader::new(body)).ok()?;
    head.base.checked_mul(SAMPLE_UNIT).map(Time::from_micros)
}

/// The orders of one peer.
#[derive(Debug, Default)]
pub(crate) struct Machines {
    causal: Option<InOrders<Causal>>,
    total: Option<InOrders<Total>>,
    timed: Option<InOrders<Box<TimeOrder>>>,
    pub(super) lockstep: Option<InLockstep<Lockstep>>,
    /// For each member: the messages that wait for room in its lanes.
    pub(super) waiting: SortedMap<PeerId, VecDeque<(Lane, Vec<u8>)>>,
    /// Items in time-stamp order that came before this peer knew session time.
    early: Option<Early>,
    /// The members that the others wait for, since when, and for how long at most.
    awaited: Vec<(PeerId, Time, Duration)>,
    /// When the awaited members were checked last.
    looked: Time,
    /// A buffer for what goes beside an update to a member, reused to save allocations.
    pub(super) piggyback: Vec<u8>,
    /// Whether an order was given anything since the messages of all orders were last collected.
    pub(super) is_touched: bool,
}

impl Machines {
    pub(crate) fn new(config: &SessionConfig, is_founder: bool) -> Self {
        let (me, rules) = (config.me, config.rules);
        let causal = |causality| match causality {
            Causality::Vector => Causal::Vector(Box::new(Vector::new(me))),
            Causality::Dispatcher => Causal::Dispatcher(Box::new(Dispatcher::new(me))),
        };
        let lockstep = |config| {
            if is_founder { Lockstep::found(me, config) } else { Lockstep::join(me, config) }
        };
        let Orders { causal: causality, total, timestamp, lockstep: steps } = rules.orders;
        Self {
            causal: causality.and_then(|causality| InOrders::new(|| causal(causality))),
            total: total.then(|| InOrders::new(|| Total::new(me))).flatten(),
            timed: timestamp.and_then(|timed| InOrders::new(|| Box::new(TimeOrder::new(me, timed)))),
            lockstep: steps.and_then(|config| InLockstep::new(|| lockstep(config))),
            early: Some(Early::default()),
            ..Self::default()
        }
    }

    pub(crate) const fn is_any(&self) -> bool {
        self.causal.is_some() || self.total.is_some() || self.timed.is_some() || self.lockstep.is_some()
    }

    pub(super) fn send(&mut self, time: Time, delivery: Delivery, letter: &[u8]) -> Result<(), SendError> {
        let sent = match delivery {
            Delivery::Causal => self.causal.as_mut().map(|causal| causal.order().send(letter)),
            Delivery::Total => self.total.as_mut().map(|total| total.send(letter)),
            Delivery::Stable => self.total.as_mut().map(|total| total.send_stable(letter)),
            Delivery::Timestamp(at) => {
                let timed = self.timed.as_mut().ok_or(SendError::NotInTheRules)?;
                return timed.send(time, at, letter).map(|_| ()).map_err(SendError::from);
            }
            Delivery::Lane(_) => None,
        };
        sent.ok_or(SendError::NotInTheRules)?.map_err(SendError::from)
    }

    pub(super) fn handle(
        &mut self,
        (now, time): Times,
        from: PeerId,
        kind: MessageKind,
        body: &[u8],
    ) -> Result<(), CloseCode> {
        let handled = match kind {
            MessageKind::Causal => self.causal.as_mut().map(|causal| causal.order().handle_frame(from, body)),
            MessageKind::Total => self.total.as_mut().map(|total| total.handle_frame(from, body)),
            MessageKind::Timed => self.timed.as_mut().map(|timed| timed.handle_message(time, from, body)),
            MessageKind::Lockstep => {
                self.lockstep.as_mut().map(|lockstep| lockstep.handle_message(now, from, body))
            }
            _ => None,
        };
        handled.unwrap_or(Err(CloseCode::Unexpected))
    }

    /// Keeps a message until session time is known.
    ///
    /// # Errors
    /// `LimitExceeded` when its sender sends more than may wait; `Unexpected` when the rules do not name the order.
    pub(super) fn keep_early(&mut self, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let early = self.early.as_mut().filter(|_| self.timed.is_some());
        early.ok_or(CloseCode::Unexpected)?.on_message(from, body)
    }

    /// Whether the time-stamp order has begun, if there is one: session time is known, and so are the members.
    pub(super) const fn knows_time(&self) -> bool {
        self.early.is_none() || self.timed.is_none()
    }

    /// Takes the items that wait for session time; `None` after the first call. They are for
    /// [`Machines::tell_early`], once the members are known.
    pub(super) const fn take_early(&mut self) -> Option<Early> {
        self.early.take()
    }

    /// Passes the early items to the time-stamp order. Returns the members that broke its rules with them, and how.
    pub(super) fn tell_early(&mut self, time: Time, early: Early) -> Vec<(PeerId, CloseCode)> {
        self.is_touched = true;
        self.timed.as_mut().map(|timed| early.tell(time, timed)).unwrap_or_default()
    }

    /// The promise for a packet to a member. `None` if the member hears no promises, or if an update in the packet
    /// promises as much.
    pub(super) fn promise(&mut self, time: Time, to: PeerId, has_update: bool) -> Option<Promise> {
        self.timed.as_mut()?.promise_beside(time, to, has_update)
    }

    /// Notes that a packet went to a member. If there was an update in it, `update` is the packet's number, and the
    /// time that the update states.
    pub(crate) fn on_sent(&mut self, time: Time, to: PeerId, update: Option<(u64, Time)>) {
        if let Some(timed) = &mut self.timed {
            timed.on_sent(time, to, update);
        }
    }

    /// Takes the fate of a packet with an update.
    pub(crate) fn on_fate(&mut self, to: PeerId, packet: u64, has_arrived: bool) {
        if let Some(timed) = &mut self.timed {
            timed.on_fate(to, packet, has_arrived);
        }
    }

    /// Takes the time that a member's update states: the member sends nothing older afterwards. Returns whether that
    /// counted as a promise.
    pub(crate) fn handle_update(&mut self, time: Time, from: PeerId, body: &[u8]) -> bool {
        let Some(timed) = &mut self.timed else { return false };
        time_of(body).is_some_and(|stated| timed.handle_update(time, from, stated))
    }

    /// # Errors
    /// `Unexpected` when the rules do not name the order.
    pub(super) fn handle_promise(
        &mut self,
        time: Time,
        from: PeerId,
        promise: Promise,
    ) -> Result<(), CloseCode> {
        let timed = self.timed.as_mut().ok_or(CloseCode::Unexpected)?;
        match &mut self.early {
            Some(early) => early.on_promise(from, promise),
            None => timed.handle_promise(time, from, promise),
        }
        Ok(())
    }

    /// Whether messages are delivered by session time.
    pub(super) const fn is_timed(&self) -> bool {
        self.timed.is_some()
    }

    /// The session time at which something is delivered by time alone.
    pub(super) fn poll_timeout(&self, time: Time) -> Option<Time> {
        self.timed.as_ref()?.poll_timeout(time)
    }

    /// Takes a view; `time` is session time if that is known.
    pub(super) fn handle_view(&mut self, time: Option<Time>, view: &View, step: impl FnOnce(&mut Lockstep)) {
        if let Some(causal) = &mut self.causal {
            causal.order().handle_view(view);
        }
        if let Some(total) = &mut self.total {
            total.handle_view(view);
        }
        if let (Some(timed), Some(time)) = (&mut self.timed, time) {
            timed.handle_view(time, &view.members);
        }
        if let Some(lockstep) = &mut self.lockstep {
            step(lockstep);
        }
        self.waiting.retain(|peer, _| view.members.binary_search(peer).is_ok());
    }

    pub(crate) fn handle_link(&mut self, (now, time): Times, peer: PeerId) {
        self.is_touched = true;
        // The orders send all of this again on the new link.
        self.waiting.remove(&peer);
        if let Some(causal) = &mut self.causal {
            causal.order().handle_link(peer);
        }
        if let Some(total) = &mut self.total {
            total.handle_link(peer);
        }
        match (&mut self.timed, &mut self.early) {
            (Some(_), Some(early)) => early.on_link(peer),
            (Some(timed), None) => timed.handle_linked(time, peer),
            (None, _) => {}
        }
        if let Some(lockstep) = &mut self.lockstep {
            lockstep.handle_linked(now, peer);
        }
    }

    /// Takes the messages that the orders have to send to members with a link. The orders send them again to other
    /// members as soon as these have a link.
    pub(super) fn collect(&mut self, has_link: impl Fn(PeerId) -> bool) {
        if !core::mem::take(&mut self.is_touched) {
            return;
        }
        let Self { causal, total, timed, lockstep, waiting, .. } = self;
        // A trait object, so that this is compiled once: pages download the code.
        let put: &mut Put<'_> = &mut |to, kind, lane, body| {
            if has_link(to) {
                let mut bytes = Vec::with_capacity(1 + body.len());
                bytes.push(kind as u8);
                bytes.extend_from_slice(body);
                waiting.entry(to).or_default().push_back((lane, bytes));
            }
        };
        while let Some(out) = causal.as_mut().and_then(|causal| causal.order().poll_transmit()) {
            put(out.to, MessageKind::Causal, Lane::SESSION, &out.bytes);
        }
        while let Some(out) = total.as_mut().and_then(|total| total.poll_transmit()) {
            put(out.to, MessageKind::Total, Lane::SESSION, &out.bytes);
        }
        while let Some(out) = timed.as_mut().and_then(|timed| timed.poll_transmit()) {
            put(out.to, MessageKind::Timed, Lane::SESSION, &out.bytes);
        }
        while let Some(out) = lockstep.as_mut().and_then(|lockstep| lockstep.poll_transmit()) {
            put(out.to, MessageKind::Lockstep, out.lane, &out.bytes);
        }
    }

    pub(super) fn poll_event(&mut self, time: Time) -> Option<Happened> {
        loop {
            let causal = self.causal.as_mut().and_then(|causal| causal.order().poll_event());
            let event = match causal {
                Some(event) => Some((Delivery::Causal, event)),
                None => self
                    .total
                    .as_mut()
                    .and_then(|total| total.poll_event())
                    .map(|event| (Delivery::Total, event)),
            };
            let Some((delivery, event)) = event else { break };
            match event {
                Event::Delivered(message) => {
                    return Some(Happened::Message(message.from, delivery, message.payload));
                }
                Event::Behind => return Some(Happened::Behind(delivery)),
                Event::Broke(peer, code) => return Some(Happened::Broke(peer, code)),
                Event::View(_) => {}
            }
        }
        // A newcomer delivers nothing before it knows session time, since its clock may be ahead of session time
        // until then.
        if !self.knows_time() {
            return None;
        }
        Some(match self.timed.as_mut()?.poll_event(time)? {
            timestamp::Event::Message(message) => {
                Happened::Message(message.from, Delivery::Timestamp(message.time), message.bytes)
            }
            timestamp::Event::Late(message) => Happened::Late(message.from, message.time, message.bytes),
            timestamp::Event::PeerLate(peer) => Happened::Straggles(peer, true),
            timestamp::Event::PeerOnTime(peer) => Happened::Straggles(peer, false),
        })
    }

    /// The members that have held up the others for longer than `patience` allows. Only a host calls this.
    pub(super) fn stalling(&mut self, now: Time, patience: impl Fn(PeerId) -> Duration) -> Vec<PeerId> {
        let causal = self.causal.as_mut().map(|causal| causal.order().awaited());
        let total = self.total.as_ref().map(|total| total.awaited());
        let mut before = core::mem::take(&mut self.awaited);
        if core::mem::replace(&mut self.looked, now) + LOOKS_WITHIN <= now {
            // After a longer gap, this peer has slept, been suspended, or not hosted. Members held up no others
            // during that time, so all waits begin anew.
            before.clear();
        }
        let mut stalling = Vec::new();
        for peer in causal.into_iter().chain(total).flatten() {
            let known = before.iter().find(|known| known.0 == peer);
            let (_, since, most) = known.copied().unwrap_or((peer, now, Duration::ZERO));
            // A link that has begun anew meanwhile does not know its round trip yet, so the longest patience counts.
            let most = most.max(patience(peer));
            if since + most <= now {
                stalling.push(peer);
            }
            self.awaited.push((peer, since, most));
        }
        stalling
    }
}
