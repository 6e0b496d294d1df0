//! What time brings: losses, deaths, the host's housework.

use samovar_roster::Liveness;
use samovar_wire::{CloseCode, Duration, PeerId, Time};

use super::{Phase, Session};

/// How often everybody's life is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// The silence of a member that there is no link to.
const UNLINKED: Duration = Duration::from_millis(2_000);
/// How long the relay's word that a connection closed counts while the peer is heard of.
const HINT_FADES: Duration = Duration::from_millis(3_000);

impl Session {
    /// Lets time pass. A driver hands over what has arrived before it calls this.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.phase == Phase::Over {
            return;
        }
        self.links.values_mut().for_each(|peering| peering.link.handle_timeout(now));
        let peers: Vec<_> = self.links.keys().copied().collect();
        for peer in peers {
            while let Some(event) = self.links.get_mut(&peer).and_then(|p| p.link.poll_event()) {
                if let samovar_link::LinkEvent::Fate(packet, fate) = event {
                    self.objects.on_fate(peer, packet, fate == samovar_link::Fate::Delivered);
                }
            }
        }
        self.expire_calls(now);
        if self.next_watch <= now {
            self.next_watch = now + WATCH_INTERVAL;
            self.watch(now);
            self.close_to_overdue(now);
            if self.is_host() {
                self.do_housework(now);
            }
            self.review(now);
        }
    }

    /// When [`Session::handle_timeout`] or [`Session::poll_transmit`] have something to do by themselves.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.phase == Phase::Over {
            return None;
        }
        let links = self.links.iter().map(|(&peer, peering)| {
            let update = if self.objects.wants_datagram(peer) { peering.next_update } else { Time::FAR };
            peering.link.poll_timeout().min(update.max(peering.link.budget_at()))
        });
        Some(links.min().unwrap_or(Time::FAR).min(self.next_watch).min(self.calls.deadline()))
    }

    /// What is open between this peer and others: wishes, calls, what was not told yet.
    fn review(&mut self, now: Time) {
        self.forget_callers();
        if self.phase == Phase::Member {
            self.review_wishes(now);
            self.arbitrate(now);
            self.even_out(now);
            self.tell_focus();
        }
    }

    /// The relay says that a peer's connection to it closed: a hint, not a proof.
    pub fn handle_hint(&mut self, now: Time, peer: PeerId) {
        if let Some(peering) = self.links.get_mut(&peer) {
            peering.hint = Some(now);
        }
    }

    /// Who lives but does not take what it must be told is no member that could ever agree with the others.
    fn close_to_overdue(&mut self, now: Time) {
        let overdue = self.links.keys().copied().find(|&peer| self.objects.is_overdue(peer));
        if let Some(peer) = overdue {
            self.on_misbehaviour(now, peer, CloseCode::LimitExceeded);
        }
    }

    /// Looks at everybody's life, and claims the succession when it is this peer's turn.
    pub(super) fn watch(&mut self, now: Time) {
        let mut lives = samovar_wire::SortedMap::new();
        for (&peer, peering) in &mut self.links {
            let silence = peering.link.silence(now);
            peering.hint.take_if(|since| *since + HINT_FADES <= now && silence < Duration::from_millis(500));
            lives.insert(peer, Liveness { silence, hint: peering.hint.is_some(), left: peering.left });
        }
        // A peer without a link is as good as missed: the rules of the game were broken on one side.
        for member in self.view.members().filter(|m| m.peer != self.config.me) {
            lives.entry(member.peer).or_insert(Liveness { silence: UNLINKED, hint: false, left: true });
        }
        if self.phase == Phase::Member
            && let Some(term) = self.roster.watch(now, &self.view, &lives)
        {
            self.claim = Some(term);
        }
    }
}
