//! DirectPlay 4's algorithm (docs/sources.md, "DirectPlay"), for comparison: the lowest id that answers is host.

use samovar_roster::View;
use samovar_wire::{PeerId, SortedSet};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Seed {
    me: PeerId,
    pub(crate) host: PeerId,
    /// The peers that did not answer this peer's pings.
    unreachable: SortedSet<PeerId>,
}

impl Seed {
    pub(crate) const fn new(me: PeerId, host: PeerId) -> Self {
        Self { me, host, unreachable: SortedSet::new() }
    }

    pub(crate) fn is_host(&self) -> bool {
        self.host == self.me
    }

    /// Whether the host is unreachable for this peer, and no other peer has announced itself yet.
    pub(crate) fn is_migrating(&self) -> bool {
        self.unreachable.contains(&self.host)
    }

    /// The peer that this one pings: the host, or the lowest id that could follow an unreachable host.
    pub(crate) fn candidate(&self, view: &View) -> Option<PeerId> {
        if !self.is_migrating() {
            return Some(self.host).filter(|_| !self.is_host());
        }
        self.reachable(view).min().filter(|&lowest| lowest != self.me)
    }

    pub(crate) fn reachable(&self, view: &View) -> impl Iterator<Item = PeerId> {
        view.members().map(|member| member.peer).filter(|peer| !self.unreachable.contains(peer))
    }

    pub(crate) fn is_pinging(&self, view: &View) -> bool {
        self.is_migrating() && self.candidate(view).is_some()
    }

    /// Notes that eight pings were not answered. Returns `true` if this peer has the lowest id of all that answer,
    /// which makes it the host.
    pub(crate) fn time_out(&mut self, candidate: PeerId, view: &View) -> bool {
        self.unreachable.insert(candidate);
        let becomes = self.is_migrating() && self.candidate(view).is_none();
        if becomes {
            self.host = self.me;
        }
        becomes
    }

    /// Accepts the announcement of a peer that it is host. No peer checks its right.
    pub(crate) fn on_announcement(&mut self, from: PeerId) {
        self.unreachable.remove(&from);
        self.host = from;
    }
}
