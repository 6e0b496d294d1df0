//! How links begin, and begin anew (PROTOCOL §2.2).

use samovar_wire::control::PeerControl;
use samovar_wire::{CloseCode, Duration, PeerId, Time};

use crate::core::Phase;
use crate::{Departure, Event, Session};

/// How many strangers may wait at a host for admission at a time.
const STRANGERS_MAX: usize = 16;
/// An entrant that is not admitted within this time claims the next term for itself. If there were members, they
/// would have found a host long before.
const ABANDONED_AFTER: Duration = Duration::from_millis(10_000);

impl Session {
    /// Makes sure there is a link to a peer.
    fn open_link(&mut self, now: Time, peer: PeerId) {
        let before = self.divergence.reached_before(&self.core, now, peer);
        self.core.open_link(now, peer, before);
    }

    /// Opens the link to a member that has none, and tells the other end everything. Messages under way on a former
    /// link are lost. So the games at both ends are told that the other member left and is back (docs/recovery.md,
    /// promise 5).
    pub(crate) fn link_member(&mut self, now: Time, peer: PeerId) {
        if let Some(member) = self.core.members.members.get(&peer).cloned() {
            self.core.push_event(Event::MemberLeft { member: member.clone(), departure: Departure::Gone });
            self.core.push_event(Event::MemberJoined { member, resumed: true });
        }
        let is_new = !self.core.net.is_linked(peer);
        self.open_link(now, peer);
        if let Some(link) = self.core.net.link_mut(peer) {
            link.admitted = true;
        }
        self.core.greet(peer);
        if is_new && peer == self.host() && self.core.out.migration.is_none() {
            self.core.members.asked = None;
            self.core.ask_for_ticket();
        }
        self.objects.add_peer(peer);
        self.inputs.on_linked(peer);
        let time = self.core.time(now);
        self.orders.handle_link((now, time), peer);
        self.interest.on_linked(peer);
    }

    /// Begins this end of a link anew, since the other end did. A member stays a member.
    pub(crate) fn on_restarted(&mut self, now: Time, peer: PeerId) {
        if !self.core.net.may_restart(now, peer) {
            return;
        }
        let Some(former) = self.remove_link(peer) else { return };
        if former.admitted {
            self.objects.restart_peer(peer);
            self.link_member(now, peer);
            if former.joined {
                self.core.note_joined(peer);
            }
            let view = self.core.view();
            self.objects.report_orphans(|peer| !view.has(peer));
        } else if self.core.phase == Phase::Joining && peer == self.host() {
            self.ask_to_join(now);
        } else {
            self.open_link(now, peer);
        }
    }

    /// Whether to listen to a peer without a link. A host listens to any peer, to get its HELLO; all others listen to
    /// members only.
    pub(crate) fn admits_stranger(&mut self, now: Time, from: PeerId) -> bool {
        if let Some(code) = self.core.net.closed_to(from) {
            self.core.net.rebuff(now, from, code);
            return false;
        }
        if self.core.is_member_come_back(now, from) {
            self.link_member(now, from);
            return true;
        }
        if !self.is_host() || !self.has_room_for_stranger() {
            return false;
        }
        self.open_link(now, from);
        true
    }

    /// Whether there is room for another stranger. If there is none, the oldest stranger that has sent no HELLO loses
    /// its link.
    fn has_room_for_stranger(&mut self) -> bool {
        let strangers = || self.core.net.links().filter(|(_, link)| !link.admitted);
        if strangers().count() < STRANGERS_MAX {
            return true;
        }
        let silent = strangers().filter(|(_, link)| !link.greeted);
        let oldest = silent.min_by_key(|(_, link)| link.opened).map(|(peer, _)| peer);
        oldest.is_some_and(|peer| self.remove_link(peer).is_some())
    }

    /// Asks for admission: sends the highest warrant, then HELLO, to the host that the warrant names.
    pub(crate) fn ask_to_join(&mut self, now: Time) {
        let host = self.host();
        self.core.members.abandoned_at = now + ABANDONED_AFTER;
        if self.core.members.asked.replace(self.term()).is_some() {
            self.core.members.tickets.draw(&mut self.desk.entropy);
        }
        self.open_link(now, host);
        let (warrant, hello) = (*self.warrant(), self.core.hello());
        self.core.send_control(host, &PeerControl::Warrant(warrant));
        self.core.send_control(host, &PeerControl::Hello(hello));
    }

    /// Expels a peer that lives but takes its messages so slowly that too many messages about ended objects wait for
    /// it. Such a peer could never agree with the others.
    pub(crate) fn close_to_overdue(&mut self, now: Time) {
        let overdue = self.core.net.peers().into_iter().find(|&peer| self.objects.is_overdue(peer));
        if let Some(peer) = overdue {
            self.expel(now, peer, CloseCode::LimitExceeded);
        }
    }
}
