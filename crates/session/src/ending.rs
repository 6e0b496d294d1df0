//! How links and the session end: which peers are told, and which are not linked again.

use samovar_wire::{CloseCode, PeerId, Time};

use crate::core::Phase;
use crate::core::peer_link::PeerLink;
use crate::{EndReason, Event, Session};

impl Session {
    /// Ends the link to a peer and tells it why.
    pub(crate) fn drop_link(&mut self, peer: PeerId, code: CloseCode) {
        if let Some(link) = self.remove_link(peer) {
            // A CLOSE of a peer that goes away need not name a link. In all other cases it must, since the two peers
            // may be linked again before the CLOSE arrives.
            let packet = if code.is_farewell() {
                samovar_link::close_packet(code)
            } else {
                link.transport.close_packet(code)
            };
            self.core.net.bid_farewell(peer, packet);
        }
        self.objects.remove_peer(peer);
    }

    /// Drops the state of a link.
    pub(crate) fn remove_link(&mut self, peer: PeerId) -> Option<PeerLink> {
        let link = self.core.net.take(peer)?;
        self.divergence.on_unlinked(&self.core, &self.objects, peer, &link);
        Some(link)
    }

    /// Ends the link of a peer that broke the rules, with the reason. If that peer is the host, this peer's session
    /// ends.
    pub(crate) fn expel(&mut self, now: Time, peer: PeerId, code: CloseCode) {
        self.core.stir();
        let was_admitted = self.core.net.is_admitted(peer);
        self.drop_link(peer, code);
        self.core.net.close_to(peer, code);
        self.core.push_event(Event::LinkClosed { peer, code });
        if peer == self.host() {
            self.end(EndReason::Misbehaviour(code));
        } else if was_admitted && self.is_host() {
            self.remove_member(now, peer);
        }
    }

    /// As the host, puts another member out: its session ends with [`CloseCode::PutOut`], its seat is free, and its
    /// ticket is void. The other members get [`Departure::PutOut`](crate::Departure::PutOut). The host takes its
    /// objects. The peer may come back as a newcomer, unless it is barred; see [`Session::bar`].
    ///
    /// Returns `false`, and does nothing, when this peer does not host or `peer` is not another member. If the host is
    /// replaced at the same moment, the member may stay.
    pub fn put_out(&mut self, now: Time, peer: PeerId) -> bool {
        if !self.core.is_host() || peer == self.core.me() || !self.core.view().has(peer) {
            return false;
        }
        self.core.stir();
        self.drop_link(peer, CloseCode::PutOut);
        self.core.net.close_to(peer, CloseCode::PutOut);
        self.desk.put_out.push(peer);
        self.do_housework(now);
        true
    }

    /// Does the same as [`Session::put_out`], and asks the relay to keep out the peer, and newcomers from its
    /// address, until the game ends. The relay can only keep out peers that it recognises: from another address the
    /// player comes back as a newcomer. A relay that is out of reach is told when it is back, if this peer still
    /// hosts then.
    pub fn bar(&mut self, now: Time, peer: PeerId) -> bool {
        let is_out = self.put_out(now, peer);
        if is_out {
            self.core.out.bar(peer);
        }
        is_out
    }

    /// Leaves for good. This peer tells all members, so if it hosts, its successor need not wait for silence.
    pub fn leave(&mut self) {
        self.core.stir();
        self.close_all(CloseCode::Left);
    }

    /// Leaves as [`Session::leave`] does, but the player may come back as another peer with its ticket.
    pub fn go_away(&mut self) {
        self.core.stir();
        self.close_all(CloseCode::Away);
    }

    /// Ends this peer's session, since others went on under a host that it cannot follow. Its ticket takes the seat
    /// back.
    pub(crate) fn end_removed(&mut self) {
        self.divergence.note_split_from_host(&self.core);
        self.end(EndReason::Removed);
    }

    pub(crate) fn end(&mut self, reason: EndReason) {
        if self.core.phase == Phase::Over {
            return;
        }
        if reason == EndReason::Removed {
            let (core, inputs) = (&self.core, &self.inputs);
            let accepted_since = |since| inputs.accepted_since(core, since);
            if let Some(event) = self.divergence.report(core, &self.objects, accepted_since) {
                self.core.push_event(event);
            }
        }
        self.close_all(CloseCode::Away);
        self.core.push_event(Event::Ended(reason));
    }

    fn close_all(&mut self, code: CloseCode) {
        self.core.net.peers().into_iter().for_each(|peer| self.drop_link(peer, code));
        self.core.phase = Phase::Over;
        self.calls.forget_callers(&mut self.core);
    }
}
