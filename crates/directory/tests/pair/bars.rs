//! Peers that a host bars, and the relay's own code (PROTOCOL §5.2).

use samovar_directory::limits::{BARS_MAX, CODE_KEPT_FOR, CODE_RESERVED_FOR};
use samovar_directory::{ClientEvent, CloseReason, ConnId, Origin};
use samovar_wire::relay::{Enter, FromRelay, Purpose, Refusal, ToRelay};
use samovar_wire::{PROTOCOL_VERSION, PeerId, PeerPass, Warrant};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, code, listing, seconds};

const EVE: Option<Origin> = Some(Origin(7));
const BOB: Option<Origin> = Some(Origin(8));

fn join() -> Purpose {
    Purpose::Join(code("TEA"))
}

fn entered(world: &World, conn: ConnId) -> Option<(PeerPass, Warrant)> {
    world.heard[&conn].iter().find_map(|said| match said {
        FromRelay::Entered(entered) => Some((entered.pass, entered.warrant)),
        _ => None,
    })
}

fn refusal(world: &World, conn: ConnId) -> Option<Refusal> {
    match world.closed.get(&conn) {
        Some(CloseReason::Refused(refusal)) => Some(*refusal),
        _ => None,
    }
}

impl World {
    /// Opens a connection of the relay's own, and enters on it.
    pub(crate) fn own_enters(&mut self, purpose: Purpose) -> ConnId {
        let conn = self.raw_of_own();
        self.raw_send(conn, &ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: PARAMS, purpose }));
        conn
    }

    fn bar(&mut self, host: usize, peer: PeerId) {
        self.seats[host].client.bar(self.now, peer);
        self.settle();
    }

    /// A game `TEA` of a host and a member from this origin.
    fn with_member_of(origin: Option<Origin>) -> (Self, ConnId, PeerId) {
        let mut world = Self::with_members(1);
        let conn = world.raw_enter_from(origin, join());
        let peer = world.raw_peer(conn);
        world.name_peers(0, vec![world.peer(0), peer]);
        (world, conn, peer)
    }
}

#[test]
fn a_barred_peer_is_refused_by_pass_and_by_address() {
    let (mut world, eve, peer) = World::with_member_of(EVE);
    let (pass, warrant) = entered(&world, eve).unwrap();
    world.bar(0, peer);
    assert_eq!(refusal(&world, eve), Some(Refusal::Barred));
    for (origin, purpose) in [
        (EVE, join()),
        (EVE, Purpose::Rejoin(code("TEA"), pass)),
        (BOB, Purpose::Rejoin(code("TEA"), pass)),
        (BOB, Purpose::Resume(code("TEA"), pass, warrant)),
    ] {
        let again = world.raw_enter_from(origin, purpose);
        assert_eq!(refusal(&world, again), Some(Refusal::Barred));
    }
    let other = world.raw_enter_from(BOB, join());
    assert!(entered(&world, other).is_some());
    // A list of members that names the barred peer does not make it a member again.
    world.name_peers(0, vec![world.peer(0)]);
    world.run_for(seconds(1));
    world.name_peers(0, vec![world.peer(0), peer]);
    assert_eq!(world.disk[&pass.session].members, [world.peer(0)]);
    let again = world.raw_enter_from(BOB, Purpose::Resume(code("TEA"), pass, warrant));
    assert_eq!(refusal(&world, again), Some(Refusal::Barred));
    // The bar holds for one game: the address may found another.
    let own = world.raw_enter_from(EVE, Purpose::Create(Some(code("MINE"))));
    assert!(entered(&world, own).is_some());
}

#[test]
fn barred_newcomer_finds_another_game() {
    let (mut world, _, peer) = World::with_member_of(EVE);
    let now = world.now;
    world.seats[0].client.set_listing(now, listing(3));
    world.run_for(seconds(1));
    let bob = world.raw_enter_from(BOB, Purpose::Match);
    world.bar(0, peer);
    let eve = world.raw_enter_from(EVE, Purpose::Match);
    let [bobs, eves] = [bob, eve].map(|conn| entered(&world, conn).unwrap().0.session);
    assert_ne!(bobs, eves);
}

