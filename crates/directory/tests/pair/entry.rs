//! Founding and joining.

use samovar_directory::limits::{CODE_KEPT_FOR, CONNECTIONS_PER_GAME_MAX, ENTER_WITHIN};
use samovar_directory::{ClientEvent, CloseReason, Incoming};
use samovar_wire::relay::{Enter, FromRelay, Listing, Purpose, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Mode, PROTOCOL_VERSION, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, almost, code, listing, millis, seconds, term};

#[test]
fn the_founder_hosts_term_one_and_newcomers_are_told() {
    let mut world = World::with_members(2);
    let founder = world.peer(0);
    assert_eq!((world.warrant(0).term, world.warrant(0).host), (term(1), founder));
    assert_eq!(world.warrant(1), world.warrant(0));
    assert_ne!(world.peer(1), founder);
    let events = world.events(1);
    let [ClientEvent::Entered(entered)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(entered.code, code("TEA"));
}

#[test]
fn no_peer_enters_before_the_first_term_is_on_disk() {
    let mut world = World::new();
    world.disk_works = false;
    world.create("TEA");
    world.join("TEA");
    world.run_for(seconds(3));
    assert!(world.said.is_empty());
    assert!(world.events(0).is_empty() && world.events(1).is_empty());
    world.write();
    assert!(matches!(world.events(0)[..], [ClientEvent::Entered(_)]));
    assert!(matches!(world.events(1)[..], [ClientEvent::Entered(_)]));
}

#[test]
fn drawn_codes_have_six_letters_and_are_unique() {
    let mut world = World::new();
    let codes: Vec<_> = (0..20)
        .map(|_| {
            let i = world.add(PROTOCOL_VERSION, PARAMS, Purpose::Create(None));
            match &world.events(i)[..] {
                [ClientEvent::Entered(entered)] => entered.code.clone(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert!(codes.iter().all(|code| code.as_str().len() == 6));
    assert!(codes.iter().all(|code| !code.as_str().contains(['A', 'E', 'I', 'O', 'U', 'L', 'Q', 'V', 'Y'])));
    assert!(codes.iter().enumerate().all(|(i, code)| !codes[..i].contains(code)));
}

#[test]
fn each_wrong_entry_gets_its_own_refusal() {
    let mut world = World::with_members(1);
    let join = || Purpose::Join(code("TEA"));
    let cases = [
        (PROTOCOL_VERSION, PARAMS, Purpose::Create(Some(code("TEA"))), Refusal::CodeTaken),
        (PROTOCOL_VERSION, PARAMS, Purpose::Join(code("MILK")), Refusal::UnknownGame),
        (PROTOCOL_VERSION, PARAMS + 1, join(), Refusal::Parameters),
        (PROTOCOL_VERSION + 1, PARAMS, join(), Refusal::Version(PROTOCOL_VERSION)),
    ];
    for (version, params, purpose, refusal) in cases {
        let i = world.add(version, params, purpose);
        assert_eq!(world.events(i), [ClientEvent::Refused(refusal)]);
        assert_eq!(world.seats[i].conn, None);
    }
    assert_eq!(world.directory.usage().connections, 1);
}

#[test]
fn a_closed_game_refuses_newcomers_until_it_opens() {
    let mut world = World::with_members(1);
    let now = world.now;
    world.seats[0].client.set_listing(now, Listing { open: false, ..listing(1) });
    let refused = world.join("TEA");
    assert_eq!(world.events(refused), [ClientEvent::Refused(Refusal::Closed)]);
    world.seats[0].client.set_listing(now, listing(1));
    world.run_for(seconds(1));
    let entered = world.join("TEA");
    assert!(matches!(world.events(entered)[..], [ClientEvent::Entered(_)]));
}

#[test]
fn a_full_game_refuses_newcomers_as_busy() {
    let mut world = World::with_members(1);
    for _ in 1..CONNECTIONS_PER_GAME_MAX {
        let conn = world.raw_enter(Purpose::Join(code("TEA")));
        assert!(matches!(world.heard[&conn][..], [FromRelay::Entered(_), FromRelay::Probe(_)]));
    }
    let conn = world.raw_enter(Purpose::Join(code("TEA")));
    assert_eq!(world.heard[&conn], [FromRelay::Refused(Refusal::Busy)]);
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let mut world = World::new();
    let conn = world.raw();
    world.run_for(ENTER_WITHIN);
    assert_eq!(world.closed.get(&conn), Some(&CloseReason::Silent));
    assert_eq!(world.directory.usage(), Default::default());
}

#[test]
fn only_the_hosts_listing_shows_while_peers_are_connected() {
    let mut world = World::with_members(2);
    assert_eq!(world.directory.games().count(), 0);
    let conn = world.seats[1].conn.expect("connected");
    world.raw_send(conn, &ToRelay::Listing(listing(7)));
    assert_eq!(world.directory.games().count(), 0);
    let now = world.now;
    world.seats[0].client.set_listing(now, listing(2));
    world.settle();
    let games: Vec<_> = world.directory.games().collect();
    assert_eq!((games.len(), &games[0].code, &games[0].listing), (1, &code("TEA"), &listing(2)));
    world.kill(0);
    assert_eq!(world.directory.games().count(), 1);
    world.kill(1);
    assert_eq!(world.directory.games().count(), 0);
}

#[test]
fn a_lone_host_is_unlisted_while_it_answers_no_probe() {
    let mut world = World::with_members(1);
    let now = world.now;
    world.seats[0].client.set_listing(now, listing(1));
    world.run_for(seconds(60));
    assert_eq!(world.directory.games().count(), 1, "it answers");
    let warrant = world.warrant(0);
    world.seats[0].frozen = true;
    world.run_for(seconds(4));
    assert_eq!(world.directory.games().count(), 1, "a short pause is none of the list's business");
    world.run_for(seconds(6));
    assert_eq!(world.directory.games().count(), 0);
    let refused = world.create("TEA");
    assert_eq!(world.events(refused), [ClientEvent::Refused(Refusal::CodeTaken)], "the code is its own");
    world.seats[0].frozen = false;
    world.run_for(seconds(3));
    assert_eq!(world.directory.games().count(), 1);
    assert_eq!(world.warrant(0), warrant);
}

#[test]
fn a_code_is_free_15_s_after_the_last_connection_was_lost() {
    let mut world = World::with_members(2);
    let first = world.warrant(0).session;
    world.kill(0);
    let refused = world.create("TEA");
    assert_eq!(world.events(refused), [ClientEvent::Refused(Refusal::CodeTaken)]);
    world.kill(1);
    world.run_for(almost(CODE_KEPT_FOR));
    let refused = world.create("TEA");
    assert_eq!(
        world.events(refused),
        [ClientEvent::Refused(Refusal::CodeTaken)],
        "its members may come back"
    );
    world.run_for(millis(1));
    let founder = world.create("TEA");
    assert_ne!(world.warrant(founder).session, first);
    assert!(world.disk.contains_key(&first), "the ended session's term is remembered");
}

#[test]
fn a_game_is_unlisted_when_its_last_member_leaves() {
    let mut world = World::with_members(2);
    let now = world.now;
    for i in 0..2 {
        world.seats[i].client.set_listing(now, listing(2));
    }
    world.settle();
    world.seats[0].client.leave(now);
    world.settle();
    assert_eq!(world.directory.games().count(), 1, "the other goes on");
    world.seats[1].client.leave(now);
    world.settle();
    assert_eq!(world.directory.games().count(), 0);
    let stranger = world.join("TEA");
    assert_eq!(world.events(stranger), [ClientEvent::Refused(Refusal::UnknownGame)]);
    let founder = world.create("TEA");
    assert!(matches!(world.events(founder)[..], [ClientEvent::Entered(_)]));
    assert_eq!(world.directory.games().count(), 0, "the next game of that name lists itself");
}

#[test]
fn members_are_told_which_peer_is_gone() {
    let mut world = World::with_members(3);
    world.events(2);
    let (first, second) = (world.peer(0), world.peer(1));
    world.kill(1);
    assert_eq!(world.events(2), [ClientEvent::Gone(second)]);
    let (now, conn) = (world.now, world.seats[0].conn.expect("connected"));
    world.seats[0].client.leave(now);
    world.settle();
    let events = world.events(2);
    let [ClientEvent::Gone(gone), ClientEvent::Successor(next)] = events[..] else { panic!("{events:?}") };
    assert_eq!((gone, next.host), (first, world.peer(2)));
    assert_eq!(world.closed.get(&conn), Some(&CloseReason::Left));
    world.run_for(seconds(10));
    assert!(
        matches!(world.events(0)[..], [ClientEvent::Entered(_), ClientEvent::Gone(gone)] if gone == second)
    );
    assert_eq!(world.directory.usage().connections, 1);
}

#[test]
fn signals_and_packets_stay_within_their_game() {
    let mut world = World::with_members(2);
    let stranger = world.create("MILK");
    let (ann, bob) = (world.peer(0), world.peer(1));
    let offer = Signal::Offer(3, "sdp".to_owned());
    for i in [0, stranger] {
        let now = world.now;
        world.seats[i].client.signal(now, bob, offer.clone(), true);
        let bytes = world.seats[i].client.forward(bob, Mode::Reliable, b"bulk").expect("entered");
        let conn = world.seats[i].conn.expect("connected");
        world.raw_bytes(conn, &bytes);
    }
    let heard: Vec<_> = world.events(1).into_iter().skip(1).collect();
    let forwarded = ClientEvent::Forwarded { from: ann, mode: Mode::Reliable, payload: b"bulk".to_vec() };
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard.contains(&ClientEvent::Signal(ann, offer)) && heard.contains(&forwarded));
    assert!(world.closed.is_empty(), "a packet for somebody unknown is no offence");
    assert_eq!(world.seats[0].client.forward(PeerId(1), Mode::Unreliable, &[0; 1_201]), None);
}

#[test]
fn a_newcomer_enters_while_the_host_is_away() {
    let mut world = World::with_members(2);
    world.kill(0);
    let newcomer = world.join("TEA");
    assert_eq!(world.warrant(newcomer).host, world.peer(0));
    world.claim(1, 2);
    assert_eq!(world.warrant(newcomer).host, world.peer(1));
    world.run_for(millis(1));
}

#[test]
fn signatures_are_verified_when_a_message_is_read() {
    let mut world = World::with_members(2);
    let (pass, warrant) = (world.seats[1].client.pass().expect("entered"), world.warrant(1));
    let purpose = Purpose::Resume(code("TEA"), pass, warrant);
    let enter = ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: PARAMS, purpose });
    let bytes = RelayFrame::control(&enter);
    let others = samovar_roster::authority::Signatory::new(&[77; 32]).key();
    for (key, is_let_in) in [(others, false), (world.directory.key(), true)] {
        let (conn, now) = (world.raw(), world.now);
        world.directory.handle_incoming(now, conn, Incoming::read(&key, &bytes));
        world.settle();
        let first = &world.heard[&conn][0];
        assert_eq!(matches!(first, FromRelay::Entered(_)), is_let_in, "{first:?}");
        assert_eq!(*first == FromRelay::Refused(Refusal::BadPass), !is_let_in);
    }
}
