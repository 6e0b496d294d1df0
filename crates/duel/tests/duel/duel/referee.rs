//! A spectator that hosts, as the relay's referee does, and one that only watches.

use samovar_duel::game::DuelEvent;
use samovar_duel::motion::Motion;
use samovar_duel::player::PlayerKey;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::hostile::create_teapot;
use crate::duel::hosts::depose;
use crate::duel::world::{World, total};

#[test]
fn a_spectator_hosts_and_decides_without_a_row_or_a_teapot() {
    let mut world = World::with_referee(110, 3, 1);
    let referee = world.warrant.host;
    let players = [world.join(), world.join()];
    world.run(2_000);
    world.all_play();
    world.run(30_000);
    assert_eq!(world.warrant.host, referee);
    assert!(total(world.host().duel.scoreboard()) > 0, "no player was hit");
    for peer in players {
        let keys = [PlayerKey::Seat(2), PlayerKey::Seat(3), PlayerKey::Robot(0)];
        assert_eq!(world.players[&peer].drivers(), keys);
        assert_eq!(world.players[&peer].duel.standings(&world.players[&peer].session).len(), keys.len());
    }
    world.all_rest();
    world.run(6_000);
    world.assert_agreed();
}

#[test]
fn players_go_on_when_their_referee_dies() {
    for seed in 112..115 {
        let mut world = World::with_referee(seed, 3, 2);
        let players = [world.join(), world.join(), world.join()];
        world.run(2_000);
        world.all_play();
        world.run(15_000);
        let before: Vec<_> =
            players.iter().map(|peer| world.players[peer].duel.scoreboard().clone()).collect();
        depose(&mut world);
        assert!(players.contains(&world.warrant.host));
        for (peer, before) in players.iter().zip(&before) {
            let after = world.players[peer].duel.scoreboard();
            for row in before.rows() {
                assert!(after.row(row.player).unwrap().score >= row.score, "{:?} lost points", row.player);
            }
        }
        let points = total(world.host().duel.scoreboard());
        world.run(20_000);
        assert!(total(world.host().duel.scoreboard()) > points, "play goes on");
        world.all_rest();
        world.run(6_000);
        world.assert_agreed();
        assert_eq!(world.host().drivers().len(), 5, "three players, two robots, and no ghost");
    }
}

#[test]
fn a_spectator_is_not_announced_and_its_teapot_does_not_count() {
    let mut world = World::new(116, 0, 0);
    let host = world.warrant.host;
    world.run(1_000);
    let spectator = world.spectate();
    world.run(2_000);
    let seat = world.key(spectator);
    assert!(world.players[&spectator].session.is_member() && world.players[&spectator].drivers().len() == 1);
    // If this teapot counted, the spectator could fire at all others and never be hit, since it has no row.
    create_teapot(&mut world, spectator, seat, Motion::default()).unwrap();
    world.run(1_000);
    assert_eq!(world.players[&host].drivers().len(), 2);
    let now = world.now;
    for player in world.players.values() {
        assert!(player.teapot(now, seat).is_none());
    }
    world.leave(spectator);
    world.run(2_000);
    let told =
        |event: &DuelEvent| matches!(event, DuelEvent::PlayerCame { .. } | DuelEvent::PlayerWent { .. });
    assert_eq!(world.players[&host].count(told), 0);
    assert_eq!(world.players[&host].drivers(), [world.key(host)], "its objects are cleared away");
}
