//! The connections to one other end, a member or the relay, and how far each is trusted.
//!
//! A pair of peers has a ladder of three rungs: a *direct* connection, data channels to the relay, and the relay's
//! WebSocket. The lowest open rung carries packets at once. A higher one takes over when something was heard on it, and
//! hands back when it is silent. In doubt a packet goes two ways, and the link drops duplicates, so no step on the
//! ladder leaves a hole.
//!
//! ```text
//!          offer or answer                both channels open            first packet heard
//!   Idle -------------------> opening ------------------------> unproven ------------------> proven
//!    ^                           |                                 |                           |
//!    |  unanswered, late, closed |          closed, silent 3 s     |  closed, silent 10 s      |
//!    +--- after a pause, again --+---------------------------------+---------------------------+
//!
//!   proven:  heard --- unusually silent --> in doubt ---- silent 600 ms ----> fallen ---- silent 3 s ----> renewed:
//!            alone                          two ways                          two ways                     another
//!              ^                               |                                 |                         beside it
//!              +------- heard again -----------+        heard for 1 s to 16 s    |
//!              +-----------------------------------------------------------------+
//! ```

mod complaints;
mod connection;
mod presence;
mod rhythm;
mod trust;

use samovar_wire::{Duration, Time};

pub use complaints::COMPLAIN_EVERY;
use complaints::Complaints;
pub use connection::AttemptEnd;
use connection::{Attempt, Open};
use presence::Presence;
pub(crate) use rhythm::Rhythm;
use trust::Trust;
pub use trust::{TRUST_FORGETS, TRUST_MAX, TRUST_MIN};

/// The first pause after a failed attempt. It doubles with each further one up to [`RETRY_MAX`], and begins anew when
/// something was heard on a connection, when the network changed, and when the relay is about to stop.
pub const RETRY_MIN: Duration = Duration::from_millis(2_000);
/// The longest pause after a failed attempt.
pub const RETRY_MAX: Duration = Duration::from_millis(20_000);
/// An offer without an answer is given up after this time.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(6_000);
/// An attempt that is not open this long after it began is given up.
pub const OPEN_WITHIN: Duration = Duration::from_millis(10_000);
/// An open connection on which nothing was ever heard is given up after this time.
pub const PROVE_WITHIN: Duration = Duration::from_millis(3_000);
/// A silence is late this long before it is unusual: one frame.
const LATE_BEFORE: Duration = Duration::from_millis(15);
/// An offer from a peer is ignored if it comes within this time after the last one.
const OFFER_INTERVAL: Duration = Duration::from_millis(300);
/// An offer sent within this time may cross the other end's offer, and stands. A receiver of our offer answers within
/// this time; a browser may need a second of it to find its candidates. Without an answer the offer may be lost, with
/// the way by which the other end was reached before.
const CROSSING: Duration = Duration::from_millis(1_500);
/// The higher id waits this much longer than the lower one before it offers a connection beside a silent one.
const PRECEDENCE: Duration = Duration::from_millis(1_000);

/// The way that packets take to a peer now, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Over data channels to the peer.
    Direct,
    /// Over a carrier: the host, or a backup.
    ByHost,
    /// Over data channels to the relay.
    RelayedUdp,
    /// Over the WebSocket to the relay.
    Relayed,
    /// Not at all, for now.
    None,
}

impl Path {
    /// Whether packets go through the relay.
    pub(crate) const fn is_relayed(self) -> bool {
        matches!(self, Self::RelayedUdp | Self::Relayed)
    }
}

/// The silences after which a connection is doubted, has fallen, is replaced and is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// In doubt at the latest: packets go the next way, too. If the next way is data channels, doubt begins when the
    /// silence is unusual, 60 ms at the soonest, or late (15 ms before that). The WebSocket is spared: an urgent
    /// message on it, such as a claim when a host is silent, would wait behind lost packets.
    pub doubt: Duration,
    /// Fallen: the next way takes over.
    pub fall: Duration,
    /// Another connection is opened beside this one.
    pub renew: Duration,
    /// The connection is closed.
    pub abandon: Duration,
}

