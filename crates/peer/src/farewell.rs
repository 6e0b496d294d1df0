//! A peer's part when its relay is about to stop (PROTOCOL §5.6).

use samovar_wire::{Duration, Time};

use crate::driver::PeerEvent;
use crate::peer::Peer;

impl Peer {
    /// Handles the relay's notice that it stops within this time.
    pub(crate) fn on_draining(&mut self, now: Time, within: Duration) {
        self.hurry(now);
        self.leaving.on_draining(now, within);
        self.out.tell(PeerEvent::RelayDraining(within));
    }

    /// Hands over to the heir if this peer hosts, its relay is about to stop, and the heir has more direct paths.
    /// Members that reach this host only over the relay would lose it together with the relay, when no witness is left.
    pub(crate) fn yield_to_better_linked(&mut self, now: Time) {
        if !self.leaving.takes_yield(now) {
            return;
        }
        let Some(session) = self.session.as_mut().filter(|session| session.is_host()) else { return };
        let (me, view) = (session.me(), session.view());
        let reach = |peer| {
            let member = view.members().find(|member| member.peer == peer);
            member.map_or(0, |member| member.record.standing.reach)
        };
        let heir = view.succession(me).into_iter().find(|&peer| !session.is_joining(peer));
        if heir.is_some_and(|heir| reach(heir) > reach(me)) {
            session.hand_over_to_player(now);
        }
    }
}
