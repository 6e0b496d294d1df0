//! What goes between the session and its witness, the relay (PROTOCOL §5.5).

use samovar_roster::Verdict;
use samovar_wire::relay::Denial;
use samovar_wire::{CloseCode, PeerId, Term, Time, Warrant};

use crate::core::Phase;
use crate::term::Former;
use crate::{EndReason, Session};

/// The witness of the session, by [`crate::Session::witness`]: the relay, which grants terms. Its word comes in by the
/// methods named `handle`; what it is to be told goes out by those named `poll`.
#[derive(Debug)]
pub struct Witness<'a> {
    pub(super) session: &'a mut Session,
    pub(super) now: Time,
}

impl Witness<'_> {
    /// Takes a warrant from the relay or a member, and lives under it when it opens a newer term.
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

    /// The relay has lost the host, and says by which warrant to go on should this peer miss it, too.
    pub fn handle_successor(&mut self, warrant: Warrant) {
        let Self { session, now } = self;
        session.pass(*now);
        session.core.stir();
        session.core.roster.keep_in_reserve(warrant);
        if session.core.roster.missed_since().is_some() {
            session.watch(*now);
        }
    }

    /// The relay did not grant the term that was claimed.
    pub fn handle_denial(&mut self, term: Term, denial: Denial) {
        self.session.core.stir();
        self.session.core.roster.handle_denial(self.now, term, denial);
        self.session.act(self.now);
    }

    /// The relay says that a peer's connection to it closed: as much as a hint, and that it cannot make that peer host.
    pub fn handle_gone(&mut self, peer: PeerId) {
        // Right behind a connection that is back it says that the other's is not, which was closed with it perhaps.
        if self.session.core.roster.handle_gone(self.now, peer) {
            self.session.path(self.now, peer).handle_closed();
        }
    }

    /// The session has lost its witness for good: ends it here, as for a member that was removed. Its ticket takes the seat
    /// back where it is founded anew.
    pub fn handle_lost(&mut self) {
        self.session.core.stir();
        self.session.end(EndReason::Removed);
    }

    /// The relay says that this peer is barred from the game: it is out, whether it has heard its host or not.
    pub fn handle_barred(&mut self) {
        self.session.core.stir();
        self.session.end(EndReason::Refused(CloseCode::PutOut));
    }

    /// Whether the relay can be reached. What it grants beats what members vote for, so it is asked while it can be.
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

    /// This peer's own connection to the relay is lost, through which it heard a member: that one's silence says nothing
    /// until the connection has been back for a second, or away for three. Of whom it missed long before it knows no better.
    pub fn excuse(&mut self, peer: PeerId) {
        self.session.core.excuse(self.now, peer);
    }

    /// Whether the relay should ask the host whether it lives, once for each silence: it is silent for longer than usual, or
    /// heard again after it was missed. The driver takes it to the relay, before a claim.
    pub const fn poll_doubt(&mut self) -> bool {
        core::mem::replace(&mut self.session.core.out.doubt, false)
    }

    /// A peer that this host has barred; the driver takes it to the relay, which keeps that one out.
    pub fn poll_bar(&mut self) -> Option<PeerId> {
        self.session.core.out.bars.pop_front()
    }

    /// The term that this peer claims, and for whom; the driver takes it to the relay.
    pub const fn poll_claim(&mut self) -> Option<(Term, PeerId)> {
        self.session.core.out.claim.take()
    }
}
