//! A relay that is about to stop (PROTOCOL §5.6), and one with a smaller quota than its bounds.

use samovar_directory::limits::Quota;
use samovar_directory::{ClientEvent, CloseReason};
use samovar_wire::relay::{FromRelay, Purpose, Refusal};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{World, code, millis, seconds};

impl World {
    fn drain(&mut self, within: u64) {
        self.directory.handle_draining(self.now, seconds(within));
        self.settle();
    }
}

#[test]
fn draining_is_announced_to_every_member_once() {
    let mut world = World::with_members(3);
    let stranger = world.raw();
    (0..3).for_each(|i| drop(world.events(i)));
    assert!(!world.directory.is_draining());
    world.drain(30);
    world.drain(60);
    assert!(world.directory.is_draining());
    (0..3).for_each(|i| assert_eq!(world.events(i), [ClientEvent::Draining(seconds(30))]));
    assert_eq!(world.heard[&stranger], [], "who has not entered cannot know what that means");
}

#[test]
fn a_draining_relay_founds_no_game_but_lets_members_join() {
    let mut world = World::with_members(2);
    world.drain(30);
    let founder = world.raw_enter(Purpose::Create(None));
    assert_eq!(world.heard[&founder], [FromRelay::Refused(Refusal::Draining)]);
    assert_eq!(world.closed[&founder], CloseReason::Refused(Refusal::Draining));
    world.run_for(millis(9_500));
    let newcomer = world.join("TEA");
    let events = world.events(newcomer);
    assert!(matches!(events[0], ClientEvent::Entered(_)), "{events:?}");
    assert_eq!(events[1..], [ClientEvent::Draining(seconds(21))], "what is left of it, rounded up");
    world.events(1);
    world.drop_socket(1);
    world.run_for(seconds(2));
    let events = world.events(1);
    assert!(events.contains(&ClientEvent::Restored), "{events:?}");
    assert!(matches!(events.last(), Some(ClientEvent::Draining(_))), "{events:?}");
}

#[test]
fn a_game_without_connections_returns_to_a_draining_relay() {
    let mut world = World::with_members(2);
    world.drain(30);
    world.drop_socket(0);
    world.drop_socket(1);
    world.settle();
    assert_eq!(world.directory.usage().games, 0);
    world.run_for(seconds(2));
    assert_eq!((world.directory.usage().games, world.directory.usage().members), (1, 2));
}

#[test]
fn a_quota_applies_within_the_relays_own_bounds() {
    let mut world = World::with_members(2);
    world.directory.set_quota(Quota { games: 1, connections_per_game: 2 });
    for purpose in [Purpose::Create(None), Purpose::Join(code("TEA"))] {
        let refused = world.raw_enter(purpose);
        assert_eq!(world.heard[&refused], [FromRelay::Refused(Refusal::Busy)]);
    }
    world.directory.set_quota(Quota { games: usize::MAX, connections_per_game: usize::MAX });
    let joined = (0..100).map(|_| world.raw_enter(Purpose::Join(code("TEA")))).collect::<Vec<_>>();
    let inside = joined.iter().filter(|conn| matches!(world.heard[conn][0], FromRelay::Entered(_))).count();
    assert_eq!(inside + 2, Quota::default().connections_per_game);
}
