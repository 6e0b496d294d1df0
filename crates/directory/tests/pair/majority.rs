//! A host that most members miss is replaced, but not at once if it answers the relay. The host names the members.

use samovar_directory::ConnId;
use samovar_directory::limits::{
    ALIVE_HOLDS, ALL_PROBED_EVERY, CLAIM_COUNTS_FOR, CODE_KEPT_FOR, PROBE_WITHIN, PULSE_EVERY,
};
use samovar_wire::Duration;
use samovar_wire::relay::{Denial, FromRelay, Purpose, ToRelay};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, almost, code, denied, millis, seconds, term};

#[test]
fn a_majority_deposes_a_host_that_still_answers_the_relay() {
    let mut world = World::with_members(4);
    world.claim_for(1, 2, 2);
    world.run_for(millis(200));
    world.claim_for(2, 2, 2);
    assert!(world.issued(2).is_empty(), "two of four are no majority");
    world.run_for(millis(200));
    world.claim_for(3, 2, 2);
    assert_eq!(world.warrant(0).host, world.peer(2));
}

#[test]
fn a_host_that_has_just_answered_is_not_deposed_at_once() {
    let mut world = World::with_members(3);
    (1..3).for_each(|i| world.miss(i, 2));
    world.run_for(ALIVE_HOLDS);
    assert!(world.issued(2).is_empty(), "all of them miss it, but it lives");
    (1..3).for_each(|i| world.hear_host(i));
    world.run_for(seconds(2));
    assert!(world.issued(2).is_empty());
    (1..3).for_each(|i| world.miss(i, 2));
    world.run_for(seconds(1));
    assert_eq!(world.warrant(0).host, world.peer(2), "whatever it answers, they do not hear it");
}

#[test]
fn a_majority_does_not_wait_for_a_probe() {
    let mut world = World::with_members(3);
    world.seats[0].frozen = true;
    world.claim_for(1, 2, 1);
    world.claim_for(2, 2, 1);
    assert_eq!(world.warrant(2).host, world.peer(1));
}

#[test]
fn expired_claims_make_no_majority_and_repeated_ones_do() {
    let mut world = World::with_members(4);
    for i in 1..4 {
        world.claim(i, 2);
        world.run_for(CLAIM_COUNTS_FOR + millis(1));
    }
    assert!(world.issued(2).is_empty());
    world.miss(1, 2);
    world.run_for(seconds(5));
    world.miss(2, 2);
    world.run_for(seconds(5));
    assert!(world.issued(2).is_empty());
    world.miss(3, 2);
    world.run_for(seconds(1));
    assert_eq!(world.warrant(0).host, world.peer(2));
}

#[test]
fn a_claim_that_is_not_repeated_no_longer_counts() {
    let mut world = World::with_members(4);
    world.miss(1, 2);
    world.miss(2, 2);
    world.run_for(seconds(2));
    world.hear_host(1);
    world.run_for(CLAIM_COUNTS_FOR + millis(1));
    world.miss(3, 2);
    world.run_for(seconds(2));
    assert!(world.issued(2).is_empty(), "never more than two of four at a time");
}

#[test]
fn a_claim_does_not_count_after_its_member_disconnects() {
    let mut world = World::with_members(4);
    world.claim(1, 2);
    world.kill(1);
    world.claim(2, 2);
    assert!(world.issued(2).is_empty(), "one of three is no majority");
}

#[test]
fn repeated_claims_of_one_member_count_once() {
    let mut world = World::with_members(4);
    for _ in 0..20 {
        world.claim(1, 2);
        world.run_for(millis(20));
    }
    assert!(world.issued(2).is_empty());
}

#[test]
fn claims_against_a_former_host_do_not_count_against_the_next() {
    let mut world = World::with_members(4);
    world.outvote(&[1, 2, 3], 2, 3);
    assert_eq!(world.warrant(0).host, world.peer(3));
    world.events(1);
    world.claim(1, 3);
    assert!(world.issued(3).is_empty());
    assert_eq!(world.events(1), [denied(3, Denial::HostIsAlive)]);
}

#[test]
fn joiners_that_are_no_members_do_not_count() {
    let mut world = World::with_members(3);
    for name in ["first", "second", "third", "fourth"] {
        let joiner = world.join("TEA");
        assert!(world.seats[joiner].client.is_entered(), "{name}");
    }
    world.name_members(0, &[0, 1, 2]);
    world.claim_for(1, 2, 1);
    assert!(world.issued(2).is_empty(), "one of three");
    world.run_for(ALIVE_HOLDS + millis(1));
    world.claim_for(2, 2, 1);
    assert_eq!(world.warrant(0).host, world.peer(1), "two of three, with four more at the door");
}

