//! A host whose game stands still, and the member that is first in line then (docs/recovery.md, promise 12).

use crate::world::{World, world_of};
use samovar_session::{Cause, Event, Rules};
use samovar_wire::control::{Presence, Standing};
use samovar_wire::{Duration, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Runs on, while the games of these peers make their steps.
fn play(world: &mut World, playing: &[PeerId], ms: u64) {
    for _ in 0..ms {
        let now = world.now;
        for &peer in playing {
            world.peer(peer).stepped(now);
        }
        world.step();
    }
}

/// A host and others; the games of all make steps.
fn table(seed: u8, members: usize) -> (World, PeerId, Vec<PeerId>) {
    let (mut world, host, others) = world_of(seed, 0, members);
    let all: Vec<_> = world.peers.keys().copied().collect();
    play(&mut world, &all, 500);
    (world, host, others)
}

fn cause(world: &World, peer: PeerId) -> Option<Cause> {
    world.events[&peer].iter().rev().find_map(|event| match event {
        Event::HostChanged(migration) => Some(migration.cause),
        _ => None,
    })
}

#[test]
fn host_whose_game_stands_still_hands_over() {
    let (mut world, host, others) = table(60, 3);
    play(&mut world, &others, 1_800);
    assert!(world.peers[&host].is_host() && world.peers[&host].stands_still());
    assert!(others.iter().all(|other| world.peers[other].view().is_still(host)), "all members know");
    play(&mut world, &others, 1_000);
    let heir = world.witness.warrant.host;
    assert!(others.contains(&heir) && world.peers[&heir].is_host());
    assert_eq!(cause(&world, others[1]), Some(Cause::HandedOver));
    assert!(world.peers[&host].is_member(), "it stays");
    assert_ne!(world.peers[&heir].view().backup(), Some(host));
    assert_eq!(world.peers[&heir].view().succession(heir).last(), Some(&host));
    let all: Vec<_> = world.peers.keys().copied().collect();
    play(&mut world, &all, 1_000);
    assert!(!world.peers[&heir].view().is_still(host), "it plays again");
    assert!(world.peers[&heir].is_host(), "and does not want its office back");
}

#[test]
fn hand_over_needs_no_relay() {
    let (mut world, host, others) = table(61, 2);
    crate::world::relay_goes(&mut world);
    play(&mut world, &others, 3_000);
    assert!(world.peers[&others[0]].is_host() && world.peers[&host].is_member());
}

#[test]
fn host_keeps_its_office_while_no_game_makes_steps() {
    let (mut world, host, others) = table(62, 3);
    world.run(10_000);
    assert!(world.peers[&host].is_host());
    play(&mut world, &others[1..], 1_000);
    assert!(world.peers[&others[1]].is_host(), "as soon as another can host");
}

#[test]
fn backup_whose_game_stands_still_does_not_succeed() {
    let (mut world, host, others) = table(63, 4);
    let backup = world.peers[&host].view().backup().unwrap();
    let playing: Vec<_> = world.peers.keys().copied().filter(|&peer| peer != backup).collect();
    play(&mut world, &playing, 2_000);
    assert_ne!(world.peers[&host].view().backup(), Some(backup), "another keeps what is accepted");
    world.kill(host);
    let left: Vec<_> = others.iter().copied().filter(|&other| other != backup).collect();
    play(&mut world, &left, 2_000);
    assert!(left.contains(&world.witness.warrant.host));
}

#[test]
fn lone_survivor_hosts_though_it_stands_still() {
    let (mut world, host, others) = table(64, 2);
    world.run(1_800);
    world.kill(host);
    world.run(2_000);
    assert!(world.peers[&others[0]].is_host());
}

fn show(world: &mut World, peer: PeerId, presence: Presence) {
    let (now, reach) = (world.now, 1);
    world.peer(peer).set_standing(now, Standing { presence, reach });
}

#[test]
fn hidden_host_hands_over_at_once_and_stays() {
    let (mut world, host, others) = table(68, 2);
    show(&mut world, host, Presence::Hidden);
    let all = [host, others[0]];
    play(&mut world, &all, 200);
    assert!(world.peers[&others[0]].is_host() && world.peers[&host].is_member());
    show(&mut world, host, Presence::Visible);
    play(&mut world, &all, 1_000);
    assert!(world.peers[&others[0]].is_host(), "it does not want its office back");
}

#[test]
fn hidden_host_hands_over_to_a_later_newcomer() {
    let mut world = World::with_rules(69, 0, Rules::default());
    let host = *world.peers.keys().next().unwrap();
    show(&mut world, host, Presence::Hidden);
    play(&mut world, &[host], 1_000);
    assert!(world.peers[&host].is_host(), "there is no other member");
    let other = world.join(None);
    play(&mut world, &[host, other], 2_000);
    assert!(world.peers[&other].is_host() && world.peers[&host].is_member());
}

#[test]
fn hidden_host_hands_over_to_the_first_visible_member() {
    let (mut world, host, others) = table(70, 3);
    let all: Vec<_> = world.peers.keys().copied().collect();
    for &peer in others.iter().chain([&host]) {
        show(&mut world, peer, Presence::Hidden);
        play(&mut world, &all, 100);
    }
    play(&mut world, &all, 2_000);
    assert!(world.peers[&host].is_host(), "no other member is fitter");
    show(&mut world, others[1], Presence::Visible);
    play(&mut world, &all, 1_000);
    assert!(world.peers[&others[1]].is_host());
}

#[test]
fn hidden_host_does_not_hand_over_to_members_that_stand_still() {
    let (mut world, host, others) = table(65, 2);
    play(&mut world, &[host], 2_000);
    let now = world.now;
    show(&mut world, host, Presence::Hidden);
    play(&mut world, &[host], 2_000);
    assert!(world.peers[&host].is_host() && !world.peer(host).hand_over_to_player(now));
    show(&mut world, host, Presence::Visible);
    let now = world.now;
    assert!(world.peer(host).hand_over(now), "a host that leaves hands over to any member");
    while world.witness.warrant.host != others[0] {
        play(&mut world, &[host], 1);
    }
    play(&mut world, &[host], 2_000);
    assert!(world.peers[&host].is_host(), "a member that plays hosts again");
}

#[test]
fn time_without_calls_of_the_driver_is_no_standstill() {
    let (mut world, host, others) = table(66, 2);
    for naps in 1..=5 {
        world.leaps.insert(host, Duration::from_millis(1_900 * naps));
        play(&mut world, &others, 20);
    }
    assert!(!world.peers[&host].stands_still());
    play(&mut world, &others, 1_000);
    assert!(world.peers[&host].stands_still());
}

#[test]
fn rules_set_the_time_for_steps_or_turn_it_off() {
    for (within, hosts) in [(None, true), (Some(60_000), true), (Some(400), false)] {
        let steps_within = within.map(Duration::from_millis);
        let mut world = World::with_rules(67, 0, Rules { steps_within, ..Rules::default() });
        let host = *world.peers.keys().next().unwrap();
        let other = world.join(None);
        world.run(2_000);
        play(&mut world, &[host, other], 100);
        play(&mut world, &[other], 4_000);
        assert_eq!(world.peers[&host].is_host(), hosts, "{within:?}");
    }
}

#[test]
fn game_that_never_reports_a_step_is_not_judged() {
    let (mut world, host, others) = world_of(68, 0, 2);
    play(&mut world, &others, 5_000);
    assert!(world.peers[&host].is_host());
}
