//! The peers that are known to be gone.

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{Duration, PeerId, Time};

/// How long a peer counts as gone after its connection to the relay has closed.
const GONE_FOR: Duration = Duration::from_millis(10_000);

/// The latest peers that said farewell or whose connection to the relay closed, and until when each counts as gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Gone(Vec<(PeerId, Time)>);

impl Gone {
    /// Notes that a peer's connection to the relay closed. The peer may come back without notice.
    pub(crate) fn note(&mut self, now: Time, peer: PeerId) {
        self.insert(peer, now + GONE_FOR);
    }

    /// Notes that a peer said farewell. It never comes back.
    pub(crate) fn note_farewell(&mut self, peer: PeerId) {
        self.insert(peer, Time::FAR);
    }

    fn insert(&mut self, peer: PeerId, until: Time) {
        let known = self.0.iter().position(|&(gone, _)| gone == peer).map(|at| self.0.remove(at));
        if known.is_none() && self.0.len() == MEMBERS_MAX {
            let passing = self.0.iter().position(|&(_, until)| until != Time::FAR);
            self.0.remove(passing.unwrap_or_default());
        }
        self.0.push((peer, known.map_or(until, |(_, known)| until.max(known))));
    }

    /// Forgets peers whose connection to the relay closed. While this peer could not reach the relay, the relay could
    /// not report that they were back.
    pub(crate) fn forget_connections(&mut self) {
        self.0.retain(|&(_, until)| until == Time::FAR);
    }

    pub(crate) fn has(&self, now: Time, peer: PeerId) -> bool {
        self.0.iter().any(|&(gone, until)| gone == peer && now <= until)
    }
}