#[test]
fn only_the_host_can_bar_a_peer() {
    let (mut world, eve, peer) = World::with_member_of(EVE);
    let bob = world.raw_enter_from(BOB, join());
    let victim = world.raw_peer(bob);
    world.name_peers(0, vec![world.peer(0), peer, victim]);
    world.raw_send(eve, &ToRelay::Bar(victim));
    world.raw_send(eve, &ToRelay::Bar(world.peer(0)));
    world.bar(0, world.peer(0));
    assert!([eve, bob].iter().all(|conn| !world.closed.contains_key(conn)));
    assert!(world.seats[0].client.is_entered());
    let more = world.raw_enter_from(BOB, join());
    assert!(entered(&world, more).is_some());
}

#[test]
fn a_bar_spares_members_of_the_same_address() {
    let (mut world, eve, peer) = World::with_member_of(EVE);
    let sister = world.raw_enter_from(EVE, join());
    let hers = world.raw_peer(sister);
    world.name_peers(0, vec![world.peer(0), peer, hers]);
    let stranger = world.raw_enter_from(EVE, join());
    world.bar(0, peer);
    assert_eq!(refusal(&world, eve), Some(Refusal::Barred));
    assert_eq!(refusal(&world, stranger), Some(Refusal::Barred), "no host has named it");
    assert!(!world.closed.contains_key(&sister));
    let (pass, warrant) = entered(&world, sister).unwrap();
    for purpose in [Purpose::Resume(code("TEA"), pass, warrant), Purpose::Rejoin(code("TEA"), pass)] {
        let back = world.raw_enter_from(EVE, purpose);
        assert!(entered(&world, back).is_some());
    }
}

#[test]
fn a_peer_that_left_before_the_bar_is_barred_by_address() {
    let (mut world, eve, peer) = World::with_member_of(EVE);
    world.directory.handle_closed(world.now, eve);
    world.name_peers(0, vec![world.peer(0)]);
    // Another peer joins meanwhile, upon which the relay forgets the addresses that it no longer needs.
    let bob = world.raw_enter_from(BOB, join());
    assert!(entered(&world, bob).is_some());
    world.bar(0, peer);
    let again = world.raw_enter_from(EVE, join());
    assert_eq!(refusal(&world, again), Some(Refusal::Barred));
}

#[test]
fn a_bar_also_refuses_peers_that_wait_for_a_place() {
    let (mut world, _, peer) = World::with_member_of(EVE);
    let four: Vec<_> = (0..4).map(|_| world.raw_enter_from(EVE, join())).collect();
    let fifth = world.raw_enter_from(EVE, join());
    assert!(world.heard[&fifth].is_empty(), "it waits");
    world.bar(0, peer);
    for conn in four.into_iter().chain([fifth]) {
        assert_eq!(refusal(&world, conn), Some(Refusal::Barred));
    }
}

#[test]
fn a_bar_waits_for_the_relay_and_survives_its_restart() {
    let (mut world, _, peer) = World::with_member_of(EVE);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.bar(0, peer);
    let joins = world.raw_enter_from(EVE, join());
    assert!(entered(&world, joins).is_some(), "the relay has not heard of it");
    world.seats[0].cut = false;
    world.run_for(seconds(10));
    assert_eq!(refusal(&world, joins), Some(Refusal::Barred));
    // The session's record holds the bar.
    let session = world.warrant(0).session;
    assert_eq!(world.disk[&session].barred.peers, [peer]);
    assert_eq!(world.disk[&session].barred.origins, [Origin(7)]);
    world.kill_relay();
    world.seats[0].cut = true;
    world.start_relay();
    let early = world.raw_enter_from(EVE, join());
    assert_eq!(refusal(&world, early), Some(Refusal::Barred), "before anybody is back");
    world.seats[0].cut = false;
    world.run_for(seconds(10));
    let late = world.raw_enter_from(EVE, join());
    assert_eq!(refusal(&world, late), Some(Refusal::Barred));
    // The bar also holds in the game that the host's page founds anew.
    world.run_for(CODE_KEPT_FOR);
    let pass = world.seats[0].client.pass().unwrap();
    world.seats[0].client.go_away(world.now);
    world.settle();
    let again = world.rejoin(pass);
    assert_ne!(world.warrant(again).session, session);
    let still = world.raw_enter_from(EVE, join());
    assert_eq!(refusal(&world, still), Some(Refusal::Barred));
}

