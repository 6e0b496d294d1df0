//! Peers that the game's own server vouches for (PROTOCOL §5.8).

use samovar_directory::{Clearance, CloseReason, ConnId, Intent, TokenId};
use samovar_wire::relay::{Enter, Entered, FromRelay, Purpose, Refusal, ToRelay, TokenFault};
use samovar_wire::{PROTOCOL_VERSION, PeerId, PeerPass, SessionId, Vouched};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, code, seconds};

const USED: Refusal = Refusal::Token(TokenFault::Used);
const MISSING: Refusal = Refusal::Token(TokenFault::Missing);

fn join() -> Purpose {
    Purpose::Join(code("TEA"))
}

fn create() -> Purpose {
    Purpose::Create(Some(code("TEA")))
}

fn rejoin(pass: PeerPass) -> Purpose {
    Purpose::Rejoin(code("TEA"), pass)
}

fn named(name: &str) -> Vouched {
    Vouched { name: Some(name.to_owned()), watches: Some(false) }
}

fn clearance(game: Option<&str>, name: &str, token: u8) -> Option<Clearance> {
    let token = Some((TokenId([token; 16]), seconds(3_600)));
    Some(Clearance { game: game.map(code), vouched: named(name), token })
}

const fn enter(purpose: Purpose) -> Enter {
    Enter { version: PROTOCOL_VERSION, params: PARAMS, purpose }
}

impl World {
    /// A gated world.
    fn gated() -> Self {
        let mut world = Self::new();
        world.directory.set_gated(true);
        world
    }

    /// A gated world with a game of Ann, who hosts.
    fn gated_with_ann() -> (Self, ConnId, Entered) {
        let mut world = Self::gated();
        let ann = world.enter_as(clearance(None, "Ann", 1), create());
        let entered = world.outcome(ann).expect("she has a token");
        (world, ann, entered)
    }

    fn enter_as(&mut self, clearance: Option<Clearance>, purpose: Purpose) -> ConnId {
        let conn = self.raw();
        if let Some(clearance) = clearance {
            self.directory.handle_vouched(conn, clearance);
        }
        self.raw_send(conn, &ToRelay::Enter(enter(purpose)));
        conn
    }

    fn outcome(&self, conn: ConnId) -> Result<Entered, Option<Refusal>> {
        let entered = self.heard[&conn].iter().find_map(|said| match said {
            FromRelay::Entered(entered) => Some(entered.clone()),
            _ => None,
        });
        entered.ok_or(match self.closed.get(&conn) {
            Some(CloseReason::Refused(refusal)) => Some(*refusal),
            _ => None,
        })
    }

    fn refusal_of(&mut self, clearance: Option<Clearance>, purpose: Purpose) -> Option<Refusal> {
        let conn = self.enter_as(clearance, purpose);
        self.outcome(conn).err().flatten()
    }

    fn vouched(&self, conn: ConnId) -> Option<Vouched> {
        let entered = self.outcome(conn).expect("it has entered");
        entered.voucher.map(|voucher| {
            assert!(self.directory.key().verifies_voucher(&voucher));
            assert_eq!((voucher.session, voucher.peer), (entered.session, entered.pass.peer));
            voucher.vouched
        })
    }

    fn raw_names(&mut self, host: ConnId, peers: &[PeerId]) {
        self.raw_send(host, &ToRelay::Members(peers.to_vec(), 0));
    }
}

#[test]
fn a_gated_relay_lets_in_only_peers_with_an_admission() {
    let mut world = World::gated();
    for purpose in [create(), Purpose::Create(None), Purpose::Match] {
        assert_eq!(world.refusal_of(None, purpose), Some(MISSING));
    }
    let ann = world.enter_as(clearance(Some("TEA"), "Ann", 1), create());
    assert_eq!(world.vouched(ann), Some(named("Ann")));
    assert_eq!(world.refusal_of(None, join()), Some(MISSING));
    // A connection that was lost comes back by its pass, and is the same.
    let Entered { pass, warrant, .. } = world.outcome(ann).unwrap();
    let again = world.enter_as(None, Purpose::Resume(code("TEA"), pass, warrant));
    assert_eq!(world.outcome(again).unwrap().pass, pass);
    assert_eq!(world.vouched(again), Some(named("Ann")));
}

#[test]
fn an_admission_for_one_game_opens_no_other() {
    let (mut world, ..) = World::gated_with_ann();
    let other = Some(Refusal::Token(TokenFault::OtherGame));
    let ways = [join(), Purpose::Create(None), Purpose::Match, Purpose::Create(Some(code("MILK2")))];
    for (token, way) in (2..).zip(ways) {
        assert_eq!(world.refusal_of(clearance(Some("MILK"), "Eve", token), way), other);
    }
}