impl Patience {
    /// Between two peers, each of which sends at least every 100 ms (PROTOCOL §2.4).
    pub const PAIR: Self = Self {
        doubt: Duration::from_millis(250),
        fall: Duration::from_millis(600),
        renew: Duration::from_millis(3_000),
        abandon: Duration::from_millis(10_000),
    };

    /// To the relay, which is asked for an echo every 200 ms; silence counts from the first request without one. This
    /// peer sends nothing on a fallen connection, so it is closed when another is wanted.
    pub const RELAY: Self = Self {
        doubt: Duration::from_millis(450),
        fall: Duration::from_millis(1_000),
        renew: Duration::from_millis(3_000),
        abandon: Duration::from_millis(3_000),
    };
}

/// The connections to one other end: one that carries packets, and one that may take its place.
#[derive(Debug)]
pub(crate) struct PathState {
    patience: Patience,
    /// The connection that carries packets.
    current: Option<Open>,
    /// The connection that is being opened, or that is open beside the current one and not proven yet.
    next: Option<Attempt>,
    trust: Trust,
    retry_at: Time,
    failures: u32,
    /// The network changed: another connection is wanted although the current one works.
    is_renewed: bool,
    last_offer: Option<Time>,
    /// The complaints over any way.
    complaints: Complaints,
    /// The arrivals over any way.
    presence: Presence,
    /// Bytes in the driver's buffer of the current connection.
    pub(crate) backlog: u64,
    /// A member carries the packets: complaints of silence go to it, and never over the WebSocket.
    pub(crate) is_carried: bool,
}

/// The result of a connection's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) attempt: u32,
    /// The end of the attempt, if it was not reported before.
    pub(crate) end: Option<AttemptEnd>,
    /// Whether it carried packets, and no other takes its place.
    pub(crate) was_last: bool,
}

impl PathState {
    pub(crate) fn new(now: Time, patience: Patience) -> Self {
        Self {
            patience,
            current: None,
            next: None,
            trust: Trust::default(),
            retry_at: now,
            failures: 0,
            is_renewed: false,
            last_offer: None,
            complaints: Complaints::default(),
            presence: Presence::default(),
            backlog: 0,
            is_carried: false,
        }
    }

    /// Whether there is no connection at all, not even an attempt.
    pub(crate) const fn is_idle(&self) -> bool {
        self.current.is_none() && self.next.is_none()
    }

    /// The connection that carries packets.
    pub(crate) fn current(&self) -> Option<u32> {
        self.current.map(|current| current.attempt)
    }

    /// This end's description of an attempt goes out. The other end's number of the attempt, if the other end offered.
    pub(crate) fn on_described(&mut self, now: Time, asked: u32) -> Option<Option<u32>> {
        let next = self.next.as_mut().filter(|next| next.number == asked && next.open.is_none())?;
        next.described = Some(now);
        Some(next.answers)
    }

    /// Whether this attempt awaits an answer; afterwards it does not.
    pub(crate) fn takes_answer(&mut self, asked: u32) -> bool {
        let Some(next) = &mut self.next else { return false };
        let waits = next.number == asked && next.awaits_answer;
        next.awaits_answer &= !waits;
        waits
    }

    /// Whether it is time to offer. The higher id offers only to replace a connection, and leaves the lower one
    /// [`PRECEDENCE`].
    pub(crate) fn wants_offer(&self, now: Time, is_lower: bool) -> bool {
        self.offer_at(is_lower) <= now
    }

    fn offer_at(&self, is_lower: bool) -> Time {
        match self.current {
            _ if self.next.is_some() => Time::FAR,
            _ if self.is_renewed => self.retry_at,
            None if is_lower => self.retry_at,
            None => Time::FAR,
            Some(current) => {
                let patience = if is_lower { Duration::ZERO } else { PRECEDENCE };
                current.silent_at(self.patience.renew + patience).max(self.retry_at)
            }
        }
    }

    /// Ends the pause before the next offer.
    pub(crate) fn hurry(&mut self, now: Time) {
        self.retry_at = self.retry_at.min(now);
    }

    /// The relay was away, so an unanswered offer or its answer may be lost: it is made again.
    pub(crate) fn offer_again(&mut self, now: Time) -> Option<Closed> {
        self.next.filter(|next| next.awaits_answer)?;
        self.retry_at = now;
        self.supersede()
    }

