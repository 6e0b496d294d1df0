//! The timers of a directory.

use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::{SessionId, Time};

use super::ConnId;

/// The name of a timer; at most one of each name runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Timer {
    /// A connection has sent no `Enter` in time, or has waited too long for a game or a place.
    Connection(ConnId),
    /// The host has not answered a probe in time, or the probe is to be repeated.
    Probe(SessionId),
    /// The host has not come back in time to a game that was listed again without it.
    Grace(SessionId),
    /// A game has been without a connected member for too long.
    Abandoned(SessionId),
    /// A code stops being kept for a session.
    Reservation(SessionId),
    /// A session has been without a connection for long enough to be forgotten.
    Dormant(SessionId),
    /// The relay tells every connection that it lives.
    Pulse,
}

/// The timers that run, by time and by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Timers {
    order: BTreeSet<(Time, Timer)>,
    times: BTreeMap<Timer, Time>,
}

impl Timers {
    /// Starts a timer, or moves it.
    pub(super) fn set(&mut self, timer: Timer, time: Time) {
        self.stop(timer);
        self.times.insert(timer, time);
        self.order.insert((time, timer));
    }

    /// Starts a timer unless it runs already.
    pub(super) fn start(&mut self, timer: Timer, time: Time) {
        if !self.times.contains_key(&timer) {
            self.set(timer, time);
        }
    }

    /// If a timer runs and would end later than `time`, it now ends at `time`.
    pub(super) fn hasten(&mut self, timer: Timer, time: Time) {
        if self.times.get(&timer).is_some_and(|&known| known > time) {
            self.set(timer, time);
        }
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        if let Some(time) = self.times.remove(&timer) {
            self.order.remove(&(time, timer));
        }
    }

    /// Takes a timer that is due.
    pub(super) fn pop(&mut self, now: Time) -> Option<Timer> {
        let &(time, timer) = self.order.first()?;
        (time <= now).then(|| {
            self.stop(timer);
            timer
        })
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.order.first().map(|&(time, _)| time)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }
}
