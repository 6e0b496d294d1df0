//! The count of an election that the relay does not witness (PROTOCOL §4.10).
//!
//! Links vouch for who speaks, so nobody shows anybody else's vote: each member counts those that it hears itself.

use samovar_wire::control::{Missing, Vote};
use samovar_wire::sorted::sort_by_key;
use samovar_wire::view::Electorate;
use samovar_wire::{PeerId, SortedMap, Term};

/// The others' last words about the present term and later ones. A member that counts an election to its end before the others
/// speaks of the new term before they have begun it, and once: so beginning a term forgets nothing about later ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Opinions {
    opinions: SortedMap<PeerId, Missing>,
    votes: SortedMap<PeerId, Vote>,
    /// Who lives under which host, by its own word.
    reigns: SortedMap<PeerId, Vote>,
}

impl Opinions {
    /// Begins a term: forgets what was said about former ones.
    pub(crate) fn begin(&mut self, term: Term) {
        let is_later = |vote: &Vote| vote.term > term && vote.term.base() == term.base();
        self.opinions.retain(|_, opinion| opinion.term >= term);
        self.votes.retain(|_, vote| is_later(vote));
        self.reigns.retain(|_, vote| is_later(vote));
    }

    /// Only these can have a word in it still.
    pub(crate) fn retain(&mut self, is_heard: impl Fn(PeerId) -> bool) {
        self.opinions.retain(|&peer, _| is_heard(peer));
        self.votes.retain(|&peer, _| is_heard(peer));
        self.reigns.retain(|&peer, _| is_heard(peer));
    }

    /// What a member said about the host last.
    pub(crate) fn on_missing(&mut self, from: PeerId, missing: Missing) {
        // Passed on by others, an older one may come behind a newer.
        if self.opinions.get(&from).is_none_or(|known| known.term <= missing.term) {
            self.opinions.insert(from, missing);
        }
    }

    /// A member's vote. Of two in one term the first counts: an honest member has only one.
    pub(crate) fn on_vote(&mut self, from: PeerId, vote: Vote) {
        if self.votes.get(&from).is_none_or(|known| known.term < vote.term) {
            self.votes.insert(from, vote);
        }
    }

    /// A member counted an election to its end.
    pub(crate) fn on_reign(&mut self, from: PeerId, vote: Vote) {
        if self.reigns.get(&from).is_none_or(|known| known.term < vote.term) {
            self.reigns.insert(from, vote);
        }
    }

    /// Whether a member misses the host of `term`: it said so last, or votes for another in a later one, which it cannot take back.
    pub(crate) fn misses(&self, peer: PeerId, term: Term, host: PeerId) -> bool {
        let says_so = self.opinions.get(&peer).is_some_and(|opinion| opinion.term == term && opinion.missed);
        says_so || self.votes.get(&peer).is_some_and(|vote| vote.term > term && vote.candidate != host)
    }

    /// Whether a member said last that it reaches the relay.
    pub(crate) fn reaches_relay(&self, peer: PeerId) -> bool {
        self.opinions.get(&peer).is_some_and(|opinion| opinion.relay)
    }

    /// The highest term that anybody votes in.
    pub(crate) fn highest(&self) -> Option<Term> {
        self.votes.values().map(|vote| vote.term).max()
    }

    /// The election that is won, the highest if there are more.
    ///
    /// A vote of somebody who knows a newer electorate than the counter's does not count: the majority may be another
    /// one there. For the same reason no vote counts for who has not read the electorate that began with the last
    /// witnessed term (`counts_votes` is false). The word of somebody who has counted to the end does, since what it
    /// says is so under any electorate.
    pub(crate) fn winner(&self, electorate: &Electorate, counts_votes: bool) -> Option<(Term, PeerId)> {
        let ballots = self.votes.values().chain(self.reigns.values());
        let mut stood: Vec<_> = ballots.map(|vote| (vote.term, vote.candidate)).collect();
        sort_by_key(&mut stood, |stood| *stood);
        stood.dedup();
        let is_for = |peer: &PeerId, stood: (Term, PeerId)| {
            let voted = self.votes.get(peer).is_some_and(|vote| {
                counts_votes && (vote.term, vote.candidate) == stood && vote.electorate <= electorate.number
            });
            voted || self.reigns.get(peer).is_some_and(|vote| (vote.term, vote.candidate) == stood)
        };
        let won = |stood: &(Term, PeerId)| {
            let supporters = electorate.peers.iter().filter(|peer| is_for(peer, *stood)).count();
            supporters * 2 > electorate.peers.len()
        };
        stood.into_iter().rev().find(won)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const TERM: Term = Term(257);

    fn electorate(number: u64, count: u32) -> Electorate {
        Electorate { number, peers: (1..=count).map(PeerId).collect() }
    }

    fn vote(candidate: u32, electorate: u64) -> Vote {
        Vote { term: TERM, candidate: PeerId(candidate), electorate }
    }

    #[test]
    fn more_than_half_of_the_electorate_makes_a_host() {
        let mut opinions = Opinions::default();
        opinions.on_vote(PeerId(2), vote(2, 5));
        opinions.on_vote(PeerId(3), vote(2, 5));
        opinions.on_vote(PeerId(9), vote(2, 5));
        assert_eq!(
            opinions.winner(&electorate(5, 4), true),
            None,
            "9 is no voter, and two of four are no majority"
        );
        opinions.on_vote(PeerId(4), vote(2, 5));
        assert_eq!(opinions.winner(&electorate(5, 4), true), Some((TERM, PeerId(2))));
    }

    #[test]
    fn a_second_vote_in_a_term_does_not_count() {
        let mut opinions = Opinions::default();
        for voter in [1, 2] {
            opinions.on_vote(PeerId(voter), vote(2, 5));
            opinions.on_vote(PeerId(voter), vote(3, 5));
        }
        opinions.on_vote(PeerId(3), vote(3, 5));
        assert_eq!(opinions.winner(&electorate(5, 3), true), Some((TERM, PeerId(2))));
    }

    #[test]
    fn votes_under_a_newer_electorate_count_only_when_they_have_won() {
        let mut opinions = Opinions::default();
        opinions.on_vote(PeerId(2), vote(2, 6));
        opinions.on_vote(PeerId(3), vote(2, 6));
        assert_eq!(opinions.winner(&electorate(5, 3), true), None);
        assert_eq!(opinions.winner(&electorate(6, 3), true), Some((TERM, PeerId(2))));
        assert_eq!(opinions.winner(&electorate(6, 3), false), None);
        opinions.on_reign(PeerId(2), vote(2, 6));
        opinions.on_reign(PeerId(3), vote(2, 6));
        assert_eq!(opinions.winner(&electorate(5, 3), true), Some((TERM, PeerId(2))));
    }
}
