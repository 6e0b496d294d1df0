//! Attacks by peers that only joined. The members are the peers that the host has named (PROTOCOL §5.5).

use samovar_directory::ClientEvent;
use samovar_directory::limits::{AWAY_WAIT, CODE_KEPT_FOR, REJOIN_WAIT, RESTORED_WAIT, RETURNS_WITHIN};
use samovar_wire::relay::{Denial, FromRelay, Purpose, Refusal, ToRelay};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, almost, code, denied, millis, seconds, term};

#[test]
fn fifty_joiners_that_come_back_first_get_no_term() {
    let mut world = World::with_members(3);
    let joiners: Vec<_> = (0..50).map(|_| world.join("TEA")).collect();
    world.kill_relay();
    (0..3).for_each(|i| world.seats[i].cut = true);
    world.start_relay();
    joiners.iter().for_each(|&i| world.miss(i, joiners[0]));
    world.run_for(seconds(5));
    assert_eq!(world.directory.usage().members, 0, "a peer that only joined lists no game");
    // Once a member is back, the joiners are in the game again, and have no vote.
    world.seats[2].cut = false;
    world.run_for(CODE_KEPT_FOR + seconds(5));
    assert!(joiners.iter().all(|&i| world.seats[i].client.is_entered()));
    assert!(world.events(joiners[0]).contains(&denied(2, Denial::NotAMember)));
    assert!(world.warrant(2).host != world.peer(joiners[0]));
    (0..2).for_each(|i| world.seats[i].cut = false);
    world.run_for(seconds(10));
    let (host, peers) = (world.warrant(1).host, [0, 1, 2].map(|i| world.peer(i)));
    assert!((0..3).all(|i| world.warrant(i).host == host) && peers.contains(&host));
}

#[test]
fn two_old_passes_do_not_win_a_lone_hosts_game() {
    let mut world = World::with_members(1);
    let old = [world.join("TEA"), world.join("TEA")];
    let passes = old.map(|i| (world.seats[i].client.pass().expect("entered"), world.peer(i)));
    let warrant = world.warrant(0);
    old.into_iter().for_each(|i| world.kill(i));
    world.kill_relay();
    world.seats[0].cut = true;
    world.start_relay();
    let back = |world: &mut World| {
        passes.map(|(pass, _)| world.raw_enter(Purpose::Resume(code("TEA"), pass, warrant)))
    };
    let conns = back(&mut world);
    world.run_for(almost(RESTORED_WAIT));
    assert!(conns.iter().all(|conn| world.heard[conn].is_empty()), "they wait like newcomers");
    world.run_for(millis(1));
    for conn in conns {
        assert_eq!(world.heard[&conn], [FromRelay::Refused(Refusal::UnknownGame)]);
    }
    world.seats[0].cut = false;
    world.run_for(seconds(10));
    // The same holds while the game lives and its host's connection is broken.
    let conns = back(&mut world);
    world.seats[0].cut = true;
    world.drop_socket(0);
    for _ in 0..20 {
        conns.iter().for_each(|&conn| world.raw_send(conn, &ToRelay::Claim(term(2), passes[0].1)));
        world.run_for(millis(250));
    }
    assert!(world.issued(2).is_empty());
    let denials = [conns[0], conns[1]].map(|conn| world.heard[&conn].last().cloned());
    assert!(denials.iter().all(|last| *last == Some(FromRelay::Denied(term(2), Denial::NotAMember))));
    world.seats[0].cut = false;
    world.run_for(seconds(10));
    assert_eq!((world.warrant(0), world.seats[0].client.is_entered()), (warrant, true));
}

#[test]
fn a_joiner_that_is_back_first_enters_with_the_first_member() {
    let mut world = World::with_members(2);
    let joiner = world.join("TEA");
    let peer = world.peer(joiner);
    world.kill_relay();
    (0..2).for_each(|i| world.seats[i].cut = true);
    world.start_relay();
    world.run_for(seconds(1));
    assert_eq!(world.directory.usage().awaiting, 1);
    world.seats[1].cut = false;
    while world.seats[1].conn.is_none() {
        world.run_for(millis(1));
    }
    assert!(world.seats[joiner].client.is_entered() && world.peer(joiner) == peer);
    assert_eq!(world.directory.usage().awaiting, 0);
    // When the game is founded anew, the joiner has no id in the new session.
    world.kill_relay();
    let pass = world.seats[1].client.pass().expect("entered");
    (0..2).for_each(|i| world.kill(i));
    world.start_relay();
    world.run_for(seconds(3));
    assert_eq!(world.directory.usage().awaiting, 1);
    let again = world.rejoin(pass);
    world.run_for(REJOIN_WAIT);
    assert_eq!(world.warrant(again).host, world.peer(again));
    assert!(!world.seats[joiner].client.is_entered() && !world.seats[joiner].over);
}

