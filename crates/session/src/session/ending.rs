//! How links and the session end: who is told, and who is remembered not to be linked again.

use samovar_wire::{CloseCode, PeerId};

use super::{CLOSED_MAX, EndReason, Event, Peering, Phase, Session};

impl Session {
    /// Ends the link to a peer and tells it why.
    pub(super) fn drop_link(&mut self, peer: PeerId, code: CloseCode) {
        if let Some(peering) = self.remove_link(peer) {
            // Who goes may say so by a packet of no link; others may be linked again before it arrives.
            let packet = if code.is_farewell() {
                samovar_link::close_packet(code)
            } else {
                peering.link.close_packet(code)
            };
            self.bid_farewell(peer, packet);
        }
        self.objects.remove_peer(peer);
    }

    /// Not to be linked again, and why. Who fell off the end of the list is told nothing, which costs it a time-out.
    pub(super) fn close_to(&mut self, peer: PeerId, code: CloseCode) {
        if self.closed_to(peer).is_some() {
            return;
        }
        if self.closed.len() == CLOSED_MAX {
            self.closed.remove(0);
        }
        self.closed.push((peer, code));
    }

    /// Why a peer is not to be linked again.
    pub(super) fn closed_to(&self, peer: PeerId) -> Option<CloseCode> {
        self.closed.iter().find(|closed| closed.0 == peer).map(|closed| closed.1)
    }

    /// The state of a link goes.
    pub(super) fn remove_link(&mut self, peer: PeerId) -> Option<Peering> {
        let peering = self.links.remove(&peer)?;
        if peering.is_lasting() {
            self.note_parted(peer, peering.shared());
            self.note_lacked(&self.lacked_by(peer, &peering));
        }
        Some(*peering)
    }

    pub(super) fn bid_farewell(&mut self, peer: PeerId, packet: Vec<u8>) {
        // The latest matter most; whoever misses one learns of its end by silence.
        if self.farewells.len() >= 64 {
            self.farewells.remove(0);
        }
        self.farewells.push((peer, packet));
    }

    /// Leaves for good: everybody is told, and a host's successor need not wait for silence.
    pub fn leave(&mut self) {
        self.stir();
        self.close_all(CloseCode::Left);
    }

    /// As [`Session::leave`], of somebody who may come back as another peer with its ticket.
    pub fn go_away(&mut self) {
        self.stir();
        self.close_all(CloseCode::Away);
    }

    /// The session has lost its witness for good: ends it here, as for a member that was removed. Its ticket takes the seat
    /// back where it is founded anew.
    pub fn lose_witness(&mut self) {
        self.stir();
        self.end(EndReason::Removed);
    }

    pub(super) fn end(&mut self, reason: EndReason) {
        if self.phase == Phase::Over {
            return;
        }
        if reason == EndReason::Removed {
            self.report_divergence();
        }
        self.close_all(CloseCode::Away);
        self.push_event(Event::Ended(reason));
    }

    fn close_all(&mut self, code: CloseCode) {
        let peers: Vec<_> = self.links.keys().copied().collect();
        peers.into_iter().for_each(|peer| self.drop_link(peer, code));
        self.phase = Phase::Over;
        self.forget_callers();
    }
}
