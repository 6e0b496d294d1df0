//! The messages between the session and its witness, the relay (PROTOCOL §5.5).

use samovar_roster::Verdict;
use samovar_wire::relay::Denial;
use samovar_wire::{CloseCode, PeerId, Term, Time, Voucher, Warrant};

use crate::core::Phase;
use crate::term::Former;
use crate::{EndReason, Session};

/// The witness of the session, from [`crate::Session::witness`]: the relay, which grants terms. Methods named
/// `handle` take the relay's messages. Methods named `poll` return messages for the relay.
#[derive(Debug)]
pub struct Witness<'a> {
    pub(super) session: &'a mut Session,
    pub(super) now: Time,
}

impl Witness<'_> {
    /// Takes a warrant from the relay or a member, and begins the warrant's term if that is a newer one.
    pub fn handle_warrant(&mut self, warrant: &Warrant) -> Verdict {
        let Self { session, now } = self;
        session.pass(*now);
        session.core.stir();
        let (former, before) = (Former::of(&session.core), session.term());
        let verdict = session.core.roster.handle_warrant(warrant);
        if session.term() != before && session.core.phase != Phase::Over {
            session.begin_term(*now, former);
        }
        session.act(*now);
        verdict
    }

    /// Takes a warrant of a later term, which the relay gives since it has lost the host. The session begins that
    /// term if this peer misses the host, too.
    pub fn handle_successor(&mut self, warrant: Warrant) {
        let Self { session, now } = self;
        session.pass(*now);
        session.core.stir();
        session.core.roster.keep_in_reserve(warrant);
        if session.core.roster.missed_since().is_some() {
            session.watch(*now);
        }
    }

    /// Handles that the relay did not grant the term that this peer claimed.
    pub fn handle_denial(&mut self, term: Term, denial: Denial) {
        self.session.core.stir();
        self.session.core.roster.handle_denial(self.now, term, denial);
        self.session.act(self.now);
    }

    /// Takes the relay's word that a peer's connection to the relay closed. This hints that the peer is gone, and the
    /// relay cannot make that peer the host.
    pub fn handle_gone(&mut self, peer: PeerId) {
        // Right after this peer has come back to the relay, the news may be old, since one fault may have closed both
        // connections. Only fresh news is a hint.
        if self.session.core.roster.handle_gone(self.now, peer) {
            self.session.path(self.now, peer).handle_closed();
        }
    }

    /// Handles that the session has lost its witness for good. This peer's session ends, as for a removed member. Its
    /// ticket takes the seat back when the session is founded anew.
    pub fn handle_lost(&mut self) {
        self.session.core.stir();
        self.session.end(EndReason::Removed);
    }

    /// Takes the relay's word that this peer is barred from the game. This peer's session ends, even if its host has
    /// not told it yet.
    pub fn handle_barred(&mut self) {
        self.session.core.stir();
        self.session.end(EndReason::Refused(CloseCode::PutOut));
    }

    /// Takes the relay's word about this peer, which the relay has given anew.
    pub fn handle_voucher(&mut self, voucher: Box<Voucher>) {
        self.session.core.config.voucher = Some(voucher);
    }

    /// Sets whether the relay can be reached. A term that the relay grants beats a voted one, so members ask the relay
    /// while they can.
    pub fn set_reached(&mut self, is_reached: bool) {
        let Self { session, now } = self;
        session.pass(*now);
        session.core.stir();
        session.core.roster.set_relay(*now, is_reached);
        if is_reached {
            session.core.end_excuses(*now);
        }
        session.watch(*now);
    }

    /// Excuses the silence of a member that this peer heard through the relay, since this peer has lost its own
    /// connection to the relay. The silence does not count until the connection has been back for a second, or away
    /// for three. A member that was missed long before stays missed.
    pub fn excuse(&mut self, peer: PeerId) {
        self.session.core.excuse(self.now, peer);
    }

    /// Whether the driver should send DOUBT to the relay, which then probes the host. DOUBT goes before a claim. This
    /// returns `true` once when the host is silent for longer than usual, and once when the host is heard again after
    /// it was missed.
    pub const fn poll_doubt(&mut self) -> bool {
        core::mem::replace(&mut self.session.core.out.doubt, false)
    }

    /// A peer that this host has barred; the driver tells the relay, which keeps that peer out.
    pub fn poll_bar(&mut self) -> Option<PeerId> {
        self.session.core.out.bars.pop_front()
    }

    /// The term that this peer claims, and the candidate for it; the driver sends the claim to the relay.
    pub const fn poll_claim(&mut self) -> Option<(Term, PeerId)> {
        self.session.core.out.claim.take()
    }
}
