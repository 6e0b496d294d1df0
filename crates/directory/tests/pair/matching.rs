//! Newcomers that take any game of their program.

use samovar_directory::ClientEvent;
use samovar_wire::PROTOCOL_VERSION;
use samovar_wire::relay::{Listing, Purpose, Refusal};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, code, listing, seconds};

/// The code of the game that a newcomer gets into.
fn find(world: &mut World, params: u64) -> String {
    let i = world.add(PROTOCOL_VERSION, params, Purpose::Match);
    match &world.events(i)[..] {
        [ClientEvent::Entered(entered)] => entered.code.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Founds a game with this listing.
fn found(world: &mut World, text: &str, listing: Listing) -> usize {
    let i = world.create(text);
    let now = world.now;
    world.seats[i].client.set_listing(now, listing);
    world.run_for(seconds(1));
    i
}

#[test]
fn newcomer_finds_the_fullest_game_with_a_place() {
    let mut world = World::new();
    found(&mut world, "FEW", listing(2));
    found(&mut world, "MANY", listing(6));
    found(&mut world, "FULL", listing(8));
    found(&mut world, "CLOSED", Listing { open: false, ..listing(7) });
    found(&mut world, "HIDDEN", Listing { public: false, ..listing(7) });
    // `MANY` has two places. The relay counts the newcomers that it has let in, although the host does not know them
    // yet.
    assert_eq!([(); 3].map(|()| find(&mut world, PARAMS)), ["MANY", "MANY", "FEW"]);
}

#[test]
fn newcomer_without_a_game_founds_one_and_the_next_joins_it() {
    let mut world = World::new();
    found(&mut world, "OTHER", listing(1));
    let drawn = find(&mut world, PARAMS + 1);
    assert_eq!(drawn.len(), 6, "a drawn code");
    let host = world.seats.len() - 1;
    let now = world.now;
    world.seats[host].client.set_listing(now, listing(1));
    world.run_for(seconds(1));
    assert_eq!(find(&mut world, PARAMS + 1), drawn);
}

#[test]
fn members_come_back_to_a_closed_game() {
    let mut world = World::with_members(2);
    let now = world.now;
    world.seats[0].client.set_listing(now, Listing { open: false, ..listing(2) });
    world.run_for(seconds(1));
    let pass = world.seats[1].client.pass().expect("entered");
    let back = world.add(PROTOCOL_VERSION, PARAMS, Purpose::Rejoin(code("TEA"), pass));
    assert!(matches!(world.events(back)[..], [ClientEvent::Entered(_)]));
    let newcomer = world.join("TEA");
    assert_eq!(world.events(newcomer), [ClientEvent::Refused(Refusal::Closed)]);
}
