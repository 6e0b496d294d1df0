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

/// Founds a game with so many members that lists so many players.
fn found(world: &mut World, text: &str, members: usize, listing: Listing) -> usize {
    let host = world.create(text);
    let all: Vec<_> = (1..members).map(|_| world.join(text)).collect();
    world.name_members(host, &[&[host], &all[..]].concat());
    let now = world.now;
    world.seats[host].client.set_listing(now, listing);
    world.run_for(seconds(4));
    host
}

#[test]
fn newcomer_finds_the_fullest_game_with_a_place() {
    let mut world = World::new();
    found(&mut world, "FEW", 2, listing(2));
    found(&mut world, "MANY", 6, listing(6));
    found(&mut world, "FULL", 8, listing(8));
    found(&mut world, "CLOSED", 7, Listing { open: false, ..listing(7) });
    found(&mut world, "HIDDEN", 7, Listing { public: false, ..listing(7) });
    // Two places: newcomers whom the host does not know yet count.
    assert_eq!([(); 3].map(|()| find(&mut world, PARAMS)), ["MANY", "MANY", "FEW"]);
    // Peers that no host names take no place for long.
    world.run_for(seconds(4));
    assert_eq!(find(&mut world, PARAMS), "MANY");
}

#[test]
fn players_that_a_host_makes_up_lure_nobody() {
    let mut world = World::new();
    found(&mut world, "HONEST", 3, listing(3));
    found(&mut world, "LURE", 1, listing(7));
    assert_eq!(find(&mut world, PARAMS), "HONEST");
}

#[test]
fn newcomer_without_a_game_founds_one_and_the_next_joins_it() {
    let mut world = World::new();
    found(&mut world, "OTHER", 1, listing(1));
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
