//! The sugar bowl: the first player to touch it gets it, not the one with the fastest connection. A change of host
//! neither loses nor repeats points.

use std::collections::BTreeMap;

use samovar_duel::arena::Table;
use samovar_duel::bowl::{BOWL_RADIUS, POINTS_PER_BOWL};
use samovar_duel::course::Stakes;
use samovar_duel::game::DuelEvent;
use samovar_duel::plane::distance;
use samovar_duel::player::PlayerKey;
use samovar_duel::teapot::BODY_RADIUS;
use samovar_duel::word::Word;
use samovar_session::{Delivery, Target};
use samovar_wire::{Duration, PeerId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::World;

const BOWLS: Stakes = Stakes { bowl_seconds: 2, ..Stakes::NONE };

/// The taken bowls in a peer's feed: number, player, and the time of the touch.
fn bowls_of(world: &World, peer: PeerId) -> Vec<(u32, PlayerKey, u64)> {
    let taken = world.players[&peer].feed.iter().filter_map(|event| match *event {
        DuelEvent::BowlTaken { by, bowl, at, .. } => Some((bowl, by, at)),
        _ => None,
    });
    taken.collect()
}

/// Sends two touches of a bowl with this delivery: first that of B, which is far from all others, then that of C, 50
/// ms later. Returns, for the host and for D, whose touch is delivered first.
fn first_told(delivery: impl Fn(Time) -> Delivery) -> Vec<char> {
    let mut world = World::new(80, 0, 0);
    let (b, c, d) = (world.join(), world.join(), world.join());
    world.run(2_500);
    let host = world.warrant.host;
    for other in [host, c, d] {
        world.detours.insert((b, other), Duration::from_millis(120));
    }
    for peer in [b, c] {
        let (now, player) = (world.now, world.key(peer));
        let session = &mut world.peer(peer).session;
        let at = session.session_time(now);
        let word = Word::Touched { player, bowl: 99, at: at.as_micros() };
        session.send(Target::All, delivery(at), &word.encode()).unwrap();
        world.run(50);
    }
    world.run(1_500);
    let first = |peer| {
        let words = &world.players[peer].words;
        words.iter().find_map(|(_, word)| match word {
            Word::Touched { player, .. } => Some(if *player == world.key(b) { 'B' } else { 'C' }),
            _ => None,
        })
    };
    [host, d].iter().map(|peer| first(peer).unwrap()).collect()
}

#[test]
fn total_order_gives_the_bowl_to_the_faster_connection() {
    assert_eq!(first_told(|_| Delivery::Total), ['C', 'C'], "both agree, and both are wrong");
}

#[test]
fn causal_order_shows_the_later_touch_first() {
    assert_eq!(first_told(|_| Delivery::Causal), ['C', 'C'], "no message joins the two");
}

#[test]
fn time_stamp_order_gives_the_bowl_to_the_first_touch() {
    assert_eq!(first_told(Delivery::Timestamp), ['B', 'B']);
}

/// A teapot that is surely over a bowl is nearer to it than this.
const TOUCHED: f32 = BODY_RADIUS + BOWL_RADIUS - 0.15;

#[test]
fn the_first_player_at_a_bowl_gets_it_on_every_screen() {
    let mut by_far = 0;
    for (seed, loss) in [(81, 0), (82, 5)] {
        let mut world = World::with_stakes(seed, loss, 2, BOWLS);
        let far = world.join();
        let near: Vec<_> = (0..2).map(|_| world.join()).collect();
        let host = world.warrant.host;
        for &other in near.iter().chain([&host]) {
            world.detours.insert((far, other), Duration::from_millis(80));
        }
        world.run(2_000);
        world.all_play();
        let mut touched: BTreeMap<(u32, PlayerKey), u64> = BTreeMap::new();
        let end = world.now + Duration::from_millis(45_000);
        while world.now < end {
            world.step();
            for player in world.players.values() {
                let bowl = player.duel.scoreboard().bowl;
                let scene = player.duel.scene(world.now, &player.session);
                for teapot in scene.teapots.iter().filter(|teapot| teapot.is_me && teapot.phase.is_on_table())
                {
                    // The picture is a little ahead of the last step, and may show a touch that an obstacle prevents.
                    let is_over = distance(bowl.position(Table::Tea), teapot.motion.position) < TOUCHED;
                    if bowl.is_there(scene.time) && is_over {
                        touched.entry((bowl.number, teapot.player)).or_insert(scene.time);
                    }
                }
            }
        }
        world.all_rest();
        world.run(1_000);
        let feed = bowls_of(&world, host);
        assert!(feed.len() >= 6, "{} bowls in 45 s", feed.len());
        for &peer in near.iter().chain([&far]) {
            assert_eq!(bowls_of(&world, peer), feed, "all decide alike");
        }
        for &(bowl, by, at) in &feed {
            by_far += u32::from(by == world.key(far));
            for (&(_, other), &time) in touched.iter().filter(|((number, _), _)| *number == bowl) {
                assert!(other == by || time + 40_000 > at, "{other:?} was at bowl {bowl} before {by:?}");
            }
        }
    }
    assert!(by_far >= 2, "a far player can be first");
}

#[test]
fn a_bowl_gives_its_points_once_whenever_the_host_dies() {
    for loss in [0, 10] {
        for after in (0..480).step_by(60) {
            let mut world = World::with_stakes(83, loss, 0, BOWLS);
            let (a, b) = (world.join(), world.join());
            world.run(2_000);
            // Only one player moves, so that there are no other points.
            world.play_for_bowls(a);
            let mine = world.key(a);
            world.run_until("a touch", 20_000, |world| {
                let player = &world.players[&a];
                let bowl = player.duel.scoreboard().bowl;
                let time = player.session.session_time(world.now).as_micros();
                let own = player.teapot(world.now, mine);
                bowl.is_there(time)
                    && own.is_some_and(|own| bowl.is_touched_from(Table::Tea, own.motion.position))
            });
            world.all_rest();
            world.run(after);
            let host = world.warrant.host;
            world.kill(host);
            world.run(9_000);
            for peer in [a, b] {
                assert_eq!(
                    world.players[&peer].duel.score(mine),
                    Some(POINTS_PER_BOWL),
                    "{peer}: the host died {after} ms after the touch, with {loss} % loss"
                );
                assert_eq!(bowls_of(&world, peer).len(), 1);
            }
        }
    }
}

#[test]
fn a_missing_or_distant_bowl_cannot_be_taken() {
    let mut world = World::with_stakes(85, 0, 0, BOWLS);
    let (a, b) = (world.join(), world.join());
    world.run(2_000);
    let player = world.key(a);
    let claim = |world: &mut World, bowl: u32, ahead: u64| {
        let now = world.now;
        let session = &mut world.peer(a).session;
        let at = session.session_time(now) + Duration::from_millis(ahead);
        let word = Word::Touched { player, bowl, at: at.as_micros() };
        session.send(Target::All, Delivery::Timestamp(at), &word.encode()).unwrap();
    };
    for bowl in [0, 1, 2, 3, u32::MAX] {
        claim(&mut world, bowl, 0);
        claim(&mut world, bowl, 1_000);
    }
    world.run(6_000);
    assert!(world.host().duel.bowl(world.host().session.session_time(world.now).as_micros()).is_some());
    claim(&mut world, 1, 0);
    world.run(2_000);
    for peer in [a, b] {
        assert_eq!(bowls_of(&world, peer), []);
        assert_eq!(world.players[&peer].duel.score(player), Some(0));
    }
    // A member cannot claim a touch for another player, either.
    let other = world.key(b);
    let now = world.now;
    let session = &mut world.peer(a).session;
    let at = session.session_time(now);
    let word = Word::Touched { player: other, bowl: 1, at: at.as_micros() };
    session.send(Target::All, Delivery::Timestamp(at), &word.encode()).unwrap();
    world.run(2_000);
    assert_eq!(world.host().duel.score(other), Some(0));
}
