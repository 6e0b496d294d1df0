//! Hosts without relay or majority, and peers that slept.

use samovar_roster::{Act, Lives, Suspension, Verdict};
use samovar_wire::control::Opinion;
use samovar_wire::{PeerId, SortedSet, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{at, claims, lives_under, look, misses, roster, view, warrant};

#[test]
fn host_without_relay_or_majority_is_suspended_after_its_lease() {
    let mut host = roster(1);
    host.set_relay(at(0), false);
    look(&mut host, 0, &[2, 3]);
    assert_eq!(host.suspension(at(999)), None);
    look(&mut host, 1_000, &[2, 3]);
    assert_eq!(host.suspension(at(1_000)), Some(Suspension::NoMajority));
    look(&mut host, 1_001, &[2]);
    assert_eq!(host.suspension(at(1_001)), None, "three of four");
    host.set_relay(at(1_002), true);
    assert_eq!(claims(&look(&mut host, 2_001, &[2, 3])), [], "the members that went on come first");
    let renewal = claims(&look(&mut host, 2_002, &[2, 3]));
    assert_eq!(renewal, [(512, 1)], "a fresh term has a fresh electorate");
    assert_eq!(host.handle_warrant(&warrant(2, 1)), Verdict::Newer);
    assert_eq!(host.suspension(at(2_003)), None);
}

#[test]
fn host_with_a_silent_relay_is_suspended_after_its_lease() {
    let mut host = roster(1);
    for ms in [0, 500, 999] {
        look(&mut host, ms, &[2, 3]);
        assert_eq!(host.suspension(at(ms)), None, "{ms}");
    }
    look(&mut host, 1_000, &[2, 3]);
    assert_eq!(host.suspension(at(1_000)), Some(Suspension::NoMajority), "the lease ends with the patience");
}

/// A connection is silent for a while before it counts as lost. So the lease runs from the unanswered claim, and not
/// from the loss.
#[test]
fn lost_relay_counts_as_away_from_the_unanswered_claim() {
    let mut host = roster(1);
    look(&mut host, 0, &[2, 3]);
    host.set_relay(at(900), false);
    look(&mut host, 999, &[2, 3]);
    assert_eq!(host.suspension(at(999)), None);
    look(&mut host, 1_000, &[2, 3]);
    assert_eq!(host.suspension(at(1_000)), Some(Suspension::NoMajority));
}

/// If the relay still counted as silent, the members would vote the next time, although the relay is there.
#[test]
fn a_relay_that_answered_late_is_not_silent_the_next_time() {
    let mut member = roster(3);
    let missing = |term, host, relay| Act::Tell(Opinion { relay, ..misses(term, host) });
    look(&mut member, 0, &[1]);
    assert!(look(&mut member, 1_000, &[1]).contains(&missing(Term::FIRST, 1, false)));
    assert_eq!(member.handle_warrant(&warrant(2, 2)), Verdict::Newer);
    assert!(look(&mut member, 5_000, &[2]).contains(&missing(Term(512), 2, true)));
}

#[test]
fn suspended_host_stays_suspended_until_the_relay_answers() {
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
fn a_member_removed_for_silence_does_not_support_the_host() {
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
fn a_member_of_a_suspended_host_is_suspended() {
    let mut member = roster(4);
    member.handle_opinion(PeerId(1), misses(Term::FIRST, 1));
    assert_eq!(member.suspension(at(0)), Some(Suspension::NoMajority));
    member.handle_opinion(PeerId(1), lives_under(Term::FIRST, 1));
    assert_eq!(member.suspension(at(1)), None);
}

#[test]
fn a_host_without_majority_renews_its_term_once_a_second() {
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
fn host_that_slept_waits_for_the_relay_or_a_majority() {
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
    assert_eq!(host.suspension(at(1_100)), None, "most others have been heard since");
}

#[test]
fn host_that_slept_does_not_act_on_an_older_warrant() {
    let mut host = roster(1);
    assert_eq!(claims(&look(&mut host, 0, &[2, 3])), [(512, 1)]);
    host.handle_wake(at(5_000));
    assert_eq!(host.handle_warrant(&warrant(2, 1)), Verdict::Newer);
    assert_eq!(
        host.suspension(at(5_000)),
        Some(Suspension::Slept),
        "the grant had waited for this peer to wake"
    );
    assert_eq!(claims(&look(&mut host, 5_000, &[])), [(768, 1)]);
    assert_eq!(host.handle_warrant(&warrant(3, 1)), Verdict::Newer);
    assert_eq!(host.suspension(at(5_060)), None);
}

#[test]
fn sleeper_made_host_asks_the_relay_before_it_acts() {
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
fn with_forks_a_peer_that_slept_goes_on_alone() {
    let mut host = roster(1).with_survival(true, true);
    host.set_relay(at(0), false);
    host.handle_wake(at(0));
    look(&mut host, 400, &[2, 3, 4]);
    assert_eq!(host.suspension(at(400)), Some(Suspension::Slept));
    look(&mut host, 1_000, &[2, 3, 4]);
    assert_eq!(host.suspension(at(1_000)), None);
    let mut member = roster(2).with_survival(true, true);
    member.set_relay(at(0), false);
    look(&mut member, 0, &[1, 3, 4]);
    member.handle_wake(at(2_900));
    look(&mut member, 3_100, &[1, 3, 4]);
    assert_eq!(member.host(), PeerId(1), "its sleep was no waiting");
    look(&mut member, 6_100, &[1, 3, 4]);
    assert_eq!(member.host(), PeerId(2));
}

#[test]
fn a_host_that_slept_must_hear_most_others_again() {
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
