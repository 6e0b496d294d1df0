//! Elections without the relay: candidates, voters, and the count (PROTOCOL §4.10).

use samovar_wire::control::Vote;
use samovar_wire::view::Electorate;
use samovar_wire::{PeerId, Term, Time};

use crate::phase::{Ballot, FORKS_AFTER, VOTE_AGAIN};
use crate::{Lives, Roster, View};

impl Roster {
    /// The electorate. With forks, once this peer has missed its host for long enough, it is all members on this
    /// peer's side.
    pub(crate) fn electorate(&self, now: Time, view: &View, lives: Lives<'_>) -> Electorate {
        let mut electorate = view.electorate().clone();
        if self.may_fork(now) {
            let here = view.members().map(|member| member.peer);
            electorate.peers = here.filter(|peer| *peer == self.me || !lives.missed.contains(peer)).collect();
        }
        electorate
    }

    /// Whether this peer has missed its host for long enough to go on without most of the others.
    pub(crate) fn may_fork(&self, now: Time) -> bool {
        self.forks && self.phase.has_lasted(now, FORKS_AFTER)
    }

    /// Counts the votes. If a member has won, this peer begins its term, and returns the term and the member.
    pub(crate) fn count(&mut self, now: Time, view: &View, lives: Lives<'_>) -> Option<(Term, PeerId)> {
        let counts_votes = self.knows_electorate || self.may_fork(now);
        let (term, host) =
            self.opinions.winner(self.term, &self.electorate(now, view, lives), counts_votes)?;
        if !view.has(host) {
            return None;
        }
        self.begin(term, host);
        Some((term, host))
    }

    /// This peer's candidate: the host's heir, or the first in line that this peer does not doubt (PROTOCOL §4.10 rule
    /// 1). A peer that doubts all others is its own candidate.
    pub(crate) fn candidate(&self, view: &View, lives: Lives<'_>) -> PeerId {
        if let Some(heir) = self.told_heir().filter(|heir| view.has(*heir) && !lives.missed.contains(heir)) {
            return heir;
        }
        let mut line = view.succession(self.host).into_iter();
        line.find(|&peer| peer == self.me || !lives.doubted.contains(&peer)).unwrap_or(self.me)
    }

    /// Votes when most of the electorate misses the host and no member can ask the relay.
    pub(crate) fn vote(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        let Electorate { number, peers } = &self.electorate(now, view, lives);
        let is_voter = peers.contains(&self.me) && (self.knows_electorate || self.may_fork(now));
        if self.reaches_relay() || !is_voter {
            return;
        }
        let agree = |peer: &&PeerId| **peer == self.me || self.opinions.misses(**peer, self.term, self.host);
        if peers.iter().filter(agree).count() * 2 <= peers.len() {
            return;
        }
        let asks_relay =
            |peer: &&PeerId| self.opinions.reaches_relay(**peer, self.term) && !lives.missed.contains(peer);
        if peers.iter().any(|peer| asks_relay(&peer)) {
            return;
        }
        // Others may already vote in a later term. After 255 voted terms in a row, only the relay can give the next
        // term.
        let highest = self.opinions.highest(self.term);
        let term = match self.phase.ballot() {
            None => highest.or(self.term.next_voted()),
            Some(Ballot { vote, .. }) if highest > Some(vote.term) => highest,
            Some(Ballot { at, .. }) if at + VOTE_AGAIN > now => None,
            Some(Ballot { vote, .. }) => vote.term.next_voted(),
        };
        // This peer may already have voted in this term or a later one. Then it votes in the term after its last
        // vote.
        let voted = self.cast.last().map(|&(term, _)| term);
        let is_new = |term: &Term| voted < Some(*term);
        let next = || voted.and_then(Term::next_voted);
        let Some(term) = term.and_then(|term| Some(term).filter(is_new).or_else(next)) else { return };
        let vote = Vote { term, candidate: self.candidate(view, lives), electorate: *number };
        self.phase.set_ballot(Ballot { vote, at: now });
        self.cast.push((term, vote.candidate));
        self.opinions.insert(self.me, self.opinion());
    }
}
