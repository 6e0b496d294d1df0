//! Time-stamp order in a star: everybody hears the host alone, and what it says stands for everybody.
//!
//! Members submit their messages to the host and promise it that nothing older comes. What nothing older can come before
//! any more gets the next place in the host's log, which all read, its sender, too: so all are told the same in the same
//! order, and who is late is one member's judgement and not each one's own. The log is that of the total order: when
//! the host is lost all survivors have read it up to the same place, and what they said and did not read there they say
//! again to the next host, which goes on behind the last time that was read.

use samovar_wire::timed::Promise;
use samovar_wire::{CloseCode, PeerId, SortedSet, Time, Writer};

use super::{Delivery, Event, SendError, TimeOrderConfig};
use crate::log::{Entry, LATE, Log, PEER_LATE, PEER_ON_TIME, Purpose};
use crate::order::{self, Transmit, View};

/// Time-stamp order at one member of a star.
///
/// It is driven as [`crate::Order`] is, and told session time besides: [`StarTimeOrder::promise`] for each packet to the
/// host that goes anyway, and [`StarTimeOrder::handle_time`] when it wants that at [`StarTimeOrder::poll_timeout`].
#[derive(Clone, Debug)]
pub struct StarTimeOrder {
    config: TimeOrderConfig,
    log: Log,
    /// The earliest time that a message of this peer can still have.
    floor: Time,
}

/// What happened to the order itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StarEvent {
    /// As in a mesh.
    Timed(Event),
    /// As [`order::Event::Behind`].
    Behind,
    /// As [`order::Event::Broke`].
    Broke(PeerId, CloseCode),
}

impl StarTimeOrder {
    /// The part of `me`, which waits for its first view.
    #[must_use]
    pub fn new(me: PeerId, config: TimeOrderConfig) -> Self {
        let log = Log::by_time(me, config);
        Self { config, log, floor: Time::ZERO }
    }

    /// As [`crate::Order::handle_view`].
    pub fn handle_view(&mut self, view: &View) {
        self.log.handle_view(view);
    }

    /// As [`crate::Order::handle_link`].
    pub fn handle_link(&mut self, peer: PeerId) {
        self.log.handle_link(peer);
    }

    /// Takes one message of the kind TIMED.
    ///
    /// # Errors
    /// As [`crate::Order::handle_frame`].
    pub fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        self.log.handle_frame(from, bytes)
    }

    /// Sends a message to all members, this one included. What it tells of happens at `time`.
    ///
    /// # Errors
    /// See [`SendError`]; then nothing was sent.
    pub fn send(&mut self, now: Time, time: Time, bytes: &[u8]) -> Result<(), SendError> {
        super::check(now, self.floor, time, bytes)?;
        if !self.log.is_in_group() {
            // Nobody waits for who is not there yet.
            return Err(SendError::WouldBlock);
        }
        let mut payload = Vec::with_capacity(bytes.len() + 9);
        let mut out = Writer::new(&mut payload);
        out.varint(time.as_micros());
        out.bytes(bytes);
        self.log.send(&payload, false).map_err(|_| SendError::WouldBlock)
    }

    /// The promise for a packet to the host: from now on this peer says nothing older than now and its lookahead. `None`
    /// for others, and while there is no host to hear it.
    pub fn promise(&mut self, now: Time, to: PeerId) -> Option<Promise> {
        if !self.log.submits_to(to) {
            return None;
        }
        self.raise_floor(now);
        Some(Promise { until: self.floor, sent: self.log.last_pending() })
    }

    /// The earliest time that a message of this peer can still have.
    #[must_use]
    pub const fn earliest(&self) -> Time {
        self.floor
    }

    fn raise_floor(&mut self, now: Time) {
        self.floor = self.floor.max(now + self.config.lookahead);
    }

    /// A promise came in a packet.
    pub fn handle_promise(&mut self, now: Time, from: PeerId, promise: Promise) {
        self.log.handle_promise(now, from, promise);
    }

    /// Time passes. At a host some messages may have their places now: whether any has.
    pub fn handle_time(&mut self, now: Time) -> bool {
        if !self.log.is_host() {
            return false;
        }
        self.raise_floor(now);
        self.log.handle_time(now, self.floor)
    }

    /// When time alone does something.
    #[must_use]
    pub fn poll_timeout(&self, now: Time) -> Option<Time> {
        self.log.poll_timeout(now)
    }

    /// The next message for another member, by a reliable lane that keeps the order.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.log.poll_transmit()
    }

    /// As [`crate::Order::awaited`].
    #[must_use]
    pub fn awaited(&self) -> SortedSet<PeerId> {
        self.log.awaited()
    }

    /// As [`crate::Order::stored_bytes`].
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        self.log.stored_bytes()
    }

    /// The next thing for the game.
    pub fn poll_event(&mut self) -> Option<StarEvent> {
        loop {
            match self.log.poll_event()? {
                order::Event::Delivered(item) => {
                    if let Some(event) = read(&item.payload) {
                        return Some(StarEvent::Timed(event));
                    }
                }
                order::Event::Behind => return Some(StarEvent::Behind),
                order::Event::Broke(peer, code) => return Some(StarEvent::Broke(peer, code)),
                order::Event::View(_) => {}
            }
        }
    }
}

/// What an entry says to the game.
fn read(item: &[u8]) -> Option<Event> {
    let entry = Entry::decode(item, Purpose::Time).ok()?;
    let (time, bytes) = entry.timed().ok()?;
    let delivery = || Delivery { time, from: entry.origin, number: entry.number, bytes: bytes.to_vec() };
    Some(match entry.flags {
        0 => Event::Message(delivery()),
        LATE => Event::Late(delivery()),
        PEER_LATE => Event::PeerLate(entry.origin),
        PEER_ON_TIME => Event::PeerOnTime(entry.origin),
        _ => return None,
    })
}
