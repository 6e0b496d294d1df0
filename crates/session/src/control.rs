//! Control messages between peers, and closed links.

use samovar_roster::Verdict;
use samovar_wire::control::{Opinion, PeerControl};
use samovar_wire::{Blame, CloseCode, PeerId, Term, Time};

use crate::core::Phase;
use crate::{EndReason, Event, Session};

impl Session {
    pub(crate) fn handle_control(&mut self, now: Time, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let news = PeerControl::decode(body).map_err(|_| CloseCode::Malformed)?;
        match news {
            PeerControl::Hello(hello) => self.on_hello(now, from, &hello),
            PeerControl::Welcome(hash) => {
                // A former host's WELCOME does not count: the view that it stands for may be lost with that host.
                if from == self.host() {
                    self.core.take_ticket(hash);
                }
                Ok(())
            }
            PeerControl::Warrant(warrant) => match self.witness(now).handle_warrant(&warrant) {
                Verdict::Forged => Err(CloseCode::BadWarrant),
                Verdict::Newer | Verdict::Known => {
                    if warrant.term == self.term() {
                        self.listen(now, from, None);
                    }
                    Ok(())
                }
            },
            PeerControl::Standing(standing) => {
                if self.is_host() {
                    self.note_standing(now, from, standing);
                }
                Ok(())
            }
            // The sender is a member of a view that this peer has not read yet.
            PeerControl::Opinion(opinion)
                if opinion.is_implied() && from != self.host() && !self.core.takes_part(from) =>
            {
                self.core.note_joined(from);
                Ok(())
            }
            // Only a member's opinion counts.
            _ if !self.core.takes_part(from) => self.refuse(from),
            PeerControl::Opinion(opinion) => {
                self.on_opinion(now, from, opinion);
                Ok(())
            }
        }
    }

    fn on_opinion(&mut self, now: Time, from: PeerId, opinion: Opinion) {
        self.core.note_joined(from);
        if self.core.roster.handle_opinion(from, opinion) {
            self.watch(now);
        } else {
            self.core.watch.soon();
        }
        let Opinion { term, host, .. } = opinion;
        if !term.is_witnessed() {
            let ahead = self.core.is_elsewhere(from, (term, host)).then_some((term, host));
            self.listen(now, from, ahead);
        }
    }

    /// Refuses a message that only members send, from a peer that is not in the view. The sender may be honest: a
    /// former host may have admitted it and been lost before that host's view came here. If the sender is the host,
    /// that host lives and this peer cannot follow it, so this peer's session ends (PROTOCOL §4.10).
    pub(crate) fn refuse(&mut self, from: PeerId) -> Result<(), CloseCode> {
        if from != self.host() {
            return Err(CloseCode::NotAMember);
        }
        self.end_removed();
        Ok(())
    }

    /// Notes the term and host under which a member speaks. `ahead` is `None` when this peer lives under the same
    /// ones.
    fn listen(&mut self, now: Time, from: PeerId, ahead: Option<(Term, PeerId)>) {
        let Some(link) = self.core.net.link_mut(from) else { return };
        let was = link.ahead;
        link.note_ahead(ahead);
        if was.is_some() && ahead.is_none() {
            self.release_held(now);
        }
    }

    /// Handles that the other end closed the link.
    pub(crate) fn on_closed(&mut self, now: Time, peer: PeerId, code: CloseCode) {
        let is_farewell = code.is_farewell();
        if is_farewell {
            self.core.roster.handle_farewell(peer);
        }
        if code == CloseCode::Left {
            self.core.members.view.note_left(peer);
        }
        if peer == self.host() && self.core.phase == Phase::Joining && is_farewell {
            // The host goes while this peer asks to join. This peer will ask that host's successor.
            self.core.net.take(peer);
            return;
        }
        if peer == self.host() && !self.is_host() {
            return self.on_closed_by_host(now, code);
        }
        self.remove_link(peer);
        self.objects.remove_peer(peer);
        if is_farewell {
            self.divergence.on_farewell(peer);
            if self.core.view().has(peer) {
                self.desk.leavers.insert(peer);
            }
        }
        // A member may close a link because it has not read the view that names this peer yet. Unless this peer
        // hosts, it lets such a member be linked again, and no other peer.
        let is_by_view = matches!(code, CloseCode::NotAMember | CloseCode::SeatTaken);
        if !is_by_view || self.is_host() || !self.core.view().has(peer) {
            self.core.net.close_to(peer, CloseCode::NotAMember);
        }
        if code.blame() == Blame::Misbehaviour {
            self.core.push_event(Event::LinkClosed { peer, code });
        }
        if self.is_host() {
            self.remove_member(now, peer);
        }
    }

    fn on_closed_by_host(&mut self, now: Time, code: CloseCode) {
        match (code, code.blame()) {
            (CloseCode::Left | CloseCode::Away, _) => {
                if let Some(link) = self.core.net.link_mut(self.host()) {
                    link.left = true;
                }
                self.watch(now);
            }
            (CloseCode::SeatTaken, _) => self.end(EndReason::SeatTaken),
            (_, Blame::Incompatible) => self.end(EndReason::Refused(code)),
            (_, Blame::Misbehaviour) => self.end(EndReason::Misbehaviour(code)),
            _ => self.end(EndReason::Removed),
        }
    }
}