    /// The network changed: an attempt from before is replaced at once.
    pub(crate) fn renew(&mut self, now: Time) -> Option<Closed> {
        (self.retry_at, self.failures, self.is_renewed) = (now, 0, true);
        self.supersede()
    }

    /// Begins an attempt. `answers` is the other end's number of it, if the other end offered.
    pub(crate) fn on_opening(&mut self, now: Time, number: u32, answers: Option<u32>) {
        self.is_renewed = false;
        let awaits_answer = answers.is_none();
        self.next = Some(Attempt {
            number,
            since: now,
            described: None,
            answers,
            awaits_answer,
            is_crossed: false,
            open: None,
        });
    }

    /// Whether to answer an offer: not if ours crosses it and has precedence, and not too often.
    pub(crate) fn accepts_offer(&mut self, now: Time, ours_has_precedence: bool) -> bool {
        let crosses = |next: &&mut Attempt| next.crosses(now);
        let crossed = self.next.as_mut().filter(|_| ours_has_precedence).filter(crosses);
        let is_crossed = crossed.is_some();
        if let Some(ours) = crossed {
            (ours.since, ours.is_crossed) = (now, true);
        }
        let too_soon = self.last_offer.is_some_and(|last| last + OFFER_INTERVAL > now);
        if is_crossed || too_soon {
            return false;
        }
        self.last_offer = Some(now);
        true
    }

    /// Drops the attempt under way in favour of another.
    pub(crate) fn supersede(&mut self) -> Option<Closed> {
        let next = self.next.take()?;
        let end = next.open.is_none().then_some(AttemptEnd::Superseded);
        Some(Closed { attempt: next.number, end, was_last: false })
    }

    /// Both channels are open; whether that ends an attempt.
    pub(crate) fn on_opened(&mut self, now: Time, opened: u32) -> bool {
        let Some(next) = &mut self.next else { return false };
        if next.number != opened || next.open.is_some() {
            return false;
        }
        next.open = Some(now);
        if self.current.is_none() {
            self.promote(now);
        }
        true
    }

    /// Makes the next connection the current one.
    fn promote(&mut self, now: Time) {
        if let Some(next) = self.next.take() {
            self.current = Some(Open::new(next.number, now));
            self.backlog = 0;
            self.trust.restart(now);
        }
    }

    /// Something came on a connection. The connection that it replaces, if any; `None` if there is no such connection.
    pub(crate) fn on_heard(&mut self, now: Time, from: u32) -> Option<Option<Closed>> {
        let mut replaced = None;
        if self.next.is_some_and(|next| next.number == from && next.open.is_some()) {
            replaced = self.current.map(|old| Closed { attempt: old.attempt, end: None, was_last: false });
            self.promote(now);
        }
        let current = self.current.as_mut().filter(|current| current.attempt == from)?;
        self.trust.on_heard(now, current.silence(now), self.patience);
        current.on_heard(now);
        self.failures = 0;
        Some(replaced)
    }

    /// Something of the other end came, over any way.
    pub(crate) fn on_present(&mut self, now: Time) {
        self.presence.on_heard(now);
    }

    /// A request for an echo went out on the current connection; silence counts from the first without one.
    pub(crate) fn on_asked(&mut self, now: Time) {
        if let Some(current) = &mut self.current {
            current.on_asked(now);
        }
    }

    /// The connection owes nothing until the next [`PathState::on_asked`].
    pub(crate) fn on_answered(&mut self, attempt: u32) {
        if let Some(current) = self.current.as_mut().filter(|current| current.attempt == attempt) {
            current.expects = false;
        }
    }

    /// The other end complains that it does not hear this one; `is_aloud` if it did so over the WebSocket.
    pub(crate) const fn on_complaint(&mut self, now: Time, is_aloud: bool) {
        self.complaints.on_heard(now);
        if is_aloud {
            self.presence.complaints.on_heard(now);
        }
    }

    /// Whether the other end complained over the WebSocket lately; then every packet goes there as well.
    pub(crate) fn is_called(&self, now: Time) -> bool {
        self.presence.complaints.are_heard(now)
    }