#[test]
fn a_token_makes_one_member() {
    let (mut world, ann, host) = World::gated_with_ann();
    let bobs = || clearance(None, "Bob", 2);
    let first = world.enter_as(bobs(), join());
    let lost = world.outcome(first).unwrap();
    // The answer to the first may have been lost, so the second takes its place, and the first pass is void.
    let second = world.enter_as(bobs(), join());
    let entered = world.outcome(second).unwrap();
    assert_eq!(world.closed.get(&first), Some(&CloseReason::Replaced));
    let resume = Purpose::Resume(code("TEA"), lost.pass, lost.warrant);
    assert_eq!(world.refusal_of(None, resume), Some(Refusal::BadPass));
    assert_eq!(world.refusal_of(None, rejoin(lost.pass)), Some(MISSING));
    // The second comes back on another connection, and is still the one that the token let in.
    let resume = Purpose::Resume(code("TEA"), entered.pass, entered.warrant);
    let again = world.enter_as(None, resume);
    assert!(world.outcome(again).is_ok());
    world.raw_names(ann, &[host.pass.peer, entered.pass.peer]);
    assert_eq!(world.refusal_of(bobs(), join()), Some(USED));
    assert!(!world.closed.contains_key(&again));
    // Nor does it make another one when the member has gone.
    world.raw_send(again, &ToRelay::Leave);
    world.run_for(seconds(60));
    assert_eq!(world.refusal_of(bobs(), join()), Some(USED));
    world.run_for(seconds(3_600));
    // The driver refuses a token that has ended. This one counts as new.
    assert!(world.refusal_of(bobs(), join()).is_none());
}

#[test]
fn a_token_is_spent_by_a_kick_a_bar_and_a_game_that_was_left() {
    let (mut world, ann, host) = World::gated_with_ann();
    for (token, by_operator) in [(2, true), (3, false)] {
        let conn = world.enter_as(clearance(None, "Bob", token), join());
        let Entered { pass, warrant, .. } = world.outcome(conn).unwrap();
        if by_operator {
            world.raw_names(ann, &[host.pass.peer, pass.peer]);
            world.directory.put_out(world.now, &code("TEA"), pass.peer).unwrap();
            world.settle();
        } else {
            world.raw_send(ann, &ToRelay::Bar(pass.peer));
        }
        assert_eq!(world.refusal_of(clearance(None, "Bob", token), join()), Some(USED));
        let back = Purpose::Resume(code("TEA"), pass, warrant);
        assert_eq!(world.refusal_of(None, back), Some(Refusal::Barred));
        // A fresh token lets a kicked player in, also one that still shows its pass.
        if by_operator {
            assert_eq!(world.refusal_of(clearance(None, "Bob", token + 10), rejoin(pass)), None);
        }
    }
    let lone = world.enter_as(clearance(None, "Eve", 4), Purpose::Create(Some(code("MILK"))));
    world.raw_send(lone, &ToRelay::Leave);
    assert_eq!(world.refusal_of(clearance(None, "Eve", 4), Purpose::Create(None)), Some(USED));
}

#[test]
fn one_token_shown_twice_at_a_time_lets_one_in() {
    let mut world = World::gated();
    world.disk_works = false;
    let conns = [0; 5].map(|_| world.enter_as(clearance(None, "Ann", 1), Purpose::Create(None)));
    world.disk_works = true;
    world.settle();
    world.run_for(seconds(1));
    let entered = conns.iter().filter(|conn| world.outcome(**conn).is_ok()).count();
    assert_eq!(entered, 1);
}

#[test]
fn a_connection_that_goes_before_it_enters_frees_its_token() {
    let (mut world, ..) = World::gated_with_ann();
    world.kill_relay();
    world.start_relay();
    world.directory.set_gated(true);
    // No member of the game is back, so newcomers wait.
    let waits = world.enter_as(clearance(None, "Bob", 2), join());
    assert_eq!(world.outcome(waits).err(), Some(None));
    world.directory.handle_closed(world.now, waits);
    assert_eq!(world.refusal_of(clearance(None, "Bob", 2), Purpose::Create(None)), None);
}

#[test]
fn a_page_that_reloads_needs_no_other_token() {
    let (mut world, ann, host) = World::gated_with_ann();
    let bob = world.enter_as(clearance(None, "Bob", 2), join());
    let pass = world.outcome(bob).unwrap().pass;
    world.raw_names(ann, &[host.pass.peer, pass.peer]);
    world.raw_send(bob, &ToRelay::Away);
    // Its address still has the token, which was used.
    let back = world.enter_as(clearance(None, "Bob", 2), rejoin(pass));
    let new = world.outcome(back).unwrap().pass;
    assert_ne!(new.peer, pass.peer);
    assert_eq!(world.vouched(back), Some(named("Bob")));
    // Once the host has named the new peer, the pass of the old one brings nobody else.
    world.raw_names(ann, &[host.pass.peer, new.peer]);
    assert_eq!(world.refusal_of(None, rejoin(pass)), Some(MISSING));
    assert_eq!(world.refusal_of(None, Purpose::Rejoin(code("MILK"), new)), Some(MISSING));
    // The relay knows the names after a restart, too.
    world.kill_relay();
    world.start_relay();
    world.directory.set_gated(true);
    let Entered { pass: anns, warrant, .. } = host;
    world.enter_as(None, Purpose::Resume(code("TEA"), anns, warrant));
    let again = world.enter_as(None, rejoin(new));
    assert_eq!(world.vouched(again), Some(named("Bob")));
}

