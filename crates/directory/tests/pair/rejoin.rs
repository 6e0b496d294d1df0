//! Members whose pages all go at once find their game again (PROTOCOL §5.2).

use samovar_directory::ClientEvent;
use samovar_directory::limits::{REJOIN_WAIT, RETURNS_WITHIN};
use samovar_wire::relay::{Purpose, Refusal};
use samovar_wire::{PROTOCOL_VERSION, PeerId, PeerPass, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, almost, code, millis, seconds};

impl World {
    fn pass(&self, i: usize) -> PeerPass {
        self.seats[i].client.pass().expect("the seat has entered")
    }

    pub(crate) fn rejoin(&mut self, pass: PeerPass) -> usize {
        self.add(PROTOCOL_VERSION, PARAMS, Purpose::Rejoin(code("TEA"), pass))
    }

    /// The page of a member is unloaded, and may come back.
    fn go_away(&mut self, i: usize) {
        let now = self.now;
        self.seats[i].client.go_away(now);
        self.settle();
    }

    fn is_in(&self, i: usize) -> bool {
        self.seats[i].client.is_entered()
    }
}

fn two_named() -> World {
    let mut world = World::with_members(2);
    world.name_members(0, &[0, 1]);
    world
}

#[test]
fn the_first_member_to_return_founds_the_game_anew() {
    let mut world = two_named();
    let (first, passes) = (world.warrant(0), [world.pass(0), world.pass(1)]);
    world.go_away(0);
    world.go_away(1);
    let bob = world.rejoin(passes[1]);
    assert!(world.is_in(bob), "at once");
    let again = world.warrant(bob);
    assert_eq!((again.term, again.host), (Term::FIRST, world.peer(bob)));
    assert_ne!(again.session, first.session, "a pass revives no peer, and no term");
    let ann = world.rejoin(passes[0]);
    assert_eq!(world.warrant(ann), again, "who comes second joins");
    assert_eq!(world.directory.usage().awaiting, 0);
}

#[test]
fn leaving_for_good_vacates_a_game_like_going_away() {
    let mut world = two_named();
    let pass = world.pass(1);
    let now = world.now;
    world.seats[0].client.leave(now);
    world.settle();
    world.go_away(1);
    let bob = world.rejoin(pass);
    assert!(world.is_in(bob));
    // When all members have left for good, the code is free at once.
    let mut world = two_named();
    for i in 0..2 {
        world.seats[i].client.leave(now);
        world.settle();
    }
    let founder = world.create("TEA");
    assert!(world.is_in(founder));
}

#[test]
fn strangers_wait_two_seconds_for_departed_members() {
    let mut world = two_named();
    let pass = world.pass(0);
    world.go_away(0);
    world.go_away(1);
    let refused = world.create("TEA");
    assert_eq!(world.events(refused), [ClientEvent::Refused(Refusal::CodeTaken)]);
    let waiting = world.join("TEA");
    world.run_for(almost(RETURNS_WITHIN));
    assert!(world.events(waiting).is_empty());
    let ann = world.rejoin(pass);
    assert!(world.is_in(ann) && world.is_in(waiting), "who waited is let in with the founder");
    assert_eq!(world.warrant(waiting).host, world.peer(ann));
}

#[test]
fn any_peer_may_found_a_vacated_game_after_two_seconds() {
    let mut world = two_named();
    let pass = world.pass(0);
    world.go_away(0);
    world.go_away(1);
    let waiting = world.join("TEA");
    world.run_for(RETURNS_WITHIN);
    assert_eq!(world.events(waiting), [ClientEvent::Refused(Refusal::UnknownGame)]);
    let founder = world.create("TEA");
    assert!(world.is_in(founder));
    let late = world.rejoin(pass);
    assert_eq!(
        world.warrant(late),
        world.warrant(founder),
        "who comes later joins, and reads of no taken code"
    );
}

