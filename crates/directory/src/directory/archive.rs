//! Sessions without a connection: their terms, which must not be given twice, and, for a while, their codes.

use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::relay::Refusal;
use samovar_wire::{Duration, GameCode, SessionId, Time};

use super::timers::Timer;
use super::{Directory, Request, TermRecord};
use crate::limits::{DORMANT_FOR, DORMANT_MAX};

/// Records of dormant sessions. Each has a [`Timer::Dormant`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Archive {
    records: BTreeMap<SessionId, TermRecord>,
    /// By serial, the oldest game first: what is forgotten when there are too many.
    serials: BTreeSet<(u64, SessionId)>,
}

impl Archive {
    pub(super) fn get(&self, session: SessionId) -> Option<&TermRecord> {
        self.records.get(&session)
    }

    pub(super) fn insert(&mut self, record: TermRecord) {
        self.remove(record.session);
        self.serials.insert((record.serial, record.session));
        self.records.insert(record.session, record);
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<TermRecord> {
        let record = self.records.remove(&session)?;
        self.serials.remove(&(record.serial, session));
        Some(record)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    fn oldest(&self) -> Option<SessionId> {
        self.serials.first().map(|&(_, session)| session)
    }
}

impl Directory {
    /// Keeps the record of a session that has no connection any more.
    pub(super) fn archive(&mut self, now: Time, record: TermRecord) {
        self.timers.set(Timer::Dormant(record.session), now + DORMANT_FOR);
        self.archive.insert(record);
        if self.archive.len() > DORMANT_MAX
            && let Some(oldest) = self.archive.oldest()
        {
            self.forget(oldest);
        }
    }

    /// Keeps a session's code for it, unless a later game had the same code.
    pub(super) fn reserve_code(&mut self, now: Time, record: &TermRecord, time: Duration) {
        let holder = self.codes.get(&record.code).and_then(|&session| self.archive.get(session));
        if holder.is_none_or(|holder| holder.serial < record.serial) {
            if let Some(former) = self.codes.insert(record.code.clone(), record.session) {
                self.timers.stop(Timer::Reservation(former));
            }
            self.timers.set(Timer::Reservation(record.session), now + time);
        }
    }

    /// Nobody came back for this code.
    pub(super) fn free_code(&mut self, session: SessionId) {
        self.timers.stop(Timer::Reservation(session));
        self.vacated.remove(&session);
        if let Some(record) = self.archive.get(session)
            && self.codes.get(&record.code) == Some(&session)
        {
            self.codes.remove(&record.code);
        }
    }

    /// Drops a dormant session: if it ever comes back, its terms start from the warrant it shows.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.free_code(session);
        self.timers.stop(Timer::Dormant(session));
        if self.archive.remove(session).is_some() {
            self.requests.push_back(Request::Forget(session));
        }
    }

    /// Whether a session may be listed under the code it names, and what is known of it.
    pub(super) fn recall(
        &self,
        session: SessionId,
        code: &GameCode,
        params: u64,
    ) -> Result<Option<&TermRecord>, Refusal> {
        let record = self.archive.get(session);
        match record {
            Some(record) if record.code != *code => Err(Refusal::BadPass),
            Some(record) if record.params != params => Err(Refusal::Parameters),
            _ if self.codes.get(code).is_some_and(|&holder| holder != session) => Err(Refusal::CodeTaken),
            _ => Ok(record),
        }
    }
}