#[test]
fn a_late_list_of_members_makes_waiting_claims_a_majority() {
    let mut world = World::with_members(4);
    // Two of four members miss the host, which is no majority. The host stands still, but its list that removes the
    // fourth member arrives late.
    let named = (0..3).map(|i| world.peer(i)).collect::<std::collections::BTreeSet<_>>();
    let host = world.seats[0].conn.expect("connected");
    world.seats[0].frozen = true;
    world.claim_for(1, 2, 1);
    world.claim_for(2, 2, 1);
    assert!(world.issued(2).is_empty());
    world.raw_send(host, &ToRelay::Members(named.into_iter().collect(), 0));
    assert_eq!(world.warrant(2).host, world.peer(1));
}

#[test]
fn removed_members_replace_a_lone_host_only_if_it_is_silent() {
    let mut world = World::with_members(3);
    world.name_members(0, &[0]);
    world.events(1);
    world.claim_for(1, 2, 2);
    assert_eq!(world.events(1), [denied(2, Denial::NotAMember)]);
    world.miss(2, 2);
    world.run_for(CODE_KEPT_FOR.times(2));
    assert!(world.issued(2).is_empty(), "two of three, who are none of its members");
    // The host is alone and its process stands still, but the operating system keeps its connection open.
    world.seats[0].frozen = true;
    world.run_for(CODE_KEPT_FOR + PULSE_EVERY.times(3));
    assert!(world.issued(2).is_empty(), "it is silent since the fourth pulse");
    world.run_for(PULSE_EVERY.times(2) + PROBE_WITHIN);
    assert_eq!(world.warrant(2).host, world.peer(2));
}

#[test]
fn a_lone_host_that_answers_again_in_time_keeps_its_game() {
    let mut world = World::with_members(1);
    let stranger = world.join("TEA");
    world.miss(stranger, stranger);
    world.seats[0].frozen = true;
    world.run_for(CODE_KEPT_FOR);
    world.seats[0].frozen = false;
    world.run_for(CODE_KEPT_FOR.times(2));
    assert!(world.issued(2).is_empty());
}

#[test]
fn a_stranger_can_neither_claim_nor_be_made_host() {
    let mut world = World::with_members(3);
    let stranger = world.join("TEA");
    world.name_members(0, &[0, 1, 2]);
    world.seats[0].frozen = true;
    world.events(stranger);
    world.claim(stranger, 2);
    assert_eq!(world.events(stranger), [denied(2, Denial::NotAMember)]);
    world.claim_for(1, 2, stranger);
    world.claim_for(2, 2, stranger);
    assert!(world.issued(2).is_empty(), "it is no candidate either");
    world.claim_for(1, 2, 2);
    assert_eq!(world.warrant(stranger).host, world.peer(2));
}

#[test]
fn a_newcomer_hosts_when_no_member_is_left() {
    let mut world = World::with_members(2);
    world.name_members(0, &[0, 1]);
    let newcomer = world.join("TEA");
    world.kill(0);
    world.run_for(seconds(10));
    world.kill(1);
    world.miss(newcomer, newcomer);
    world.run_for(almost(CODE_KEPT_FOR));
    assert!(world.seats[newcomer].events.contains(&denied(2, Denial::NotAMember)), "a member may come back");
    assert_eq!(world.warrant(newcomer).term, term(1));
    world.run_for(millis(251));
    let warrant = world.warrant(newcomer);
    assert_eq!(
        (warrant.term, warrant.host),
        (term(3), world.peer(newcomer)),
        "who was to host 2 has gone, too"
    );
}

#[test]
fn a_majoritys_candidate_hosts_despite_denied_claims() {
    let mut world = World::with_members(5);
    world.name_members(0, &[0, 1, 2, 3, 4]);
    [1, 3, 2].into_iter().for_each(|i| world.miss(i, 2));
    world.run_for(ALIVE_HOLDS + millis(10));
    world.claim_for(4, 2, 4);
    assert_eq!(world.warrant(0).host, world.peer(2), "three of four who miss the host want that one");
}

