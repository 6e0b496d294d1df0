//! Elections: which member hosts when the host is lost, with the relay and without it.

use crate::world::{TEAPOT, World, hosts, part, relay_comes, relay_goes, world_of};
use samovar_session::{Cause, EndReason, Event, Role, Rules, Session, Suspension, Target};
use samovar_wire::object::Traits;
use samovar_wire::{CloseCode, Lane, Mode, PeerId, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn changes(world: &World, peer: PeerId) -> Vec<Cause> {
    let cause = |event: &Event| match event {
        Event::HostChanged(migration) => Some(migration.cause),
        _ => None,
    };
    world.events[&peer].iter().filter_map(cause).collect()
}

#[test]
fn majority_elects_a_host_that_the_relay_confirms_later() {
    for seed in 0..8 {
        let (mut world, host, others) = world_of(seed, u64::from(seed) * 3, 4);
        let pot = world.create(host, TEAPOT, &[b"score 7"]);
        world.run(1_000);
        relay_goes(&mut world);
        world.run(500);
        world.peers.remove(&host);
        world.run(2_500);
        let [(term, heir)] = hosts(&world)[..] else { panic!("seed {seed}: {:?}", hosts(&world)) };
        assert!(term > Term::FIRST && !term.is_witnessed() && others.contains(&heir), "seed {seed}: {term}");
        for other in &others {
            assert_eq!(world.peers[other].object(pot).unwrap().owner(), heir, "seed {seed}");
            assert_eq!(changes(&world, *other), [Cause::Lost]);
        }
        relay_comes(&mut world);
        world.run(2_000);
        assert_eq!(hosts(&world), [(Term(512), heir)], "seed {seed}: the same host, by the relay's word");
        assert!(others.iter().all(|&other| changes(&world, other).len() == 1), "for players nothing changed");
        world.assert_converged();
    }
}

#[test]
fn hosts_that_die_in_turn_are_succeeded_without_the_relay() {
    let (mut world, host, others) = world_of(3, 5, 5);
    relay_goes(&mut world);
    world.peers.remove(&host);
    // The electorate follows the members, so those that are left are a majority of it again.
    for left in [4, 3, 2] {
        world.run(9_000);
        let [(_, heir)] = hosts(&world)[..] else { panic!("{left} left: {:?}", hosts(&world)) };
        assert_eq!(world.peers[&heir].view().members().count(), left);
        assert!(world.peers[&heir].is_host());
        if left > 2 {
            world.peers.remove(&heir);
        }
    }
    assert_eq!(others.iter().filter(|other| world.peers.contains_key(other)).count(), 2);
}

#[test]
fn minority_is_suspended_for_lack_of_a_majority() {
    let (mut world, host, others) = world_of(5, 0, 5);
    relay_goes(&mut world);
    let (few, many) = ([host, others[0]], [others[1], others[2], others[3]]);
    part(&mut world, &few, &many);
    world.run(4_000);
    let now = world.now;
    assert_eq!(world.peers[&host].role(now), Role::Suspended(Suspension::NoMajority));
    assert!(!world.peers[&host].is_host());
    let heirs: Vec<_> = many.iter().map(|peer| world.peers[peer].host()).collect();
    assert!(heirs.iter().all(|heir| many.contains(heir) && *heir == heirs[0]), "{heirs:?}");
    assert!(world.peers[&heirs[0]].is_host());
    assert_eq!(world.peers[&others[0]].host(), host, "the other member of the minority knows no other host");
}

#[test]
fn a_partition_that_heals_leaves_one_host() {
    for seed in 0..6 {
        let (mut world, host, others) = world_of(20 + seed, 5, 5);
        relay_goes(&mut world);
        let (few, many) = ([host, others[0]], [others[1], others[2], others[3]]);
        part(&mut world, &few, &many);
        world.run(4_000);
        let alone = world.create(others[0], TEAPOT, &[b"alone"]);
        world.run(500);
        world.cuts.clear();
        relay_comes(&mut world);
        world.run(4_000);
        let heir = world.peers[&others[1]].host();
        for peer in many {
            assert_eq!(
                (world.peers[&peer].host(), world.peers[&peer].is_member()),
                (heir, true),
                "seed {seed}"
            );
        }
        for peer in few {
            // A member that was not silent for long enough to be removed stays, and so do its changes.
            let events = &world.events[&peer];
            let is_back = world.peers[&peer].host() == heir && world.peers[&peer].is_member();
            assert!(
                is_back || events.contains(&Event::Ended(EndReason::Removed)),
                "seed {seed}: {:?}",
                events.last()
            );
        }
        let told =
            |event: &Event| matches!(event, Event::Diverged { objects, .. } if objects.contains(&alone));
        let is_told = world.events[&others[0]].iter().any(told);
        let is_there = world.peers[&heir].object(alone).is_some();
        assert!(is_told || is_there, "seed {seed}: what it did alone is reported, or shared");
    }
}

#[test]
fn link_begun_after_an_election_tells_which_peer_won() {
    for seed in 0..6 {
        let (mut world, host, others) = world_of(60 + seed, 0, 5);
        relay_goes(&mut world);
        let (late, voters) = others.split_last().unwrap();
        part(&mut world, &[*late], voters);
        world.kill(host);
        world.run(900);
        let heir = world.peers[&voters[0]].host();
        assert!(heir != host && voters.iter().all(|peer| world.peers[peer].host() == heir), "seed {seed}");
        assert_eq!(world.peers[late].host(), host, "seed {seed}");
        // The voters sent their votes to this member on links that have ended on the member's side.
        let (now, farewell) = (world.now, samovar_link::close_packet(CloseCode::NotAMember));
        for &voter in voters {
            world.peer(*late).handle_packet(now, voter, Mode::Unreliable, &farewell);
        }
        world.cuts.clear();
        world.run(2_000);
        assert_eq!((world.peers[late].host(), world.peers[late].is_member()), (heir, true), "seed {seed}");
        world.assert_agreed();
    }
}

#[test]
fn hand_over_leaves_no_moment_without_a_host() {
    for seed in 0..40 {
        let (mut world, host, others) = world_of(40 + seed, u64::from(seed % 4) * 5, 3);
        let backup = world.peers[&host].view().backup().unwrap();
        let now = world.now;
        assert!(world.peer(host).hand_over(now));
        assert!(!world.peer(others[0]).hand_over(now), "only the host can");
        while !world.peers.values().all(|s| s.host() == backup) {
            assert!(
                world.peers[&host].is_host() || world.peers[&backup].is_host(),
                "one of them acts as the host"
            );
            world.step();
            assert!(world.now.since(now).as_micros() < 500_000, "seed {seed}: {:?}", hosts(&world));
        }
        world.run(1_000);
        world.assert_converged();
        assert!(world.peers[&host].is_member() && !world.peers[&host].is_host());
        for &peer in world.peers.keys() {
            // If the news of the hand-over is lost, the relay's word comes before it to another member.
            let may_miss_it = seed % 4 == 3 && ![host, backup].contains(&peer);
            let is_right = match changes(&world, peer)[..] {
                [cause] => cause == Cause::HandedOver || may_miss_it && cause == Cause::Lost,
                _ => false,
            };
            assert!(is_right, "seed {seed} at {peer}: {:?}", changes(&world, peer));
        }
    }
}

#[test]
fn successor_gets_late_objects_that_go_with_the_host() {
    for seed in 0..10 {
        let (mut world, host, others) = world_of(90 + seed, 0, 3);
        let heir = world.peers[&host].view().backup().unwrap();
        let now = world.now;
        assert!(world.peer(host).hand_over(now));
        let mut crowns = Vec::new();
        while world.peers[&host].is_host() {
            crowns.push(world.create(host, Traits { with_host: true, ..TEAPOT }, &[b"crown"]));
            world.run(5);
        }
        world.run(1_000);
        assert!(others.contains(&heir) && world.peers[&host].is_member(), "seed {seed}");
        for crown in crowns {
            let owners: Vec<_> = world.peers.values().map(|s| s.object(crown).unwrap().owner()).collect();
            assert_eq!(owners, [heir; 3], "seed {seed}: {crown}");
        }
        assert!(world.peers[&host].is_succeeded(), "seed {seed}");
        world.assert_converged();
    }
}

#[test]
fn member_that_a_former_host_would_drop_is_linked_again() {
    for seed in 0..10 {
        let (mut world, host, others) = world_of(70 + seed, 0, 5);
        let backup = world.peers[&host].view().backup().unwrap();
        let [first, second, other] =
            others.iter().copied().filter(|&peer| peer != backup).collect::<Vec<_>>()[..]
        else {
            panic!("five members")
        };
        // The host drops the first member at once, and would drop the second with the next view, which never comes.
        let (now, farewell) = (world.now, samovar_link::close_packet(CloseCode::NotAMember));
        for peer in [first, second] {
            world.peer(host).handle_packet(now, peer, Mode::Unreliable, &farewell);
        }
        let view = world.peers[&host].view();
        assert_eq!([first, second].map(|peer| view.has(peer)), [false, true], "seed {seed}");
        // The next host is gone before it has sent anything, and the one after it knows of no change.
        let term = Term::FIRST.next_witnessed();
        world.grant(term, other);
        world.peers.remove(&other);
        world.grant(term.next_witnessed(), backup);
        world.run(2_000);
        for peer in [first, second] {
            let cup = world.create(peer, TEAPOT, &[b"cup", b"0"]);
            world.run(1_000);
            assert!(world.peers[&host].object(cup).is_some(), "seed {seed}: {peer}");
        }
        world.assert_converged();
    }
}

#[test]
fn host_hands_over_without_the_relay() {
    let (mut world, host, others) = world_of(50, 3, 3);
    relay_goes(&mut world);
    let now = world.now;
    assert!(world.peer(host).hand_over(now));
    world.run(500);
    let [(term, heir)] = hosts(&world)[..] else { panic!("{:?}", hosts(&world)) };
    assert!(!term.is_witnessed() && others.contains(&heir));
    assert!(world.peers[&host].is_member());
    world.run(500);
    world.assert_agreed();
}

/// Three members without the relay have elected the host that the last warrant names. A newcomer has asked to join
/// since; it has counted no vote, and waits.
fn world_of_a_newcomer_that_cannot_count_votes() -> (World, PeerId, PeerId) {
    let (mut world, host, _) = world_of(9, 0, 3);
    relay_goes(&mut world);
    world.run(500);
    loop {
        let [(term, resigns)] = hosts(&world)[..] else { panic!("{:?}", hosts(&world)) };
        if resigns == host && term > Term::FIRST {
            break;
        }
        let now = world.now;
        assert!(world.peer(resigns).hand_over(now));
        world.run(1_500);
    }
    let late = world.join(None);
    world.run(500);
    assert!(!world.peers[&late].is_member(), "a peer that was in no electorate counts no votes");
    (world, host, late)
}

#[test]
fn newcomer_that_cannot_count_votes_joins_by_the_relay() {
    let (mut world, host, late) = world_of_a_newcomer_that_cannot_count_votes();
    relay_comes(&mut world);
    world.run(1_500);
    assert_eq!(hosts(&world), [(Term(512), host)]);
    assert!(world.peers[&late].is_member());
    world.assert_converged();
}

#[test]
fn newcomer_that_cannot_count_votes_keeps_a_bounded_backlog() {
    let (mut world, host, late) = world_of_a_newcomer_that_cannot_count_votes();
    for n in 0_u32..1_500 {
        world.peer(host).send(Target::All, Lane::GAME, &n.to_le_bytes()).unwrap();
        world.run(20);
    }
    assert_eq!(world.events[&late], [Event::Ended(EndReason::Removed)]);
    world.peers.remove(&late);
    world.run(2_000);
    assert_eq!(world.peers[&host].view().members().count(), 3);
    world.assert_converged();
}

#[test]
fn removed_peer_that_is_made_host_ends_no_members_session() {
    for seed in 0..6 {
        let (mut world, host, others) = world_of(160 + seed, u64::from(seed), 4);
        let pot = world.create(host, TEAPOT, &[b"score 7"]);
        world.run(1_000);
        let gone = others[2];
        world.peer(gone).leave();
        world.run(1_000);
        world.peers.remove(&gone);
        world.grant(Term(512), gone);
        assert!(world.peers.values().all(|session| session.host() == gone && session.is_member()));
        world.run(2_000);
        let [(Term(768), heir)] = hosts(&world)[..] else { panic!("seed {seed}: {:?}", hosts(&world)) };
        assert!(world.peers[&heir].is_host(), "seed {seed}");
        for peer in [host, others[0], others[1]] {
            assert!(world.peers[&peer].is_member(), "seed {seed}");
            assert!(world.peers[&peer].object(pot).is_some(), "seed {seed}");
        }
        world.assert_converged();
    }
}

#[test]
fn excluded_member_without_the_relay_waits_for_the_relay() {
    let (mut world, _, others) = world_of(166, 0, 3);
    relay_goes(&mut world);
    let by_stranger = world.sign(Term(512), PeerId(9_999));
    let in_reserve = world.sign(Term(768), others[1]);
    let now = world.now;
    world.peer(others[0]).witness(now).handle_warrant(&by_stranger);
    world.peer(others[0]).witness(now).handle_successor(in_reserve);
    world.run(2_500);
    assert_eq!(
        hosts(&world),
        [(Term(512), PeerId(9_999))],
        "it told the others, and nobody lives under the reserve"
    );
    let role = world.peers[&others[0]].role(world.now);
    assert_eq!(role, Role::Suspended(Suspension::HostLost));
    world.run(30_000);
    assert!(world.peers.values().all(|session| session.is_member()), "no ticket is of use without the relay");
    relay_comes(&mut world);
    world.run(8_000);
    let [(Term(768), heir)] = hosts(&world)[..] else { panic!("{:?}", hosts(&world)) };
    assert!(world.peers[&heir].is_host());
    world.assert_converged();
}

#[test]
fn member_dropped_long_ago_ends_when_the_relay_answers() {
    let (mut world, host, others) = world_of(168, 0, 3);
    let (member, dropped) = (others[0], others[1]);
    part(&mut world, &[dropped], &[host, member]);
    let sleeper = world.peers.remove(&dropped).unwrap();
    world.run(6_000);
    let newcomer = world.join(None);
    world.run(1_000);
    world.peers.remove(&host);
    world.grant(Term(512), newcomer);
    world.run(1_000);
    let warrant = world.sign(Term(512), newcomer);
    world.peers.insert(dropped, sleeper);
    let now = world.now;
    world.peer(dropped).witness(now).set_reached(false);
    world.peer(dropped).handle_timeout(now);
    world.run(4_000);
    assert!(world.peers[&dropped].is_member(), "it has heard nothing");
    let now = world.now;
    world.peer(dropped).witness(now).set_reached(true);
    world.peer(dropped).witness(now).handle_warrant(&warrant);
    // The peer asks the relay, and hears that the host lives.
    world.run(1_000);
    assert_eq!(world.events[&dropped].last(), Some(&Event::Ended(EndReason::Removed)));
    world.peers.remove(&dropped);
    world.run(1_000);
    assert_eq!(hosts(&world), [(Term(512), newcomer)]);
    world.assert_converged();
}

#[test]
fn old_news_of_a_closed_connection_hurries_no_election() {
    let missed_after = |told_at: Option<u64>| {
        let (mut world, host, others) = world_of(171, 0, 3);
        let member = others[0];
        for reached in [false, true] {
            let now = world.now;
            world.peer(member).witness(now).set_reached(reached);
            world.run(100);
        }
        world.run(told_at.unwrap_or_default());
        if told_at.is_some() {
            let now = world.now;
            world.peer(member).witness(now).handle_gone(host);
        }
        part(&mut world, &[member], &[host]);
        let since = world.now;
        while world.peers[&member].role(world.now) != Role::Suspended(Suspension::HostLost) {
            world.run(5);
        }
        world.now.since(since)
    };
    assert_eq!(missed_after(Some(0)), missed_after(None), "an old closing is no hint");
    assert!(missed_after(Some(1_000)) < missed_after(None), "its connection has just closed");
}

#[test]
fn host_back_at_the_relay_removes_a_dead_member_in_time() {
    let removed_after = |is_back: bool| {
        let (mut world, host, others) = world_of(172, 0, 3);
        for reached in [false, true].into_iter().filter(|_| is_back) {
            let now = world.now;
            world.peer(host).witness(now).set_reached(reached);
        }
        world.run(300);
        world.peers.remove(&others[0]);
        let since = world.now;
        world.peer(host).witness(since).handle_gone(others[0]);
        while world.peers[&host].view().has(others[0]) {
            world.run(5);
        }
        world.now.since(since)
    };
    // A host checks its members every 50 ms.
    let (back, never_away) = (removed_after(true).as_micros(), removed_after(false).as_micros());
    assert!(back.abs_diff(never_away) <= 50_000, "{back} and {never_away} us");
}

#[test]
fn peer_ends_as_removed_when_its_live_host_is_no_member() {
    let (mut world, host, others) = world_of(167, 0, 2);
    relay_goes(&mut world);
    let now = world.now;
    assert!(world.peer(host).hand_over(now));
    world.run(100);
    let heir = world.peers[&host].view().backup().unwrap();
    part(&mut world, &[host], &others);
    let warrant = world.sign(Term(512), heir);
    let now = world.now;
    for &peer in &others {
        world.peer(peer).witness(now).handle_warrant(&warrant);
    }
    let newcomer = world.join(None);
    world.run(500);
    assert!(world.peers[&newcomer].view().has(host), "it handed over, and stays");
    assert!(world.peers[&host].link(newcomer).is_some(), "its next host takes it for an entrant");
    world.peers.remove(&heir);
    let warrant = world.sign(Term(768), newcomer);
    let now = world.now;
    for peer in [newcomer, host] {
        world.peer(peer).witness(now).handle_warrant(&warrant);
    }
    world.run(500);
    assert_eq!(world.events[&host].last(), Some(&Event::Ended(EndReason::Removed)));
}

#[test]
fn lone_host_on_bad_paths_stops_after_four_seconds() {
    let (mut world, host, others) = world_of(63, 0, 3);
    let mine: Vec<_> = others.iter().map(|&other| world.create(other, TEAPOT, &[b"a", b"0"])).collect();
    relay_goes(&mut world);
    for n in 0..18_000u32 {
        // The host hears nothing of the others for 450 ms, and then hears them for 450 ms.
        match n % 900 {
            0 => world.cuts.extend(others.iter().map(|&other| (other, host))),
            450 => world.cuts.clear(),
            _ => {}
        }
        let now = world.now;
        for (&owner, &id) in others.iter().zip(&mine) {
            world.peer(owner).edit(now).set(id, 1, &n.to_le_bytes()).unwrap();
        }
        world.step();
    }
    assert!(world.peers[&host].is_host(), "{:?}", hosts(&world));
    world.cuts.clear();
    part(&mut world, &[host], &others);
    world.run(4_100);
    assert!(!world.peers[&host].is_host());
}

#[test]
fn one_peer_with_a_bad_link_does_not_depose_a_healthy_host() {
    let (mut world, host, others) = world_of(70, 0, 4);
    part(&mut world, &[host], &[others[0]]);
    world.run(900);
    assert_eq!(hosts(&world), [(Term::FIRST, host)]);
    relay_goes(&mut world);
    world.run(3_000);
    assert!(world.peers[&host].is_host(), "one of four misses it, and that is no majority");
}

#[test]
fn lost_host_without_migration_ends_the_session_for_all() {
    let mut world = World::new(80, 0);
    world.rules = Rules { migrates: false, ..world.rules };
    world.peers.clear();
    world.next_peer = 100;
    let host = world.join(None);
    let others = [world.join(None), world.join(None)];
    world.run(2_000);
    world.kill(host);
    world.run(7_000);
    for other in others {
        assert_eq!(world.events[&other].last(), Some(&Event::Ended(EndReason::HostLost)));
    }
}

#[test]
fn members_take_over_how_the_founder_lets_the_session_survive() {
    let mut world = World::new(80, 0);
    world.rules = Rules { migrates: false, forks: true, ..world.rules };
    world.peers.clear();
    world.next_peer = 100;
    let host = world.join(None);
    let survival = |rules: &Rules| (rules.migrates, rules.forks);
    let founders = survival(world.peers[&host].rules());
    assert_eq!(founders, (false, true));
    world.rules = Rules { migrates: true, forks: false, ..world.rules };
    let other = world.join(None);
    world.run(2_000);
    assert_eq!(survival(world.peers[&other].rules()), founders);
    // So does a session that is founded anew from what a member knows of it.
    let kept = world.peers[&other].kept(world.now);
    let mut anew = World::new(81, 0);
    anew.next_peer = 100;
    let config = anew.config(Vec::new());
    assert_ne!(survival(&config.rules), founders);
    let session = Session::with_kept(anew.now, config, kept).unwrap();
    assert_eq!(survival(session.rules()), founders);
    assert_eq!((session.view().migrates(), session.view().forks()), founders);
    world.kill(host);
    world.run(7_000);
    assert_eq!(world.events[&other].last(), Some(&Event::Ended(EndReason::HostLost)));
}

#[test]
fn doubt_is_sent_when_a_missed_host_is_heard_again() {
    let (mut world, host, others) = world_of(7, 0, 3);
    let member = others[0];
    world.cuts.push((host, member));
    while world.peers[&member].suspension(world.now) != Some(Suspension::HostLost) {
        world.step();
    }
    world.run(100);
    world.doubts(member);
    world.run(100);
    assert!(!world.doubts(member), "it is still missed, and claimed against");
    world.cuts.clear();
    while world.peers[&member].suspension(world.now).is_some() {
        world.step();
    }
    assert!(world.doubts(member), "that takes the claim back");
    world.run(1_000);
    assert!(!world.doubts(member));
    assert_eq!(world.peers[&member].host(), host);
}

#[test]
fn silent_host_is_doubted_once_before_it_is_missed() {
    let (mut world, host, others) = world_of(7, 0, 3);
    let all = [host, others[0], others[1]];
    for peer in all {
        world.doubts(peer);
    }
    world.run(1_000);
    all.into_iter().for_each(|peer| assert!(!world.doubts(peer), "all are heard"));
    let fallen_silent = world.peers.remove(&host).unwrap();
    world.witness_alive = false;
    let mut doubts = 0;
    while world.peers[&others[0]].suspension(world.now) != Some(Suspension::HostLost) {
        world.step();
        let is_missed = world.peers[&others[0]].link(host).unwrap().silence(world.now).as_micros() > 600_000;
        let doubted = world.doubts(others[0]);
        assert!(!(doubted && is_missed), "it is too late to ask");
        doubts += u32::from(doubted);
    }
    assert_eq!(doubts, 1);
    drop(fallen_silent);
}

/// The heir's CLOSE is under way at the same time as the votes for the heir.
#[test]
fn heir_that_leaves_during_the_vote_ends_no_other_session() {
    for delay in (0..600).step_by(10) {
        let (mut world, host, others) = world_of(180, 5, 4);
        relay_goes(&mut world);
        world.run(1_500);
        let heir = world.peers[&host].view().backups()[0];
        let now = world.now;
        assert!(world.peer(host).hand_over(now));
        world.run(delay);
        world.peer(heir).leave();
        world.run(1_000);
        world.peers.remove(&heir);
        world.run(6_000);
        let [(_, next)] = hosts(&world)[..] else { panic!("{delay} ms: {:?}", hosts(&world)) };
        assert!(next != heir && world.peers[&next].is_host(), "{delay} ms");
        assert_eq!(world.peers.len(), others.len());
        world.assert_agreed();
    }
}
