//! The connections to one other end, a member or the relay, and how far each is trusted.
//!
//! A pair of peers has a ladder of three rungs: a *direct* connection, data channels to the relay, and the relay's
//! WebSocket. The lowest open rung carries packets at once. A higher one takes over when something was heard on it,
//! and hands back when it is silent. While a rung is in doubt, packets take the next one as well, and the link drops
//! duplicates. So no change of the rung loses packets.
//!
//! ```text
//!          offer or answer                both channels open            first packet heard
//!   Idle -------------------> opening ------------------------> unproven ------------------> proven
//!    ^                           |                                 |                           |
//!    |  unanswered, late, closed |          closed, silent 3 s     |  closed, silent 10 s      |
//!    +--- after a pause, again --+---------------------------------+---------------------------+
//!
//!   proven:  heard --- unusually silent --> in doubt ---- silent 600 ms ----> fallen ---- silent 3 s ----> renewed:
//!            alone                          two paths                         two paths                    another
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

/// The first pause after a failed attempt. The pause doubles with each further failure, up to [`RETRY_MAX`]. It is
/// this long again after an arrival on a connection, or a change of the network. A relay that is about to stop ends
/// the pause.
pub const RETRY_MIN: Duration = Duration::from_millis(2_000);
/// The longest pause after a failed attempt.
pub const RETRY_MAX: Duration = Duration::from_millis(20_000);
/// An offer without an answer is given up after this time.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(6_000);
/// An attempt that is not open this long after it began is given up.
pub const OPEN_WITHIN: Duration = Duration::from_millis(10_000);
/// An open connection on which nothing was ever heard is given up after this time.
pub const PROVE_WITHIN: Duration = Duration::from_millis(3_000);
/// A connection is late this long before its silence is unusual: one frame.
const LATE_BEFORE: Duration = Duration::from_millis(15);
/// An offer from a peer is ignored if it comes within this time after the peer's last one.
const OFFER_INTERVAL: Duration = Duration::from_millis(300);
/// For this long after an offer of ours went out, an offer that arrives may have crossed it. The receiver of our offer
/// answers within this time; its browser may need a second of it to find candidates. Later our offer counts as lost,
/// since the path on which it went out may have failed.
const CROSSING: Duration = Duration::from_millis(1_500);
/// The peer with the higher id waits this much longer than the other before it offers a connection beside a silent one.
const PRECEDENCE: Duration = Duration::from_millis(1_000);

/// The path that packets take to a peer now. The better paths come first.
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
    /// There is no path for now.
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
    /// After this silence at the latest the connection is in doubt: packets take the next rung as well. If the next
    /// rung is data channels, doubt begins when the silence is unusual, 60 ms at the soonest. Packets take these
    /// channels 15 ms before the doubt. The WebSocket is not used so soon: an urgent message on it, such as a claim
    /// when a host is silent, would wait behind lost packets.
    pub doubt: Duration,
    /// After this silence the connection has fallen: the next rung takes over.
    pub fall: Duration,
    /// After this silence another connection is opened beside this one.
    pub renew: Duration,
    /// After this silence the connection is closed.
    pub abandon: Duration,
}

impl Patience {
    /// The patience between two peers, each of which sends at least every 100 ms (PROTOCOL §2.4).
    pub const PAIR: Self = Self {
        doubt: Duration::from_millis(250),
        fall: Duration::from_millis(600),
        renew: Duration::from_millis(3_000),
        abandon: Duration::from_millis(10_000),
    };

    /// The patience with the relay. This peer asks the relay for an echo every 200 ms, and silence counts from the
    /// first request without an echo. This peer sends nothing on a fallen connection, so it closes that connection as
    /// soon as it wants another.
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
    /// Whether the network changed, so that another connection is wanted although the current one works.
    is_renewed: bool,
    last_offer: Option<Time>,
    /// The complaints about the current connection, over any path.
    complaints: Complaints,
    /// The arrivals from the other end, over any path.
    presence: Presence,
    /// Bytes in the driver's buffer of the current connection.
    pub(crate) backlog: u64,
    /// Whether a member carries the packets. Then this end does not complain of silence over the WebSocket; the path to
    /// the carrier has complaints of its own.
    pub(crate) is_carried: bool,
}

