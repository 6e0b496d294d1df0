//! If a game uses no feature, the packets of its members do not depend on the features of their builds.
//! `cargo xtask prove --only features` runs this test with no feature and with all, and compares the output.

use crate::world::{relay_goes, world_of};
use samovar_wire::Kind;
use samovar_wire::object::Traits;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn features_that_a_game_does_not_use_change_no_packet() {
    let (mut world, host, others) = world_of(11, 3, 4);
    let all = [host, others[0], others[1], others[2]];
    let things = all.map(|peer| (peer, world.create(peer, Traits::of(Kind(3)), &[&[0; 4]])));
    let play = |world: &mut crate::world::World, ms: u32| {
        for ms in 0..ms {
            for (peer, id) in things.iter().filter(|_| ms % 16 == 0) {
                if world.peers.contains_key(peer) {
                    // The object goes to the host when its owner seems to be gone, so this may fail.
                    let _ = world.edit(*peer).set(*id, 0, &ms.to_le_bytes());
                }
            }
            world.step();
        }
    };
    play(&mut world, 1_000);
    // The host dies, a newcomer joins, the next host hands over, and the one after that dies without the relay.
    world.kill(host);
    play(&mut world, 2_000);
    let late = world.join(None);
    play(&mut world, 1_000);
    let (now, host) = (world.now, world.peers[&late].host());
    assert!(world.peer(host).hand_over(now));
    play(&mut world, 1_000);
    relay_goes(&mut world);
    let host = world.peers[&late].host();
    world.kill(host);
    play(&mut world, 3_000);
    world.run(1_000);
    assert!(
        world.peers.values().all(|session| session.is_member() && session.suspension(world.now).is_none())
    );
    world.assert_agreed();
    println!("said: {:016x}", world.said);
}
