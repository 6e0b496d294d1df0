//! When links begin, and how often something is heard by them.

use samovar_link::LinkConfig;
use samovar_wire::{Duration, PeerId, Time};

use super::{Core, Phase};

/// The shortest time between two signs of life of a host.
const HOST_PACE_MIN: Duration = Duration::from_millis(20);
/// How often an entrant that nobody admits claims the term.
const CLAIM_AGAIN: Duration = Duration::from_millis(1_000);

impl Core {
    /// Makes sure there is a link to a peer; what this peer said up to `before` had reached it when there was none.
    pub(crate) fn open_link(&mut self, now: Time, peer: PeerId, before: Time) {
        if !self.net.is_linked(peer) {
            self.net.begin(now, peer, before);
            self.stir();
            self.set_paces();
        }
    }

    /// A host gives signs of life as often as it tells of its objects, so that its death is noticed soon; others do so
    /// when they must (PROTOCOL §2.4).
    pub(crate) fn set_paces(&mut self) {
        let own = self.pace_of(self.me());
        for peer in self.net.peers() {
            let promised = self.pace_of(peer);
            if let Some(link) = self.net.link_mut(peer) {
                link.transport.set_pace(own, promised);
            }
        }
    }

    /// Within which time something is heard of a member that lives.
    pub(crate) fn pace_of(&self, peer: PeerId) -> Duration {
        if peer == self.host() { self.host_pace() } else { LinkConfig::default().keep_alive }
    }

    /// Half as long again as the pace of updates, so that a host that plays needs no packet of its own for it.
    fn host_pace(&self) -> Duration {
        self.net.update_interval.times(3).half().clamp(HOST_PACE_MIN, LinkConfig::default().keep_alive)
    }

    /// Members that have no link: those that came, and whoever closed one for a view that was not this peer's. Who broke
    /// the rules stays closed to until the view drops it.
    pub(crate) fn unlinked_members(&self) -> Vec<PeerId> {
        let is_unlinked = |peer: &PeerId| {
            *peer != self.me() && self.net.closed_to(*peer).is_none() && !self.net.is_admitted(*peer)
        };
        self.view().members().map(|member| member.peer).filter(is_unlinked).collect()
    }

    /// A member speaks that there is no link to, since it closed a former one: it knows better now.
    pub(crate) fn is_member_come_back(&self, now: Time, peer: PeerId) -> bool {
        self.phase == Phase::Member
            && self.view().has(peer)
            && self.net.closed_to(peer).is_none()
            && self.net.may_restart(now, peer)
    }

    /// Nobody answers who could admit this peer, nor takes over: there may be no member left. The relay knows.
    pub(crate) fn claim_if_abandoned(&mut self, now: Time) {
        if self.phase == Phase::Joining && self.members.abandoned_at <= now {
            self.members.abandoned_at = now + CLAIM_AGAIN;
            self.out.claim = Some((self.term().next_witnessed(), self.me()));
        }
    }
}
