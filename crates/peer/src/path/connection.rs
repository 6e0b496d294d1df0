//! One connection: being opened, or open.

use samovar_wire::{Duration, Time};

use super::rhythm::Rhythm;
use super::{ANSWER_WITHIN, CROSSING, OPEN_WITHIN, PROVE_WITHIN};

/// How an attempt at a connection ended. Every attempt ends once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AttemptEnd {
    /// Both channels are open. What becomes of the connection is told by the path.
    Opened,
    /// The other end did not answer the offer in time.
    Unanswered,
    /// It was not open in time.
    Late,
    /// The driver says that it failed: no way was found, or the other end closed it.
    Closed,
    /// It opened, was told as [`AttemptEnd::Opened`], and nothing was ever heard on it.
    Silent,
    /// Another attempt took its place: the other end's offer, or one on a network that changed.
    Superseded,
    /// The other end is no member any more, or this peer is over.
    Gone,
}

/// A connection that is being opened, or waits beside the current one to be heard on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) since: Time,
    /// When our description went out.
    pub(super) described: Option<Time>,
    /// What the other end calls the attempt when we answer.
    pub(super) answers: Option<u32>,
    pub(super) awaits_answer: bool,
    /// The other end has offered since, and would have answered if it had this offer.
    pub(super) is_crossed: bool,
    pub(super) open: Option<Time>,
}

impl Attempt {
    /// When it is given up, and why.
    pub(super) fn ends(&self) -> (Time, AttemptEnd) {
        match self.open {
            Some(open) => (open + PROVE_WITHIN, AttemptEnd::Silent),
            None if self.is_crossed && self.awaits_answer => (self.since + CROSSING, AttemptEnd::Unanswered),
            None if self.awaits_answer => (self.since + ANSWER_WITHIN, AttemptEnd::Unanswered),
            None => (self.since + OPEN_WITHIN, AttemptEnd::Late),
        }
    }

    /// Whether an offer of the other end that comes now can have been made before that had this one.
    pub(super) fn crosses(&self, now: Time) -> bool {
        self.awaits_answer && !self.is_crossed && self.described.is_some_and(|at| at + CROSSING > now)
    }
}

/// A connection that carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) attempt: u32,
    pub(super) opened: Time,
    /// Where silence counts from.
    rhythm: Rhythm,
    /// When something was heard; `None` before.
    pub(super) proven: Option<Time>,
    /// Whether the other end owes us anything: silence is none otherwise.
    pub(super) expects: bool,
    /// Whether the other end speaks only when it is asked.
    is_asked: bool,
}

impl Open {
    pub(super) const fn new(attempt: u32, now: Time) -> Self {
        Self { attempt, opened: now, rhythm: Rhythm::new(now), proven: None, expects: true, is_asked: false }
    }

    pub(super) fn on_heard(&mut self, now: Time) {
        match self.proven {
            // How long it took until then is no rhythm, unless it was asked for.
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

    /// The silence that is cause for doubt: an unusual one if that is to be quick, `most` at the latest.
    pub(super) fn doubt(&self, is_quick: bool, most: Duration) -> Duration {
        if is_quick { self.rhythm.unusual(most) } else { most }
    }

    pub(super) fn silence(&self, now: Time) -> Duration {
        if self.expects { self.rhythm.silence(now) } else { Duration::ZERO }
    }

    /// When it will have been silent for so long.
    pub(super) fn silent_at(&self, patience: Duration) -> Time {
        if self.expects { self.rhythm.silent_at(patience) } else { Time::FAR }
    }
}