    /// Whether this packet goes over the WebSocket as well, because it is the first after a complaint there. Without it
    /// the other end, which would have to answer first, would hear nothing for two more trips. Further packets spare
    /// the stream (see [`Patience::doubt`]).
    pub(crate) const fn takes_owed(&mut self) -> bool {
        core::mem::replace(&mut self.presence.owes, false)
    }

    /// Whether to complain to the other end over every way that nothing of it arrives; at most every
    /// [`COMPLAIN_EVERY`].
    pub(crate) fn complains_aloud(&mut self, now: Time) -> bool {
        !self.is_carried && self.presence.complains(now)
    }

    /// Whether something of the other end came lately, over any way: within the time that it usually takes.
    pub(crate) fn is_heard(&self, now: Time) -> bool {
        self.presence.is_heard(now)
    }

    /// Whether to complain to the other end about the current connection; at most every [`COMPLAIN_EVERY`].
    pub(crate) fn complains(&mut self, now: Time, is_quick: bool) -> bool {
        let at = self.complaint_at(is_quick);
        self.complaints.make(now, at)
    }

    fn complaint_at(&self, is_quick: bool) -> Time {
        self.complaints.next_of(self.doubted_at(is_quick))
    }

    /// When the silence of the current connection puts it in doubt; an unusual silence is enough if `is_quick`.
    pub(crate) fn doubted_at(&self, is_quick: bool) -> Time {
        let doubt = |current: Open| current.silent_at(current.doubt(is_quick, self.patience.doubt));
        self.current.map_or(Time::FAR, doubt)
    }

    /// Whether the current connection is in doubt now.
    pub(crate) fn is_doubted(&self, now: Time, is_quick: bool) -> bool {
        self.is_complained_of(now) || self.doubted_at(is_quick) <= now
    }

    /// Whether the other end complained lately that it hears nothing on it.
    pub(crate) fn is_complained_of(&self, now: Time) -> bool {
        self.complaints.are_heard(now)
    }

    /// The driver reports that a connection is over. `None` if it was no longer ours.
    pub(crate) fn on_closed(&mut self, now: Time, closed: u32) -> Option<Closed> {
        if self.current() == Some(closed) {
            return Some(self.close_current(now, closed));
        }
        let next = self.next.take_if(|next| next.number == closed)?;
        self.pause(now);
        let end = next.open.is_none().then_some(AttemptEnd::Closed);
        Some(Closed { attempt: closed, end, was_last: false })
    }

    fn close_current(&mut self, now: Time, attempt: u32) -> Closed {
        self.current = None;
        if self.next.is_some_and(|next| next.open.is_some()) {
            self.promote(now);
        } else {
            self.pause(now);
        }
        Closed { attempt, end: None, was_last: self.current.is_none() }
    }

    fn pause(&mut self, now: Time) {
        let wait = Duration::from_micros(RETRY_MIN.as_micros() << self.failures.min(8)).min(RETRY_MAX);
        self.failures += 1;
        self.retry_at = now + wait;
    }

    /// The next connection to give up by now; call it until there is none. A proven connection stays while no offer can
    /// replace it: its other end may sleep, or the network may be away.
    pub(crate) fn expire(&mut self, now: Time, may_offer: bool) -> Option<Closed> {
        if let Some(current) = self.current {
            self.trust.tend(now, current.silence(now), self.patience);
            if self.current_ends_at(may_offer) <= now {
                let mut closed = self.close_current(now, current.attempt);
                closed.end = (!current.is_proven()).then_some(AttemptEnd::Silent);
                if current.is_proven() && self.current.is_none() {
                    self.retry_at = now;
                }
                return Some(closed);
            }
        }
        let next = self.next.take_if(|next| next.ends().0 <= now)?;
        self.pause(now);
        if next.is_crossed {
            self.retry_at = now;
        }
        Some(Closed { attempt: next.number, end: Some(next.ends().1), was_last: false })
    }

    fn current_ends_at(&self, may_offer: bool) -> Time {
        self.current.map_or(Time::FAR, |current| match current.proven {
            None => current.opened + PROVE_WITHIN,
            Some(_) if may_offer => current.silent_at(self.patience.abandon),
            Some(_) => Time::FAR,
        })
    }

