//! Hosts that begin with an older view than their predecessor's: neither host nor backup is left, and what was admitted
//! last is known to nobody who can host.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{PeerId, SessionId, Term};

use crate::game::ProcessId;

/// The newest view of a session's hosts, and each process's.
#[derive(Debug, Default)]
pub(crate) struct StaleHosts {
    hosts: BTreeMap<SessionId, Newest>,
    /// The number of each member's view.
    members: BTreeMap<ProcessId, (SessionId, u64)>,
}

#[derive(Debug)]
struct Newest {
    term: Term,
    number: u64,
    backups: Vec<PeerId>,
}

impl StaleHosts {
    /// Looks at a process. Whether it begins to host by a view that is older than its predecessor's newest, of which it
    /// was no backup.
    pub(crate) fn look(&mut self, process: ProcessId, session: &Session) -> bool {
        if !session.is_member() {
            self.forget(process);
            return false;
        }
        let (id, term, view) = (session.warrant().session, session.term(), session.view());
        let number = view.number();
        if !session.is_host() {
            self.members.insert(process, (id, number));
            return false;
        }
        let known = self.hosts.get(&id);
        if known.is_some_and(|known| term < known.term) {
            return false;
        }
        // A newcomer that begins the session anew shows the view that its page has kept.
        let own = self.members.remove(&process).filter(|own| own.0 == id).map_or(number, |own| own.1);
        let is_stale = known.is_some_and(|known| {
            term > known.term && own < known.number && !known.backups.contains(&session.me())
        });
        self.hosts.insert(id, Newest { term, number, backups: view.backups().to_vec() });
        is_stale
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.members.remove(&process);
    }
}
