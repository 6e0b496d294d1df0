//! The witness: it decides which peer gets the next term, and when (PROTOCOL §4.10, §5.5).
//!
//! Every member that misses the host claims the next term, normally all for the same candidate, and repeats the claim
//! while it misses the host. So a claim tells two things: that its sender misses the host, and which candidate it
//! wants. The host's own claim renews its term, or hands over.

use samovar_wire::relay::{Denial, FromRelay};
use samovar_wire::{PeerId, SessionId, Term, Time, Warrant};

use super::claims::{Claim, Probe};
use super::connection::Phase;
use super::game::{Game, Pending};
use super::timers::Timer;
use super::{ConnId, Directory, HostChange, Request};
use crate::limits::{ALIVE_HOLDS, ALL_PROBED_EVERY, PROBE_HOLDS, PROBE_WITHIN};

/// The result of the claims.
enum Verdict {
    /// This candidate gets the next term, because the host has no connection to the relay or most members miss it.
    Grant(PeerId, HostChange),
    /// The host must prove that it lives.
    Probe,
    /// No decision is due now.
    Wait,
}

impl Directory {
    pub(super) fn on_claim(&mut self, now: Time, session: SessionId, claim: Claim) {
        let Some(game) = self.games.get_mut(&session) else { return };
        let (Some(warrant), Some(highest)) = (game.warrant, game.highest()) else { return };
        let is_due = warrant.term < claim.term && claim.term <= highest.next_witnessed();
        if !is_due || !claim.term.is_witnessed() {
            self.tell(session, claim.peer, &FromRelay::Issued(warrant));
            self.deny(session, claim, Denial::Stale);
        } else if !game.counts(claim.peer) {
            self.deny(session, claim, Denial::NotAMember);
        } else if game.pending.is_some() {
            // The claim gets its answer when the pending term is on disk, whatever it claims.
            game.claims.note(now, claim);
        } else if claim.peer == warrant.host {
            self.on_hosts_claim(now, session, claim);
        } else if let Some(reserve) = game.begins_reserve(claim) {
            // The claimant misses the host, or it has adopted the warrant in reserve and misses the host of that
            // warrant.
            self.begin_reserve(now, session);
            if claim.term > reserve.term {
                self.on_claim(now, session, claim);
            } else if claim.candidate != reserve.host {
                self.deny(session, claim, Denial::Stale);
            }
        } else {
            game.note_missed(now);
            game.claims.note(now, claim);
            let answered = game.claims.alive_at.is_some_and(|at| now.since(at) <= ALIVE_HOLDS);
            if answered && game.host_conn().is_some() {
                self.deny_waiting(now, session);
            } else {
                self.consider_claims(now, session);
            }
        }
    }

