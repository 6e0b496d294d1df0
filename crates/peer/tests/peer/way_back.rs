//! Recovery of paths: sockets, networks and the relay fail, and each member is reached again before it is removed.

use super::world::{Process, World, game};
use samovar_peer::{Path, PathPolicy, PeerEvent};
use samovar_session::{Event, Lane, Target};
use samovar_wire::relay::{FromRelay, Purpose, Refusal};
use samovar_wire::{Duration, GameCode};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A host and a guest with this path policy.
fn pair(seed: u8, paths: PathPolicy) -> (World, [Process; 2]) {
    let mut world = World::new(seed);
    let code = GameCode::parse("TEA").unwrap();
    let host = world.start(Purpose::Create(Some(code.clone())), paths, None);
    world.run(300);
    let guest = world.start(Purpose::Join(code), paths, None);
    world.run(3_000);
    assert!(world.session(guest).is_member());
    (world, [host, guest])
}

/// Runs until `is_so`, and returns the milliseconds that this takes. Panics after `within` ms.
fn takes(world: &mut World, within: u64, is_so: impl Fn(&World) -> bool) -> u64 {
    for ms in 0..within {
        if is_so(world) {
            return ms;
        }
        world.step();
    }
    panic!("not within {within} ms");
}

fn is_restored(world: &World, process: Process) -> bool {
    world.events[&process].contains(&PeerEvent::RelayRestored)
}

fn is_ended(world: &World, process: Process) -> bool {
    world.events[&process].iter().any(|event| matches!(event, PeerEvent::Session(Event::Ended(_))))
}

fn change_network(world: &mut World, process: Process) {
    let now = world.now;
    world.peers.get_mut(&process).unwrap().handle_network_changed(now);
}

/// Whether two members reach each other directly.
fn is_direct(world: &World, [one, other]: [Process; 2]) -> bool {
    let is_so = |from: Process, to: Process| {
        world.peers[&from].path(world.now, world.session(to).me()) == Path::Direct
    };
    is_so(one, other) && is_so(other, one)
}

#[test]
fn a_member_whose_only_socket_dies_is_back_before_removal() {
    let (mut world, [_, guest]) = pair(5, PathPolicy::Relayed);
    world.cut_socket(guest);
    takes(&mut world, 4_500, |world| is_restored(world, guest));
    world.run(3_000);
    assert!(!is_ended(&world, guest));
}

#[test]
fn a_member_not_told_of_a_new_network_is_back_before_removal() {
    let (mut world, all) = game(World::new(50), 3);
    let moved = all[1];
    world.cut_socket(moved);
    world.cut_channels();
    takes(&mut world, 4_500, |world| is_restored(world, moved));
    world.run(10_000);
    assert!(!is_ended(&world, moved));
}

#[test]
fn the_last_of_several_changes_of_network_counts() {
    for apart in [100, 400, 600] {
        let (mut world, [_, guest]) = pair(31, PathPolicy::Relayed);
        world.cut_socket(guest);
        change_network(&mut world, guest);
        world.step();
        // The second socket, opened after the first change, is dead as well.
        world.cut_socket(guest);
        world.run(apart);
        change_network(&mut world, guest);
        takes(&mut world, 600, |world| is_restored(world, guest));
        world.run(3_000);
        assert!(!is_ended(&world, guest), "{apart} ms apart");
    }
}

#[test]
fn a_dead_new_socket_is_given_up_before_removal() {
    let (mut world, [_, guest]) = pair(32, PathPolicy::Relayed);
    change_network(&mut world, guest);
    world.cut_socket(guest);
    takes(&mut world, 4_500, |world| is_restored(world, guest));
    world.run(3_000);
    assert!(!is_ended(&world, guest));
}

#[test]
fn a_direct_pair_without_a_relay_survives_sleep_and_outages() {
    for ms in [9_000, 12_000, 20_000] {
        let (mut world, all) = game(World::new(6), 2);
        world.kill_relay();
        world.run(3_000);
        let asleep = world.peers.remove(&all[0]).unwrap();
        world.run(ms);
        world.peers.insert(all[0], asleep);
        takes(&mut world, 5_000, |world| is_direct(world, [all[0], all[1]]));

        let (mut world, all) = game(World::new(16), 2);
        world.kill_relay();
        world.run(3_000);
        world.udp = false;
        world.run(ms);
        world.udp = true;
        takes(&mut world, 5_000, |world| is_direct(world, [all[0], all[1]]));
        world.run(2_000);
        let suspended = all.iter().filter(|&&process| world.session(process).suspension(world.now).is_some());
        assert_eq!(suspended.count(), 0, "away for {ms} ms");
    }
}

