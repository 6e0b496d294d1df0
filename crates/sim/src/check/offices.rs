//! PROTOCOL §4.10 rules 10 and 11. A host that reaches neither the relay nor a majority acts until its lease ends,
//! and no longer. A host that slept and was replaced meanwhile does not act at all.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{Duration, PeerId, SessionId, Term, Time};

use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// How long a host may act while it reaches neither a majority nor the relay: 3 s until it misses its majority, 1 s
/// until the silent relay ends its lease, and 0.5 s for stalls.
const ACTS_ON_MAX: Duration = Duration::from_millis(4_500);
/// A process that did not run for longer than this can notice that it slept.
pub(crate) const SLEPT: Duration = Duration::from_millis(2_000);

/// The term and host that a process knows, and whether it acts as the host.
#[derive(Clone, Copy, Debug)]
struct Saying {
    session: SessionId,
    term: Term,
    host: PeerId,
    acts: bool,
}

/// Finds processes that act as host without the right to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offices {
    newest: BTreeMap<SessionId, (Term, PeerId)>,
    /// The newest term that the relay granted in each session.
    given: BTreeMap<SessionId, Term>,
    /// For each acting host that is alone, the time since which it has been alone.
    alone: BTreeMap<ProcessId, Time>,
    /// Processes that slept and have acted as host at each check since, each with the newest term and host of each
    /// session at the time when it woke.
    sleepers: BTreeMap<ProcessId, BTreeMap<SessionId, (Term, PeerId)>>,
}

impl Offices {
    /// Checks a process each time that its driver has run. `is_alone` says that neither the relay nor a majority
    /// reaches the process, or that the relay reaches it and knows a later host. This counts only while the process
    /// acts as the host.
    pub(crate) fn look(
        &mut self,
        now: Time,
        process: ProcessId,
        session: &Session,
        is_alone: bool,
    ) -> Result<(), Broken> {
        let (id, acts) = (session.warrant().session, session.is_host());
        let said = Saying { session: id, term: session.term(), host: session.host(), acts };
        self.hear(now, process, said, is_alone)
    }

    fn hear(&mut self, now: Time, process: ProcessId, said: Saying, is_alone: bool) -> Result<(), Broken> {
        let Saying { session, term, host, acts } = said;
        let newest = self.newest.entry(session).or_insert((term, host));
        *newest = (*newest).max((term, host));
        if term.is_witnessed() {
            let given = self.given.entry(session).or_insert(term);
            *given = (*given).max(term);
        }
        let successor = self.sleepers.get(&process).and_then(|newest| newest.get(&session));
        if !acts {
            self.sleepers.remove(&process);
        } else if let Some(successor) = successor.filter(|(later, _)| *later > term) {
            let what =
                format!("process {process} slept, was replaced by {successor:?}, and acts in {term:?}");
            return Err(Broken::new(Promise::Office, what));
        }
        if !acts || !is_alone {
            self.alone.remove(&process);
            return Ok(());
        }
        let since = *self.alone.entry(process).or_insert(now);
        if now.since(since) > ACTS_ON_MAX {
            let what = format!("process {process} acts in {term:?}, and has had no right to since {since:?}");
            return Err(Broken::new(Promise::Office, what));
        }
        Ok(())
    }

    /// Whether the relay has granted a later term than the one that a session is in.
    pub(crate) fn is_superseded(&self, session: &Session) -> bool {
        self.is_given_after(session.warrant().session, session.term())
    }

    fn is_given_after(&self, session: SessionId, term: Term) -> bool {
        self.given.get(&session).is_some_and(|&given| given > term)
    }

    /// Notes that a process runs again after a pause. `knows` says whether the process can know how long the pause
    /// was.
    pub(crate) fn wake(&mut self, process: ProcessId, knows: bool) {
        self.alone.remove(&process);
        if knows {
            self.sleepers.insert(process, self.newest.clone());
        }
    }

    /// Notes that a process now receives what others sent before it was alone. Its time alone begins anew.
    pub(crate) fn hear_late(&mut self, process: ProcessId) {
        self.alone.remove(&process);
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.alone.remove(&process);
        self.sleepers.remove(&process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn saying(term: u64, host: u32, acts: bool) -> Saying {
        Saying { session: SessionId(1), term: Term(term), host: PeerId(host), acts }
    }

    const fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    #[test]
    fn host_that_is_alone_may_act_until_its_lease_ends() {
        let mut offices = Offices::default();
        let acts = saying(256, 1, true);
        assert_eq!(offices.hear(at(0), 0, acts, false), Ok(()));
        assert_eq!(offices.hear(at(20), 0, acts, true), Ok(()));
        assert_eq!(offices.hear(at(4_520), 0, acts, true), Ok(()));
        let broken = offices.clone().hear(at(4_521), 0, acts, true).unwrap_err();
        assert_eq!(broken.promise, Promise::Office);
        assert_eq!(offices.hear(at(4_521), 0, saying(256, 1, false), true), Ok(()));
        assert_eq!(offices.hear(at(9_000), 0, acts, true), Ok(()), "it began anew");
        offices.hear_late(0);
        assert_eq!(offices.hear(at(13_501), 0, acts, true), Ok(()), "it has heard of others since");
        assert!(offices.hear(at(18_002), 0, acts, true).is_err());
    }

    #[test]
    fn host_that_slept_and_was_replaced_may_not_act() {
        let mut offices = Offices::default();
        let (first, second) = (saying(256, 1, true), saying(512, 2, true));
        assert_eq!(offices.hear(at(0), 0, first, false), Ok(()));
        assert_eq!(offices.hear(at(10), 1, second, false), Ok(()));
        offices.wake(0, true);
        assert!(offices.clone().hear(at(3_020), 0, first, false).is_err());
        assert_eq!(offices.hear(at(3_020), 0, saying(256, 1, false), false), Ok(()));
        assert_eq!(offices.hear(at(3_030), 0, first, false), Ok(()));
        offices.wake(2, true);
        assert_eq!(
            offices.hear(at(3_040), 2, saying(768, 3, true), false),
            Ok(()),
            "it became host after it slept"
        );
    }

    #[test]
    fn term_supersedes_a_host_only_if_the_relay_gave_it() {
        let mut offices = Offices::default();
        let later = |offices: &Offices, term| offices.is_given_after(SessionId(1), term);
        assert_eq!(offices.hear(at(0), 0, saying(256, 1, true), false), Ok(()));
        assert_eq!(offices.hear(at(10), 1, saying(257, 2, true), false), Ok(()));
        assert!(!later(&offices, Term(256)));
        assert_eq!(offices.hear(at(20), 2, saying(512, 3, true), false), Ok(()));
        assert!(later(&offices, Term(256)) && later(&offices, Term(257)) && !later(&offices, Term(512)));
    }
}
