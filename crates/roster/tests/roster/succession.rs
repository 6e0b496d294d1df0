//! Claims, hand-over, warrants in reserve, and excluded members.

use samovar_roster::{Act, Roster, Verdict};
use samovar_wire::control::Opinion;
use samovar_wire::relay::Denial;
use samovar_wire::{PeerId, SessionId, Term, Warrant};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{at, claims, lives_under, look, misses, roster, warrant};

#[test]
fn all_members_claim_at_once_for_the_same_candidate() {
    for me in 2..=4 {
        assert_eq!(claims(&look(&mut roster(me), 0, &[1])), [(512, 2)]);
        assert_eq!(claims(&look(&mut roster(me), 0, &[])), []);
    }
    assert_eq!(claims(&look(&mut roster(4), 0, &[1, 2])), [(512, 3)], "many deaths cost one time-out");
}

#[test]
fn a_claim_for_a_dead_peer_is_followed_at_once_by_another() {
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
fn host_that_hands_over_tells_its_heir_first() {
    let mut host = roster(1);
    host.resign(at(0), PeerId(3));
    let opinion = Opinion { heir: Some(PeerId(3)), ..lives_under(Term::FIRST, 1) };
    assert_eq!(look(&mut host, 0, &[]), [Act::Appoint(PeerId(3), opinion)]);
    assert_eq!(look(&mut host, 60, &[]), [], "no other member knows before the heir does");
    assert_eq!(host.heir(), Some(PeerId(3)));
    let mut patient = host.clone();
    host.handle_heir_knows(at(60));
    for (host, ms) in [(&mut host, 60), (&mut patient, 250)] {
        let acts = look(host, ms, &[]);
        assert_eq!(acts, [Act::Tell(Opinion { missed: true, relay: true, ..opinion })]);
        assert_eq!(claims(&look(host, ms + 59, &[])), []);
        assert_eq!(claims(&look(host, ms + 60, &[])), [(512, 3)]);
    }
    let mut other = roster(4);
    other.handle_opinion(PeerId(1), opinion);
    assert_eq!(claims(&look(&mut other, 0, &[])), [], "it names its heir before it goes");
    other.handle_opinion(PeerId(1), Opinion { missed: true, ..opinion });
    assert_eq!(claims(&look(&mut other, 0, &[])), [(512, 3)]);
    let mut other = roster(4);
    other.handle_opinion(PeerId(2), Opinion { missed: true, ..opinion });
    other.handle_opinion(PeerId(1), misses(Term::FIRST, 1));
    assert_eq!(claims(&look(&mut other, 0, &[])), [], "only the host resigns");
}

#[test]
fn only_a_warrant_of_the_relay_makes_a_host() {
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
fn denial_of_a_term_that_has_begun_is_ignored() {
    let mut member = roster(2);
    assert_eq!(member.handle_warrant(&warrant(2, 9)), Verdict::Newer);
    member.exclude();
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
    assert_eq!(claims(&look(&mut host, 80, &[])), [(512, 2)]);
    host.handle_denial(at(120), Term(512), Denial::NotAMember);
    let acts = look(&mut host, 130, &[3]);
    let told = |act: &Act| matches!(act, Act::Tell(Opinion { heir: Some(PeerId(4)), .. }));
    assert!(acts.iter().any(told), "{acts:?}");
    assert_eq!(claims(&look(&mut host, 190, &[3])), [(512, 4)]);
    host.handle_denial(at(230), Term(512), Denial::NotAMember);
    assert_eq!(
        claims(&look(&mut host, 500, &[3])),
        [(512, 4)],
        "there is no other candidate, and it may come back"
    );
}

#[test]
fn excluded_member_without_links_claims_the_next_term() {
    // 9 was made host just when it left, and 1, 3 and 4 left as well.
    let all = [1, 3, 4, 9];
    let excluded = |mut member: Roster| {
        assert_eq!(member.handle_warrant(&warrant(2, 9)), Verdict::Newer);
        member.exclude();
        member
    };
    let mut left = roster(2);
    assert!(left.handle_gone(at(0), PeerId(9)));
    assert_eq!(claims(&look(&mut excluded(left), 0, &all)), [(768, 2)]);
    // A peer that said farewell does not come back, whatever the relay reports of it, before or after.
    for is_first in [false, true] {
        let mut farewell = roster(2);
        if is_first {
            farewell.handle_gone(at(0), PeerId(9));
        }
        farewell.handle_farewell(PeerId(9));
        farewell.set_relay(at(0), false);
        (20..60).for_each(|other| _ = farewell.handle_gone(at(0), PeerId(other)));
        farewell.handle_gone(at(0), PeerId(9));
        farewell.set_relay(at(60_000), true);
        assert!(farewell.is_gone(at(60_000), PeerId(9)));
        assert_eq!(claims(&look(&mut excluded(farewell), 60_000, &all)), [(768, 2)]);
    }
    let mut back = roster(2);
    back.handle_gone(at(0), PeerId(9));
    back.set_relay(at(0), false);
    back.set_relay(at(0), true);
    // After its own reconnect, the member is told again that 9 is gone. This does not show that 9 left only now.
    let mut told = excluded(back.clone());
    assert!(!told.handle_gone(at(500), PeerId(9)));
    assert!(told.handle_gone(at(500), PeerId(3)), "the relay does not report the state of others");
    assert_eq!(claims(&look(&mut told.clone(), 500, &all)), [(768, 2)]);
    assert!(told.handle_gone(at(501), PeerId(9)));
    // A member without links claims nevertheless, since the relay knows whether 9 lives.
    for member in [roster(2), back] {
        let mut member = excluded(member);
        assert_eq!(claims(&look(&mut member, 500, &all)), [(768, 2)]);
        for (ms, ends) in [(3_500, false), (15_499, false), (15_500, true)] {
            assert_eq!(look(&mut member, ms, &all).contains(&Act::Yield), ends, "{ms}");
        }
    }
}

#[test]
fn excluded_member_waits_for_the_relay_and_then_asks_it() {
    let mut member = roster(2);
    assert_eq!(member.handle_warrant(&warrant(2, 9)), Verdict::Newer);
    member.exclude();
    member.set_relay(at(0), false);
    // The others may have heard of another host. That a member lives under 9 does not show that 9 lives.
    let opinions = [misses(Term(512), 9), lives_under(Term(512), 9)];
    for opinion in opinions {
        member.handle_opinion(PeerId(3), opinion);
        for ms in [0, 3_000, 30_000] {
            let acts = look(&mut member, ms, &[1, 4, 9]);
            assert!(claims(&acts).is_empty(), "{acts:?}");
            assert!(!acts.contains(&Act::Yield), "without the relay its ticket is of no use");
        }
    }
    // The host that removed these members may come back to the relay later than they do.
    member.set_relay(at(30_100), true);
    for (ms, asks) in [(30_100, false), (36_099, false), (36_100, true), (45_099, true)] {
        let acts = look(&mut member, ms, &[1, 4, 9]);
        assert_eq!(claims(&acts), if asks { vec![(768, 2)] } else { Vec::new() }, "{ms}");
        assert!(!acts.contains(&Act::Yield));
    }
    let mut sleeper = member.clone();
    assert!(look(&mut member, 45_100, &[1, 4, 9]).contains(&Act::Yield));
    sleeper.handle_wake(at(42_000));
    assert!(!look(&mut sleeper, 42_000, &[1, 4, 9]).contains(&Act::Yield));
    assert!(!look(&mut sleeper, 56_999, &[1, 4, 9]).contains(&Act::Yield), "it began to wait when it woke");
    assert!(look(&mut sleeper, 57_000, &[1, 4, 9]).contains(&Act::Yield));
}

#[test]
fn member_unknown_to_the_relay_ends_its_session() {
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
    let heir = Some(PeerId(2));
    member.handle_opinion(PeerId(1), Opinion { heir, ..lives_under(Term::FIRST, 1) });
    assert_eq!(claims(&look(&mut member, 0, &[1])), [(512, 2)]);
    assert_eq!(claims(&look(&mut member, 10, &[1, 2])), [(512, 3)]);
}

#[test]
fn a_warrant_in_reserve_begins_when_the_host_is_missed() {
    let mut roster = roster(2);
    roster.keep_in_reserve(warrant(2, 3));
    assert!(look(&mut roster, 0, &[]).is_empty());
    assert_eq!(roster.host(), PeerId(1), "the host is heard");
    assert!(claims(&look(&mut roster, 100, &[1])).is_empty());
    assert_eq!((roster.term(), roster.host()), (Term(2 << 8), PeerId(3)));
    assert_eq!(roster.warrant(), &warrant(2, 3));
    // The host of that warrant is missed, too, and no other warrant is in reserve.
    assert_eq!(claims(&look(&mut roster, 200, &[1, 3])), [(3 << 8, 2)]);
}

#[test]
fn the_highest_valid_warrant_in_reserve_counts() {
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
fn only_warrants_of_the_relay_are_kept_in_reserve() {
    let mut roster = roster(2);
    roster.keep_in_reserve(Warrant { host: PeerId(3), ..warrant(2, 2) });
    roster.keep_in_reserve(Warrant { session: SessionId(2), ..warrant(2, 3) });
    look(&mut roster, 0, &[1]);
    assert_eq!(roster.term(), Term(1 << 8));
}
