//! One connection, opening or open.

use samovar_wire::{Duration, Time};

use super::rhythm::Rhythm;
use super::{ANSWER_WITHIN, CROSSING, OPEN_WITHIN, PROVE_WITHIN};

/// How an attempt at a connection ended. Every attempt ends once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AttemptEnd {
    /// Both channels are open. The reported path tells what becomes of the connection later.
    Opened,
    /// The other end did not answer the offer in time.
    Unanswered,
    /// The connection was not open in time.
    Late,
    /// The driver reported that the connection failed: no path was found, or the other end closed it.
    Closed,
    /// The connection opened, was reported as [`AttemptEnd::Opened`], and nothing was ever heard on it.
    Silent,
    /// Another attempt took its place: one that the other end offered, or one after a change of the network.
    Superseded,
    /// The other end is no member any more, or this peer is over.
    Gone,
}

/// A connection that is being opened, or is open beside the current one and not proven yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) since: Time,
    /// When our description went out.
    pub(super) described: Option<Time>,
    /// The other end's number of the attempt, if this end answers.
    pub(super) answers: Option<u32>,
    pub(super) awaits_answer: bool,
    /// Whether an offer of the other end has arrived since. An end that already had this offer would have answered
    /// it.
    pub(super) is_crossed: bool,
    pub(super) open: Option<Time>,
}

impl Attempt {
    /// When the attempt is given up, and the reason.
    pub(super) fn ends(&self) -> (Time, AttemptEnd) {
        match self.open {
            Some(open) => (open + PROVE_WITHIN, AttemptEnd::Silent),
            None if self.is_crossed && self.awaits_answer => (self.since + CROSSING, AttemptEnd::Unanswered),
            None if self.awaits_answer => (self.since + ANSWER_WITHIN, AttemptEnd::Unanswered),
            None => (self.since + OPEN_WITHIN, AttemptEnd::Late),
        }
    }

    /// Whether an offer that arrives now may cross this one: the other end may have made its offer before it had this
    /// one.
    pub(super) fn crosses(&self, now: Time) -> bool {
        self.awaits_answer && !self.is_crossed && self.described.is_some_and(|at| at + CROSSING > now)
    }
}

/// A connection that carries packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) attempt: u32,
    pub(super) opened: Time,
    /// The arrivals; silence counts from the last.
    rhythm: Rhythm,
    /// When something was last heard; `None` before the first arrival.
    pub(super) proven: Option<Time>,
    /// Whether the other end owes this end a packet; otherwise silence does not count.
    pub(super) expects: bool,
    /// Whether the other end sends only when it is asked.
    is_asked: bool,
}

impl Open {
    pub(super) const fn new(attempt: u32, now: Time) -> Self {
        Self { attempt, opened: now, rhythm: Rhythm::new(now), proven: None, expects: true, is_asked: false }
    }

    pub(super) fn on_heard(&mut self, now: Time) {
        match self.proven {
            // The time until the first arrival is not a gap between arrivals, unless that arrival answers a request.
            None if !self.is_asked => self.rhythm.restart(now),
            _ => self.rhythm.on_heard(now),
        }
        self.proven = Some(now);
    }

    pub(super) const fn is_proven(&self) -> bool {
        self.proven.is_some()
    }

    pub(super) const fn on_asked(&mut self, now: Time) {
        self.is_asked = true;
        if !self.expects {
            self.expects = true;
            self.rhythm.restart(now);
        }
    }

    /// How long a silence puts the connection in doubt: an unusual one if `is_quick`, or else `most`.
    pub(super) fn doubt(&self, is_quick: bool, most: Duration) -> Duration {
        if is_quick { self.rhythm.unusual(most) } else { most }
    }

    pub(super) fn silence(&self, now: Time) -> Duration {
        if self.expects { self.rhythm.silence(now) } else { Duration::ZERO }
    }

    /// When the connection's silence will have lasted for `patience`.
    pub(super) fn silent_at(&self, patience: Duration) -> Time {
        if self.expects { self.rhythm.silent_at(patience) } else { Time::FAR }
    }
}
