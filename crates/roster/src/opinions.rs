//! The members' opinions of their hosts, and the count of an election that the relay does not witness (PROTOCOL
//! §4.10).
//!
//! A link vouches for its own sender only, so no peer passes on another's vote: each member counts the votes that it
//! hears itself.

use samovar_wire::control::{Opinion, Vote};
use samovar_wire::sorted::sort_by_key;
use samovar_wire::view::Electorate;
use samovar_wire::{PeerId, SortedMap, Term};

/// Each member's last opinion. It is kept even if its term has not begun at this peer. For example, the first member
/// to count an election is one term ahead of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Opinions(SortedMap<PeerId, Opinion>);

impl Opinions {
    /// Drops the opinions of peers that are no longer heard.
    pub(crate) fn retain(&mut self, is_heard: impl Fn(PeerId) -> bool) {
        self.0.retain(|&peer, _| is_heard(peer));
    }

    /// Replaces a member's opinion. Of two votes in one term the first counts: an honest member has only one. Returns
    /// `false` if nothing is new, except whether the member misses its host and whether it reaches the relay.
    pub(crate) fn insert(&mut self, from: PeerId, mut opinion: Opinion) -> bool {
        let known = self.0.get(&from);
        if let (Some(new), Some(old)) = (&mut opinion.vote, known.and_then(|known| known.vote))
            && new.term == old.term
        {
            *new = old;
        }
        let rest = |opinion: &Opinion| (opinion.term, opinion.host, opinion.vote, opinion.heir);
        let is_more = known.map_or_else(|| !opinion.is_implied(), |known| rest(known) != rest(&opinion));
        self.0.insert(from, opinion);
        is_more
    }

    /// The votes in voted terms between this term and the next witnessed one.
    fn votes(&self, term: Term) -> impl Iterator<Item = Vote> {
        self.0.values().filter_map(|opinion| opinion.vote).filter(move |vote| is_later(vote.term, term))
    }

    /// Whether a member misses `host`, the host of `term`. It does if it says so, if it votes for another in a later
    /// term, or if it lives under another in a later voted term. It cannot take back the last two.
    pub(crate) fn misses(&self, peer: PeerId, term: Term, host: PeerId) -> bool {
        let Some(opinion) = self.0.get(&peer) else { return false };
        let votes = |vote: Vote| vote.term > term && vote.candidate != host;
        let has_moved_on = is_later(opinion.term, term) && opinion.host != host;
        opinion.term == term && opinion.missed || has_moved_on || opinion.vote.is_some_and(votes)
    }

    /// Whether a member reaches the relay, as its opinion of `term` or of a later term says.
    pub(crate) fn reaches_relay(&self, peer: PeerId, term: Term) -> bool {
        self.0.get(&peer).is_some_and(|opinion| opinion.term >= term && opinion.relay)
    }

    /// The highest voted term, before the next witnessed one, in which any member votes.
    pub(crate) fn highest(&self, term: Term) -> Option<Term> {
        self.votes(term).map(|vote| vote.term).max()
    }

    /// The term and the winner of the election above `term` that is won. If several are won, the highest counts.
    ///
    /// A vote does not count if the voter knows a newer electorate than this peer, since the majority may differ
    /// there. For the same reason no vote counts while this peer has not read the electorate of the last witnessed
    /// term (`counts_votes` is false). A member that has counted the votes itself, and lives under the winner, always
    /// counts as a supporter, whatever electorate it knows.
    pub(crate) fn winner(
        &self,
        term: Term,
        electorate: &Electorate,
        counts_votes: bool,
    ) -> Option<(Term, PeerId)> {
        let reigns = self.0.values().map(|opinion| (opinion.term, opinion.host));
        let voted = self.votes(term).map(|vote| (vote.term, vote.candidate));
        let mut stood: Vec<_> = reigns.filter(|&(reign, _)| is_later(reign, term)).chain(voted).collect();
        sort_by_key(&mut stood, |stood| *stood);
        stood.dedup();
        let is_for = |peer: &PeerId, stood: (Term, PeerId)| {
            let Some(opinion) = self.0.get(peer) else { return false };
            let has_voted = opinion.vote.is_some_and(|vote| {
                counts_votes && (vote.term, vote.candidate) == stood && vote.electorate <= electorate.number
            });
            has_voted || (opinion.term, opinion.host) == stood
        };
        let won = |stood: &(Term, PeerId)| {
            let supporters = electorate.peers.iter().filter(|peer| is_for(peer, *stood)).count();
            supporters * 2 > electorate.peers.len()
        };
        stood.into_iter().rev().find(won)
    }
}

