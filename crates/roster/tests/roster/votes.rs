//! Elections without the relay, and the relay's answers afterwards.

use samovar_roster::{Act, Lives, Roster, Verdict};
use samovar_wire::control::{Opinion, Vote};
use samovar_wire::relay::Denial;
use samovar_wire::{PeerId, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{
    VOTED, at, claims, elect, lives_under, look, look_in, misses, roster, view, view_of, votes_for, warrant,
};

#[test]
fn a_majority_elects_without_the_relay_and_a_minority_does_not() {
    assert_eq!(elect(&[2, 3, 4], &[1]), [(VOTED.0, 2); 3]);
    assert_eq!(elect(&[3, 4], &[1, 2]), [(256, 1); 2], "two of four");
}

#[test]
fn no_member_votes_while_a_living_one_reaches_the_relay() {
    let mut roster = roster(2);
    roster.set_relay(at(0), false);
    for (peer, relay) in [(3, false), (4, true)] {
        roster.handle_opinion(PeerId(peer), Opinion { relay, ..misses(Term::FIRST, 1) });
    }
    assert_eq!(votes(&look(&mut roster, 0, &[1])), []);
    assert_eq!(votes(&look(&mut roster, 1, &[1, 4])), [(257, 2)], "it is gone, too");
}

#[test]
fn member_votes_only_if_a_majority_misses_the_host() {
    let mut roster = roster(2);
    roster.set_relay(at(0), false);
    roster.handle_opinion(PeerId(3), misses(Term::FIRST, 1));
    assert_eq!(votes(&look(&mut roster, 0, &[1])), [], "two of four");
    assert!(roster.listens_to(PeerId(1)));
}

#[test]
fn voter_ignores_the_old_host_and_votes_once_per_term() {
    let mut roster = roster(2);
    roster.set_relay(at(0), false);
    for peer in [3, 4] {
        roster.handle_opinion(PeerId(peer), misses(Term::FIRST, 1));
    }
    assert_eq!(votes(&look(&mut roster, 0, &[1])), [(257, 2)]);
    assert!(!roster.listens_to(PeerId(1)) && roster.listens_to(PeerId(3)));
    assert_eq!(votes(&look(&mut roster, 500, &[])), []);
    assert_eq!(votes(&look(&mut roster, 1_000, &[])), [(258, 2)]);
}

/// The host and the first candidate of five die together. Members 3, 4 and 5 elect the dead candidate, and 3 counts
/// to the end first.
#[test]
fn opinion_about_a_term_counts_once_the_term_begins() {
    let view = view_of(5);
    let mut roster = roster(4);
    roster.set_relay(at(0), false);
    for peer in [3, 5] {
        roster.handle_opinion(PeerId(peer), misses(Term::FIRST, 1));
    }
    assert_eq!(votes(&look_in(&view, &mut roster, 0, &[1])), [(257, 2)]);
    // Member 3 lives under 2 now, and misses it, too.
    roster.handle_opinion(PeerId(3), misses(VOTED, 2));
    assert_eq!(votes(&look_in(&view, &mut roster, 1, &[1, 2])), []);
    let vote = Vote { term: VOTED, candidate: PeerId(2), electorate: view.electorate().number };
    roster.handle_opinion(PeerId(5), Opinion { vote: Some(vote), ..misses(Term::FIRST, 1) });
    look_in(&view, &mut roster, 2, &[1, 2]);
    assert_eq!((roster.term(), roster.host()), (VOTED, PeerId(2)));
    roster.handle_opinion(PeerId(5), misses(VOTED, 2));
    assert_eq!(votes(&look_in(&view, &mut roster, 3, &[1, 2])), [(258, 3)]);
}

/// A vote in a later term counts as missing the present host, whether its sender says so or not.
#[test]
fn vote_counts_as_missing_the_host() {
    let mut roster = roster(2);
    roster.set_relay(at(0), false);
    for peer in [3, 4] {
        roster.handle_opinion(PeerId(peer), votes_for(lives_under(Term::FIRST, 1), VOTED, 3));
    }
    assert_eq!(votes(&look(&mut roster, 0, &[1])), [(257, 2)]);
}

fn votes(acts: &[Act]) -> Vec<(u64, u32)> {
    let vote = |act: &Act| match act {
        Act::Tell(opinion) => opinion.vote.map(|vote| (vote.term.0, vote.candidate.0)),
        _ => None,
    };
    acts.iter().filter_map(vote).collect()
}

/// The voter has voted in 257 and, without a result, in 258, both times for 2; then `host` wins 257.
fn who_votes_on_while_others_win(host: u32) -> Roster {
    let mut roster = roster(4);
    roster.set_relay(at(0), false);
    for peer in [2, 3] {
        roster.handle_opinion(PeerId(peer), misses(Term::FIRST, 1));
    }
    assert_eq!(votes(&look(&mut roster, 0, &[1])), [(257, 2)]);
    assert_eq!(votes(&look(&mut roster, 1_000, &[1])), [(258, 2)]);
    for peer in [1, 2, 3] {
        roster.handle_opinion(PeerId(peer), lives_under(VOTED, host));
    }
    roster
}

#[test]
fn voter_does_not_vote_twice_in_a_term_above_the_won_one() {
    let mut roster = who_votes_on_while_others_win(2);
    assert!(!look(&mut roster, 1_001, &[1]).contains(&Act::Yield), "it voted for the same host");
    assert_eq!((roster.term(), roster.host()), (VOTED, PeerId(2)));
    for peer in [1, 3] {
        roster.handle_opinion(PeerId(peer), misses(VOTED, 2));
    }
    assert_eq!(votes(&look(&mut roster, 1_100, &[2])), [(259, 1)]);
}

#[test]
fn voter_whose_later_vote_names_another_host_yields() {
    let mut roster = who_votes_on_while_others_win(3);
    assert!(look(&mut roster, 1_001, &[1]).contains(&Act::Yield));
    // The voter also yields when its last vote was for the winner.
    let mut roster = self::roster(4);
    roster.set_relay(at(0), false);
    for peer in [2, 3] {
        roster.handle_opinion(PeerId(peer), misses(Term::FIRST, 1));
    }
    for ms in [0, 1_000] {
        assert_eq!(votes(&look(&mut roster, ms, &[1]))[0].1, 2);
    }
    assert_eq!(votes(&look(&mut roster, 2_000, &[1, 2])), [(259, 3)]);
    for peer in [1, 2, 3] {
        roster.handle_opinion(PeerId(peer), lives_under(VOTED, 3));
    }
    assert!(look(&mut roster, 2_001, &[1]).contains(&Act::Yield));
}

#[test]
fn voter_counts_the_vote_of_a_host_that_hands_over() {
    // Two are left of an electorate of three, and one of them is the host.
    let mut heir = roster(2);
    heir.set_relay(at(0), false);
    for peer in [1, 4] {
        let heir_of = |peer| (peer == 1).then_some(PeerId(2));
        heir.handle_opinion(PeerId(peer), Opinion { heir: heir_of(peer), ..misses(Term::FIRST, 1) });
    }
    assert_eq!(votes(&look(&mut heir, 0, &[3])), [(257, 2)]);
    assert!(heir.listens_to(PeerId(1)));
    for peer in [1, 4] {
        heir.handle_opinion(PeerId(peer), votes_for(misses(Term::FIRST, 1), VOTED, 2));
    }
    look(&mut heir, 1, &[3]);
    assert_eq!((heir.term(), heir.host()), (VOTED, PeerId(2)));
}

#[test]
fn member_without_the_electorate_neither_votes_nor_counts() {
    let mut voter = roster(4);
    assert_eq!(voter.handle_warrant(&warrant(2, 2)), Verdict::Newer);
    voter.set_relay(at(0), false);
    let term = Term(513);
    for peer in [1, 3] {
        voter.handle_opinion(PeerId(peer), votes_for(misses(Term(512), 2), term, 1));
    }
    assert_eq!(votes(&look(&mut voter, 0, &[2])), [], "the host may have another electorate behind it");
    let mut reader = voter.clone();
    reader.handle_view();
    look(&mut reader, 1, &[2]);
    assert_eq!((reader.term(), reader.host()), (term, PeerId(1)));
    assert_eq!(voter.term(), Term(512));
    for peer in [1, 2, 3] {
        voter.handle_opinion(PeerId(peer), lives_under(term, 1));
    }
    look(&mut voter, 2, &[2]);
    assert_eq!((voter.term(), voter.host()), (term, PeerId(1)), "members that counted know");
}

#[test]
fn voting_side_yields_when_the_relay_knows_a_live_host() {
    let mut voter = roster(2);
    voter.set_relay(at(0), false);
    for peer in [3, 4] {
        voter.handle_opinion(PeerId(peer), lives_under(VOTED, 2));
    }
    voter.handle_opinion(PeerId(2), votes_for(misses(Term::FIRST, 1), VOTED, 2));
    look(&mut voter, 0, &[]);
    assert_eq!((voter.term(), voter.host()), (VOTED, PeerId(2)));
    voter.set_relay(at(0), true);
    assert_eq!(claims(&look(&mut voter, 0, &[])), [(512, 2)]);
    // The host that the relay knows may still learn of the election, and give way.
    voter.handle_denial(at(10), Term(512), Denial::HostIsAlive);
    assert_eq!(voter.poll_act(), None);
    let mut followed = voter.clone();
    assert_eq!(followed.handle_warrant(&warrant(2, 2)), Verdict::Newer);
    followed.handle_denial(at(510), Term(768), Denial::HostIsAlive);
    assert_eq!((followed.poll_act(), followed.term()), (None, Term(512)));
    voter.handle_denial(at(509), Term(512), Denial::HostIsAlive);
    assert_eq!(voter.poll_act(), None);
    voter.handle_denial(at(510), Term(512), Denial::HostIsAlive);
    assert_eq!(voter.poll_act(), Some(Act::Yield));
}

#[test]
fn voter_without_a_result_yields_to_the_relays_denial() {
    let voter = || {
        let mut voter = roster(2);
        voter.set_relay(at(0), false);
        for peer in [3, 4] {
            voter.handle_opinion(PeerId(peer), misses(Term::FIRST, 1));
        }
        look(&mut voter, 0, &[1]);
        voter.set_relay(at(10), true);
        look(&mut voter, 10, &[1]);
        assert!(!voter.listens_to(PeerId(1)), "it has voted, and cannot go back");
        voter
    };
    for denial in [Denial::HostIsAlive, Denial::NotAMember] {
        let mut voter = voter();
        while voter.poll_act().is_some() {}
        voter.handle_denial(at(20), Term(512), denial);
        voter.handle_denial(at(520), Term(512), denial);
        assert_eq!(voter.poll_act(), Some(Act::Yield));
    }
}

#[test]
fn former_host_stays_when_its_candidate_is_denied() {
    for (me, is_removed) in [(1, false), (3, true)] {
        let mut roster = roster(me);
        roster.set_relay(at(0), false);
        for peer in [2, 3, 4] {
            roster.handle_opinion(PeerId(peer), lives_under(VOTED, 2));
        }
        look(&mut roster, 0, &[]);
        assert_eq!((roster.term(), roster.host()), (VOTED, PeerId(2)));
        roster.set_relay(at(0), true);
        for ms in [0, 4_000] {
            look(&mut roster, ms, &[2]);
        }
        while roster.poll_act().is_some() {}
        roster.handle_denial(at(4_000), Term(512), Denial::NotAMember);
        assert_eq!(roster.poll_act() == Some(Act::Yield), is_removed, "{me}");
    }
}

#[test]
fn with_forks_the_voting_side_gives_way_to_the_relays_side() {
    let apart = || {
        let mut roster = roster(2).with_survival(true, true);
        roster.set_relay(at(0), false);
        look(&mut roster, 0, &[1, 3, 4]);
        look(&mut roster, 2_999, &[1, 3, 4]);
        assert_eq!(roster.term(), Term(256), "the others may be back");
        look(&mut roster, 3_000, &[1, 3, 4]);
        while roster.poll_act().is_some() {}
        assert_eq!((roster.term(), roster.host()), (Term(257), PeerId(2)));
        roster
    };
    let mut yields = apart();
    assert_eq!(yields.handle_warrant(&warrant(2, 3)), Verdict::Newer);
    assert_eq!((yields.poll_act(), yields.host()), (Some(Act::Yield), PeerId(2)));
    let mut unknown = apart();
    unknown.handle_denial(at(20), Term(512), Denial::NotAMember);
    assert_eq!(unknown.poll_act(), Some(Act::Yield));
    let mut known = apart();
    assert_eq!(known.handle_warrant(&warrant(2, 2)), Verdict::Newer);
    assert_eq!((known.poll_act(), known.term()), (None, Term(512)));
}

#[test]
fn with_forks_a_majority_elects_without_waiting() {
    let mut roster = roster(2).with_survival(true, true);
    roster.set_relay(at(0), false);
    for peer in [3, 4] {
        roster.handle_opinion(PeerId(peer), votes_for(misses(Term::FIRST, 1), VOTED, 2));
    }
    look(&mut roster, 0, &[1]);
    assert_eq!((roster.term(), roster.host()), (Term(257), PeerId(2)));
}

#[test]
fn with_forks_a_newcomer_outside_the_electorate_goes_on() {
    let mut roster = roster(2).with_survival(true, true);
    roster.set_relay(at(0), false);
    let mut view = view();
    view.begin_electorate(|peer| peer == PeerId(1));
    let lives = [1, 3, 4].map(PeerId).into_iter().collect();
    for ms in [0, 2_000, 3_000] {
        roster.watch(at(ms), &view, Lives { missed: &lives, doubted: &lives });
    }
    assert_eq!((roster.term(), roster.host()), (Term(257), PeerId(2)));
}
