//! The number of bytes that a duel sends.

use samovar_duel::teapot::Controls;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{Hands, World};

const PLAYERS: u64 = 8;
const SECONDS: u64 = 20;

/// Bytes a second from one of eight peers to another, counted in whole packets as the session gives them to a
/// channel.
fn bytes_a_second(seed: u8, loss_percent: u64, begin: impl Fn(&mut World)) -> u64 {
    let mut world = World::new(seed, loss_percent, 0);
    for _ in 1..PLAYERS {
        world.join();
    }
    world.run(4_000);
    begin(&mut world);
    world.run(2_000);
    let (bytes, packets) = (world.bytes, world.packets);
    world.run(SECONDS * 1_000);
    assert!(world.players.values().all(|player| player.session.is_member()));
    let pairs_and_seconds = PLAYERS * (PLAYERS - 1) * SECONDS;
    let rate = (world.bytes - bytes) / pairs_and_seconds;
    let packets = (world.packets - packets) as f64 / pairs_and_seconds as f64;
    println!("{rate} bytes in {packets:.1} packets a second and pair");
    rate
}

fn all_circle(world: &mut World) {
    for (index, player) in (0_u8..).zip(world.players.values_mut()) {
        let turn = if index % 2 == 0 { 0.4 } else { -0.7 };
        player.hands = Hands::Held(Controls { throttle: 0.8, turn, fire: false });
    }
}

#[test]
fn eight_players_stay_within_the_byte_budget() {
    for loss_percent in [0, 5] {
        let at_rest = bytes_a_second(70, loss_percent, |_| {});
        let driving = bytes_a_second(70, loss_percent, all_circle);
        let playing = bytes_a_second(70, loss_percent, World::all_play);
        // For comparison: with updates that hold the whole motion in 12 bytes, driving takes 1,074 bytes a second and
        // playing 984 (1,072 and 1,021 at 5 % loss). A host sends heartbeats twice as often as others; this is a
        // tenth of the bytes that eight peers send at rest. The time in an update is also the promise of the
        // time-stamp order. A packet without an update spends 7 bytes on the promise. The cups and bowls that are pushed
        // all the time take about 70 of the bytes.
        assert!(at_rest < 210 && driving < 970 && playing < 1_130, "{at_rest} {driving} {playing}");
        println!("{loss_percent} % loss: {at_rest} at rest, {driving} driving, {playing} playing");
    }
}