#[test]
fn only_the_last_sixty_four_bars_hold() {
    let (mut world, _, _) = World::with_member_of(None);
    let count = BARS_MAX as u64 + 6;
    for n in 0..count {
        let conn = world.raw_enter_from(Some(Origin(1_000 + n)), join());
        let peer = world.raw_peer(conn);
        world.bar(0, peer);
        world.run_for(seconds(1));
        assert_eq!(refusal(&world, conn), Some(Refusal::Barred));
    }
    let session = world.warrant(0).session;
    let barred = &world.disk[&session].barred;
    assert_eq!((barred.peers.len(), barred.origins.len()), (BARS_MAX, BARS_MAX));
    let first = world.raw_enter_from(Some(Origin(1_000)), join());
    assert!(entered(&world, first).is_some(), "given up");
    let last = world.raw_enter_from(Some(Origin(1_000 + count - 1)), join());
    assert_eq!(refusal(&world, last), Some(Refusal::Barred));
    // The client repeats all bars on another connection, and that is no misbehaviour.
    world.drop_socket(0);
    world.run_for(seconds(20));
    assert!(world.seats[0].client.is_entered());
    assert!(!world.events(0).iter().any(|event| matches!(event, ClientEvent::Refused(_))));
}

#[test]
fn the_relays_own_peer_cannot_be_barred() {
    let mut world = World::with_members(1);
    let own = world.own_enters(join());
    let peer = world.raw_peer(own);
    world.name_peers(0, vec![world.peer(0), peer]);
    world.bar(0, peer);
    assert!(!world.closed.contains_key(&own));
    let (pass, warrant) = entered(&world, own).unwrap();
    let back = world.own_enters(Purpose::Resume(code("TEA"), pass, warrant));
    assert!(entered(&world, back).is_some());
}

/// A relay whose own code is `TEA`.
fn referees() -> World {
    let mut world = World::new();
    world.own_code = Some(code("TEA"));
    world.directory.set_own_code(world.own_code.clone());
    world
}

#[test]
fn only_the_relay_founds_games_under_its_own_code() {
    let mut world = referees();
    let eve = world.raw_enter_from(EVE, Purpose::Create(Some(code("TEA"))));
    assert_eq!(refusal(&world, eve), Some(Refusal::Reserved));
    // A pass of a forgotten game does not help either.
    let mine = world.raw_enter_from(EVE, Purpose::Create(Some(code("MINE"))));
    let (pass, warrant) = entered(&world, mine).unwrap();
    world.raw_send(mine, &ToRelay::Leave);
    for purpose in [Purpose::Resume(code("TEA"), pass, warrant), Purpose::Rejoin(code("TEA"), pass)] {
        let again = world.raw_enter_from(EVE, purpose);
        assert_eq!(refusal(&world, again), Some(Refusal::Reserved));
    }
    let own = world.own_enters(Purpose::Create(Some(code("TEA"))));
    assert!(entered(&world, own).is_some());
    let eve = world.raw_enter_from(EVE, Purpose::Create(Some(code("TEA"))));
    assert_eq!(refusal(&world, eve), Some(Refusal::CodeTaken));
}

