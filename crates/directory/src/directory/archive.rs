//! Sessions without a connection. The relay keeps their terms, which it must not give twice, and for a while their
//! codes.

use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::relay::Refusal;
use samovar_wire::{Duration, GameCode, SessionId, Time};

use super::timers::Timer;
use super::{Directory, Request, TermRecord};
use crate::limits::{DORMANT_FOR, DORMANT_MAX};

/// Records of dormant sessions. Each has a [`Timer::Dormant`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Archive {
    records: BTreeMap<SessionId, (Sleep, TermRecord)>,
    /// The sessions in the order in which they are forgotten beyond the limit.
    sleepers: BTreeSet<(Sleep, SessionId)>,
}

/// The rank of a session without a connection: the relay forgets the lowest first. A session ranks higher if any peer
/// but its founder was a member, then if its last connection closed later. Sessions that a restarted relay took over
/// have the same time, and the later game ranks higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sleep {
    was_joined: bool,
    since: Time,
    serial: u64,
}

impl Archive {
    pub(super) fn get(&self, session: SessionId) -> Option<&TermRecord> {
        self.records.get(&session).map(|(_, record)| record)
    }

    fn insert(&mut self, since: Time, record: TermRecord) {
        self.remove(record.session);
        let sleep = Sleep { was_joined: record.was_joined(), since, serial: record.serial };
        self.sleepers.insert((sleep, record.session));
        self.records.insert(record.session, (sleep, record));
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Option<TermRecord> {
        let (sleep, record) = self.records.remove(&session)?;
        self.sleepers.remove(&(sleep, session));
        Some(record)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    fn least(&self) -> Option<SessionId> {
        self.sleepers.first().map(|&(_, session)| session)
    }
}

impl Directory {
    /// Keeps the record of a session without a connection. If no peer joined the session, its record is kept only
    /// while the founder may be on the way back: no other peer can claim one of its terms.
    pub(super) fn archive(&mut self, now: Time, record: TermRecord, returns_within: Duration) {
        let span = if record.was_joined() { DORMANT_FOR } else { returns_within };
        self.timers.set(Timer::Dormant(record.session), now + span);
        self.archive.insert(now, record);
        if self.archive.len() > DORMANT_MAX
            && let Some(least) = self.archive.least()
        {
            self.forget(least);
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

    /// Frees the code of a session, because no peer came back for it.
    pub(super) fn free_code(&mut self, session: SessionId) {
        self.timers.stop(Timer::Reservation(session));
        self.vacated.remove(&session);
        if let Some(record) = self.archive.get(session)
            && self.codes.get(&record.code) == Some(&session)
        {
            self.codes.remove(&record.code);
        }
    }

    /// Drops a dormant session: if it comes back, its terms start from the warrant that its member shows.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.free_code(session);
        self.timers.stop(Timer::Dormant(session));
        if self.archive.remove(session).is_some() {
            self.requests.push_back(Request::Forget(session));
        }
    }

    /// Whether a session may be listed under this code, and its record, if known.
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

#[cfg(test)]
mod tests {
    use samovar_wire::{PeerId, Term};

    use super::*;
    use crate::Barred;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn unjoined_games_are_forgotten_first_then_the_longest_idle() {
        let mut archive = Archive::default();
        let record = |n: u64, members: &[u32]| TermRecord {
            session: SessionId(n),
            code: GameCode::parse("TEA").unwrap(),
            params: 0,
            term: Term::FIRST,
            host: PeerId(1),
            begun: (Term::FIRST, PeerId(1)),
            members: members.iter().copied().map(PeerId).collect(),
            former: Vec::new(),
            barred: Barred::default(),
            vouched: Vec::new(),
            serial: n,
        };
        // The older a game here, the later its last connection closed.
        for (n, members) in [(1, &[1, 2][..]), (2, &[1, 2]), (3, &[1]), (4, &[1])] {
            archive.insert(Time::from_micros(10 - n), record(n, members));
        }
        let order = core::iter::from_fn(|| archive.least().and_then(|least| archive.remove(least)));
        assert_eq!(order.map(|record| record.serial).collect::<Vec<_>>(), [4, 3, 2, 1]);
    }
}
