//! The orders of a session (PROTOCOL §4.13 to §4.15). This module passes views, links, time and bytes to the orders
//! that the rules name, and passes their deliveries to the game. It makes no decision itself.

mod early;
mod lockstep;
mod machines;
mod part;

use samovar_order::causal::Causality;
use samovar_order::lockstep::{LockstepConfig, LockstepView, Player};
use samovar_order::timestamp::TimeOrderConfig;
use samovar_order::{View, ViewId};
use samovar_wire::limits::{APP_MESSAGE_MAX, MEMBERS_MAX, PIGGYBACK_MAX, UNSTABLE_BYTES_MAX};
use samovar_wire::object::MessageKind;
use samovar_wire::order::Letter;
use samovar_wire::timed::Promise;
use samovar_wire::view::SPECTATOR;
use samovar_wire::{CloseCode, Duration, Lane, PeerId, Reader, Time, Writer};

use crate::context::Incoming;
use crate::core::{Core, Phase};
use crate::settle::News;
use crate::{Event, SendError};
pub use lockstep::Lockstep;
pub use machines::Delivery;
use machines::Happened;
pub(crate) use machines::{Machines, time_of};

/// How many bytes may wait for room in the lanes to one member. An honest member can lack this much of an order when
/// an epoch ends. Without this bound, this peer would keep everything for a member that answers but takes nothing.
const WAITING_BYTES_MAX: usize = UNSTABLE_BYTES_MAX * MEMBERS_MAX;

/// The host removes a member for which the orders have waited for this many of its round trips, at least
/// [`ANSWERS_WITHIN`] and at most [`FAR_ANSWERS_WITHIN`]. An answer takes a few round trips. On a lossless path, lost
/// data may delay each of them.
const ANSWER_TRIPS: u64 = 20;
const ANSWERS_WITHIN: Duration = Duration::from_millis(5_000);
const FAR_ANSWERS_WITHIN: Duration = Duration::from_millis(20_000);
/// A path that loses more than this share of its packets counts as lossy.
const LOSSY: f32 = 0.003;

/// The orders that a session's messages can have; the same for all its members. An order that is not named costs
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Orders {
    /// [`Delivery::Causal`], and how it is implemented.
    pub causal: Option<Causality>,
    /// [`Delivery::Total`] and [`Delivery::Stable`].
    pub total: bool,
    /// [`Delivery::Timestamp`], and its parameters. Each member promises the others to send nothing older.
    pub timestamp: Option<TimeOrderConfig>,
    /// [`crate::Session::lockstep`].
    pub lockstep: Option<LockstepConfig>,
}

impl Orders {
    /// The feature of this crate that these orders need, if it is off.
    pub(crate) const fn left_out(&self) -> Option<&'static str> {
        if !cfg!(feature = "orders") && (self.causal.is_some() || self.total || self.timestamp.is_some()) {
            Some("orders")
        } else if !cfg!(feature = "lockstep") && self.lockstep.is_some() {
            Some("lockstep")
        } else {
            None
        }
    }
}

/// The messages that this peer has for a member, besides ordered ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// Whether all messages about objects are in the member's lanes already.
    pub(crate) is_all_said: bool,
    /// Whether an object update is due.
    pub(crate) has_update: bool,
}