/// A connection or attempt that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) attempt: u32,
    /// The end of the attempt, if it was not reported before.
    pub(crate) end: Option<AttemptEnd>,
    /// Whether it carried packets, and no other connection takes its place.
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

    /// Notes that this end's description of an attempt goes out. Returns the other end's number of the attempt, if the
    /// other end offered. The outer `None` means that there is no such attempt.
    pub(crate) fn on_described(&mut self, now: Time, asked: u32) -> Option<Option<u32>> {
        let next = self.next.as_mut().filter(|next| next.number == asked && next.open.is_none())?;
        next.described = Some(now);
        Some(next.answers)
    }

    /// Takes an answer to an attempt. Returns whether the attempt awaited one.
    pub(crate) fn takes_answer(&mut self, asked: u32) -> bool {
        let Some(next) = &mut self.next else { return false };
        let waits = next.number == asked && next.awaits_answer;
        next.awaits_answer &= !waits;
        waits
    }

    /// Whether it is time to offer. The peer with the higher id offers only to replace a connection, and waits
    /// [`PRECEDENCE`] longer than the other.
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

    /// Repeats an unanswered offer: the relay was away, so the offer or its answer may be lost.
    pub(crate) fn offer_again(&mut self, now: Time) -> Option<Closed> {
        self.next.filter(|next| next.awaits_answer)?;
        self.retry_at = now;
        self.supersede()
    }

    /// Handles a change of the network: replaces an attempt from before, and offers another connection at once.
    pub(crate) fn renew(&mut self, now: Time) -> Option<Closed> {
        (self.retry_at, self.failures, self.is_renewed) = (now, 0, true);
        self.supersede()
    }

    /// Begins an attempt. `answers` is the other end's number of the attempt, if the other end offered.
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

    /// Whether to answer an offer: not if an offer of ours crosses it and has precedence, and not too often.
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

    /// Notes that both channels of a connection are open. Returns whether that ends an attempt.
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

    /// Notes an arrival on a connection. Returns the connection that this one replaces, if any. The outer `None` means
    /// that there is no such connection.
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

    /// Notes an arrival from the other end, over any path.
    pub(crate) fn on_present(&mut self, now: Time) {
        self.presence.on_heard(now);
    }

    /// Notes that a request for an echo went out on the current connection. Silence counts from the first request
    /// without an echo.
    pub(crate) fn on_asked(&mut self, now: Time) {
        if let Some(current) = &mut self.current {
            current.on_asked(now);
        }
    }

    /// Notes that the other end owes nothing on this connection until the next [`PathState::on_asked`].
    pub(crate) fn on_answered(&mut self, attempt: u32) {
        if let Some(current) = self.current.as_mut().filter(|current| current.attempt == attempt) {
            current.expects = false;
        }
    }

    /// Notes that the other end complains that it does not hear this end; `is_aloud` if it did so over the WebSocket.
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

    /// Whether this packet goes over the WebSocket as well, because it is the first after this end's complaint there.
    /// Otherwise the other end would hear nothing for two more trips, since it would have to answer first. Further
    /// packets do not use the WebSocket (see [`Patience::doubt`]).
    pub(crate) const fn takes_owed(&mut self) -> bool {
        core::mem::replace(&mut self.presence.owes, false)
    }

    /// Whether to complain to the other end, over every path, that nothing from it arrives; at most every
    /// [`COMPLAIN_EVERY`].
    pub(crate) fn complains_aloud(&mut self, now: Time) -> bool {
        !self.is_carried && self.presence.complains(now)
    }

    /// Whether something from the other end arrived lately, over any path: within the usual gap between arrivals.
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

    /// Whether the other end complained lately that it hears nothing on the current connection.
    pub(crate) fn is_complained_of(&self, now: Time) -> bool {
        self.complaints.are_heard(now)
    }

    /// Handles the driver's report that a connection is over. `None` if this end had given it up before.
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

    /// Gives up the next connection or attempt whose time is over; call it until there is none. A proven connection
    /// stays while no offer can replace it: its other end may sleep, or the network may be away.
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

    /// Whether packets go by the current connection: it is proven, trusted, and not silent for too long.
    pub(crate) fn is_up(&self, now: Time) -> bool {
        self.current.is_some_and(|current| {
            current.is_proven() && self.trust.is_up() && current.silence(now) < self.patience.fall
        })
    }

    /// Whether the current connection needs no other rung beside it. With `is_quick` an unusual silence is enough for
    /// doubt.
    pub(crate) fn is_enough(&self, now: Time, is_quick: bool) -> bool {
        self.is_up(now) && !self.is_doubted(now, is_quick)
    }

    /// Whether the current connection needs no other rung and no change is under way. Then an arrival on it changes
    /// only the time of the next doubt.
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

    /// Whether the silence of the current connection will be unusual one frame from now. From then on packets take
    /// the next rung as well, if that is data channels. This costs little: this end does not complain yet, and the
    /// next arrival ends the use of both rungs.
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

    /// Whether packets went by the current connection when its silence was last checked.
    pub(crate) fn was_up(&self) -> bool {
        self.current.is_some_and(|current| current.is_proven()) && self.trust.is_up()
    }

    /// Whether the other end owes this end a packet on the current connection.
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

    /// When the next timer of these connections is due. `offers` tells whether this end has the lower id, or is `None`
    /// if it may not offer. `complaints` tells whether an unusual silence is enough for a complaint, or is `None` if
    /// the relay carries no complaints.
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
