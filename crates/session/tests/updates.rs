//! When updates are sent.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

#[expect(dead_code, reason = "not every test needs all of the world")]
mod world;

use samovar_session::Traits;
use samovar_wire::{Duration, Kind, PeerId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use world::{Craft, World};

/// Hands over at once what both of two say.
fn exchange(world: &mut World, peers: [PeerId; 2]) {
    let now = world.now;
    while let Some((from, sent)) =
        peers.iter().find_map(|&peer| Some((peer, world.peer(peer).poll_transmit(now)?)))
    {
        world.peer(sent.to).handle_packet(now, from, sent.mode, &sent.bytes);
    }
}

#[test]
fn a_game_whose_frames_are_as_long_as_the_interval_is_seen_as_it_is_and_not_as_it_was_a_frame_ago() {
    let mut world = World::new(1, 0);
    let host = *world.peers.keys().next().unwrap();
    let member = world.join(None);
    world.run(2_500);
    let now = world.now;
    let id = world.peer(host).create_as(now, Traits::of(Kind(7)), &Craft::at(0.0)).unwrap();
    let frame = Duration::from_micros(33_333);
    let (mut next, mut frames) = (now + frame, 0);
    while frames < 90 {
        let due = [host, member].map(|peer| world.peer(peer).poll_timeout().unwrap_or(Time::FAR));
        world.now = world.now.max(due[0].min(due[1]).min(next));
        let (now, x) = (world.now, frames as f32);
        // Of one moment the session's timers come first, as they may in a browser.
        for (peer, due) in [host, member].into_iter().zip(due) {
            if due <= now {
                world.peer(peer).handle_timeout(now);
                exchange(&mut world, [host, member]);
            }
        }
        if next <= now {
            world.peer(host).write(now, id, &Craft::at(x)).unwrap();
            exchange(&mut world, [host, member]);
            let seen = world.peer(member).read::<Craft>(id).map_or(-1.0, |craft| craft.place[0]);
            assert!(frames < 50 || seen == x, "in frame {frames} the other sees {seen}");
            // Something happens between two frames, and is told when the next one is due.
            let is_disturbed = frames == 40;
            next = if is_disturbed { now + frame.half() } else { next.max(now) + frame };
            frames += 1;
        }
    }
}
