//! One roster, or a few that hear each other: claims, votes, leases, sleep, hand-over.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

use samovar_roster::authority::Signatory;
use samovar_roster::{Act, Lives, Roster, Suspension, Verdict, View};
use samovar_wire::control::{Hello, Missing, PeerControl, Vote};
use samovar_wire::relay::Denial;
use samovar_wire::{Entropy, PeerId, SessionId, SortedSet, Term, Time, Warrant};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const RELAY: [u8; 32] = [5; 32];
const VOTED: Term = Term(257);

fn warrant(term: u64, host: u32) -> Warrant {
    Signatory::new(&RELAY).warrant(SessionId(1), Term(term << 8), PeerId(host))
}

fn roster(me: u32) -> Roster {
    Roster::new(PeerId(me), Signatory::new(&RELAY).key(), warrant(1, 1)).unwrap()
}

/// Members 1 to 4; 1 hosts, 2 is its backup.
fn view() -> View {
    let mut view = View::founding(8);
    let mut entropy = Entropy::new([1; 32]);
    for n in 1..=4 {
        let hello = Hello { version: 1, params: 0, name: String::new(), attributes: 0, resume: None };
        view.admit(Time::ZERO, PeerId(n), &hello, &mut entropy).unwrap();
    }
    view.name_backup(PeerId(1), None, |_| true);
    view.begin_electorate(|_| true);
    view
}

