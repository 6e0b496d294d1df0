//! Elections without the relay: who is voted for, who votes, and who has won (PROTOCOL §4.10).

use samovar_wire::control::{PeerControl, Vote};
use samovar_wire::view::Electorate;
use samovar_wire::{PeerId, SortedSet, Term, Time};

use super::{Act, FORKS_AFTER, Lives, Roster, VOTE_AGAIN};
use crate::View;

impl Roster {
    /// Whose votes count: where each side goes on, and this one has waited for the other, those of all who are on it.
    pub(super) fn electorate(&self, now: Time, view: &View, lives: Lives<'_>) -> Electorate {
        let mut electorate = view.electorate().clone();
        if self.may_fork(now) {
            let here = view.members().map(|member| member.peer);
            electorate.peers = here.filter(|peer| *peer == self.me || !lives.missed.contains(peer)).collect();
        }
        electorate
    }

    /// Whether this peer has waited for its host long enough to go on without it and most of the others.
    pub(super) fn may_fork(&self, now: Time) -> bool {
        self.forks && self.missed_since.is_some_and(|since| since + FORKS_AFTER <= now)
    }

    /// Counts what was heard, at once when there is news.
    pub(super) fn count(&mut self, now: Time, view: &View, lives: Lives<'_>) -> Option<(Term, PeerId)> {
        let counts_votes = self.knows_electorate || self.may_fork(now);
        let (term, host) = self.election.winner(&self.electorate(now, view, lives), counts_votes)?;
        if term <= self.term || !view.has(host) {
            return None;
        }
        self.begin(term, host);
        let electorate = view.electorate().number;
        self.acts.push_back(Act::Tell(PeerControl::Reign(Vote { term, candidate: host, electorate })));
        Some((term, host))
    }

    /// Whom this peer wants: the host's heir, or the first in line that it hears (DESIGN §4).
    pub(super) fn candidate(&self, view: &View, lives: Lives<'_>) -> PeerId {
        if let Some(heir) = self.heir.filter(|heir| view.has(*heir) && !lives.missed.contains(heir)) {
            return heir;
        }
        let line = view.succession(self.host);
        let first = |silent: &SortedSet<PeerId>| {
            line.iter().copied().find(|&peer| peer == self.me || !silent.contains(&peer))
        };
        first(lives.doubted).or_else(|| first(lives.missed)).unwrap_or(self.me)
    }

    /// Votes when most of the electorate misses the host and nobody can ask the relay.
    pub(super) fn vote(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        let Electorate { number, peers } = &self.electorate(now, view, lives);
        let is_voter = peers.contains(&self.me) && (self.knows_electorate || self.may_fork(now));
        if self.reaches_relay() || !is_voter {
            return;
        }
        let agree = |peer: &&PeerId| **peer == self.me || self.election.misses(**peer, self.term, self.host);
        if peers.iter().filter(agree).count() * 2 <= peers.len() {
            return;
        }
        let asks_relay = |peer: &&PeerId| self.election.reaches_relay(**peer) && !lives.missed.contains(peer);
        if peers.iter().any(|peer| asks_relay(&peer)) {
            return;
        }
        // Others may have gone on to a later election. After 255 of them only the relay helps.
        let highest = self.election.highest();
        let term = match self.ballot {
            None => highest.or(self.term.next_voted()),
            Some((vote, _)) if highest > Some(vote.term) => highest,
            Some((_, at)) if at + VOTE_AGAIN > now => None,
            Some((vote, _)) => vote.term.next_voted(),
        };
        // A former vote may be in a term above the one that won.
        let voted = self.cast.last().map(|&(term, _)| term);
        let is_new = |term: &Term| voted < Some(*term);
        let next = || voted.and_then(Term::next_voted);
        let Some(term) = term.and_then(|term| Some(term).filter(is_new).or_else(next)) else { return };
        let vote = Vote { term, candidate: self.candidate(view, lives), electorate: *number };
        self.ballot = Some((vote, now));
        self.cast.push((term, vote.candidate));
        self.election.on_vote(self.me, vote);
        self.acts.push_back(Act::Tell(PeerControl::Vote(vote)));
    }
}
