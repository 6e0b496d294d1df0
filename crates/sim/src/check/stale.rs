//! Finds hosts that begin with an older view than their predecessor's newest. This is no error when neither the host
//! nor a backup is left: no remaining member knows the peers that were admitted last.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{PeerId, SessionId, Term};

use crate::game::ProcessId;

/// The newest view that a host of each session had, and the newest view of each process.
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
    /// Looks at a process. Returns whether it begins to host with an older view than its predecessor's newest,
    /// without having been a backup in that view.
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
        // A newcomer that begins the session anew has no entry in `members`. For a newcomer, the view that its page
        // kept counts.
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
