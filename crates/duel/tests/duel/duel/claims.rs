//! Claims: a hit counts exactly once, whoever hosts, and only as the host can have seen it.

use samovar_duel::claim::Claim;
use samovar_duel::cube::{Launch, Shot};
use samovar_duel::game::CUBE;
use samovar_duel::player::PlayerKey;
use samovar_wire::PeerId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::hostile::create;
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

/// A member that fires real cubes, and claims with them what it likes.
struct Liar {
    world: World,
    peer: PeerId,
    me: PlayerKey,
    other: PlayerKey,
}

impl Liar {
    fn new() -> Self {
        let mut world = World::new(140, 0, 1);
        let (peer, other) = (world.join(), world.join());
        world.run(2_500);
        let (me, other) = (world.key(peer), world.key(other));
        Self { world, peer, me, other }
    }

    /// Fires a cube straight ahead.
    fn fire(&mut self) -> Launch {
        self.world.run(1_000);
        let seen = self.world.players[&self.peer].teapot(self.world.now, self.me).unwrap();
        let launch = Launch::from_spout(self.me, &seen.motion, self.time());
        create(&mut self.world, self.peer, CUBE, &[launch.encode()]);
        self.world.run(200);
        launch
    }

    fn time(&self) -> u64 {
        self.world.host().session.session_time(self.world.now).as_micros()
    }

    fn claim(&mut self, claim: &Claim) {
        let now = self.world.now;
        self.world.peer(self.peer).session.submit(now, &claim.encode()).unwrap();
        self.world.run(1_500);
    }

    /// The points of the member.
    fn points(&self) -> Option<u16> {
        self.world.host().duel.score(self.me)
    }
}

#[test]
fn a_claim_counts_for_the_shooter_where_the_cube_was() {
    let mut liar = Liar::new();
    let (me, other) = (liar.me, liar.other);
    let of = |launch: &Launch, struck, after| Claim {
        shot: launch.shot(),
        struck,
        at: launch.launched_at + after,
    };
    // A player across the table, which the cube never reached.
    let launch = liar.fire();
    liar.claim(&of(&launch, other, 150_000));
    assert_eq!(liar.points(), Some(0), "the victim was elsewhere");
    // A shot that nobody fired, and one of somebody else.
    let nothing = Shot { shooter: me, launched_at: launch.launched_at - 50_000 };
    liar.claim(&Claim { shot: nothing, struck: other, at: launch.launched_at });
    let theirs = Shot { shooter: other, ..launch.shot() };
    liar.claim(&Claim { shot: theirs, struck: me, at: launch.launched_at });
    // Nonsense.
    for bytes in [&[][..], &[7; 3], &[0; 200]] {
        let now = liar.world.now;
        liar.world.peer(liar.peer).session.submit(now, bytes).unwrap();
    }
    liar.world.run(1_500);
    let scores = [me, other].map(|player| liar.world.host().duel.score(player));
    assert_eq!(scores, [Some(0), Some(0)]);
}

#[test]
fn a_cube_that_scored_scores_no_second_time() {
    let mut scored = 0;
    for seed in 141..150 {
        let mut world = World::new(seed, 0, 0);
        let (a, b) = (world.join(), world.join());
        world.run(2_500);
        let (shooter, target) = (world.key(a), world.key(b));
        world.peer(a).hands = Hands::OneShotAt(target);
        let until = world.now + samovar_wire::Duration::from_millis(15_000);
        while world.now < until && world.host().duel.score(shooter) != Some(1) {
            world.run(20);
        }
        let Some((&shot, &(_, at))) = world.host().hits.iter().next() else { continue };
        scored += 1;
        // The same hit again, and one of the host's teapot by the same cube, wherever that was.
        let host = world.key(world.warrant.host);
        for claim in [Claim { shot, struck: target, at }, Claim { shot, struck: host, at: at + 1 }] {
            let now = world.now;
            world.peer(a).session.submit(now, &claim.encode()).unwrap();
            world.run(1_500);
        }
        world.run(4_000);
        let now = world.now;
        world.peer(a).session.submit(now, &Claim { shot, struck: target, at }.encode()).unwrap();
        world.run(1_500);
        assert_eq!(world.host().duel.score(shooter), Some(1), "seed {seed}");
        assert_eq!(total(world.host().duel.scoreboard()), 1, "seed {seed}");
    }
    assert!(scored >= 4, "{scored} hits are too few to prove anything");
}