    /// The host wants a fresh term, or another member as host. The relay grants that without a majority, since the
    /// host itself asks.
    fn on_hosts_claim(&mut self, now: Time, session: SessionId, claim: Claim) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.is_eligible(claim.candidate) {
            self.grant(session, claim.candidate, HostChange::HandedOver);
        } else {
            game.claims.note_wanted(now, claim.candidate);
            self.deny(session, claim, Denial::NotAMember);
        }
    }

    /// Decides the waiting claims. To be called whenever a fact changes that they depend on.
    pub(super) fn consider_claims(&mut self, now: Time, session: SessionId) {
        match self.verdict(now, session) {
            Verdict::Grant(heir, cause) => self.grant(session, heir, cause),
            Verdict::Probe => self.probe(now, session),
            Verdict::Wait => self.reserve(session),
        }
        self.time_probe(now, session);
    }

    /// Sets the probe's deadline by the claims that there are now.
    fn time_probe(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get(&session) else { return };
        match game.probe_ends(now) {
            Some(ends) if ends > now => {
                let next = game.asks_again_at(now).map_or(ends, |again| again.min(ends));
                self.timers.set(Timer::Probe(session), next);
            }
            Some(_) => self.on_probe_timeout(now, session),
            None => {}
        }
    }

    /// A member is about to miss the host, so the relay probes the host now, to have the answer in time. If the
    /// member has claimed before and now only doubts the host, it hears the host again. The relay then withdraws its
    /// claim before the host's silence towards the relay can count.
    pub(super) fn on_doubt(&mut self, now: Time, session: SessionId, peer: PeerId) {
        let may_miss = |game: &&mut Game| game.counts(peer) && game.host() != Some(peer);
        let Some(game) = self.games.get_mut(&session).filter(may_miss) else { return };
        let is_known = game.claims.alive_at.is_some_and(|at| now.since(at) <= PROBE_HOLDS);
        let asks = game.pending.is_none() && game.may_ask(now) && !is_known;
        if let Some(claim) = game.claims.remove(now, peer) {
            self.deny(session, claim, Denial::Stale);
        }
        if asks {
            self.probe(now, session);
        }
        self.time_probe(now, session);
    }

    fn verdict(&self, now: Time, session: SessionId) -> Verdict {
        let Some(game) = self.games.get(&session) else { return Verdict::Wait };
        if game.pending.is_some() || game.claims.waiting(now).next().is_none() {
            return Verdict::Wait;
        }
        let has_host = game.host_conn().is_some();
        if game.is_host_missed(now) || !has_host && !game.awaits_host {
            let cause = if has_host { HostChange::Missed } else { HostChange::Disconnected };
            return game.heir(now).map_or(Verdict::Wait, |heir| Verdict::Grant(heir, cause));
        }
        if has_host && game.may_ask(now) { Verdict::Probe } else { Verdict::Wait }
    }

    pub(super) fn grant(&mut self, session: SessionId, host: PeerId, cause: HostChange) {
        if let Some(highest) = self.games.get(&session).and_then(Game::highest) {
            self.persist(session, highest.next_witnessed(), host, cause);
        }
    }

    /// Sends a term to disk. Claims wait until the term is there.
    pub(super) fn persist(&mut self, session: SessionId, term: Term, host: PeerId, cause: HostChange) {
        self.write(session, Pending { term, host, in_reserve_of: None }, cause);
    }

    pub(super) fn write(&mut self, session: SessionId, pending: Pending, cause: HostChange) {
        let Some(game) = self.games.get_mut(&session) else { return };
        game.pending = Some(pending);
        game.claims.probe = None;
        game.loss.cause = cause;
        self.timers.stop(Timer::Probe(session));
        self.keep_record(session);
    }

    /// Sends a game's record to disk. The members hear of a new term only when the record is there. They hear at once
    /// that a term in reserve has begun; the record keeps that, because the first peer that comes back after a
    /// restart may not know it.
    pub(super) fn keep_record(&mut self, session: SessionId) {
        if let Some(record) = self.games.get(&session).and_then(|game| game.record(session)) {
            self.requests.push_back(Request::Persist(record));
        }
    }

    fn probe(&mut self, now: Time, session: SessionId) {
        let number = self.entropy.number();
        let Some(game) = self.games.get_mut(&session) else { return };
        let (Some(host), Some(conn)) = (game.host(), game.host_conn()) else { return };
        // A member that claims without end must not keep all other members busy.
        let asks_all = game.claims.asked_all.is_none_or(|at| now.since(at) >= ALL_PROBED_EVERY);
        let is_sent = !self.reports_probes || game.claims.probe.as_ref().is_some_and(|before| before.is_sent);
        let before = game.claims.probe.take();
        // A repeated probe keeps its number, so the host may answer either.
        let (nonce, first) = before.as_ref().map_or((number, now), |before| (before.nonce, before.first));
        if before.is_none() {
            game.begin_trip(now, host, nonce);
        }
        game.claims.probe =
            Some(Probe { nonce, first, since: now, is_sent, answered: asks_all.then(Vec::new) });
        self.timers.set(Timer::Probe(session), now + PROBE_WITHIN);
        if asks_all {
            game.claims.asked_all = Some(now);
            self.broadcast(session, &FromRelay::Probe(nonce));
        } else {
            self.send(conn, &FromRelay::Probe(nonce));
        }
    }

    /// A probe has left the relay, so the wait for its answer begins now.
    pub fn handle_probe_sent(&mut self, now: Time, conn: ConnId, nonce: u64) {
        let Some(Phase::Entered(session, peer)) = self.connections.get(&conn).map(|other| other.phase) else {
            return;
        };
        let Some(game) = self.games.get_mut(&session) else { return };
        game.note_sent(now, peer, nonce);
        let is_host = game.host_conn() == Some(conn);
        if let Some(probe) = game.claims.probe.as_mut().filter(|probe| is_host && probe.nonce == nonce) {
            if !probe.is_sent {
                (probe.is_sent, probe.first) = (true, now);
            }
            probe.since = now;
            self.time_probe(now, session);
        }
    }

    /// Probes a member to measure how long its answers take. If the member is missed as a host later, the relay waits
    /// for its answer accordingly.
    pub(super) fn time_trip(&mut self, now: Time, session: SessionId, peer: PeerId) {
        let nonce = self.entropy.number();
        if let Some(game) = self.games.get_mut(&session) {
            game.begin_trip(now, peer, nonce);
            self.tell(session, peer, &FromRelay::Probe(nonce));
        }
    }

    /// Handles a peer's answer to a probe. It ignores an answer that is too late, or to another probe.
    pub(super) fn on_alive(&mut self, now: Time, session: SessionId, peer: PeerId, nonce: u64) {
        let Some(game) = self.games.get_mut(&session) else { return };
        let is_asked_again = game.end_trip(now, peer, nonce);
        let (is_host, is_member) = (game.host() == Some(peer), game.counts(peer));
        if is_host {
            game.note_answered();
            self.watch_members(now, session);
        }
        let Some(game) = self.games.get_mut(&session) else { return };
        if let Some(probe) = game.claims.probe.as_mut().filter(|probe| probe.nonce == nonce) {
            if is_host {
                (game.claims.probe, game.claims.alive_at) = (None, Some(now));
                self.timers.stop(Timer::Probe(session));
                self.deny_waiting(now, session);
            } else if let Some(answered) = &mut probe.answered
                && is_member
                && !answered.contains(&peer)
            {
                answered.push(peer);
                self.time_probe(now, session);
            }
        }
        if is_asked_again {
            self.time_trip(now, session, peer);
        }
    }

    pub(super) fn on_probe_timeout(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.probe_ends(now).is_some_and(|ends| ends > now) {
            if game.asks_again_at(now).is_some_and(|again| again <= now) {
                self.probe(now, session);
            }
            return self.time_probe(now, session);
        }
        // The heir is computed before the answers are forgotten.
        let heir = game.heir(now);
        if game.claims.probe.take().is_some()
            && game.pending.is_none()
            && let Some(heir) = heir
        {
            self.grant(session, heir, HostChange::Silent);
        }
        self.consider_claims(now, session);
    }

    /// Begins a term: tells every member of its warrant. All claims are void, because no member misses the new host
    /// yet.
    pub(super) fn announce(&mut self, now: Time, session: SessionId, warrant: Warrant) {
        let Some(game) = self.games.get_mut(&session) else { return };
        let (former, loss) = (game.warrant.replace(warrant), core::mem::take(&mut game.loss));
        game.reserve = None;
        let waiting = game.claims.answer(None);
        game.claims.forget();
        game.note_answered();
        if game.host_conn().is_some() {
            game.awaits_host = false;
            self.timers.stop(Timer::Grace(session));
        }
        self.timers.stop(Timer::Probe(session));
        self.watch_members(now, session);
        self.broadcast(session, &FromRelay::Issued(warrant));
        self.deny_losers(warrant, &waiting);
        if former.is_some_and(|former| former.host != warrant.host) {
            self.note_host_change(now, session, loss);
        }
    }

    /// Stops awaiting a host that is back, or that has listed its game itself, and decides the claims.
    pub(super) fn await_host(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.awaits_host && game.host_conn().is_some() {
            game.awaits_host = false;
            self.timers.stop(Timer::Grace(session));
        }
        self.reinstate(session);
        self.consider_claims(now, session);
    }

    pub(super) fn on_grace_timeout(&mut self, now: Time, session: SessionId) {
        if let Some(game) = self.games.get_mut(&session) {
            game.awaits_host = false;
        }
        self.consider_claims(now, session);
    }

    /// Denies the waiting claims, because the host lives. Claims for the candidate that the host itself wants go on
    /// waiting. The members may have voted for that candidate, and it may be on its way back.
    fn deny_waiting(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        game.loss.since = None;
        let wanted = game.claims.wanted(now);
        for claim in game.claims.answer(wanted) {
            self.deny(session, claim, Denial::HostIsAlive);
        }
    }

    /// Denies the claims for other candidates than the one that got the term. Like every member, their senders have
    /// been told of the warrant before.
    pub(super) fn deny_losers(&mut self, warrant: Warrant, claims: &[Claim]) {
        for &claim in claims {
            if claim.candidate != warrant.host || claim.term != warrant.term {
                self.deny(warrant.session, claim, Denial::Stale);
            }
        }
    }

    fn deny(&mut self, session: SessionId, claim: Claim, denial: Denial) {
        self.tell(session, claim.peer, &FromRelay::Denied(claim.term, denial));
    }

    pub(super) fn tell(&mut self, session: SessionId, peer: PeerId, message: &FromRelay) {
        if let Some(&conn) = self.games.get(&session).and_then(|game| game.members.get(&peer)) {
            self.send(conn, message);
        }
    }
}