fn at(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

/// Lets a peer look around at a time, with these peers gone; what it wants done.
fn look(roster: &mut Roster, ms: u64, gone: &[u32]) -> Vec<Act> {
    let missed: SortedSet<_> = gone.iter().copied().map(PeerId).collect();
    roster.watch(at(ms), &view(), Lives { missed: &missed, doubted: &missed });
    core::iter::from_fn(|| roster.poll_act()).collect()
}

fn claims(acts: &[Act]) -> Vec<(u64, u32)> {
    let claim = |act: &Act| match act {
        Act::Claim(term, peer) => Some((term.0, peer.0)),
        _ => None,
    };
    acts.iter().filter_map(claim).collect()
}

/// Those of 1 to 4 that live miss the host and tell each other what they want, until nobody has news.
fn elect(living: &[u32], gone: &[u32]) -> Vec<(u64, u32)> {
    let mut rosters: Vec<_> = living.iter().map(|&n| roster(n)).collect();
    rosters.iter_mut().for_each(|roster| roster.set_relay(at(0), false));
    for ms in 0..20 {
        let all: Vec<_> = rosters.iter_mut().map(|roster| look(roster, ms, gone)).collect();
        for (n, act) in living.iter().zip(all).flat_map(|(&n, acts)| acts.into_iter().map(move |a| (n, a))) {
            let Act::Tell(news) = act else { continue };
            for (_, roster) in living.iter().zip(&mut rosters).filter(|(m, _)| **m != n) {
                match news.clone() {
                    PeerControl::Missing(missing) => roster.handle_missing(PeerId(n), missing),
                    PeerControl::Vote(vote) => roster.handle_vote(PeerId(n), vote),
                    PeerControl::Reign(vote) => roster.handle_reign(PeerId(n), vote),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    rosters.iter().map(|roster| (roster.term().0, roster.host().0)).collect()
}

#[test]
fn all_claim_at_once_and_for_the_same() {
    for me in 2..=4 {
        assert_eq!(claims(&look(&mut roster(me), 0, &[1])), [(512, 2)]);
        assert_eq!(claims(&look(&mut roster(me), 0, &[])), []);
    }
    assert_eq!(claims(&look(&mut roster(4), 0, &[1, 2])), [(512, 3)], "many deaths cost one time-out");
}

#[test]
fn who_claimed_for_somebody_who_turns_out_to_be_dead_does_not_wait_to_claim_for_the_next() {
    let mut roster = roster(4);
    let gone: [&[u32]; 5] = [&[1], &[1, 2], &[1, 2], &[1, 2, 3], &[1, 2]];
    let claimed = (0..).zip(gone).flat_map(|(n, gone)| claims(&look(&mut roster, n * 10, gone)));
    assert_eq!(claimed.collect::<Vec<_>>(), [(512, 2), (512, 3), (512, 4)]);
}

#[test]
fn claims_are_repeated_while_the_host_is_missed() {
    let mut roster = roster(3);
    let at = [0, 100, 249, 250, 499, 500];
    let claimed = at.map(|ms| claims(&look(&mut roster, ms, &[1])).len());
    assert_eq!(claimed, [1, 0, 0, 1, 0, 1]);
    assert_eq!(look(&mut roster, 501, &[]).len(), 1, "the others hear that it is back");
}

#[test]
fn a_majority_elects_without_the_relay_and_a_minority_does_not() {
    assert_eq!(elect(&[2, 3, 4], &[1]), [(VOTED.0, 2); 3]);
    assert_eq!(elect(&[3, 4], &[1, 2]), [(256, 1); 2], "two of four");
}

#[test]
fn nobody_votes_while_a_member_that_lives_reaches_the_relay() {
    let mut roster = roster(2);
    roster.set_relay(at(0), false);
    for (peer, relay) in [(3, false), (4, true)] {
        let missing = Missing { term: Term::FIRST, missed: true, relay };
        roster.handle_missing(PeerId(peer), missing);
    }
    assert!(look(&mut roster, 0, &[1]).iter().all(|act| !matches!(act, Act::Tell(PeerControl::Vote(_)))));
    let alone = look(&mut roster, 1, &[1, 4]);
    assert!(alone.iter().any(|act| matches!(act, Act::Tell(PeerControl::Vote(_)))), "it is gone, too");
}

#[test]
fn who_misses_the_host_without_a_majority_does_not_vote() {
    let mut roster = roster(2);
    roster.set_relay(at(0), false);
    let missing = Missing { term: Term::FIRST, missed: true, relay: false };
    roster.handle_missing(PeerId(3), missing);
    let acts = look(&mut roster, 0, &[1]);
    assert!(acts.iter().all(|act| !matches!(act, Act::Tell(PeerControl::Vote(_)))), "two of four: {acts:?}");
    assert!(roster.listens_to(PeerId(1)));
}

#[test]
fn who_voted_listens_to_the_old_host_no_more_and_votes_once_a_term() {
    let mut roster = roster(2);
    roster.set_relay(at(0), false);
    for peer in [3, 4] {
        let missing = Missing { term: Term::FIRST, missed: true, relay: false };
        roster.handle_missing(PeerId(peer), missing);
    }
    assert_eq!(votes(&look(&mut roster, 0, &[1])), [(257, 2)]);
    assert!(!roster.listens_to(PeerId(1)) && roster.listens_to(PeerId(3)));
    assert_eq!(votes(&look(&mut roster, 500, &[])), []);
    assert_eq!(votes(&look(&mut roster, 1_000, &[])), [(258, 2)]);
}

fn votes(acts: &[Act]) -> Vec<(u64, u32)> {
    let vote = |act: &Act| match act {
        Act::Tell(PeerControl::Vote(vote)) => Some((vote.term.0, vote.candidate.0)),
        _ => None,
    };
    acts.iter().filter_map(vote).collect()
}

/// The voter has voted in 257 and, when nothing came of that, in 258, both times for 2; then 257 is won by `host`.
fn who_votes_on_while_others_win(host: u32) -> Roster {
    let mut roster = roster(4);
    roster.set_relay(at(0), false);
    for peer in [2, 3] {
        roster.handle_missing(PeerId(peer), Missing { term: Term::FIRST, missed: true, relay: false });
    }
    assert_eq!(votes(&look(&mut roster, 0, &[1])), [(257, 2)]);
    assert_eq!(votes(&look(&mut roster, 1_000, &[1])), [(258, 2)]);
    for peer in [1, 2, 3] {
        roster.handle_reign(PeerId(peer), Vote { term: VOTED, candidate: PeerId(host), electorate: 1 });
    }
    roster
}

#[test]
fn who_voted_in_a_later_term_than_the_one_that_is_won_does_not_vote_in_it_again() {
    let mut roster = who_votes_on_while_others_win(2);
    assert!(!look(&mut roster, 1_001, &[1]).contains(&Act::Yield), "it voted for the same host");
    assert_eq!((roster.term(), roster.host()), (VOTED, PeerId(2)));
    for peer in [1, 3] {
        roster.handle_missing(PeerId(peer), Missing { term: VOTED, missed: true, relay: false });
    }
    assert_eq!(votes(&look(&mut roster, 1_100, &[2])), [(259, 1)]);
}

#[test]
fn whose_later_vote_may_make_another_host_acknowledges_nothing_of_the_one_that_won() {
    let mut roster = who_votes_on_while_others_win(3);
    assert!(look(&mut roster, 1_001, &[1]).contains(&Act::Yield));
    // Also when the last vote was for that one.
    let mut roster = self::roster(4);
    roster.set_relay(at(0), false);
    for peer in [2, 3] {
        roster.handle_missing(PeerId(peer), Missing { term: Term::FIRST, missed: true, relay: false });
    }
    for ms in [0, 1_000] {
        assert_eq!(votes(&look(&mut roster, ms, &[1]))[0].1, 2);
    }
    assert_eq!(votes(&look(&mut roster, 2_000, &[1, 2])), [(259, 3)]);
    for peer in [1, 2, 3] {
        roster.handle_reign(PeerId(peer), Vote { term: VOTED, candidate: PeerId(3), electorate: 1 });
    }
    assert!(look(&mut roster, 2_001, &[1]).contains(&Act::Yield));
}

#[test]
fn who_voted_listens_to_a_host_that_resigned_and_counts_its_vote() {
    // Two are left of an electorate of three, and one of them is the host.
    let mut heir = roster(2);
    heir.set_relay(at(0), false);
    for peer in [1, 4] {
        heir.handle_resignation(PeerId(1), PeerId(2));
        heir.handle_missing(PeerId(peer), Missing { term: Term::FIRST, missed: true, relay: false });
    }
    assert_eq!(votes(&look(&mut heir, 0, &[3])), [(257, 2)]);
    assert!(heir.listens_to(PeerId(1)));
    for peer in [1, 4] {
        heir.handle_vote(PeerId(peer), Vote { term: VOTED, candidate: PeerId(2), electorate: 1 });
    }
    look(&mut heir, 1, &[3]);
    assert_eq!((heir.term(), heir.host()), (VOTED, PeerId(2)));
}

#[test]
fn a_host_without_relay_and_majority_is_suspended_when_its_lease_ends() {
    let mut host = roster(1);
    host.set_relay(at(0), false);
    look(&mut host, 0, &[2, 3]);
    assert_eq!(host.suspension(at(999)), None);
    look(&mut host, 1_000, &[2, 3]);
    assert_eq!(host.suspension(at(1_000)), Some(Suspension::NoMajority));
    look(&mut host, 1_001, &[2]);
    assert_eq!(host.suspension(at(1_001)), None, "three of four");
    host.set_relay(at(1_002), true);
    assert_eq!(claims(&look(&mut host, 2_001, &[2, 3])), [], "those who went on come first");
    let renewal = claims(&look(&mut host, 2_002, &[2, 3]));
    assert_eq!(renewal, [(512, 1)], "a fresh term has a fresh electorate");
    assert_eq!(host.handle_warrant(&warrant(2, 1)), Verdict::Newer);
    assert_eq!(host.suspension(at(2_003)), None);
}

#[test]
fn a_host_whose_relay_does_not_answer_is_suspended_as_if_it_had_none() {
    let mut host = roster(1);
    for ms in [0, 500, 999] {
        look(&mut host, ms, &[2, 3]);
        assert_eq!(host.suspension(at(ms)), None, "{ms}");
    }
    look(&mut host, 1_000, &[2, 3]);
    assert_eq!(host.suspension(at(1_000)), Some(Suspension::NoMajority), "the lease ends with the patience");
}

/// The connection is as silent as the relay for a while; that it is lost in the end says when it was noticed, not when the
/// relay went.
#[test]
fn a_relay_that_owed_an_answer_when_it_was_lost_has_been_away_since_it_was_asked() {
    let mut host = roster(1);
    look(&mut host, 0, &[2, 3]);
    host.set_relay(at(900), false);
    look(&mut host, 999, &[2, 3]);
    assert_eq!(host.suspension(at(999)), None);
    look(&mut host, 1_000, &[2, 3]);
    assert_eq!(host.suspension(at(1_000)), Some(Suspension::NoMajority));
}

/// Or its members vote the next time, beside a relay that is there.
#[test]
fn a_relay_that_answered_late_is_not_taken_for_silent_the_next_time() {
    let mut member = roster(3);
    let missing = |term, relay| Act::Tell(PeerControl::Missing(Missing { term, missed: true, relay }));
    look(&mut member, 0, &[1]);
    look(&mut member, 1_000, &[1]);
    assert!(look(&mut member, 1_001, &[1]).contains(&missing(Term::FIRST, false)));
    assert_eq!(member.handle_warrant(&warrant(2, 2)), Verdict::Newer);
    assert!(look(&mut member, 5_000, &[2]).contains(&missing(Term(512), true)));
}

#[test]
fn a_suspended_host_that_reaches_the_relay_again_waits_for_its_word() {
    let mut host = roster(1);
    host.set_relay(at(0), false);
    for ms in [0, 1_000] {
        look(&mut host, ms, &[2, 3]);
    }
    host.set_relay(at(1_000), true);
    assert_eq!(claims(&look(&mut host, 2_000, &[2, 3])), [(512, 1)]);
    assert_eq!(host.suspension(at(2_000)), Some(Suspension::NoMajority));
    assert_eq!(host.handle_warrant(&warrant(2, 1)), Verdict::Newer);
    assert_eq!(host.suspension(at(2_010)), None);
}

#[test]
fn who_was_removed_for_its_silence_is_not_with_the_host() {
    let mut host = roster(1);
    host.set_relay(at(0), false);
    let mut view = view();
    for n in [2, 3] {
        view.vacate(at(0), PeerId(n));
    }
    let nobody = SortedSet::new();
    for ms in [0, 1_000] {
        host.watch(at(ms), &view, Lives { missed: &nobody, doubted: &nobody });
    }
    assert_eq!(host.suspension(at(1_000)), Some(Suspension::NoMajority));
}

#[test]
fn who_hears_that_its_host_is_suspended_is_so_itself() {
    let mut member = roster(4);
    let missing = |missed| Missing { term: Term::FIRST, missed, relay: false };
    member.handle_missing(PeerId(1), missing(true));
    assert_eq!(member.suspension(at(0)), Some(Suspension::NoMajority));
    member.handle_missing(PeerId(1), missing(false));
    assert_eq!(member.suspension(at(1)), None);
}

#[test]
fn a_host_without_its_majority_renews_its_term_once_a_second_and_not_at_each_answer() {
    let mut host = roster(1);
    let mut given = 1;
    for ms in 0..3_000 {
        for (term, peer) in claims(&look(&mut host, ms, &[2, 3])) {
            given += 1;
            assert_eq!((term, peer), (given << 8, 1));
            assert_eq!(host.handle_warrant(&warrant(given, 1)), Verdict::Newer);
        }
    }
    assert_eq!(given, 4);
}

#[test]
fn who_has_not_read_the_electorate_of_a_witnessed_term_neither_votes_nor_counts_votes() {
    let mut voter = roster(4);
    assert_eq!(voter.handle_warrant(&warrant(2, 2)), Verdict::Newer);
    voter.set_relay(at(0), false);
    let term = Term(513);
    let vote = Vote { term, candidate: PeerId(1), electorate: 1 };
    for peer in [1, 3] {
        voter.handle_missing(PeerId(peer), Missing { term: Term(512), missed: true, relay: false });
        voter.handle_vote(PeerId(peer), vote);
    }
    let votes = |acts: &[Act]| acts.iter().any(|act| matches!(act, Act::Tell(PeerControl::Vote(_))));
    assert!(!votes(&look(&mut voter, 0, &[2])), "the host may have another electorate behind it");
    let mut reader = voter.clone();
    reader.handle_view();
    look(&mut reader, 1, &[2]);
    assert_eq!((reader.term(), reader.host()), (term, PeerId(1)));
    assert_eq!(voter.term(), Term(512));
    for peer in [1, 2, 3] {
        voter.handle_reign(PeerId(peer), vote);
    }
    look(&mut voter, 2, &[2]);
    assert_eq!((voter.term(), voter.host()), (term, PeerId(1)), "those who counted know");
}

#[test]
fn a_host_that_slept_asks_before_it_acts() {
    let mut host = roster(1);
    host.handle_wake(at(0));
    assert_eq!(host.suspension(at(0)), Some(Suspension::Slept));
    assert_eq!(claims(&look(&mut host, 0, &[])), [(512, 1)]);
    assert_eq!(host.handle_warrant(&warrant(2, 1)), Verdict::Newer);
    assert_eq!(host.suspension(at(10)), None);
    host.set_relay(at(0), false);
    host.handle_wake(at(100));
    look(&mut host, 200, &[]);
    assert_eq!(host.suspension(at(200)), Some(Suspension::Slept));
    look(&mut host, 1_100, &[]);
    assert_eq!(host.suspension(at(1_100)), None, "most of the others have been heard since");
}

#[test]
fn a_host_that_slept_does_not_take_what_was_granted_before_for_the_answer() {
    let mut host = roster(1);
    assert_eq!(claims(&look(&mut host, 0, &[2, 3])), [(512, 1)]);
    host.handle_wake(at(5_000));
    assert_eq!(host.handle_warrant(&warrant(2, 1)), Verdict::Newer);
    assert_eq!(host.suspension(at(5_000)), Some(Suspension::Slept), "it had waited for this peer to wake");
    assert_eq!(claims(&look(&mut host, 5_000, &[])), [(768, 1)]);
    assert_eq!(host.handle_warrant(&warrant(3, 1)), Verdict::Newer);
    assert_eq!(host.suspension(at(5_060)), None);
}

#[test]
fn a_member_that_slept_asks_before_it_acts_on_what_made_it_host_meanwhile() {
    let mut heir = roster(2);
    heir.handle_wake(at(0));
    assert_eq!(heir.suspension(at(0)), None, "a member decides nothing");
    assert_eq!(heir.handle_warrant(&warrant(2, 2)), Verdict::Newer);
    assert_eq!(heir.suspension(at(0)), Some(Suspension::Slept));
    assert_eq!(claims(&look(&mut heir, 0, &[])), [(768, 2)]);
    let mut replaced = heir.clone();
    assert_eq!(heir.handle_warrant(&warrant(3, 2)), Verdict::Newer);
    assert_eq!(heir.suspension(at(60)), None, "the relay's answer");
    assert_eq!(replaced.handle_warrant(&warrant(3, 4)), Verdict::Newer);
    assert_eq!(replaced.suspension(at(60)), None);
    look(&mut replaced, 1_000, &[]);
    assert_eq!(replaced.handle_warrant(&warrant(4, 2)), Verdict::Newer);
    assert_eq!(replaced.suspension(at(1_000)), None, "it has been awake for a second");
}

#[test]
fn where_each_side_goes_on_so_does_who_slept_and_is_alone() {
    let mut roster = roster(2).with_forks(true);
    roster.set_relay(at(0), false);
    roster.handle_wake(at(0));
    look(&mut roster, 400, &[1, 3, 4]);
    assert_eq!((roster.host(), roster.suspension(at(400))), (PeerId(2), Some(Suspension::Slept)));
    look(&mut roster, 1_000, &[1, 3, 4]);
    assert_eq!(roster.suspension(at(1_000)), None);
}

#[test]
fn a_host_that_slept_has_to_hear_most_of_the_others_and_not_only_not_to_miss_them() {
    let mut host = roster(1);
    host.set_relay(at(0), false);
    host.handle_wake(at(0));
    let (nobody, silent) = (SortedSet::new(), [2, 3, 4].map(PeerId).into_iter().collect());
    for ms in [500, 1_500] {
        host.watch(at(ms), &view(), Lives { missed: &nobody, doubted: &silent });
        assert_eq!(host.suspension(at(ms)), Some(Suspension::Slept));
    }
    look(&mut host, 1_600, &[2]);
    assert_eq!(host.suspension(at(1_600)), None);
}

#[test]
fn a_host_that_goes_names_its_heir() {
    let mut host = roster(1);
    host.resign(at(0), PeerId(3));
    assert_eq!(look(&mut host, 0, &[]), [Act::Appoint(PeerId(3))]);
    assert_eq!(look(&mut host, 60, &[]), [], "nobody else knows before the heir does");
    assert_eq!(host.heir(), Some(PeerId(3)));
    let mut patient = host.clone();
    host.handle_heir_knows(at(60));
    for (host, ms) in [(&mut host, 60), (&mut patient, 250)] {
        let acts = look(host, ms, &[]);
        assert_eq!(acts[0], Act::Tell(PeerControl::Resign(PeerId(3))));
        assert_eq!(claims(&acts), []);
        assert_eq!(claims(&look(host, ms + 39, &[])), []);
        assert_eq!(claims(&look(host, ms + 40, &[])), [(512, 3)]);
    }
    let goes = Missing { term: Term::FIRST, missed: true, relay: true };
    let mut other = roster(4);
    other.handle_resignation(PeerId(1), PeerId(3));
    assert_eq!(claims(&look(&mut other, 0, &[])), [], "it names its heir before it goes");
    other.handle_missing(PeerId(1), goes);
    assert_eq!(claims(&look(&mut other, 0, &[])), [(512, 3)]);
    let mut other = roster(4);
    other.handle_resignation(PeerId(2), PeerId(3));
    other.handle_missing(PeerId(1), goes);
    assert_eq!(claims(&look(&mut other, 0, &[])), [], "only the host resigns");
}

#[test]
fn only_the_relays_word_makes_a_host() {
    let mut roster = roster(2);
    assert_eq!(roster.handle_warrant(&Warrant { host: PeerId(3), ..warrant(2, 2) }), Verdict::Forged);
    assert_eq!(roster.handle_warrant(&warrant(2, 3)), Verdict::Newer);
    assert_eq!(roster.handle_warrant(&warrant(2, 3)), Verdict::Known);
    assert_eq!(roster.handle_warrant(&warrant(1, 1)), Verdict::Known);
    let foreign = Warrant { session: SessionId(2), ..warrant(3, 2) };
    assert_eq!(roster.handle_warrant(&foreign), Verdict::Forged);
    assert_eq!(roster.host(), PeerId(3));
}

#[test]
fn who_voted_gives_way_when_the_relay_knows_a_living_host() {
    let mut voter = roster(2);
    voter.set_relay(at(0), false);
    for peer in [3, 4] {
        voter.handle_reign(PeerId(peer), Vote { term: VOTED, candidate: PeerId(2), electorate: 1 });
    }
    voter.handle_vote(PeerId(2), Vote { term: VOTED, candidate: PeerId(2), electorate: 1 });
    look(&mut voter, 0, &[]);
    assert_eq!((voter.term(), voter.host()), (VOTED, PeerId(2)));
    voter.set_relay(at(0), true);
    assert_eq!(claims(&look(&mut voter, 0, &[])), [(512, 2)]);
    // That one may hear the REIGN yet, and hand over.
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
fn who_voted_to_no_avail_gives_way_when_the_relay_answers() {
    let voter = || {
        let mut voter = roster(2);
        voter.set_relay(at(0), false);
        for peer in [3, 4] {
            voter.handle_missing(PeerId(peer), Missing { term: Term::FIRST, missed: true, relay: false });
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
fn where_each_side_goes_on_the_one_that_voted_gives_way_to_the_one_that_the_relay_knows() {
    let apart = || {
        let mut roster = roster(2).with_forks(true);
        roster.set_relay(at(0), false);
        look(&mut roster, 0, &[1, 3, 4]);
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
fn what_the_relay_says_of_a_term_that_has_begun_is_about_a_former_host() {
    let mut member = roster(2);
    assert_eq!(member.handle_warrant(&warrant(2, 9)), Verdict::Newer);
    member.strand();
    for ms in [0, 500] {
        member.handle_denial(at(ms), Term(512), Denial::HostIsAlive);
        assert_eq!(member.poll_act(), None);
    }
    member.handle_denial(at(500), Term(768), Denial::HostIsAlive);
    assert_eq!(member.poll_act(), None);
    member.handle_denial(at(1_000), Term(768), Denial::HostIsAlive);
    assert_eq!(member.poll_act(), Some(Act::Yield));
}

#[test]
fn a_host_whose_heir_the_relay_does_not_reach_names_another() {
    let mut host = roster(1);
    host.resign(at(0), PeerId(2));
    host.handle_heir_knows(at(20));
    assert_eq!(claims(&look(&mut host, 60, &[])), [(512, 2)]);
    host.handle_denial(at(120), Term(512), Denial::NotAMember);
    let acts = look(&mut host, 130, &[3]);
    assert!(acts.contains(&Act::Tell(PeerControl::Resign(PeerId(4)))), "{acts:?}");
    assert_eq!(claims(&look(&mut host, 170, &[3])), [(512, 4)]);
    host.handle_denial(at(230), Term(512), Denial::NotAMember);
    assert_eq!(claims(&look(&mut host, 500, &[3])), [(512, 4)], "there is nobody else, who may come back");
}

#[test]
fn who_is_alone_with_a_host_that_was_no_member_and_is_gone_asks_to_go_on() {
    // 9 was made host just when it left, and so did 1, 3 and 4.
    let all = [1, 3, 4, 9];
    let stranded = |mut member: Roster| {
        assert_eq!(member.handle_warrant(&warrant(2, 9)), Verdict::Newer);
        member.strand();
        member
    };
    let mut left = roster(2);
    left.handle_gone(at(0), PeerId(9));
    assert_eq!(claims(&look(&mut stranded(left), 0, &all)), [(768, 2)]);
    let mut back = roster(2);
    back.handle_gone(at(0), PeerId(9));
    back.set_relay(at(0), false);
    back.set_relay(at(0), true);
    // The others may be with 9, which may have come back, and heard again.
    for member in [roster(2), back] {
        let mut member = stranded(member);
        for ms in [0, 499] {
            let acts = look(&mut member, ms, &all);
            assert!(claims(&acts).is_empty() && !acts.contains(&Act::Yield), "{acts:?}");
        }
        let mut joined = member.clone();
        joined.handle_missing(PeerId(3), Missing { term: Term(512), missed: true, relay: true });
        assert_eq!(claims(&look(&mut joined, 500, &[1, 4, 9])), [(768, 2)]);
        let mut cut_off = member.clone();
        cut_off.set_relay(at(499), false);
        for ms in [500, 3_499] {
            assert!(!look(&mut cut_off, ms, &all).contains(&Act::Yield), "all may be cut off with the relay");
        }
        assert!(look(&mut cut_off, 3_500, &all).contains(&Act::Yield));
        assert!(look(&mut member, 500, &all).contains(&Act::Yield));
    }
}

#[test]
fn a_member_that_the_relay_knows_nothing_of_was_removed_when_it_has_missed_its_host_for_long() {
    let mut member = roster(2);
    look(&mut member, 0, &[1]);
    while member.poll_act().is_some() {}
    member.handle_denial(at(1_000), Term(512), Denial::NotAMember);
    assert_eq!(member.poll_act(), None, "the relay may not have heard yet that it was admitted");
    member.handle_denial(at(3_000), Term(512), Denial::NotAMember);
    assert_eq!(member.poll_act(), Some(Act::Yield));
}

#[test]
fn an_heir_that_is_gone_is_passed_over() {
    let mut member = roster(3);
    member.handle_resignation(PeerId(1), PeerId(2));
    assert_eq!(claims(&look(&mut member, 0, &[1])), [(512, 2)]);
    assert_eq!(claims(&look(&mut member, 10, &[1, 2])), [(512, 3)]);
}

#[test]
fn a_warrant_in_reserve_counts_from_when_the_host_is_missed_and_nobody_is_asked() {
    let mut roster = roster(2);
    roster.keep_in_reserve(warrant(2, 3));
    assert!(look(&mut roster, 0, &[]).is_empty());
    assert_eq!(roster.host(), PeerId(1), "the host is heard");
    assert!(claims(&look(&mut roster, 100, &[1])).is_empty());
    assert_eq!((roster.term(), roster.host()), (Term(2 << 8), PeerId(3)));
    assert_eq!(roster.warrant(), &warrant(2, 3));
    // Its host is missed, too: it was the last that was given.
    assert_eq!(claims(&look(&mut roster, 200, &[1, 3])), [(3 << 8, 2)]);
}

#[test]
fn of_warrants_in_reserve_the_highest_counts_and_none_that_is_over() {
    let mut roster = roster(2);
    roster.keep_in_reserve(warrant(3, 4));
    roster.keep_in_reserve(warrant(2, 3));
    assert_eq!(roster.handle_warrant(&warrant(2, 3)), Verdict::Newer);
    look(&mut roster, 0, &[1, 3]);
    assert_eq!(roster.host(), PeerId(4));
    roster.keep_in_reserve(warrant(2, 2));
    look(&mut roster, 100, &[1, 3, 4]);
    assert_eq!(roster.host(), PeerId(4));
    // The relay gave the host a later term than the one in reserve.
    roster.keep_in_reserve(warrant(4, 1));
    assert_eq!(roster.handle_warrant(&warrant(5, 4)), Verdict::Newer);
    assert_eq!(claims(&look(&mut roster, 200, &[1, 3, 4])), [(6 << 8, 2)]);
}

#[test]
fn only_the_relays_word_is_kept_in_reserve() {
    let mut roster = roster(2);
    roster.keep_in_reserve(Warrant { host: PeerId(3), ..warrant(2, 2) });
    roster.keep_in_reserve(Warrant { session: SessionId(2), ..warrant(2, 3) });
    look(&mut roster, 0, &[1]);
    assert_eq!(roster.term(), Term(1 << 8));
}
