//! DESIGN §5.4: a term has one host, and at every peer terms only grow.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{PeerId, SessionId, Term};

use super::{Broken, Promise};
use crate::game::ProcessId;

/// Who hosts by which term, as any peer ever said.
#[derive(Debug, Default)]
pub(crate) struct Reigns {
    hosts: BTreeMap<(SessionId, Term), PeerId>,
    /// What each process said last.
    last: BTreeMap<ProcessId, (SessionId, PeerId, Term)>,
}

/// What a look at a process's term brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// What was known.
    None,
    /// This process lives under another term than before; others did already.
    Adopted,
    /// A term that nobody has lived under before, and the host of the one before it.
    Begun(Option<PeerId>),
}

impl Reigns {
    /// Looks at the term of a process.
    pub(crate) fn look(&mut self, process: ProcessId, session: &Session) -> Result<News, Broken> {
        let said = (session.warrant().session, session.me(), session.term());
        let last = self.last.get(&process).copied();
        if last == Some(said) {
            return Ok(News::None);
        }
        let (id, me, term) = said;
        if last
            .is_some_and(|(last_id, last_me, last_term)| (last_id, last_me) == (id, me) && last_term > term)
        {
            return Err(Broken::new(Promise::OneHost, format!("{me} went back to {term:?} from {last:?}")));
        }
        self.last.insert(process, said);
        let before = self.hosts.range(..(id, term)).next_back().filter(|(key, _)| key.0 == id);
        let before = before.map(|(_, &host)| host);
        let is_new = !self.hosts.contains_key(&(id, term));
        let host = *self.hosts.entry((id, term)).or_insert_with(|| session.host());
        if host != session.host() {
            let what = format!("{term:?} is hosted by {host} and, says {me}, by {}", session.host());
            return Err(Broken::new(Promise::OneHost, what));
        }
        Ok(if is_new { News::Begun(before) } else { News::Adopted })
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.last.remove(&process);
    }
}
