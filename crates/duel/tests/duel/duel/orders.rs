//! Anomalies of the order in which a duel's messages are delivered. Each happens with a weaker order, and cannot
//! happen with the order that the duel's rules name.

use samovar_duel::game::{DuelEvent, rules};
use samovar_session::{Causality, Orders, Rules};
use samovar_wire::{Duration, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{Hands, World};

const NO_ORDERS: Orders = Orders { causal: None, total: false, timestamp: None, lockstep: None };

/// The feeds about one shot that hits: at the host, and at a member that receives the shooter's messages late.
fn feeds_of_a_hit(rules: Rules, loss: u64) -> [Vec<&'static str>; 2] {
    let mut world = World::with_rules(60, loss, 0, rules);
    let (a, _, watcher) = (world.join(), world.join(), world.join());
    world.run(2_500);
    world.detours.insert((a, watcher), Duration::from_millis(1_500));
    let host = world.warrant.host;
    let quarry = world.key(host);
    world.peer(a).hands = Hands::OneShotAt(quarry);
    world.run_until("a hit", 15_000, |world| world.host().duel.score(world.key(a)) == Some(1));
    world.run(4_000);
    [host, watcher].map(|peer| shots_and_hits(&world, peer))
}

fn shots_and_hits(world: &World, peer: PeerId) -> Vec<&'static str> {
    let told = world.players[&peer].feed.iter().filter_map(|event| match event {
        DuelEvent::Fired { .. } => Some("fired"),
        DuelEvent::HitScored { .. } => Some("destroyed"),
        _ => None,
    });
    told.collect()
}

#[test]
fn sender_order_shows_destroyed_before_fired() {
    let weaker = Rules { orders: NO_ORDERS, ..rules() };
    let [host, watcher] = feeds_of_a_hit(weaker, 0);
    assert_eq!(host, ["fired", "destroyed"]);
    assert_eq!(watcher, ["destroyed", "fired"], "Fujimoto's observer");
}

#[test]
fn in_causal_order_no_feed_says_destroyed_before_fired() {
    for loss in [0, 5, 20] {
        for feed in feeds_of_a_hit(rules(), loss) {
            assert_eq!(feed, ["fired", "destroyed"], "with {loss} % loss");
        }
    }
}

#[test]
fn a_dispatching_host_shows_shots_before_hits_everywhere() {
    let orders = Orders { causal: Some(Causality::Dispatcher), ..rules().orders };
    for loss in [0, 10] {
        for feed in feeds_of_a_hit(Rules { orders, ..rules() }, loss) {
            assert_eq!(feed, ["fired", "destroyed"], "with {loss} % loss");
        }
    }
}

#[test]
fn every_feed_has_shot_and_hit_once_when_the_host_dies() {
    for loss in [0, 10] {
        for after in (0..700).step_by(70) {
            let mut world = World::new(30, loss, 0);
            let (a, b, c) = (world.join(), world.join(), world.join());
            world.run(2_500);
            world.detours.insert((a, c), Duration::from_millis(300));
            let quarry = world.key(b);
            world.peer(a).hands = Hands::OneShotAt(quarry);
            world.run_until("a shot", 15_000, |world| shots_and_hits(world, a) == ["fired"]);
            world.run(after);
            let host = world.warrant.host;
            world.kill(host);
            world.run(9_000);
            let points = world.host().duel.score(world.key(a)).unwrap();
            for peer in [a, b, c] {
                let expected = &["fired", "destroyed"][..1 + usize::from(points)];
                let feed = shots_and_hits(&world, peer);
                assert_eq!(feed, expected, "{peer}: the host died {after} ms after the shot, loss {loss}");
            }
        }
    }
}