#[test]
fn a_lone_player_founds_its_game_anew_without_a_token() {
    let (mut world, ann, host) = World::gated_with_ann();
    world.raw_send(ann, &ToRelay::Away);
    let back = world.enter_as(None, rejoin(host.pass));
    assert_eq!(world.vouched(back), Some(named("Ann")));
}

#[test]
fn a_session_that_the_relay_does_not_know_is_not_brought_back() {
    let (mut world, ann, host) = World::gated_with_ann();
    world.raw_send(ann, &ToRelay::Leave);
    for code in [code("TEA"), code("MATCH")] {
        let resume = Purpose::Resume(code, host.pass, host.warrant);
        assert_eq!(world.refusal_of(None, resume), Some(Refusal::BadPass));
    }
}

#[test]
fn members_from_before_the_gate_come_back() {
    let mut world = World::with_members(2);
    world.directory.set_gated(true);
    let pass = world.seats[1].client.pass().unwrap();
    world.kill(1);
    let back = world.enter_as(None, rejoin(pass));
    assert_eq!(world.vouched(back), Some(Vouched::default()), "so that a vouched host lets it in");
    assert_eq!(world.refusal_of(None, join()), Some(MISSING));
}

#[test]
fn the_relays_own_peers_need_no_admission_and_ask_for_one() {
    let mut world = World::gated();
    let own = world.own_enters(create());
    assert_eq!(world.vouched(own), Some(Vouched::default()), "as the host it asks newcomers for theirs");
}

#[test]
fn the_answer_of_the_games_server_counts_before_what_is_known() {
    let (mut world, ann, host) = World::gated_with_ann();
    let bob = world.enter_as(clearance(None, "Bob", 2), join());
    let pass = world.outcome(bob).unwrap().pass;
    world.raw_names(ann, &[host.pass.peer, pass.peer]);
    let answer = Clearance { vouched: Vouched { name: None, watches: Some(true) }, ..Clearance::default() };
    let back = world.enter_as(Some(answer), rejoin(pass));
    assert_eq!(world.vouched(back), Some(Vouched { watches: Some(true), ..named("Bob") }));
}

#[test]
fn nobody_is_asked_about_in_vain() {
    let (mut world, ann, host) = World::gated_with_ann();
    let bob = world.enter_as(clearance(None, "Bob", 2), join());
    let pass = world.outcome(bob).unwrap().pass;
    world.raw_names(ann, &[host.pass.peer, pass.peer]);
    let now = world.now;
    let mut preview = |purpose, is_genuine| {
        let conn = world.raw();
        let preview = world.directory.preview(now, conn, &enter(purpose), is_genuine);
        preview.map(|preview| (preview.act, preview.known))
    };
    assert_eq!(preview(rejoin(pass), true), Ok((Intent::Rejoins, Some(named("Bob")))));
    // Anybody can say that it comes back.
    assert_eq!(preview(rejoin(pass), false), Ok((Intent::Joins, None)));
    let forged = PeerPass { session: SessionId(1), ..pass };
    assert_eq!(preview(Purpose::Rejoin(code("MILK"), forged), true), Ok((Intent::Creates, None)));
    assert_eq!(preview(join(), true), Ok((Intent::Joins, None)));
    assert_eq!(preview(create(), true), Err(Refusal::CodeTaken));
    assert_eq!(preview(Purpose::Join(code("MILK")), true), Err(Refusal::UnknownGame));
    world.directory.put_out(now, &code("TEA"), pass.peer).unwrap();
    world.directory.end_game(now, &code("TEA")).unwrap();
    let conn = world.raw();
    let ended = world.directory.preview(now, conn, &enter(join()), true);
    assert_eq!(ended, Err(Refusal::Ended));
}

#[test]
fn a_refusal_by_the_games_server_says_why() {
    let mut world = World::gated();
    let conn = world.raw();
    let now = world.now;
    world.directory.handle_not_vouched(now, conn, Refusal::NotAllowed, Some("Not today.".to_owned()));
    world.settle();
    let said = [FromRelay::Told("Not today.".to_owned()), FromRelay::Refused(Refusal::NotAllowed)];
    assert_eq!(world.heard[&conn], said);
    let late = world.enter_as(clearance(None, "Ann", 1), Purpose::Create(None));
    world.directory.handle_not_vouched(now, late, Refusal::NotAllowed, None);
    world.settle();
    assert!(world.outcome(late).is_ok() && !world.closed.contains_key(&late), "who is in stays in");
}
