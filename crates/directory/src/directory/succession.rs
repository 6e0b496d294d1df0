//! The witness: who gets the next term, and when (DESIGN §4 "Election").

use samovar_wire::relay::{Denial, FromRelay};
use samovar_wire::{PeerId, SessionId, Term, Time, Warrant};

use super::timers::Timer;
use super::{Directory, Request};
use crate::limits::{PROBE_HOLDS, PROBE_WITHIN};

/// What a claim comes to.
enum Verdict {
    /// The host is gone for the relay as well.
    Grant(PeerId),
    /// The host must show whether it lives.
    Probe,
    /// Nothing to decide now.
    Wait,
}

impl Directory {
    pub(super) fn on_claim(&mut self, now: Time, session: SessionId, peer: PeerId, term: Term) {
        let Some(game) = self.games.get_mut(&session) else { return };
        let Some(warrant) = game.warrant else { return };
        if term != warrant.term.next_witnessed() {
            self.tell(session, peer, &FromRelay::Issued(warrant));
            self.deny(session, peer, term, Denial::Stale);
        } else if peer == warrant.host {
            // Whoever claims, lives.
            self.deny(session, peer, term, Denial::HostIsAlive);
        } else {
            game.claims.add(now, peer, term);
            let fresh = game.claims.alive_at.is_some_and(|at| now.since(at) <= PROBE_HOLDS);
            if fresh && game.host_conn().is_some() && !game.is_host_missed(now) {
                self.deny_waiting(session);
            } else {
                self.consider_claims(now, session);
            }
        }
    }

    /// Decides the claims that wait, whenever something that they hang on changed.
    pub(super) fn consider_claims(&mut self, now: Time, session: SessionId) {
        match self.verdict(now, session) {
            Verdict::Grant(peer) => self.grant(session, peer),
            Verdict::Probe => self.probe(now, session),
            Verdict::Wait => {}
        }
    }

    fn verdict(&self, now: Time, session: SessionId) -> Verdict {
        let Some(game) = self.games.get(&session) else { return Verdict::Wait };
        let Some(first) = game.claims.first() else { return Verdict::Wait };
        if game.pending.is_some() {
            return Verdict::Wait;
        }
        if game.host_conn().is_none() {
            return if game.awaits_host { Verdict::Wait } else { Verdict::Grant(first) };
        }
        match game.claims.probe {
            _ if game.is_host_missed(now) => Verdict::Grant(first),
            None => Verdict::Probe,
            Some(_) => Verdict::Wait,
        }
    }

    fn grant(&mut self, session: SessionId, peer: PeerId) {
        if let Some(term) = self.games.get(&session).and_then(|game| game.warrant).map(|w| w.term.next_witnessed()) {
            self.persist(session, term, peer);
        }
    }

    /// Sends a term to disk. Claims of it wait until it is there.
    pub(super) fn persist(&mut self, session: SessionId, term: Term, host: PeerId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        game.pending = Some((term, host));
        game.claims.probe = None;
        self.timers.stop(Timer::Probe(session));
        if let Some(record) = game.record(session) {
            self.requests.push_back(Request::Persist(record));
        }
    }

    fn probe(&mut self, now: Time, session: SessionId) {
        let nonce = self.entropy.number();
        let Some(game) = self.games.get_mut(&session) else { return };
        let Some(conn) = game.host_conn() else { return };
        game.claims.probe = Some(nonce);
        self.timers.set(Timer::Probe(session), now + PROBE_WITHIN);
        self.send(conn, &FromRelay::Probe(nonce));
    }

    /// An answer that is too late, or to another question, means nothing.
    pub(super) fn on_alive(&mut self, now: Time, session: SessionId, peer: PeerId, nonce: u64) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.host() == Some(peer) && game.claims.probe == Some(nonce) {
            game.claims.probe = None;
            game.claims.alive_at = Some(now);
            self.timers.stop(Timer::Probe(session));
            self.deny_waiting(session);
        }
    }

    pub(super) fn on_probe_timeout(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.claims.probe.take().is_some()
            && let Some(first) = game.claims.first()
        {
            self.grant(session, first);
        }
        self.consider_claims(now, session);
    }

    /// A host that is back, or whose game was listed by itself, is awaited no longer: claims are decided.
    pub(super) fn await_host(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.awaits_host && game.host_conn().is_some() {
            game.awaits_host = false;
            self.timers.stop(Timer::Grace(session));
        }
        self.consider_claims(now, session);
    }

    pub(super) fn on_grace_timeout(&mut self, now: Time, session: SessionId) {
        if let Some(game) = self.games.get_mut(&session) {
            game.awaits_host = false;
        }
        self.consider_claims(now, session);
    }

    fn deny_waiting(&mut self, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        for (peer, term) in game.claims.take_waiting() {
            self.deny(session, peer, term, Denial::HostIsAlive);
        }
    }

    /// Answers those who claimed what another got. They heard of the warrant before, like every member.
    pub(super) fn deny_losers(&mut self, warrant: Warrant, claims: Vec<(PeerId, Term)>) {
        for (peer, term) in claims {
            if peer != warrant.host || term != warrant.term {
                self.deny(warrant.session, peer, term, Denial::Stale);
            }
        }
    }

    fn deny(&mut self, session: SessionId, peer: PeerId, term: Term, denial: Denial) {
        self.tell(session, peer, &FromRelay::Denied(term, denial));
    }

    fn tell(&mut self, session: SessionId, peer: PeerId, message: &FromRelay) {
        if let Some(&conn) = self.games.get(&session).and_then(|game| game.members.get(&peer)) {
            self.send(conn, message);
        }
    }
}