/// The offer of the peer with the lower id is lost with the socket of the other peer. The other peer has a new
/// network and offers as well.
#[test]
fn a_peer_whose_offer_was_lost_soon_answers_an_offer() {
    let mut tried = 0;
    for seed in 60..70 {
        let (mut world, [low, high]) = pair(seed, PathPolicy::Auto);
        let ids = [low, high].map(|process| world.session(process).me());
        // A host that is away for so long would be replaced. So the guest is away, and only pairs in which it has the
        // higher id are tested.
        if ids[0] > ids[1] {
            continue;
        }
        tried += 1;
        assert!(is_direct(&world, [low, high]));
        world.udp = false;
        world.cut_socket(high);
        let known = world.attempts.len();
        takes(&mut world, 9_000, |world| world.attempts.len() > known);
        world.run(500);
        world.udp = true;
        world.cut_channels();
        change_network(&mut world, high);
        // For one of these seconds the new connection is not trusted yet.
        takes(&mut world, 3_000, |world| is_direct(world, [low, high]));
        assert!(!is_ended(&world, high), "seed {seed}");
    }
    assert!(tried >= 4);
}

#[test]
fn an_offer_lost_to_a_relay_restart_is_soon_repeated() {
    let mut world = World::new(30);
    let host = world.create("TEA");
    world.run(300);
    let guest = world.join("TEA");
    takes(&mut world, 1_000, |world| !world.attempts.is_empty());
    world.kill_relay();
    world.run(500);
    world.start_relay();
    takes(&mut world, 2_000, |world| is_restored(world, guest) && is_restored(world, host));
    takes(&mut world, 1_000, |world| is_direct(world, [host, guest]));
}

#[test]
fn bulk_goes_by_the_relay_where_a_direct_path_is_cut_one_way() {
    for way in [[0, 1], [1, 0]] {
        let (mut world, all) = game(World::with_endpoint(4), 2);
        let [from, to] = way.map(|at| all[at]);
        world.deaf.insert((from, to));
        world.run(700);
        world.session_mut(from).send(Target::All, Lane::Bulk, &vec![7; 16_000]).unwrap();
        let is_snapshot = |event: &PeerEvent| matches!(event, PeerEvent::Session(Event::Message { bytes, .. }) if bytes.len() == 16_000);
        takes(&mut world, 1_500, |world| world.events[&to].iter().any(is_snapshot));
    }
}

#[test]
fn one_way_channels_cause_few_gaps() {
    for way in [[0, 1], [1, 0]] {
        let mut world = World::new(8);
        world.udp = false;
        let host = world.create("TEA");
        world.run(300);
        let guest = world.join("TEA");
        world.run(2_000);
        let [from, to] = way.map(|at| [host, guest][at]);
        world.deaf.insert((from, to));
        world.udp = true;
        let (mut gaps, mut before) = (0, Duration::ZERO);
        for _ in 0..30_000 {
            world.step();
            let other = world.session(from).me();
            let silence = world.session(to).link(other).unwrap().silence(world.now);
            gaps += u32::from(silence < before && before > Duration::from_millis(130));
            before = silence;
        }
        assert!(gaps <= 8, "{gaps} gaps");
    }
}

#[test]
fn members_refused_by_the_relay_elect_a_host_without_it() {
    let (mut world, all) = game(World::new(3), 4);
    for &process in &all {
        world.hear_from_relay(process, &FromRelay::Refused(Refusal::Misbehaved));
    }
    world.run(1_000);
    world.kill(all[0]);
    let term = world.session(all[1]).term();
    takes(&mut world, 500, |world| world.peers.values().all(|peer| peer.session().unwrap().term() > term));
}

/// Makes the relay forget a game, and lets another game take its code. Returns the living members of the first game,
/// and the host of the other.
fn code_is_taken(kills_host: bool) -> (World, Vec<Process>, Process) {
    let (mut world, mut all) = game(World::new(12), 2);
    world.kill_relay();
    world.disk.clear();
    if kills_host {
        world.kill(all.remove(0));
    }
    world.run(3_000);
    world.start_relay();
    let other = world.create("TEA");
    world.run(20_000);
    (world, all, other)
}

#[test]
fn hostless_member_sits_in_the_game_that_took_its_code() {
    let (world, left, other) = code_is_taken(true);
    assert!(world.session(other).view().has(world.session(left[0]).me()));
    world.assert_converged();
}

#[test]
fn members_with_a_host_play_on_though_their_code_is_taken() {
    let (world, pair, other) = code_is_taken(false);
    assert_eq!(world.session(other).view().members().count(), 1);
    for process in pair {
        assert_eq!(world.session(process).view().members().count(), 2);
        assert_ne!(world.session(process).warrant().session, world.session(other).warrant().session);
    }
}

