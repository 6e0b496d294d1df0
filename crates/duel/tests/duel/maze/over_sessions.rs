//! The maze over sessions: members come late, hosts die, and all are in the same state after the same frame.

use samovar_duel::maze::Role;
use samovar_duel::maze::game::{MazeGame, MazeNews, params};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::world::World;

#[test]
fn four_members_have_four_teapots_and_one_state() {
    let mut world = World::new(1, 2, 4);
    world.run(1_000);
    let before = world.assert_agreed();
    world.run(5_000);
    let frames = world.assert_agreed() - before;
    assert!((147..=153).contains(&frames), "{frames} frames in five seconds");
    let peers: Vec<_> = world.players.keys().copied().collect();
    let roles: Vec<_> = peers.iter().map(|&peer| world.role(peer)).collect();
    assert_eq!(roles, [Role::R1, Role::B1, Role::R2, Role::B2].map(Some));
}

#[test]
fn frames_go_on_and_a_robot_drives_after_the_host_dies() {
    for seed in 2..5 {
        let mut world = World::new(seed, 3, 4);
        world.run(2_000);
        let (host, before) = (world.warrant.host, world.assert_agreed());
        let role = world.role(host).expect("the host plays");
        world.kill(host);
        world.run(4_000);
        assert!(world.assert_agreed() > before + 60, "seed {seed}");
        for player in world.players.values() {
            assert_eq!(player.game.maze().seat_of(role), None, "seed {seed}: a robot drives");
            let is_desync = |news: &MazeNews| matches!(news, MazeNews::Desync { .. });
            assert!(!player.news.iter().any(is_desync), "seed {seed}");
        }
    }
}

#[test]
fn late_joiners_load_the_state_and_the_fifth_member_waits() {
    let mut world = World::new(6, 3, 4);
    world.run(20_000);
    let fifth = world.join();
    world.run(2_000);
    assert_eq!(world.role(fifth), None);
    let frames = world.assert_agreed();
    assert!(world.players[&fifth].game.frame() >= frames);
    let gone = *world.players.keys().next().expect("there are five");
    let role = world.role(gone);
    world.kill(gone);
    world.run(4_000);
    assert_eq!(world.role(fifth), role);
    world.assert_agreed();
}

#[test]
fn a_wrong_state_is_found_named_and_replaced() {
    let mut world = World::new(7, 2, 3);
    world.run(2_000);
    let host = world.warrant.host;
    let astray = *world.players.keys().find(|peer| **peer != host).expect("there are three");
    world.players.get_mut(&astray).expect("it is there").game = MazeGame::new(99);
    world.run(2_000);
    for peer in [host, astray] {
        let named = |news: &MazeNews| matches!(news, MazeNews::Desync { field: Some(_), .. });
        assert!(world.players[&peer].news.iter().any(named), "{:?}", world.players[&peer].news);
    }
    world.players.values_mut().for_each(|player| player.checksums.clear());
    let before = world.assert_agreed();
    world.run(2_000);
    assert!(world.assert_agreed() > before + 50);
}

#[test]
fn maze_and_duel_have_different_parameters() {
    assert_ne!(params(), samovar_duel::game::params());
}
