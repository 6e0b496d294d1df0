//! When links begin, and how often each end gives signs of life.

use samovar_link::LinkConfig;
use samovar_wire::{Duration, PeerId, Time};

use super::{Core, Phase};

/// The shortest time between two signs of life of a host.
const HOST_PACE_MIN: Duration = Duration::from_millis(20);
/// How often an entrant that no host admits claims the term.
const CLAIM_AGAIN: Duration = Duration::from_millis(1_000);

impl Core {
    /// Makes sure that there is a link to a peer. `before` is the time up to which this peer's messages had reached
    /// that peer before this link.
    pub(crate) fn open_link(&mut self, now: Time, peer: PeerId, before: Time) {
        if !self.net.is_linked(peer) {
            self.net.begin(now, peer, before);
            self.stir();
            self.set_paces();
        }
    }

    /// Sets how often each end of each link gives signs of life. A host does so about as often as it sends updates, so
    /// that its death is noticed soon. Others do so only when they must (PROTOCOL §2.4).
    pub(crate) fn set_paces(&mut self) {
        let own = self.pace_of(self.me());
        for peer in self.net.peers() {
            let promised = self.pace_of(peer);
            if let Some(link) = self.net.link_mut(peer) {
                link.transport.set_pace(own, promised);
            }
        }
    }

    /// The time within which a live member gives its next sign of life.
    pub(crate) fn pace_of(&self, peer: PeerId) -> Duration {
        if peer == self.host() { self.host_pace() } else { LinkConfig::default().keep_alive }
    }

    /// One and a half times the update interval. So a host whose objects change needs no extra packets as signs of
    /// life.
    fn host_pace(&self) -> Duration {
        self.net.update_interval.times(3).half().clamp(HOST_PACE_MIN, LinkConfig::default().keep_alive)
    }

    /// Members that have no link: new ones, and members that closed their link because they had read another view
    /// than this peer has. A member that broke the rules is not linked again until the view drops it.
    pub(crate) fn unlinked_members(&self) -> Vec<PeerId> {
        let is_unlinked = |peer: &PeerId| {
            *peer != self.me() && self.net.closed_to(*peer).is_none() && !self.net.is_admitted(*peer)
        };
        self.view().members().map(|member| member.peer).filter(is_unlinked).collect()
    }

    /// Whether a peer without a link that speaks now is a member that closed its link before. Such a member has read
    /// the view by now.
    pub(crate) fn is_member_come_back(&self, now: Time, peer: PeerId) -> bool {
        self.phase == Phase::Member
            && self.view().has(peer)
            && self.net.closed_to(peer).is_none()
            && self.net.may_restart(now, peer)
    }

    /// Claims the term when no host has admitted this peer for long. There may be no members left; only the relay
    /// knows.
    pub(crate) fn claim_if_abandoned(&mut self, now: Time) {
        if self.phase == Phase::Joining && self.members.abandoned_at <= now {
            self.members.abandoned_at = now + CLAIM_AGAIN;
            self.out.claim = Some((self.term().next_witnessed(), self.me()));
        }
    }
}