#[test]
fn a_member_that_comes_back_much_later_founds_the_game() {
    let mut world = two_named();
    let passes = [world.pass(0), world.pass(1)];
    world.go_away(0);
    world.go_away(1);
    world.run_for(seconds(3_600));
    let ann = world.rejoin(passes[0]);
    let bob = world.rejoin(passes[1]);
    assert!(world.is_in(ann) && world.warrant(ann) == world.warrant(bob));
}

#[test]
fn a_returning_member_waits_for_others_that_may_play_on() {
    let mut world = two_named();
    let (pass, before) = (world.pass(1), world.warrant(0));
    world.go_away(1);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.settle();
    let bob = world.rejoin(pass);
    world.run_for(seconds(5));
    assert!(!world.is_in(bob) && world.events(bob).is_empty(), "the other may play on over direct links");
    world.seats[0].cut = false;
    world.run_for(seconds(7));
    assert!(world.is_in(bob));
    assert_eq!(world.warrant(bob).session, before.session);
}

#[test]
fn members_that_wait_for_a_kept_code_enter_one_game() {
    let mut world = two_named();
    let passes = [world.pass(0), world.pass(1)];
    world.kill(0);
    world.kill(1);
    world.run_for(millis(3_000));
    let both = passes.map(|pass| world.rejoin(pass));
    world.run_for(almost(millis(12_000)));
    assert!(both.iter().all(|&i| world.events(i).is_empty()), "it is kept as long as ever");
    let stranger = world.join("TEA");
    world.run_for(millis(1));
    for i in both.into_iter().chain([stranger]) {
        assert!(world.is_in(i), "{i}: {:?}", world.seats[i].events);
        assert_eq!(world.warrant(i), world.warrant(both[0]), "one game");
    }
}

#[test]
fn the_only_returning_member_begins_its_game_anew() {
    let mut world = two_named();
    let (pass, session) = (world.pass(0), world.warrant(0).session);
    world.go_away(0);
    // Bob goes after Ann has come back, and before a host names Ann's new peer.
    let ann = world.rejoin(pass);
    assert!(world.is_in(ann) && world.warrant(ann).host != world.peer(ann));
    world.go_away(1);
    assert_eq!((world.warrant(ann).host, world.warrant(ann).session), (world.peer(ann), session));
    // A newcomer that was never a member gains nothing this way.
    let mut world = two_named();
    let stranger = world.join("TEA");
    let before = world.warrant(stranger);
    world.go_away(0);
    world.go_away(1);
    assert_eq!(world.warrant(stranger), before);
}

#[test]
fn a_foreign_or_forged_pass_counts_as_none() {
    let mut world = two_named();
    let other = world.add(PROTOCOL_VERSION, PARAMS, Purpose::Create(Some(code("MILK"))));
    let passes = [world.pass(other), PeerPass { peer: PeerId(77), ..world.pass(0) }];
    let member = world.rejoin(passes[0]);
    assert_eq!(world.warrant(member), world.warrant(0), "a game that lives is joined");
    world.go_away(0);
    world.go_away(1);
    let now = world.now;
    world.seats[member].client.leave(now);
    world.settle();
    for pass in passes {
        let i = world.rejoin(pass);
        assert!(!world.is_in(i) && world.events(i).is_empty(), "it waits like a newcomer");
    }
}

#[test]
fn a_member_back_at_a_restarted_relay_waits_twelve_seconds() {
    let mut world = two_named();
    let (pass, before) = (world.pass(0), world.warrant(0));
    world.kill(1);
    world.kill_relay();
    // The member's page is loaded anew, for example because the relay was updated.
    world.kill(0);
    world.start_relay();
    world.run_for(seconds(2));
    let ann = world.rejoin(pass);
    world.run_for(almost(REJOIN_WAIT));
    assert!(!world.is_in(ann) && world.events(ann).is_empty(), "others may play on");
    world.run_for(millis(1));
    assert!(world.is_in(ann));
    assert_ne!(world.warrant(ann).session, before.session);
}