#[test]
fn pairs_are_soon_direct_again_after_both_networks_change() {
    let mut late = Vec::new();
    for (gathers, seed, apart) in
        [10, 500, 1_000].into_iter().flat_map(|g| [(g, 7, 0), (g, 8, 0), (g, 9, 10), (g, 10, 10), (g, 11, 0)])
    {
        let (mut world, [host, guest]) = pair(seed, PathPolicy::Auto);
        world.gathers = gathers;
        let id = world.session(guest).me();
        assert_eq!(world.peers[&host].path(world.now, id), Path::Direct);
        // The router of both restarts: both ends report it, up to 10 ms apart; the old connection is dead.
        world.cut_channels();
        change_network(&mut world, host);
        world.run(apart);
        change_network(&mut world, guest);
        // For up to 800 ms the peer may still report the old connection.
        world.run(800);
        let mut ms = 800;
        while world.peers[&host].path(world.now, id) != Path::Direct && ms < 60_000 {
            world.step();
            ms += 1;
        }
        late.push((gathers, ms));
    }
    assert!(late.iter().all(|&(_, ms)| ms < 6_000), "(gathers, direct again): {late:?}");
}

#[test]
fn direct_only_members_connect_despite_slow_gathering() {
    let mut late = Vec::new();
    for gathers in [10, 500, 1_000] {
        let mut world = World::new(9);
        world.gathers = gathers;
        let code = GameCode::parse("TEA").unwrap();
        world.start(Purpose::Create(Some(code.clone())), PathPolicy::Direct, None);
        world.run(300);
        let guests = [0; 2].map(|_| {
            let guest = world.start(Purpose::Join(code.clone()), PathPolicy::Direct, None);
            world.run(6_000);
            guest
        });
        let second = world.session(guests[1]).me();
        let mut ms = 0;
        while world.peers[&guests[0]].path(world.now, second) != Path::Direct && ms < 90_000 {
            world.step();
            ms += 1;
        }
        late.push((gathers, ms, world.session(guests[1]).is_member()));
    }
    assert!(
        late.iter().all(|&(_, ms, is_member)| ms < 6_000 && is_member),
        "(gathers, direct, member): {late:?}"
    );
}

/// Whether all members have kept the same host, in the same term.
fn keeps_host(world: &World, all: &[Process], before: (samovar_wire::Term, samovar_wire::PeerId)) -> bool {
    let is_kept = |&process: &Process| {
        let session = world.session(process);
        (session.term(), session.host()) == before && session.is_member() && !is_ended(world, process)
    };
    all.iter().all(is_kept)
}

#[test]
fn a_false_report_of_a_network_change_costs_a_host_nothing() {
    for seed in 20..24 {
        let (mut world, all) = game(World::new(seed), 3);
        let before = (world.session(all[0]).term(), world.session(all[0]).host());
        let seat = world.session(all[0]).seat();
        for apart in [300, 700, 3_000] {
            change_network(&mut world, all[0]);
            world.run(apart);
        }
        world.run(1_000);
        assert!(keeps_host(&world, &all, before), "seed {seed}");
        assert_eq!(world.session(all[0]).seat(), seat);
        assert!(!world.events[&all[0]].contains(&PeerEvent::RelayLost));
    }
}

#[test]
fn a_host_that_members_hear_survives_the_loss_of_its_socket() {
    for seed in 30..40 {
        let (mut world, all) = game(World::new(seed), 4);
        let before = (world.session(all[0]).term(), world.session(all[0]).host());
        world.break_sockets(&all[..1]);
        // Then the host's packets come late, as from a busy page.
        world.run(200);
        world.stall(all[0], 100);
        world.run(3_000);
        let host = world.session(all[0]).me();
        assert!(all.iter().all(|&process| world.session(process).host() == host), "seed {seed}");
        assert!(world.session(all[0]).term() >= before.0 && !is_ended(&world, all[0]));
    }
}

#[test]
fn members_whose_sockets_all_break_at_once_keep_their_host() {
    for seed in 40..44 {
        let mut world = World::new(seed);
        let code = GameCode::parse("TEA").unwrap();
        let mut all = vec![world.start(Purpose::Create(Some(code.clone())), PathPolicy::Relayed, None)];
        world.run(300);
        for _ in 0..3 {
            all.push(world.start(Purpose::Join(code.clone()), PathPolicy::Relayed, None));
            world.run(1_000);
        }
        let host = world.session(all[0]).me();
        for _ in 0..2 {
            world.break_sockets(&all);
            world.run(5_000);
        }
        for &process in &all {
            let session = world.session(process);
            assert!(
                session.host() == host && session.is_member() && !is_ended(&world, process),
                "seed {seed}"
            );
        }
    }
}