#[test]
fn a_lone_host_that_is_away_for_three_seconds_keeps_its_game() {
    let mut world = World::with_members(1);
    let (before, strangers) = (world.warrant(0), [world.join("TEA"), world.join("TEA")]);
    world.seats[0].cut = true;
    world.drop_socket(0);
    strangers.into_iter().for_each(|i| world.miss(i, strangers[0]));
    world.run_for(seconds(3));
    world.seats[0].cut = false;
    world.run_for(CODE_KEPT_FOR.times(2));
    assert_eq!((world.warrant(0), world.warrant(strangers[0])), (before, before));
}

#[test]
fn a_joiners_pass_does_not_found_a_vacated_game() {
    let mut world = World::with_members(2);
    let joiner = world.join("TEA");
    let passes = [1, joiner].map(|i| world.seats[i].client.pass().expect("entered"));
    world.kill(joiner);
    let first = world.warrant(0);
    (0..2).for_each(|i| world.seats[i].client.go_away(world.now));
    world.settle();
    let waits = world.rejoin(passes[1]);
    world.run_for(almost(RETURNS_WITHIN));
    assert!(world.events(waits).is_empty(), "it waits like a newcomer");
    let member = world.rejoin(passes[0]);
    let again = world.warrant(member);
    assert!(again.session != first.session && again.host == world.peer(member));
    assert_eq!(world.warrant(waits), again);
    // A joiner's pass does not take over a live game either, when its members have left.
    let mut world = World::with_members(2);
    let joiner = world.join("TEA");
    let before = world.warrant(joiner);
    let pass = world.seats[joiner].client.pass().expect("entered");
    world.kill(joiner);
    let again = world.rejoin(pass);
    (0..2).for_each(|i| world.seats[i].client.go_away(world.now));
    world.settle();
    assert_eq!(world.warrant(again), before);
}

#[test]
fn a_newcomer_hosts_an_abandoned_game_after_15_seconds() {
    let mut world = World::with_members(1);
    let newcomer = world.join("TEA");
    world.kill(0);
    world.miss(newcomer, newcomer);
    world.run_for(almost(CODE_KEPT_FOR));
    assert!(world.issued(2).is_empty());
    world.run_for(millis(251));
    assert_eq!((world.warrant(newcomer).term, world.warrant(newcomer).host), (term(2), world.peer(newcomer)));
    // From then on the newcomer names the members.
    let other = world.join("TEA");
    world.events(other);
    world.claim(other, 3);
    assert_eq!(world.events(other), [denied(3, Denial::NotAMember)]);
}

#[test]
fn a_newcomer_begins_a_game_anew_once_all_have_left() {
    for (is_named, is_away) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut world = World::with_members(1);
        let newcomer = world.join("TEA");
        if is_named {
            let (conn, line) =
                (world.seats[0].conn.expect("connected"), [0, newcomer].map(|i| world.peer(i)));
            world.raw_send(conn, &ToRelay::Members(line.to_vec(), 1));
        }
        if is_away {
            world.seats[0].client.go_away(world.now);
            world.settle();
            world.run_for(almost(AWAY_WAIT));
            assert!(world.issued(2).is_empty(), "the member may come back");
        } else {
            world.seats[0].client.leave(world.now);
            world.settle();
        }
        world.run_for(millis(2));
        assert_eq!(world.warrant(newcomer).host, world.peer(newcomer), "{is_named} {is_away}");
        // A later newcomer joins it.
        let later = world.join("TEA");
        world.run_for(millis(2));
        assert_eq!(world.warrant(later), world.warrant(newcomer));
    }
}

