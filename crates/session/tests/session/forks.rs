//! Sessions in which each side of a partition goes on.

use crate::world::{TEAPOT, World, part, relay_comes, relay_goes, world_of};
use samovar_session::{EndReason, Event, Rules};
use samovar_wire::PeerId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn with_forks_both_sides_play_on_and_one_is_kept() {
    let mut world = World::new(90, 0);
    world.rules = Rules { forks: true, ..world.rules };
    world.peers.clear();
    world.next_peer = 100;
    let host = world.join(None);
    let others: Vec<_> = (0..3).map(|_| world.join(None)).collect();
    world.run(3_000);
    relay_goes(&mut world);
    let (here, there) = ([host, others[0]], [others[1], others[2]]);
    part(&mut world, &here, &there);
    world.run(8_000);
    assert!(world.peers[&host].is_host(), "two of four are no majority, and go on");
    let heir = world.peers[&there[0]].host();
    assert!(there.contains(&heir) && world.peers[&heir].is_host());
    world.cuts.clear();
    relay_comes(&mut world);
    world.run(4_000);
    let members = world.peers.values().filter(|session| session.is_member());
    let mut hosts: Vec<_> = members.map(samovar_session::Session::host).collect();
    hosts.dedup();
    assert_eq!(hosts.len(), 1, "one is kept");
    assert!(world.peers.values().filter(|session| session.is_host()).count() == 1);
}

fn forking(seed: u8, members: usize) -> (World, PeerId, Vec<PeerId>) {
    let mut world = World::with_rules(seed, 0, Rules { forks: true, ..Rules::default() });
    let host = *world.peers.keys().next().unwrap();
    let others = (1..members).map(|_| world.join(None)).collect();
    world.run(3_000);
    (world, host, others)
}

#[test]
fn lone_survivor_hosts_without_the_relay_only_with_forks() {
    for forks in [true, false] {
        let (mut world, host, others) = if forks { forking(91, 2) } else { world_of(91, 0, 2) };
        relay_goes(&mut world);
        world.run(500);
        world.peers.remove(&host);
        world.run(5_000);
        let survivor = &world.peers[&others[0]];
        assert_eq!(survivor.is_host(), forks, "{:?}", survivor.suspension(world.now));
        relay_comes(&mut world);
        world.run(3_000);
        let survivor = &world.peers[&others[0]];
        assert!(survivor.is_host() && survivor.term().is_witnessed(), "the relay knows it for the host");
    }
}

#[test]
fn one_of_five_goes_on_alone_and_comes_back_by_its_ticket() {
    let (mut world, host, others) = forking(92, 5);
    let cut = others[3];
    let rest: Vec<_> = [host].iter().chain(&others[..3]).copied().collect();
    part(&mut world, &[cut], &rest);
    let now = world.now;
    world.peer(cut).witness(now).set_reached(false);
    world.run(8_000);
    assert!(world.peers[&cut].is_host() && world.peers[&cut].view().members().count() == 1);
    assert!(world.peers[&host].is_host(), "for the others nothing has changed");
    let pot = world.create(cut, TEAPOT, &[b"alone"]);
    let (seat, ticket) = (world.peers[&cut].seat(), world.peers[&cut].ticket());
    world.cuts.clear();
    let now = world.now;
    world.peer(cut).witness(now).set_reached(true);
    world.run(2_000);
    let told = |event: &Event| matches!(event, Event::Diverged { objects, .. } if objects.contains(&pot));
    let events = &world.events[&cut];
    assert!(events.iter().any(told), "what it did alone is told: {events:?}");
    assert_eq!(world.events[&cut].last(), Some(&Event::Ended(EndReason::Removed)));
    world.peers.remove(&cut);
    let again = world.join(ticket);
    world.run(2_000);
    assert_eq!(world.peers[&again].seat(), seat);
    assert_eq!(world.peers[&again].host(), host);
}

#[test]
fn short_outage_does_not_split_a_session_with_forks() {
    let (mut world, host, others) = forking(93, 2);
    relay_goes(&mut world);
    part(&mut world, &[host], &others);
    world.run(2_500);
    world.cuts.clear();
    world.run(1_000);
    assert_eq!(world.peers[&others[0]].host(), host);
    assert!(world.peers[&others[0]].is_member() && world.peers[&host].view().members().count() == 2);
}
