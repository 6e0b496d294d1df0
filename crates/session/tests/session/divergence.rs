//! Divergence: what a peer is told when others went on without it.

use crate::world::{TEAPOT, World, part, relay_comes, relay_goes, world_of};
use samovar_session::{EndReason, Event, Target};
use samovar_wire::{Duration, Lane, ObjectId, PeerId, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The objects that a peer's report of divergence named, just before the peer's session ended.
fn diverged(world: &World, peer: PeerId) -> &[ObjectId] {
    let [.., Event::Diverged { objects, .. }, Event::Ended(EndReason::Removed)] = &world.events[&peer][..]
    else {
        panic!("{peer}: {:?}", world.events[&peer])
    };
    objects
}

/// Leaves a state of an object unsent, while messages that its owner sent later arrive.
fn change_unsent(world: &mut World, owner: PeerId, changed: ObjectId) {
    world.peer(owner).set_update_interval(Duration::from_millis(60_000));
    // The first change goes at once, and the second has to wait.
    for value in [b"first", b"later"] {
        let now = world.now;
        world.peer(owner).edit(now).set(changed, 0, value).unwrap();
        world.run(300);
    }
    for _ in 0..10 {
        world.peer(owner).send(Target::All, Lane::GAME, b"later").unwrap();
        world.run(100);
    }
}

/// Cuts a member off from the host and the heir. Then all peers learn that the heir hosts, and the heir removes the
/// member before the paths are mended.
fn leave_behind(world: &mut World, member: PeerId, host: PeerId, heir: PeerId) {
    part(world, &[member], &[host, heir]);
    world.grant(Term::FIRST.next_witnessed(), heir);
    world.run(8_000);
    world.cuts.clear();
    world.run(3_000);
}

#[test]
fn replaced_host_reports_changes_made_before_it_noticed() {
    for seed in 0..10 {
        let (mut world, host, others) = world_of(80 + seed, 0, 2 + usize::from(seed % 3));
        let before = world.create(host, TEAPOT, &[b"before"]);
        let ended = world.create(host, TEAPOT, &[b"ended alone"]);
        let taken = world.create(others[0], TEAPOT, &[b"taken alone"]);
        world.run(1_500);
        // The relay does not reach the host either, and gives the next term to another member.
        part(&mut world, &[host], &others);
        let mut alone = Vec::new();
        world.edit(host).destroy(ended).unwrap();
        world.edit(host).grant(taken, host).unwrap();
        for _ in 0..4 {
            alone.push(world.create(host, TEAPOT, &[b"alone"]));
            world.run(50);
        }
        let warrant = world.sign(Term::FIRST.next_witnessed(), others[0]);
        let now = world.now;
        for &peer in &others {
            world.peer(peer).witness(now).handle_warrant(&warrant);
        }
        world.run(50);
        assert!(world.peers[&host].is_host(), "seed {seed}: it has not noticed");
        world.cuts.clear();
        world.run(2_000);
        let objects = diverged(&world, host);
        alone.extend([ended, taken]);
        assert!(alone.iter().all(|id| objects.contains(id)), "seed {seed}: {objects:?} of {alone:?}");
        assert!(!objects.contains(&before), "seed {seed}");
    }
}

#[test]
fn report_lists_ended_objects_despite_many_moving_ones() {
    let (mut world, host, others) = world_of(95, 0, 4);
    let ended = world.create(host, TEAPOT, &[b"ended alone"]);
    let taken = world.create(others[0], TEAPOT, &[b"taken alone"]);
    let moving: Vec<_> = (0..300).map(|_| world.create(host, TEAPOT, &[b"moves"])).collect();
    world.run(1_500);
    part(&mut world, &[host], &others);
    world.edit(host).destroy(ended).unwrap();
    world.edit(host).grant(taken, host).unwrap();
    for n in 0..20u8 {
        let now = world.now;
        moving.iter().for_each(|&id| world.peer(host).edit(now).set(id, 0, &[n]).unwrap());
        world.run(20);
    }
    world.grant(Term::FIRST.next_witnessed(), others[0]);
    world.cuts.clear();
    world.run(2_000);
    let objects = diverged(&world, host);
    assert!(objects.contains(&ended) && objects.contains(&taken), "{} objects", objects.len());
}

#[test]
fn divergence_is_reported_across_a_step_of_session_time() {
    for seed in 0..6 {
        let (mut world, host, others) = world_of(110 + seed, 0, 3);
        // When the next host takes over, its answers to pings are under way.
        world.delays.insert((others[0], host), Duration::from_millis(500));
        world.leaps.extend(others.iter().map(|&peer| (peer, Duration::from_millis(5_000))));
        let before = world.create(host, TEAPOT, &[b"before"]);
        world.run(4_000);
        world.cuts.extend(others.iter().map(|&peer| (host, peer)));
        let alone = world.create(host, TEAPOT, &[b"alone"]);
        world.run(50);
        world.grant(Term::FIRST.next_witnessed(), others[0]);
        world.cuts.clear();
        world.run(2_000);
        let objects = diverged(&world, host);
        assert!(objects.contains(&alone) && !objects.contains(&before), "seed {seed}: {objects:?}");
    }
}

#[test]
fn changes_that_reached_all_members_are_not_reported() {
    for seed in 0..6 {
        let (mut world, host, others) = world_of(120 + seed, 0, 3);
        part(&mut world, &[others[1]], &[host]);
        world.run(600);
        world.cuts.clear();
        let before = world.create(others[1], TEAPOT, &[b"before"]);
        world.run(7_000);
        relay_goes(&mut world);
        part(&mut world, &[others[1]], &[host, others[0]]);
        world.run(1_000);
        let alone = world.create(others[1], TEAPOT, &[b"alone"]);
        world.run(6_000);
        world.cuts.clear();
        relay_comes(&mut world);
        world.run(3_000);
        let objects = diverged(&world, others[1]);
        assert!(objects.contains(&alone) && !objects.contains(&before), "seed {seed}: {objects:?}");
    }
}

#[test]
fn inputs_accepted_by_the_losing_side_are_reported() {
    for seed in 0..6 {
        let (mut world, host, others) = world_of(40 + seed, 5, 5);
        let backup = world.peers[&host].view().backup().unwrap();
        let before = world.now;
        let known = world.peer(backup).submit(before, b"known to all").unwrap();
        world.run(1_000);
        relay_goes(&mut world);
        let many: Vec<_> = others.iter().copied().filter(|&peer| peer != backup).collect();
        part(&mut world, &[host, backup], &many);
        world.run(200);
        let now = world.now;
        let alone = world.peer(backup).submit(now, b"alone").unwrap();
        world.run(500);
        let accepted = |events: &[Event], number| events.contains(&Event::Accepted { number });
        assert!(accepted(&world.events[&backup], known) && accepted(&world.events[&backup], alone));
        world.run(6_500);
        world.cuts.clear();
        relay_comes(&mut world);
        world.run(1_500);
        let events = &world.events[&backup];
        let told =
            |event: &Event| matches!(event, Event::Diverged { accepted, .. } if *accepted == Some(alone));
        assert!(events.iter().any(told), "seed {seed}: {events:?}");
        assert_eq!(events.last(), Some(&Event::Ended(EndReason::Removed)), "seed {seed}");
    }
}

#[test]
fn member_that_never_met_the_next_host_reports_all_it_owns() {
    let (mut world, host, others) = world_of(86, 0, 2);
    let cut_off = others[0];
    let old = world.create(cut_off, TEAPOT, &[b"known to a host that is gone"]);
    world.run(1_500);
    part(&mut world, &[cut_off], &[host]);
    let newcomer = world.join(None);
    part(&mut world, &[cut_off], &[newcomer]);
    world.run(1_000);
    assert!(world.peers[&newcomer].is_member() && !world.peers[&cut_off].view().has(newcomer));
    assert!(world.peers[&newcomer].object(old).is_none(), "only its owner could have told of it");
    world.kill(host);
    world.grant(Term::FIRST.next_witnessed(), newcomer);
    world.run(1_000);
    let objects = diverged(&world, cut_off);
    assert!(objects.contains(&old), "{objects:?}");
}

#[test]
fn unsent_state_is_reported_despite_later_acked_messages() {
    let (mut world, host, others) = world_of(88, 0, 3);
    let changed = world.create(host, TEAPOT, &[b"known"]);
    let still = world.create(host, TEAPOT, &[b"known"]);
    world.run(1_000);
    change_unsent(&mut world, host, changed);
    part(&mut world, &[host], &others);
    let warrant = world.sign(Term::FIRST.next_witnessed(), others[0]);
    let now = world.now;
    for &peer in &others {
        world.peer(peer).witness(now).handle_warrant(&warrant);
    }
    world.run(200);
    world.cuts.clear();
    world.run(2_000);
    let objects = diverged(&world, host);
    assert!(objects.contains(&changed) && !objects.contains(&still), "{objects:?}");
}

#[test]
fn objects_that_found_no_room_in_the_lane_are_reported() {
    let (mut world, host, others) = world_of(89, 0, 3);
    let member = others[1];
    world.run(1_000);
    let large = [[7; 250].as_slice(); 32];
    let created: Vec<_> = (0..400).map(|_| world.create(member, TEAPOT, &large)).collect();
    // When this object has arrived, all that the lane took at first has arrived, too, and the last messages are not
    // in the lane yet.
    while world.peers[&host].object(created[300]).is_none() {
        world.run(100);
    }
    leave_behind(&mut world, member, host, others[0]);
    let heir = &world.peers[&others[0]];
    let objects = diverged(&world, member);
    let lacked: Vec<_> = created.iter().filter(|&&id| heir.object(id).is_none()).collect();
    assert!(lacked.len() > 10 && lacked.iter().all(|id| objects.contains(id)), "{lacked:?}");
}

/// A state waits unsent, so the former host lacks it, while the next host removes the member that owns the object.
#[test]
fn state_that_the_former_host_lacked_is_reported() {
    let (mut world, host, others) = world_of(90, 0, 3);
    let member = others[1];
    let [changed, still] = [b"a", b"b"].map(|text| world.create(member, TEAPOT, &[text]));
    world.run(1_000);
    change_unsent(&mut world, member, changed);
    world.run(1_000);
    leave_behind(&mut world, member, host, others[0]);
    let objects = diverged(&world, member);
    assert!(objects.contains(&changed) && !objects.contains(&still), "{objects:?}");
}