#[test]
fn member_relists_the_relays_code_within_a_minute_of_its_start() {
    let mut world = referees();
    let own = world.own_enters(Purpose::Create(Some(code("TEA"))));
    let (bob, eve) = (world.raw_enter_from(BOB, join()), world.raw_enter_from(EVE, join()));
    let [me, him, her] = [own, bob, eve].map(|conn| world.raw_peer(conn));
    world.raw_send(own, &ToRelay::Members(vec![me, him, her], 0));
    world.raw_send(own, &ToRelay::Members(vec![me, him], 0));
    let [bobs, eves] = [bob, eve].map(|conn| entered(&world, conn).unwrap());
    let resume = |(pass, warrant)| Purpose::Resume(code("TEA"), pass, warrant);
    world.kill_relay();
    world.start_relay();
    let back = world.raw_enter_from(EVE, resume(eves));
    assert!(entered(&world, back).is_none(), "who was removed waits for a member");
    let back = world.raw_enter_from(BOB, resume(bobs));
    assert!(entered(&world, back).is_some(), "he may have played on");
    world.kill_relay();
    world.start_relay();
    world.run_for(CODE_RESERVED_FOR + seconds(1));
    let late = world.raw_enter_from(BOB, resume(bobs));
    assert_eq!(refusal(&world, late), Some(Refusal::Reserved));
    let anew = world.raw_enter_from(BOB, Purpose::Rejoin(code("TEA"), bobs.0));
    assert_eq!(refusal(&world, anew), Some(Refusal::Reserved));
    let own = world.own_enters(Purpose::Create(Some(code("TEA"))));
    assert!(entered(&world, own).is_some());
}

#[test]
fn strangers_never_host_under_the_relays_own_code() {
    let mut world = referees();
    let own = world.own_enters(Purpose::Create(Some(code("TEA"))));
    world.raw_send(own, &ToRelay::Listing(listing(1)));
    let eve = world.join("TEA");
    world.directory.handle_closed(world.now, own);
    world.settle();
    world.miss(eve, eve);
    world.run_for(CODE_KEPT_FOR.times(2));
    assert_ne!(world.warrant(eve).host, world.peer(eve));
    // The relay's own peer can take over the game.
    let own = world.own_enters(join());
    let me = world.raw_peer(own);
    let next = world.warrant(eve).term.next_witnessed();
    world.raw_send(own, &ToRelay::Claim(next, me));
    assert_eq!(world.warrant(eve).host, me);
}

#[test]
fn only_the_relay_founds_its_vacated_game_anew() {
    let mut world = referees();
    let own = world.own_enters(Purpose::Create(Some(code("TEA"))));
    let bob = world.raw_enter_from(BOB, join());
    let peers = [own, bob].map(|conn| world.raw_peer(conn));
    world.raw_send(own, &ToRelay::Members(peers.to_vec(), 0));
    let passes = [own, bob].map(|conn| entered(&world, conn).unwrap().0);
    world.raw_send(bob, &ToRelay::Away);
    world.raw_send(own, &ToRelay::Away);
    let back = world.raw_enter_from(BOB, Purpose::Rejoin(code("TEA"), passes[1]));
    assert!(entered(&world, back).is_none(), "it waits for the relay");
    let own = world.own_enters(Purpose::Rejoin(code("TEA"), passes[0]));
    let (_, warrant) = entered(&world, own).unwrap();
    assert_eq!(warrant.host, world.raw_peer(own));
    assert!(entered(&world, back).is_some(), "and enters with it");
    // The same holds while a newcomer is in a game whose members have left.
    let bob = world.raw_peer(back);
    let pass = entered(&world, back).unwrap().0;
    world.raw_send(own, &ToRelay::Members(vec![warrant.host, bob], 0));
    let again = world.raw_enter_from(BOB, Purpose::Rejoin(code("TEA"), pass));
    world.raw_send(back, &ToRelay::Away);
    world.raw_send(own, &ToRelay::Away);
    assert!(!world.heard[&again].iter().any(|said| matches!(said, FromRelay::Issued(_))));
}