impl Machines {
    /// Lockstep, for the game; `None` when the rules do not name it. After the game has used it, lockstep may have
    /// something to send.
    pub(crate) fn lockstep(&mut self, now: Time) -> Option<Lockstep<'_>> {
        let machine = self.lockstep.as_mut()?;
        self.is_touched = true;
        Some(Lockstep::new(machine, now))
    }

    /// Checks whether [`Machines::say`] may send a message in one of the orders now.
    ///
    /// # Errors
    /// `TooLarge`; `WouldBlock` while this peer is no member, or, in time-stamp order, does not know session time.
    pub(crate) fn check(&self, core: &Core, delivery: Delivery, message: &[u8]) -> Result<(), SendError> {
        if message.len() > APP_MESSAGE_MAX - Letter::HEAD_MAX {
            return Err(SendError::TooLarge);
        }
        let is_timeless = matches!(delivery, Delivery::Timestamp(_)) && !self.is_in_time(core);
        if core.phase != Phase::Member || is_timeless {
            return Err(SendError::WouldBlock);
        }
        Ok(())
    }

    /// Sends a message in one of the orders. The order carries it to all members. If `to` names one member, the games
    /// of the others never see the message.
    pub(crate) fn say(
        &mut self,
        core: &Core,
        to: Option<PeerId>,
        delivery: Delivery,
        message: &[u8],
    ) -> Result<News, SendError> {
        let letter = Letter { to, message }.to_bytes();
        self.send(core.time(core.now), delivery, &letter)?;
        self.is_touched = true;
        Ok(News::ORDERS)
    }

    pub(crate) fn handle_message(
        &mut self,
        core: &mut Core,
        now: Time,
        Incoming { from, kind, body, .. }: Incoming<'_>,
    ) -> Result<News, CloseCode> {
        if kind == MessageKind::Timed && !self.knows_time() {
            return self.keep_early(from, body).map(|()| News::NONE);
        }
        let result = self.handle((now, core.time(now)), from, kind, body);
        self.is_touched = true;
        // Earlier messages are delivered, even if this one is a fault.
        self.deliver(core, now);
        result.map(|()| News::NONE)
    }

    /// Takes a datagram about orders. It may overtake the view that makes its sender a member.
    pub(crate) fn handle_datagram(
        &mut self,
        core: &Core,
        now: Time,
        Incoming { from, kind, body, .. }: Incoming<'_>,
    ) -> Result<News, CloseCode> {
        if kind == MessageKind::Lockstep {
            let machine = self.lockstep.as_mut().ok_or(CloseCode::Unexpected)?;
            machine.handle_datagram(now, from, body)?;
            self.is_touched = true;
            return Ok(News::NONE);
        }
        let mut reader = Reader::new(body);
        let promise = Promise::decode(&mut reader).and_then(|promise| reader.end().map(|()| promise));
        let promise = promise.map_err(|_| CloseCode::Malformed)?;
        self.handle_promise(core.time(now), from, promise)?;
        Ok(News::ORDERS)
    }

    /// Passes the view to the orders, which depend only on its members, backups and host.
    pub(crate) fn tell(&mut self, core: &Core, now: Time) {
        if core.phase != Phase::Member || !self.is_any() {
            return;
        }
        let (host, view) = (core.host(), core.view());
        let mut members: Vec<_> = view.members().map(|member| member.peer).collect();
        samovar_wire::sorted::sort_by_key(&mut members, |peer| *peer);
        let id = ViewId { term: core.term(), number: view.roll() };
        let players: Vec<_> = view.members().map(|member| player(&member)).collect();
        let backups = view.backups().to_vec();
        let time = self.knows_time().then(|| core.time(now));
        self.handle_view(time, &View { id, host, backups, members }, |lockstep| {
            lockstep.handle_view(now, LockstepView { term: id.term, host, members: &players });
        });
        self.is_touched = true;
    }

    pub(crate) fn run(&mut self, core: &mut Core, now: Time) -> News {
        if let Some(lockstep) = &mut self.lockstep
            && lockstep.poll_timeout().is_some_and(|at| at <= now)
        {
            lockstep.handle_timeout(now);
            self.is_touched = true;
        }
        if !self.is_timed() || !core.clock.is_known() || core.phase != Phase::Member {
            return News::NONE;
        }
        if !core.out.events.has_room_for_own() {
            return News::NONE;
        }
        if let Some(early) = self.take_early() {
            self.tell(core, now);
            self.deliver(core, now);
            for (from, code) in self.tell_early(core.time(now), early) {
                core.net.accuse(from, code);
            }
        }
        News::ORDERS
    }

    /// When an order has something to send, or does something by time alone.
    pub(crate) fn due(&self, core: &Core) -> Time {
        if self.is_touched && self.is_any() && core.net.links().any(|(_, link)| link.admitted) {
            return core.now;
        }
        let lockstep = self.lockstep.as_ref().and_then(|lockstep| lockstep.poll_timeout());
        let session = core.time(core.now);
        let timed = self.poll_timeout(session).filter(|_| core.clock.is_known());
        let timed = timed.map(|at| core.now + at.since(session));
        lockstep.into_iter().chain(timed).min().unwrap_or(Time::FAR)
    }

    /// Whether messages and promises can be given session times, if an order needs them.
    fn is_in_time(&self, core: &Core) -> bool {
        self.knows_time() && (core.clock.is_known() || !self.is_timed())
    }

    /// Tells lockstep which members are missed, so that its frames do not wait for them.
    pub(crate) fn give_up_on(&mut self, now: Time, missed: &samovar_wire::SortedSet<PeerId>) {
        if let Some(lockstep) = &mut self.lockstep {
            missed.iter().for_each(|&peer| lockstep.handle_missed(now, peer));
            self.is_touched |= !missed.is_empty();
        }
    }

    /// Delivers to the game the messages that are next in their orders, and reports other events of the orders.
    pub(crate) fn deliver(&mut self, core: &mut Core, now: Time) {
        let time = core.time(now);
        while let Some(happened) = self.poll_event(time) {
            match happened {
                Happened::Message(from, delivery, bytes) => {
                    if let Some(bytes) = open(core.me(), bytes) {
                        core.push_event(Event::Message { from, delivery, bytes });
                    }
                }
                Happened::Late(from, time, bytes) => {
                    if let Some(bytes) = open(core.me(), bytes) {
                        core.push_event(Event::Late { from, time, bytes });
                    }
                }
                Happened::Straggles(peer, is_late) => {
                    core.push_event(Event::MemberLate { peer, is_late });
                }
                Happened::Behind(delivery) => core.push_event(Event::Behind(delivery)),
                Happened::Broke(peer, code) => core.net.accuse(peer, code),
            }
        }
    }

    /// Moves ordered messages for a member into its lanes, as far as there is room. Messages about objects go first.
    pub(crate) fn pump(
        &mut self,
        core: &mut Core,
        now: Time,
        to: PeerId,
        Beside { is_all_said, has_update }: Beside,
    ) {
        self.collect(|peer| core.net.is_admitted(peer));
        let promise = if self.is_in_time(core) { self.promise(core.time(now), to, has_update) } else { None };
        let Some(link) = core.net.member_mut(to) else { return };
        if let Some(lockstep) = &mut self.lockstep {
            lockstep.set_lossy(to, link.transport.stats().loss_out > LOSSY);
        }
        self.piggyback.clear();
        if let Some(promise) = promise {
            let mut out = Writer::new(&mut self.piggyback);
            out.u8(MessageKind::Promise as u8);
            promise.encode(&mut out);
            debug_assert!(self.piggyback.len() <= PIGGYBACK_MAX, "two numbers and a kind");
        }
        link.transport.set_piggyback(&self.piggyback);
        let Some(waiting) = self.waiting.get_mut(&to) else { return };
        let mut is_open = is_all_said;
        waiting.retain(|(lane, bytes)| {
            if *lane == Lane::Unreliable {
                // An unreliable message that does not fit is lost.
                let _ = link.transport.send(*lane, bytes);
                return false;
            }
            is_open = is_open && link.transport.send(*lane, bytes).is_ok();
            !is_open
        });
        if !is_open && waiting.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > WAITING_BYTES_MAX {
            core.net.accuse(to, CloseCode::LimitExceeded);
        }
    }

    /// The members that have held up the orders for too long. Only a host calls this.
    pub(crate) fn stalling_members(&mut self, core: &Core, now: Time) -> Vec<PeerId> {
        self.stalling(now, |peer| {
            let trip = core.net.link(peer).and_then(|link| link.transport.round_trip()).unwrap_or_default();
            trip.times(ANSWER_TRIPS).clamp(ANSWERS_WITHIN, FAR_ANSWERS_WITHIN)
        })
    }
}

/// The message in a letter; `None` when it is not for this peer's game.
fn open(me: PeerId, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let letter = Letter::decode(&bytes).ok()?;
    let is_mine = letter.to.is_none_or(|to| to == me);
    let head = bytes.len() - letter.message.len();
    is_mine.then(|| {
        bytes.drain(..head);
        bytes
    })
}

fn player(member: &samovar_roster::Member<'_>) -> Player {
    let plays = member.record.attributes & SPECTATOR == 0;
    Player { peer: member.peer, seat: member.record.seat, plays }
}