#[test]
fn only_the_host_can_name_the_members() {
    let mut world = World::with_members(4);
    world.name_members(0, &[0, 1, 2, 3]);
    let (own, conn) = (world.peer(1), world.seats[1].conn.expect("connected"));
    world.raw_send(conn, &ToRelay::Members(vec![own], 0));
    world.claim(1, 2);
    assert!(world.issued(2).is_empty(), "it does not become a majority of one");
    assert!(world.closed.is_empty(), "a former host may say so late: no offence");
}

#[test]
fn a_new_host_names_the_members_from_then_on() {
    let mut world = World::with_members(4);
    world.name_members(0, &[0, 1, 2, 3]);
    world.name_members(2, &[1, 2]);
    world.claim_for(0, 2, 2);
    assert_eq!(world.warrant(1).host, world.peer(2));
    world.events(3);
    world.claim(3, 3);
    assert_eq!(world.events(3), [denied(3, Denial::NotAMember)]);
}

#[test]
fn two_claimants_replace_a_silent_host_soon_without_a_majority() {
    let mut world = World::with_members(8);
    let line: Vec<_> = (0..8).collect();
    world.name_members(0, &line);
    // Six of eight died silently: their connections stay open, and none of them answers.
    for dead in [0, 1, 2, 3, 4, 5] {
        world.seats[dead].frozen = true;
    }
    world.claim_for(6, 2, 6);
    world.run_for(millis(50));
    world.claim_for(7, 2, 6);
    assert!(world.issued(2).is_empty(), "the host may still answer");
    world.run_for(millis(10));
    assert_eq!(world.warrant(7).host, world.peer(6));
}

#[test]
fn one_claimant_suffices_when_five_members_are_silent() {
    for members in [6, 7] {
        let mut world = World::with_members(members);
        let last = members - 1;
        // Five are silent: the host and four members. One of these may be alive, with its claim held up behind a lost
        // packet.
        (members - 5..last).for_each(|dead| world.seats[dead].frozen = true);
        world.seats[0].frozen = true;
        world.claim_for(last, 2, last);
        world.run_for(millis(59));
        assert!(world.issued(2).is_empty(), "they may still answer");
        world.run_for(millis(11));
        assert_eq!(world.issued(2).is_empty(), members == 7, "one of seven answers");
        world.run_for(millis(600));
        assert_eq!(world.warrant(last).host, world.peer(last));
    }
    let mut world = World::with_members(5);
    (0..4).for_each(|dead| world.seats[dead].frozen = true);
    world.claim_for(4, 2, 4);
    world.run_for(millis(590));
    assert!(world.issued(2).is_empty(), "four are silent, who may all have lost something");
    world.run_for(millis(10));
    assert_eq!(world.warrant(4).host, world.peer(4));
}

#[test]
fn a_candidate_heard_since_the_loss_hosts_before_others() {
    let mut world = World::with_members(8);
    (0..6).for_each(|dead| world.seats[dead].frozen = true);
    world.claim_for(6, 2, 5);
    world.claim_for(7, 2, 7);
    world.run_for(millis(60));
    assert_eq!(world.warrant(6).host, world.peer(7), "the other's candidate died with the host");
    // If no candidate was heard, the one that was claimed for first hosts.
    let mut world = World::with_members(8);
    (0..6).for_each(|dead| world.seats[dead].frozen = true);
    world.claim_for(6, 2, 5);
    world.claim_for(7, 2, 4);
    world.run_for(millis(60));
    assert_eq!(world.warrant(6).host, world.peer(5));
}

#[test]
fn a_hosts_first_four_answers_are_timed() {
    let mut world = World::new();
    let host = world.raw_enter(Purpose::Create(Some(code("TEA"))));
    let member = world.join("TEA");
    let named = vec![world.raw_peer(host), world.peer(member)];
    world.raw_send(host, &ToRelay::Members(named, 0));
    let now = world.now;
    world.seats[member].client.doubt(now);
    for _ in 0..4 {
        world.run_for(millis(100));
        let nonce = last_probe(&world, host);
        world.raw_send(host, &ToRelay::Alive(nonce));
    }
    let asked = world.heard[&host].iter().filter(|said| matches!(said, FromRelay::Probe(_))).count();
    assert_eq!(asked, 5, "the doubt came before the first answer");
}

/// A peer joins whose answers take `takes`. It has answered its first four probes.
fn raw_far(world: &mut World, takes: Duration) -> ConnId {
    let far = world.raw_enter(Purpose::Join(code("TEA")));
    for _ in 0..4 {
        world.run_for(takes);
        let nonce = last_probe(world, far);
        world.raw_send(far, &ToRelay::Alive(nonce));
    }
    far
}

