//! Claims: a hit counts exactly once, whoever hosts, and only as the host can have seen it.

use samovar_duel::claim::Claim;
use samovar_duel::cube::Launch;
use samovar_duel::motion::Motion;
use samovar_duel::player::PlayerKey;
use samovar_wire::PeerId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{Hands, SMOOTH, World, total};

fn lost(world: &World, player: PlayerKey) -> u16 {
    world.host().duel.scoreboard().row(player).map_or(0, |row| row.lost)
}

#[test]
fn an_accepted_claim_counts_once_though_the_host_dies() {
    let mut counted = 0;
    for seed in 120..140 {
        let mut world = World::new(seed, 5, 0);
        let host = world.warrant.host;
        let (a, b) = (world.join(), world.join());
        world.run(2_500);
        world.players.values_mut().for_each(|player| player.frame = SMOOTH);
        let (shooter, target) = (world.key(a), world.key(b));
        world.peer(a).hands = Hands::OneShotAt(target);
        let until = world.now + samovar_wire::Duration::from_millis(20_000);
        while world.now < until && world.players[&a].accepted == 0 {
            world.run(2);
        }
        if world.players[&a].accepted == 0 {
            // The cube missed: no claim was made.
            assert_eq!(lost(&world, target), 0);
            continue;
        }
        world.kill(host);
        world.run(5_000);
        assert_ne!(world.warrant.host, host);
        assert_eq!(world.host().duel.score(shooter), Some(1), "seed {seed}");
        assert_eq!(lost(&world, target), 1, "seed {seed}");
        counted += 1;
        // The next host has the same claims, and counts nothing again.
        world.join();
        world.run(2_500);
        let next = world.warrant.host;
        world.kill(next);
        world.run(5_000);
        assert_eq!(total(world.host().duel.scoreboard()), 1, "seed {seed}");
        world.assert_no_cube_scored_twice();
    }
    assert!(counted >= 8, "{counted} hits are too few to prove anything");
}

#[test]
fn a_claim_counts_for_the_shooter_where_the_cube_was() {
    let mut world = World::new(140, 0, 1);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let (liar, honest) = (world.key(a), world.key(b));
    let motion = |world: &World, player| world.host().teapot(world.now, player).unwrap().motion;
    let time = |world: &World| world.host().session.session_time(world.now).as_micros();
    let claim = |world: &mut World, peer: PeerId, launch: Launch, struck, at| {
        let bytes = Claim { launch, struck, at }.encode();
        let now = world.now;
        world.peer(peer).session.submit(now, &bytes).unwrap();
        world.run(1_000);
    };
    let near = |world: &World, by, target| {
        let Motion { position: [x, y], .. } = motion(world, target);
        let at = Motion { position: [x - 3.0, y], ..Motion::default() };
        Launch::from_spout(by, &at, time(world))
    };
    // A cube of another player, one from across the table, one that hits nothing there, and one from long ago.
    for (by, struck) in [(honest, honest), (PlayerKey::Robot(0), honest), (honest, liar)] {
        let launch = near(&world, by, struck);
        claim(&mut world, a, launch, struck, launch.launched_at + 100_000);
    }
    let far = near(&world, liar, honest);
    claim(&mut world, a, far, honest, far.launched_at + 100_000);
    let own = motion(&world, liar);
    let launch = Launch::from_spout(liar, &own, time(&world));
    claim(&mut world, a, launch, honest, launch.launched_at + 100_000);
    let launch = Launch::from_spout(liar, &own, time(&world) - 3_000_000);
    claim(&mut world, a, launch, honest, launch.launched_at + 100_000);
    let noise = world.now;
    for bytes in [&[][..], &[7; 3], &[0; 200]] {
        world.peer(a).session.submit(noise, bytes).unwrap();
    }
    world.run(2_000);
    let by_hand = [liar, honest].map(|player| world.host().duel.score(player));
    assert_eq!(by_hand, [Some(0), Some(0)]);
    world.assert_agreed();
}
