//! docs/recovery.md, promise 4: a term has one host, and at every peer terms only grow.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{PeerId, SessionId, Term};

use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// The host of each term. The key has the side, if the rules let both sides of a partition play on.
#[derive(Debug, Default)]
pub(crate) struct Reigns {
    hosts: BTreeMap<(SessionId, Term, Option<PeerId>), PeerId>,
    /// The last term and host of each process.
    last: BTreeMap<ProcessId, Saying>,
}

/// The result of a look at a process's term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The process has the same term and host as at the last look.
    None,
    /// The process has another term than before, and another process was in that term first.
    Adopted,
    /// The process is the first one in its term. The field is the host of the term before.
    Begun(Option<PeerId>),
}

/// The term and host that a process shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Saying {
    session: SessionId,
    side: Option<PeerId>,
    me: PeerId,
    term: Term,
    host: PeerId,
}

impl Reigns {
    /// Checks the term of a process. With `side`, the term belongs to that side of the session alone.
    pub(crate) fn look(
        &mut self,
        process: ProcessId,
        session: &Session,
        side: Option<PeerId>,
    ) -> Result<News, Broken> {
        let (id, me) = (session.warrant().session, session.me());
        self.hear(process, Saying { session: id, side, me, term: session.term(), host: session.host() })
    }

    fn hear(&mut self, process: ProcessId, said: Saying) -> Result<News, Broken> {
        let last = self.last.insert(process, said);
        if last == Some(said) {
            return Ok(News::None);
        }
        let Saying { session, side, me, term, host } = said;
        if let Some(last) = last.filter(|last| (last.session, last.me) == (session, me) && last.term > term) {
            return Err(Broken::new(
                Promise::OneHost,
                format!("{me} went from {:?} back to {term:?}", last.term),
            ));
        }
        let before =
            self.hosts.range(..(session, term, None)).next_back().filter(|(key, _)| key.0 == session);
        let before = before.map(|(_, &host)| host);
        let is_new = !self.hosts.contains_key(&(session, term, side));
        let known = *self.hosts.entry((session, term, side)).or_insert(host);
        if known != host {
            let what = format!("{term:?} is hosted by {known}, and {me} says by {host}");
            return Err(Broken::new(Promise::OneHost, what));
        }
        Ok(if is_new { News::Begun(before) } else { News::Adopted })
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.last.remove(&process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn saying(me: u32, term: u64, host: u32) -> Saying {
        Saying { session: SessionId(1), side: None, me: PeerId(me), term: Term(term), host: PeerId(host) }
    }

    #[test]
    fn two_hosts_of_a_term_are_found() {
        let mut reigns = Reigns::default();
        assert_eq!(reigns.hear(0, saying(1, 256, 1)), Ok(News::Begun(None)));
        assert_eq!(reigns.hear(1, saying(2, 256, 1)), Ok(News::Adopted));
        assert_eq!(reigns.hear(1, saying(2, 512, 2)), Ok(News::Begun(Some(PeerId(1)))));
        assert_eq!(reigns.hear(0, saying(1, 512, 1)).unwrap_err().promise, Promise::OneHost);
    }

    #[test]
    fn each_side_of_a_partition_has_its_own_host() {
        let mut reigns = Reigns::default();
        let on = |side, me, host| Saying { side: Some(PeerId(side)), ..saying(me, 257, host) };
        assert_eq!(reigns.hear(0, on(1, 1, 1)), Ok(News::Begun(None)));
        assert_eq!(reigns.hear(1, on(2, 2, 2)), Ok(News::Begun(None)));
        assert_eq!(reigns.hear(2, on(2, 3, 2)), Ok(News::Adopted));
    }

    #[test]
    fn peer_that_goes_back_to_an_older_term_is_found() {
        let mut reigns = Reigns::default();
        assert_eq!(reigns.hear(0, saying(1, 512, 2)), Ok(News::Begun(None)));
        assert_eq!(reigns.hear(0, saying(1, 256, 1)).unwrap_err().promise, Promise::OneHost);
    }
}