fn last_probe(world: &World, conn: ConnId) -> u64 {
    let heard = world.heard.get(&conn).into_iter().flatten();
    let mut nonces =
        heard.filter_map(|said| if let FromRelay::Probe(nonce) = said { Some(*nonce) } else { None });
    nonces.next_back().expect("it was asked")
}

#[test]
fn two_claimants_wait_for_the_answers_of_far_members() {
    let mut world = World::with_members(3);
    let far = raw_far(&mut world, millis(100));
    let named = (0..3).map(|i| world.peer(i)).chain([world.raw_peer(far)]);
    world.name_peers(0, named.collect());
    world.seats[0].frozen = true;
    world.claim_for(1, 2, 1);
    world.claim_for(2, 2, 1);
    world.run_for(millis(100));
    assert!(world.issued(2).is_empty(), "who is far has not been able to answer");
    for _ in 0..4 {
        let nonce = last_probe(&world, far);
        world.raw_send(far, &ToRelay::Alive(nonce));
        world.run_for(millis(100));
        assert!(world.issued(2).is_empty(), "it lives, and does not miss the host");
    }
    world.run_for(millis(200));
    assert_eq!(world.warrant(1).host, world.peer(1));
}

#[test]
fn a_member_that_answered_and_died_is_not_waited_for() {
    let mut world = World::with_members(8);
    let line: Vec<_> = (0..8).collect();
    world.name_members(0, &line);
    world.seats[0].frozen = true;
    let now = world.now;
    world.seats[5].client.doubt(now);
    world.run_for(millis(10));
    for dead in [1, 2, 3, 4, 5] {
        world.seats[dead].frozen = true;
    }
    world.run_for(ALL_PROBED_EVERY);
    world.claim_for(6, 2, 6);
    world.claim_for(7, 2, 6);
    world.run_for(millis(100));
    assert_eq!(world.warrant(7).host, world.peer(6), "260 ms after it was asked, not 600");
}

#[test]
fn a_member_silent_at_the_second_probe_is_not_waited_for() {
    let mut world = World::with_members(8);
    let line: Vec<_> = (0..8).collect();
    world.name_members(0, &line);
    (0..6).for_each(|dead| world.seats[dead].frozen = true);
    world.claim_for(6, 2, 6);
    world.run_for(millis(10));
    // Seat 7 misses the host, too, but its claim is held up behind a lost packet.
    world.seats[7].frozen = true;
    world.run_for(almost(ALL_PROBED_EVERY));
    assert!(world.issued(2).is_empty(), "it may be well");
    world.run_for(millis(70));
    assert_eq!(world.warrant(6).host, world.peer(6), "not after 600 ms");
}

#[test]
fn a_hosts_answer_times_are_measured_with_every_pulse() {
    let mut world = World::with_members(1);
    let asked = world.probes_of(0).len();
    world.run_for(PULSE_EVERY.times(3));
    assert_eq!(world.probes_of(0).len(), asked + 3);
}

#[test]
fn an_answer_to_the_first_of_two_probes_counts() {
    let mut world = World::with_members(3);
    let line: Vec<_> = (0..3).collect();
    world.name_members(0, &line);
    world.seats[0].frozen = true;
    let now = world.now;
    world.seats[1].client.doubt(now);
    world.settle();
    let asked = world.probes_of(0);
    world.run_for(ALL_PROBED_EVERY);
    world.claim_for(1, 2, 1);
    assert!(world.probes_of(0).len() > asked.len(), "the other has answered a while ago");
    let conn = world.seats[0].conn.expect("connected");
    world.raw_send(conn, &ToRelay::Alive(asked[asked.len() - 1]));
    world.run_for(seconds(2));
    assert!(world.issued(2).is_empty(), "it lives");
}

#[test]
fn a_doubt_has_the_host_probed_before_the_claims_come() {
    let mut world = World::with_members(8);
    let line: Vec<_> = (0..8).collect();
    world.name_members(0, &line);
    // Seats 1 to 5 stand still. The host answers in the first round and stands still in the second.
    for dead in [1, 2, 3, 4, 5] {
        world.seats[dead].frozen = true;
    }
    for (is_frozen, host) in [(false, 0), (true, 6)] {
        world.seats[0].frozen = is_frozen;
        let now = world.now;
        world.seats[6].client.doubt(now);
        world.settle();
        world.run_for(millis(100));
        world.claim_for(6, 2, 6);
        world.claim_for(7, 2, 6);
        assert_eq!(world.warrant(7).host, world.peer(host), "nothing is left to wait for");
        world.run_for(seconds(2));
    }
}

