//! The orders of a session: views, links, time and bytes are taken to those that its rules name, and what they deliver to
//! the game (PROTOCOL §4.13 to §4.15). They decide; this carries.

mod early;
mod lockstep;
mod machines;

use samovar_order::causal::Causality;
use samovar_order::lockstep::{LockstepConfig, LockstepView, Player};
use samovar_order::timestamp::TimeOrderConfig;
use samovar_order::{View, ViewId};
use samovar_wire::limits::{APP_MESSAGE_MAX, MEMBERS_MAX, RIDER_MAX, UNSTABLE_BYTES_MAX};
use samovar_wire::object::MessageKind;
use samovar_wire::order::Letter;
use samovar_wire::timed::Promise;
use samovar_wire::view::SPECTATOR;
use samovar_wire::{CloseCode, Duration, Lane, PeerId, Reader, Time, Writer};

use super::{Event, Phase, SendError, Session, Target};
pub use lockstep::Lockstep;
pub use machines::Delivery;
use machines::Happened;
pub(super) use machines::{Machines, time_of};

/// What may wait for room in the lanes to one member: as much as an honest one can lack of an order when an epoch ends.
/// One that answers and takes nothing would else have everything kept for it.
const WAITING_BYTES_MAX: usize = UNSTABLE_BYTES_MAX * MEMBERS_MAX;

/// A member that the others have waited for so long is removed: so many round trips to it, within these bounds. An answer takes a
/// few, and where a path is a stream each may have to wait for what was lost before it.
const ANSWER_TRIPS: u64 = 20;
const ANSWERS_WITHIN: Duration = Duration::from_millis(5_000);
const FAR_ANSWERS_WITHIN: Duration = Duration::from_millis(20_000);
/// Above this part of packets lost a path is one that loses some.
const LOSSY: f32 = 0.003;

/// The orders that a session's messages can have; the same for all its members. None costs anything unless it is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Orders {
    /// [`Delivery::Causal`], and how it is brought about.
    pub causal: Option<Causality>,
    /// [`Delivery::Total`] and [`Delivery::Stable`].
    pub total: bool,
    /// [`Delivery::Timestamp`]: by everybody's promises to everybody.
    pub timestamp: Option<TimeOrderConfig>,
    /// [`Session::lockstep`].
    pub lockstep: Option<LockstepConfig>,
}

impl Session {
    /// Sends a message in one of the orders. Everybody gets it, so that it has its place among the others; the games of
    /// those that it is not for never see it.
    pub(super) fn send_ordered(
        &mut self,
        target: Target,
        delivery: Delivery,
        message: &[u8],
    ) -> Result<(), SendError> {
        if message.len() > APP_MESSAGE_MAX - Letter::HEAD_MAX {
            return Err(SendError::TooLarge);
        }
        let is_timeless = matches!(delivery, Delivery::Timestamp(_)) && !self.knows_time();
        if self.phase != Phase::Member || is_timeless {
            return Err(SendError::WouldBlock);
        }
        let to = match target {
            Target::All => None,
            other => match self.receiver(other) {
                Some(peer) => Some(peer),
                None => return Ok(()),
            },
        };
        let letter = Letter { to, message }.to_bytes();
        let time = self.clock.time(self.last_now);
        self.orders.send(time, delivery, &letter)?;
        self.orders.is_touched = true;
        self.deliver_ordered(self.last_now);
        Ok(())
    }

    /// The one member that a target names, if it is one.
    pub(super) fn receiver(&self, target: Target) -> Option<PeerId> {
        match target {
            Target::Peer(peer) => Some(peer),
            Target::Host => Some(self.host()),
            Target::Owner(object) => self.objects.get(object).map(samovar_objects::Object::owner),
            Target::All => None,
        }
    }