/// Whether `term` is later than `than` by votes alone: the last witnessed term before both is the same.
fn is_later(term: Term, than: Term) -> bool {
    term > than && term.base() == than.base()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const BASE: Term = Term(256);
    const TERM: Term = Term(257);

    fn electorate(number: u64, count: u32) -> Electorate {
        Electorate { number, peers: (1..=count).map(PeerId).collect() }
    }

    fn vote(candidate: u32, electorate: u64) -> Opinion {
        let vote = Some(Vote { term: TERM, candidate: PeerId(candidate), electorate });
        Opinion { missed: true, vote, ..Opinion::content(BASE, PeerId(1)) }
    }

    #[test]
    fn more_than_half_of_the_electorate_makes_a_host() {
        let mut opinions = Opinions::default();
        for voter in [2, 3, 9] {
            assert!(opinions.insert(PeerId(voter), vote(2, 5)));
        }
        assert_eq!(
            opinions.winner(BASE, &electorate(5, 4), true),
            None,
            "9 is no voter, and two of four are no majority"
        );
        opinions.insert(PeerId(4), vote(2, 5));
        assert_eq!(opinions.winner(BASE, &electorate(5, 4), true), Some((TERM, PeerId(2))));
        assert_eq!(opinions.winner(TERM, &electorate(5, 4), true), None, "that term has begun");
    }

    #[test]
    fn a_second_vote_in_a_term_does_not_count() {
        let mut opinions = Opinions::default();
        for voter in [1, 2] {
            opinions.insert(PeerId(voter), vote(2, 5));
            opinions.insert(PeerId(voter), vote(3, 5));
        }
        opinions.insert(PeerId(3), vote(3, 5));
        assert_eq!(opinions.winner(BASE, &electorate(5, 3), true), Some((TERM, PeerId(2))));
    }

    #[test]
    fn vote_under_a_newer_electorate_does_not_count() {
        let mut opinions = Opinions::default();
        opinions.insert(PeerId(2), vote(2, 6));
        opinions.insert(PeerId(3), vote(2, 6));
        assert_eq!(opinions.winner(BASE, &electorate(5, 3), true), None);
        assert_eq!(opinions.winner(BASE, &electorate(6, 3), true), Some((TERM, PeerId(2))));
        assert_eq!(opinions.winner(BASE, &electorate(6, 3), false), None);
        opinions.insert(PeerId(2), Opinion::content(TERM, PeerId(2)));
        opinions.insert(PeerId(3), Opinion::content(TERM, PeerId(2)));
        assert_eq!(opinions.winner(BASE, &electorate(5, 3), true), Some((TERM, PeerId(2))));
    }

    #[test]
    fn opinion_that_differs_only_in_missed_is_no_news() {
        let mut opinions = Opinions::default();
        let content = Opinion::content(BASE, PeerId(1));
        assert!(!opinions.insert(PeerId(2), content));
        assert!(!opinions.insert(PeerId(2), Opinion { missed: true, ..content }));
        assert!(opinions.misses(PeerId(2), BASE, PeerId(1)));
        assert!(opinions.insert(PeerId(1), Opinion { heir: Some(PeerId(2)), ..content }));
        assert!(!opinions.insert(PeerId(1), Opinion { heir: Some(PeerId(2)), missed: true, ..content }));
    }
}