    /// Closes every connection and attempt.
    pub(crate) fn end(&mut self, end: AttemptEnd) -> impl Iterator<Item = Closed> + use<> {
        let current =
            self.current.take().map(|open| Closed { attempt: open.attempt, end: None, was_last: true });
        let next = self.supersede().map(|next| Closed { end: next.end.map(|_| end), ..next });
        current.into_iter().chain(next)
    }

    /// Whether the current connection is the way: it is proven, trusted, and not silent for too long.
    pub(crate) fn is_up(&self, now: Time) -> bool {
        self.current.is_some_and(|current| {
            current.is_proven() && self.trust.is_up() && current.silence(now) < self.patience.fall
        })
    }

    /// Whether the current connection needs no other way beside it. With `is_quick` an unusual silence is enough for
    /// doubt.
    pub(crate) fn is_enough(&self, now: Time, is_quick: bool) -> bool {
        self.is_up(now) && !self.is_doubted(now, is_quick)
    }

    /// Whether it is good enough and no change is under way: then a packet on it changes only the time of the next
    /// doubt.
    pub(crate) fn is_steady(&self, now: Time) -> bool {
        self.next.is_none()
            && !self.is_renewed
            && self.is_enough(now, true)
            && !self.is_called(now)
            && !self.is_late(now)
    }

    /// Whether there is no connection, and the last attempt failed.
    pub(crate) const fn has_failed(&self) -> bool {
        self.current.is_none() && self.failures > 0
    }

    /// Whether its silence will be unusual one frame from now. If the next way needs no sparing, packets take it as
    /// well from then on. The other end hears no complaint, and the next arrival ends it, so it costs little.
    pub(crate) fn is_late(&self, now: Time) -> bool {
        let is_late = |open: Open| open.silence(now) + LATE_BEFORE >= open.doubt(true, self.patience.doubt);
        self.current.is_some_and(is_late)
    }

    /// Whether the current connection is proven and has not fallen silent.
    pub(crate) fn is_alive(&self, now: Time) -> bool {
        self.current.is_some_and(|current| current.is_proven() && current.silence(now) < self.patience.fall)
    }

    /// Whether the current connection is proven and has fallen silent.
    pub(crate) fn has_fallen(&self, now: Time) -> bool {
        self.current.is_some_and(|current| current.is_proven()) && !self.is_alive(now)
    }

    /// Whether the current connection was the way at the last look.
    pub(crate) fn was_up(&self) -> bool {
        self.current.is_some_and(|current| current.is_proven()) && self.trust.is_up()
    }

    /// Whether the other end owes this one anything on the current connection.
    pub(crate) fn expects(&self) -> bool {
        self.current.is_some_and(|current| current.expects)
    }

    /// When something was last heard on the current connection.
    pub(crate) fn heard(&self) -> Option<Time> {
        self.current?.proven
    }

    /// The connections that a packet goes on: the current one, and the one that has to prove itself.
    pub(crate) fn carriers(&self) -> impl Iterator<Item = u32> + use<> {
        let next = self.next.filter(|next| next.open.is_some());
        self.current().into_iter().chain(next.map(|next| next.number))
    }

    fn loud_complaint_at(&self) -> Time {
        if self.is_carried { Time::FAR } else { self.presence.complaint_at() }
    }

    /// When a timer of this is due. `offers`: whether this end is the lower id, if it may offer. `complaints`: whether
    /// they are quick, if there is a way for them.
    pub(crate) fn timeout(&self, offers: Option<bool>, complaints: Option<bool>) -> Time {
        let next = self.next.map_or(Time::FAR, |next| next.ends().0);
        let falls = match self.current {
            Some(current) if self.trust.is_up() && current.is_proven() => {
                current.silent_at(self.patience.fall)
            }
            _ => Time::FAR,
        };
        let complaint = complaints
            .map_or(Time::FAR, |is_quick| self.complaint_at(is_quick).min(self.loud_complaint_at()));
        let offer = offers.map_or(Time::FAR, |is_lower| self.offer_at(is_lower));
        [self.current_ends_at(offers.is_some()), next, falls, complaint, offer]
            .into_iter()
            .min()
            .unwrap_or(Time::FAR)
    }
}

#[cfg(test)]
mod tests;