    /// The machine of lockstep for this peer's game; `None` when the rules name none. To ask for it is a step of the game.
    pub fn lockstep(&mut self, now: Time) -> Option<Lockstep<'_>> {
        self.stepped(now);
        let machine = self.orders.lockstep.as_mut()?;
        self.orders.is_touched = true;
        Some(Lockstep::new(machine, now))
    }

    pub(super) fn handle_order(
        &mut self,
        now: Time,
        from: PeerId,
        kind: MessageKind,
        body: &[u8],
    ) -> Result<(), CloseCode> {
        if kind == MessageKind::Timed && !self.orders.knows_time() {
            return self.orders.keep_early(from, body);
        }
        let time = self.clock.time(now);
        let result = self.orders.handle((now, time), from, kind, body);
        self.orders.is_touched = true;
        self.deliver_ordered(now);
        result
    }

    /// Datagrams about orders. One may overtake what makes its sender a member, or what the rules are.
    pub(super) fn handle_order_datagram(
        &mut self,
        now: Time,
        from: PeerId,
        kind: MessageKind,
        body: &[u8],
    ) -> Result<(), CloseCode> {
        if kind == MessageKind::Lockstep {
            let machine = self.orders.lockstep.as_mut().ok_or(CloseCode::Unexpected)?;
            machine.handle_datagram(now, from, body)?;
            self.orders.is_touched = true;
            return Ok(());
        }
        let mut reader = Reader::new(body);
        let promise = Promise::decode(&mut reader).and_then(|promise| reader.end().map(|()| promise));
        let promise = promise.map_err(|_| CloseCode::Malformed)?;
        self.orders.handle_promise(self.clock.time(now), from, promise)?;
        self.deliver_ordered(now);
        Ok(())
    }

    /// An update came, whose time is a promise in a mesh.
    pub(super) fn handle_update(&mut self, now: Time, from: PeerId, body: &[u8]) {
        if self.orders.handle_update(self.clock.time(now), from, body) {
            self.deliver_ordered(now);
        }
    }

    /// The view as the orders count them.
    fn view_id(&self) -> ViewId {
        ViewId { term: self.term(), number: self.view.roll() }
    }

    /// Tells the orders who is there. They go by members, backups and host: the rest of a view does not concern them.
    pub(super) fn tell_orders(&mut self, now: Time) {
        if self.phase != Phase::Member || !self.orders.is_any() {
            return;
        }
        let host = self.host();
        let mut members: Vec<_> = self.view.members().map(|member| member.peer).collect();
        samovar_wire::sorted::sort_by_key(&mut members, |peer| *peer);
        let id = self.view_id();
        let players: Vec<_> = self.view.members().map(|member| player(&member)).collect();
        let backups = self.view.backups().to_vec();
        let time = self.orders.knows_time().then(|| self.clock.time(now));
        self.orders.handle_view(time, &View { id, host, backups, members }, |lockstep| {
            lockstep.handle_view(now, LockstepView { term: id.term, host, members: &players });
        });
        self.orders.is_touched = true;
        self.deliver_ordered(now);
    }

    /// The link to a member begins: what was under way on a former one may be lost.
    pub(super) fn link_orders(&mut self, now: Time, peer: PeerId) {
        let time = self.clock.time(now);
        self.orders.handle_link((now, time), peer);
    }

    /// Whose silence frames of lockstep do not wait for.
    pub(super) fn give_up_on(&mut self, now: Time, missed: &samovar_wire::SortedSet<PeerId>) {
        if let Some(lockstep) = &mut self.orders.lockstep {
            missed.iter().for_each(|&peer| lockstep.handle_missed(now, peer));
            self.orders.is_touched |= !missed.is_empty();
        }
    }

    pub(super) fn run_orders(&mut self, now: Time) {
        if let Some(lockstep) = &mut self.orders.lockstep
            && lockstep.poll_timeout().is_some_and(|at| at <= now)
        {
            lockstep.handle_timeout(now);
            self.orders.is_touched = true;
        }
        if self.orders.is_timed() && self.clock.is_known() && self.phase == Phase::Member {
            if let Some(early) = self.orders.take_early() {
                self.tell_orders(now);
                for (from, code) in self.orders.tell_early(self.clock.time(now), early) {
                    self.on_misbehaviour(now, from, code);
                }
            }
            self.deliver_ordered(now);
        }
    }

    /// When time alone makes an order do something, or it has something to send.
    pub(super) fn orders_due(&self) -> Time {
        if self.orders.is_touched
            && self.orders.is_any()
            && self.links.values().any(|peering| peering.admitted)
        {
            return self.last_now;
        }
        let lockstep = self.orders.lockstep.as_ref().and_then(|lockstep| lockstep.poll_timeout());
        let session = self.clock.time(self.last_now);
        let timed = self.orders.poll_timeout(session).filter(|_| self.clock.is_known());
        let timed = timed.map(|at| self.last_now + at.since(session));
        lockstep.into_iter().chain(timed).min().unwrap_or(Time::FAR)
    }

    /// Whether messages and promises can be given session times, if that matters.
    fn knows_time(&self) -> bool {
        self.orders.knows_time() && (self.clock.is_known() || !self.orders.is_timed())
    }

    /// Takes to the game what its turn has come for.
    pub(super) fn deliver_ordered(&mut self, now: Time) {
        let time = self.clock.time(now);
        while let Some(happened) = self.orders.poll_event(time) {
            match happened {
                Happened::Message(from, delivery, bytes) => {
                    if let Some(bytes) = self.open(bytes) {
                        self.push_event(Event::Message { from, delivery, bytes });
                    }
                }
                Happened::Late(from, time, bytes) => {
                    if let Some(bytes) = self.open(bytes) {
                        self.push_event(Event::Late { from, time, bytes });
                    }
                }
                Happened::Straggles(peer, is_late) => {
                    self.push_event(Event::MemberLate { peer, is_late });
                }
                Happened::Behind(delivery) => self.push_event(Event::Behind(delivery)),
                Happened::Broke(peer, code) => self.on_misbehaviour(now, peer, code),
            }
        }
    }

    /// What is for this peer's game.
    fn open(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let letter = Letter::decode(&bytes).ok()?;
        let is_mine = letter.to.is_none_or(|to| to == self.config.me);
        let head = bytes.len() - letter.message.len();
        is_mine.then(|| {
            bytes.drain(..head);
            bytes
        })
    }

    /// Moves what the orders say to a member into its lanes, behind what there is to say about objects, as far as there is
    /// room; whether there was for all.
    pub(super) fn pump_orders(&mut self, now: Time, to: PeerId, is_all_said: bool) -> bool {
        if !self.orders.is_any() {
            return is_all_said;
        }
        let links = &self.links;
        self.orders.collect(|peer| links.get(&peer).is_some_and(|peering| peering.admitted));
        let time = self.clock.time(now);
        let knows_time = self.knows_time();
        let peering = self.links.get(&to);
        let has_update = peering.is_some_and(|peering| {
            let at = peering.update_at(to, &self.objects, self.update_interval);
            at.max(peering.link.budget_at()) <= now
        });
        let promise = if knows_time { self.orders.promise(time, to, has_update) } else { None };
        let Some(peering) = self.links.get_mut(&to).filter(|peering| peering.admitted) else {
            return is_all_said;
        };
        if let Some(lockstep) = &mut self.orders.lockstep {
            lockstep.set_lossy(to, peering.link.stats().loss_out > LOSSY);
        }
        self.scratch.clear();
        if let Some(promise) = promise {
            let mut out = Writer::new(&mut self.scratch);
            out.u8(MessageKind::Promise as u8);
            promise.encode(&mut out);
            debug_assert!(self.scratch.len() <= RIDER_MAX, "two numbers and a kind");
        }
        peering.link.set_rider(&self.scratch);
        let Some(waiting) = self.orders.waiting.get_mut(&to) else { return is_all_said };
        let mut is_open = is_all_said;
        waiting.retain(|(lane, bytes)| {
            if *lane == Lane::Unreliable {
                // What does not fit is lost, as it may be.
                let _ = peering.link.send(*lane, bytes);
                return false;
            }
            is_open = is_open && peering.link.send(*lane, bytes).is_ok();
            !is_open
        });
        if !is_open && waiting.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > WAITING_BYTES_MAX {
            self.on_misbehaviour(now, to, CloseCode::LimitExceeded);
        }
        is_open
    }

    /// At the host: members that hold up all others.
    pub(super) fn stalling(&mut self, now: Time) -> Vec<PeerId> {
        let links = &self.links;
        self.orders.stalling(now, |peer| {
            let trip = links.get(&peer).and_then(|peering| peering.link.round_trip()).unwrap_or_default();
            trip.times(ANSWER_TRIPS).clamp(ANSWERS_WITHIN, FAR_ANSWERS_WITHIN)
        })
    }
}

fn player(member: &samovar_roster::Member<'_>) -> Player {
    let plays = member.record.attributes & SPECTATOR == 0;
    Player { peer: member.peer, seat: member.record.seat, plays }
}