#[test]
fn an_abandoned_game_goes_to_a_former_member_before_newcomers() {
    let mut world = World::with_members(2);
    let newcomer = world.join("TEA");
    let pass = world.seats[1].client.pass().expect("entered");
    world.seats[1].client.go_away(world.now);
    world.settle();
    let former = world.rejoin(pass);
    world.kill(0);
    world.miss(newcomer, newcomer);
    world.run_for(CODE_KEPT_FOR);
    assert_eq!((world.warrant(former).term, world.warrant(former).host), (term(2), world.peer(former)));
    assert_eq!(world.warrant(newcomer), world.warrant(former));
}

#[test]
fn the_first_former_member_in_line_takes_over_the_game() {
    for order in [[0, 1, 2], [0, 2, 1]] {
        let mut world = World::with_members(3);
        world.name_members(0, &order);
        let back = [1, 2].map(|i| {
            let pass = world.seats[i].client.pass().expect("entered");
            world.seats[i].client.go_away(world.now);
            world.settle();
            world.rejoin(pass)
        });
        world.kill(0);
        world.run_for(CODE_KEPT_FOR);
        assert_eq!(world.warrant(back[0]).host, world.peer(back[order[1] - 1]), "{order:?}");
    }
}

#[test]
fn a_member_that_comes_back_keeps_strangers_from_hosting() {
    let mut world = World::with_members(2);
    let stranger = world.join("TEA");
    world.seats[1].cut = true;
    world.drop_socket(1);
    world.kill(0);
    world.miss(stranger, stranger);
    // The longest pause between two attempts is six seconds.
    world.run_for(seconds(8));
    world.seats[1].cut = false;
    world.run_for(CODE_KEPT_FOR.times(2));
    assert_eq!(world.warrant(1).term, term(1), "it hears the host, and claims nothing");
    assert_ne!(world.warrant(stranger).host, world.peer(stranger));
}

#[test]
fn a_removed_member_has_no_vote() {
    let mut world = World::with_members(4);
    world.name_members(0, &[0, 1, 2]);
    world.seats[0].frozen = true;
    world.events(3);
    world.claim_for(3, 2, 1);
    assert_eq!(world.events(3), [denied(2, Denial::NotAMember)]);
    world.claim_for(1, 2, 1);
    assert!(world.issued(2).is_empty(), "one of three");
    // The removed member brings the game back to a restarted relay, and still has no vote.
    world.kill_relay();
    (1..3).for_each(|i| world.seats[i].cut = true);
    world.start_relay();
    world.miss(3, 3);
    world.run_for(CODE_KEPT_FOR);
    assert!(world.seats[3].client.is_entered());
    assert!(world.issued(2).is_empty());
    (1..3).for_each(|i| world.seats[i].cut = false);
    world.run_for(seconds(10));
    assert!((1..3).all(|i| world.seats[i].client.is_entered()));
}

#[test]
fn a_removed_member_founds_the_game_anew_when_all_have_gone() {
    let mut world = World::with_members(3);
    let pass = world.seats[2].client.pass().expect("entered");
    world.name_members(0, &[0, 1]);
    world.kill(2);
    (0..2).for_each(|i| world.seats[i].client.go_away(world.now));
    world.settle();
    let again = world.rejoin(pass);
    assert_eq!(world.warrant(again).host, world.peer(again));
    // A restarted relay knows the removed member, too.
    let mut world = World::with_members(3);
    let pass = world.seats[2].client.pass().expect("entered");
    world.name_members(0, &[0, 1]);
    world.kill_relay();
    (0..3).for_each(|i| world.kill(i));
    world.start_relay();
    let again = world.rejoin(pass);
    world.run_for(REJOIN_WAIT);
    assert_eq!(world.warrant(again).host, world.peer(again));
    assert!(matches!(world.events(again)[..], [ClientEvent::Entered(_)]));
}

#[test]
fn the_last_thirty_two_removed_members_are_remembered() {
    let mut world = World::with_members(1);
    for _ in 0..40 {
        let member = world.join("TEA");
        world.name_members(0, &[0, member]);
        world.run_for(seconds(1));
        world.kill(member);
    }
    world.name_members(0, &[0]);
    let record = &world.disk[&world.warrant(0).session];
    assert_eq!(record.members, [world.peer(0)]);
    assert_eq!(record.former, (9..41).map(|i| world.peer(i)).collect::<Vec<_>>());
}