#[test]
fn a_member_that_hears_the_host_again_withdraws_its_claim() {
    let mut world = World::with_members(3);
    // The host's answer comes too late.
    world.seats[0].frozen = true;
    world.claim_for(1, 2, 1);
    world.run_for(millis(100));
    let now = world.now;
    world.events(1);
    world.seats[1].client.doubt(now);
    world.settle();
    assert_eq!(world.events(1), [denied(2, Denial::Stale)], "a claim is always answered");
    world.run_for(seconds(2));
    assert!(world.issued(2).is_empty(), "nobody misses it");
    world.claim_for(1, 2, 1);
    world.claim_for(2, 2, 1);
    world.run_for(seconds(1));
    assert_eq!(world.warrant(1).host, world.peer(1), "a claim that is not taken back counts");
}

#[test]
fn a_doubt_does_not_withdraw_an_expired_claim() {
    let mut world = World::with_members(3);
    world.claim_for(1, 2, 1);
    world.run_for(CLAIM_COUNTS_FOR + millis(1));
    assert_eq!(world.events(1).last(), Some(&denied(2, Denial::HostIsAlive)));
    let now = world.now;
    world.seats[1].client.doubt(now);
    world.settle();
    assert!(world.events(1).is_empty(), "it was answered then");
}

#[test]
fn two_claimants_wait_for_the_host_when_others_answer() {
    let mut world = World::with_members(8);
    let line: Vec<_> = (0..8).collect();
    world.name_members(0, &line);
    world.seats[0].frozen = true;
    world.claim_for(6, 2, 6);
    world.claim_for(7, 2, 6);
    world.run_for(millis(200));
    assert!(world.issued(2).is_empty(), "five others live and miss nobody");
    world.run_for(millis(400));
    assert_eq!(world.warrant(7).host, world.peer(6), "but the host does not answer");
}

#[test]
fn a_host_that_answered_and_disconnected_is_replaced() {
    let mut world = World::with_members(3);
    world.claim(1, 2);
    assert_eq!(world.events(1).last(), Some(&denied(2, Denial::HostIsAlive)));
    world.kill(0);
    world.claim(1, 2);
    assert_eq!(world.warrant(2).host, world.peer(1));
}

#[test]
fn a_strangers_doubt_causes_no_probe() {
    for (is_member, is_asked) in [(true, true), (false, false)] {
        let mut world = World::with_members(3);
        let stranger = world.join("TEA");
        let mut line = vec![0, 1, 2];
        line.extend(is_member.then_some(stranger));
        world.name_members(0, &line);
        let witness = world.raw_enter(Purpose::Join(code("TEA")));
        world.run_for(seconds(5));
        let before = last_probe(&world, witness);
        let now = world.now;
        world.seats[stranger].client.doubt(now);
        world.settle();
        assert_eq!(last_probe(&world, witness) != before, is_asked, "member: {is_member}");
    }
}

#[test]
fn a_strangers_answer_delays_no_decision() {
    for (is_member, within) in [(false, millis(60)), (true, PROBE_WITHIN)] {
        let mut world = World::with_members(8);
        let mut line: Vec<_> = (0..8).collect();
        let lives = world.join("TEA");
        line.extend(is_member.then_some(lives));
        world.name_members(0, &line);
        (0..6).for_each(|dead| world.seats[dead].frozen = true);
        world.run_for(seconds(1));
        world.claim_for(6, 2, 6);
        world.claim_for(7, 2, 6);
        world.run_for(almost(within));
        assert!(world.issued(2).is_empty());
        world.run_for(millis(1));
        assert_eq!(world.warrant(7).host, world.peer(6), "member: {is_member}");
    }
}

#[test]
fn the_most_wanted_candidate_beats_the_first_claimed() {
    let mut world = World::with_members(5);
    world.name_members(0, &[0, 1, 2, 3, 4]);
    world.run_for(seconds(3));
    world.seats[0].frozen = true;
    world.claim_for(1, 2, 1);
    world.claim_for(2, 2, 3);
    assert!(world.issued(2).is_empty(), "two of five");
    world.claim_for(3, 2, 3);
    assert_eq!(world.warrant(2).host, world.peer(3));
}
