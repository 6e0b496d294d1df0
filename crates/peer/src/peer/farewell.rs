//! What a peer does when its relay is about to stop (PROTOCOL §5.6).

use samovar_wire::{Duration, Time};

use super::{Peer, PeerEvent};

/// How long direct paths may take to open before a host looks who has the most of them.
const LINKED_WITHIN: Duration = Duration::from_millis(4_000);

impl Peer {
    /// The relay stops within this time.
    pub(super) fn on_draining(&mut self, now: Time, within: Duration) {
        self.hurry(now);
        self.yields_at = now + LINKED_WITHIN.min(within.half());
        self.push_event(PeerEvent::RelayDraining(within));
    }

    /// A host that members reach through the relay alone is lost with it. While there is a witness, it hands over to its
    /// successor if that one has more direct paths.
    pub(super) fn yield_to_better_linked(&mut self, now: Time) {
        if self.yields_at > now {
            return;
        }
        self.yields_at = Time::FAR;
        let Some(session) = self.session.as_mut().filter(|session| session.is_host()) else { return };
        let (me, view) = (session.me(), session.view());
        let reach = |peer| {
            let member = view.members().find(|member| member.peer == peer);
            member.map_or(0, |member| member.record.standing.reach)
        };
        if view.succession(me).first().is_some_and(|&heir| reach(heir) > reach(me)) {
            session.hand_over_to_player(now);
        }
    }
}
