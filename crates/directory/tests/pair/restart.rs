//! The relay dies and comes back, or a game loses all its connections for a moment.

use samovar_directory::limits::{
    ALIVE_HOLDS, CODE_KEPT_FOR, CODE_RESERVED_FOR, DORMANT_FOR, HOST_GRACE, RESTORED_WAIT,
};
use samovar_directory::{ClientEvent, TermRecord};
use samovar_roster::authority::Signatory;
use samovar_wire::relay::{Denial, FromRelay, Purpose, Refusal};
use samovar_wire::{PeerId, SessionId, Term};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{PARAMS, World, almost, code, denied, listing, millis, seconds, term};

#[test]
fn a_game_returns_to_a_restarted_relay_under_its_code() {
    let mut world = World::with_members(3);
    let now = world.now;
    world.seats[0].client.set_listing(now, listing(3));
    world.settle();
    let (peers, warrant) = ([0, 1, 2].map(|i| world.peer(i)), world.warrant(0));
    world.kill_relay();
    world.run_for(seconds(20));
    world.start_relay();
    let newcomer = world.join("TEA");
    assert!(world.events(newcomer).is_empty(), "nobody is back yet, so it waits");
    world.run_for(RESTORED_WAIT);
    for (i, peer) in peers.into_iter().enumerate() {
        assert_eq!(world.peer(i), peer);
        let mut events = world.events(i);
        // A member that is back before the host is told that the host has no connection.
        events.pop_if(|event| i > 0 && *event == ClientEvent::Gone(peers[0]));
        assert!(events.ends_with(&[ClientEvent::Lost, ClientEvent::Restored]), "{events:?}");
    }
    assert_eq!(world.warrant(newcomer), warrant);
    assert_eq!(world.directory.games().next().map(|game| game.listing), Some(listing(3)));
}

#[test]
fn a_restarted_relay_is_told_the_members_again() {
    let mut world = World::with_members(3);
    world.name_members(0, &[0, 1, 2]);
    world.kill_relay();
    world.start_relay();
    world.run_for(seconds(6));
    let strangers: Vec<_> = (0..3).map(|_| world.join("TEA")).collect();
    world.claim_for(1, 2, 1);
    world.claim_for(strangers[0], 2, strangers[0]);
    assert_eq!(world.events(strangers[0]).last(), Some(&denied(2, Denial::NotAMember)));
    assert!(world.issued(2).is_empty(), "one of three");
    world.run_for(ALIVE_HOLDS + millis(1));
    world.claim_for(2, 2, 1);
    assert_eq!(world.warrant(0).host, world.peer(1), "two of three");
}

/// The relay dies before its disk knows the members that play on. They are the only ones that a host named; the members
/// that the disk knows have gone.
#[test]
fn members_that_the_disk_does_not_know_bring_their_game_back() {
    let mut world = World::with_members(2);
    world.name_members(0, &[0, 1]);
    world.disk_works = false;
    let (member, stranger) = (world.join("TEA"), world.join("TEA"));
    world.name_members(0, &[0, 1, member]);
    let peers = [member, stranger].map(|i| world.peer(i));
    assert!(world.disk.values().all(|record| !record.members.contains(&peers[0])));
    world.kill_relay();
    (0..2).for_each(|i| world.kill(i));
    world.disk_works = true;
    world.seats[member].cut = true;
    world.start_relay();
    world.run_for(seconds(6));
    assert!(!world.seats[stranger].client.is_entered(), "nobody has named it, so it waits");
    world.seats[member].cut = false;
    world.run_for(seconds(6));
    assert!([member, stranger].iter().all(|&i| world.seats[i].client.is_entered()));
    assert_eq!([member, stranger].map(|i| world.peer(i)), peers);
    // The member plays on as the host's heir. The stranger has no say.
    world.run_for(almost(CODE_KEPT_FOR));
    world.miss(stranger, stranger);
    world.miss(member, member);
    world.run_for(seconds(6));
    assert_eq!(world.warrant(stranger).host, peers[0]);
    let refused = world.create("TEA");
    assert_eq!(world.events(refused), [ClientEvent::Refused(Refusal::CodeTaken)]);
}

/// A host named this peer once and then went on without it. Its pass brings the game back, and gives it no vote.
#[test]
fn a_former_members_pass_gives_no_vote() {
    let mut world = World::with_members(3);
    world.name_members(0, &[0, 1, 2]);
    world.name_members(0, &[0, 1]);
    world.kill_relay();
    (0..2).for_each(|i| world.seats[i].cut = true);
    world.start_relay();
    world.run_for(seconds(8));
    assert!(world.seats[2].client.is_entered());
    world.miss(2, 2);
    assert_eq!(world.events(2).last(), Some(&denied(2, Denial::NotAMember)));
    (0..2).for_each(|i| world.seats[i].cut = false);
    world.run_for(seconds(6));
    assert_eq!(world.warrant(2).host, world.peer(0));
}

#[test]
fn a_newcomer_is_refused_if_no_member_comes_back_in_time() {
    let mut world = World::with_members(1);
    world.kill_relay();
    world.seats[0].cut = true;
    world.start_relay();
    let newcomer = world.join("TEA");
    world.run_for(almost(RESTORED_WAIT));
    assert!(world.events(newcomer).is_empty());
    assert_eq!(world.directory.usage().awaiting, 1);
    world.run_for(millis(1));
    assert_eq!(world.events(newcomer), [ClientEvent::Refused(Refusal::UnknownGame)]);
    assert_eq!(world.directory.usage().awaiting, 0);
}

#[test]
fn the_code_of_a_restored_game_is_kept_for_a_minute() {
    let mut world = World::with_members(1);
    world.seats[0].client.set_named(true);
    world.kill_relay();
    world.seats[0].cut = true;
    world.start_relay();
    world.run_for(almost(CODE_RESERVED_FOR));
    let refused = world.create("TEA");
    assert_eq!(world.events(refused), [ClientEvent::Refused(Refusal::CodeTaken)]);
    world.run_for(millis(1));
    let founder = world.create("TEA");
    assert!(matches!(world.events(founder)[..], [ClientEvent::Entered(_)]));
    world.seats[0].cut = false;
    world.run_for(seconds(10));
    let told = world.events(0);
    assert!(matches!(told[..2], [ClientEvent::Entered(_), ClientEvent::Lost]), "{told:?}");
    assert!(
        told.len() > 2 && told[2..].iter().all(|event| *event == ClientEvent::CodeTaken),
        "it still tries"
    );
    let now = world.now;
    world.seats[founder].client.leave(now);
    world.run_for(seconds(10));
    assert_eq!(world.events(0), [ClientEvent::Restored]);
}

/// A game of three whose relay restarts. Only seat `back` comes back, because the others are cut off. It names
/// `members`, if the test gives some, and leaves. The code is kept for the others, which all come back once they can
/// connect again.
fn only_one_is_back_and_leaves(back: usize, members: Option<&[usize]>) {
    let mut world = World::with_members(3);
    world.name_members(0, &[0, 1, 2]);
    world.kill_relay();
    let away: Vec<_> = (0..3).filter(|&i| i != back).collect();
    away.iter().for_each(|&i| world.seats[i].cut = true);
    world.start_relay();
    world.run_for(seconds(8));
    assert!(world.seats[back].client.is_entered());
    if let Some(members) = members {
        world.name_members(back, members);
        world.settle();
    }
    let now = world.now;
    world.seats[back].client.leave(now);
    world.settle();
    let refused = world.create("TEA");
    assert_eq!(world.events(refused), [ClientEvent::Refused(Refusal::CodeTaken)]);
    away.iter().for_each(|&i| world.seats[i].cut = false);
    world.run_for(seconds(10));
    for i in away {
        assert!(world.seats[i].client.is_entered(), "{i}");
    }
}

#[test]
fn a_restored_code_is_kept_when_the_first_to_return_leaves() {
    only_one_is_back_and_leaves(2, None);
}

/// While the relay was away, the others voted for another host, and the previous host removed them all.
#[test]
fn a_restored_code_is_kept_when_a_lone_host_leaves() {
    only_one_is_back_and_leaves(0, Some(&[0]));
}

#[test]
fn a_code_restored_30_s_ago_is_free_when_all_have_left() {
    let mut world = World::with_members(1);
    world.name_members(0, &[0]);
    world.kill_relay();
    world.start_relay();
    world.run_for(seconds(30));
    assert_eq!(world.events(0).last(), Some(&ClientEvent::Restored));
    let now = world.now;
    world.seats[0].client.leave(now);
    world.settle();
    let founder = world.create("TEA");
    assert!(matches!(world.events(founder)[..], [ClientEvent::Entered(_)]));
}

#[test]
fn terms_continue_from_where_they_were_before_a_restart() {
    let mut world = World::with_members(3);
    world.kill(0);
    world.claim(1, 2);
    world.kill_relay();
    world.start_relay();
    world.run_for(seconds(6));
    world.kill(1);
    world.claim(2, 3);
    assert_eq!((world.warrant(2).term, world.warrant(2).host), (term(3), world.peer(2)));
}

#[test]
fn a_host_that_was_away_learns_of_its_successor() {
    let mut world = World::with_members(2);
    world.seats[0].cut = true;
    world.drop_socket(0);
    world.settle();
    world.claim(1, 2);
    world.kill_relay();
    world.start_relay();
    // The successor dies with the relay, so the former host is the first to be back.
    world.kill(1);
    world.seats[0].cut = false;
    world.events(0);
    world.run_for(seconds(6));
    let warrant = world.warrant(0);
    assert_eq!((warrant.term, warrant.host), (term(2), world.peer(1)));
    let gone = ClientEvent::Gone(world.peer(1));
    assert_eq!(world.events(0), [ClientEvent::Restored, ClientEvent::Issued(warrant), gone]);
}

#[test]
fn a_member_that_is_back_before_the_host_cannot_depose_it() {
    let mut world = World::with_members(2);
    world.kill_relay();
    world.seats[0].cut = true;
    world.start_relay();
    world.run_for(seconds(1));
    world.events(1);
    world.miss(1, 1);
    world.run_for(seconds(1));
    assert!(world.events(1).is_empty(), "the claim waits for the host");
    world.seats[0].cut = false;
    world.run_for(HOST_GRACE);
    assert_eq!(world.events(1).first(), Some(&denied(2, Denial::HostIsAlive)));
    assert!(world.issued(2).is_empty());
}

#[test]
fn a_host_that_does_not_come_back_is_replaced_after_its_grace() {
    let mut world = World::with_members(2);
    world.kill_relay();
    world.kill(0);
    world.start_relay();
    world.run_for(seconds(1));
    world.miss(1, 1);
    world.run_for(HOST_GRACE);
    assert_eq!(world.warrant(1).host, world.peer(1));
}

#[test]
fn a_game_is_listed_again_after_all_its_sockets_broke() {
    let mut world = World::with_members(2);
    world.drop_socket(0);
    world.drop_socket(1);
    assert_eq!(world.directory.usage().games, 0);
    world.run_for(seconds(1));
    assert_eq!((world.directory.usage().games, world.directory.usage().dormant), (1, 0));
    assert!(world.events(1).contains(&ClientEvent::Restored));
    assert_eq!(world.warrant(1).host, world.peer(0));
}

#[test]
fn the_later_of_two_restored_games_keeps_the_shared_code() {
    let mut world = World::with_members(2);
    let first = world.warrant(0).session;
    (0..2).for_each(|i| world.kill(i));
    world.run_for(CODE_KEPT_FOR);
    let second = world.create("TEA");
    let second_session = world.warrant(second).session;
    world.kill_relay();
    world.start_relay();
    let newcomer = world.join("TEA");
    world.run_for(seconds(6));
    assert_eq!(world.warrant(newcomer).session, second_session);
    assert_eq!(world.disk.len(), 2);
    assert!(world.disk.contains_key(&first));
}

#[test]
fn a_session_is_forgotten_a_day_after_its_last_connection() {
    let mut world = World::with_members(2);
    let session = world.warrant(0).session;
    world.run_for(DORMANT_FOR);
    (0..2).for_each(|i| world.kill(i));
    world.run_for(almost(DORMANT_FOR));
    assert!(world.forgotten.is_empty());
    world.run_for(millis(1));
    assert_eq!(world.forgotten, [session]);
    assert_eq!(world.directory.usage(), Default::default());
}

#[test]
fn a_relay_without_its_disk_takes_the_terms_members_show() {
    let mut world = World::with_members(3);
    world.outvote(&[1, 2], 2, 2);
    assert_eq!(world.warrant(0).host, world.peer(2));
    world.kill_relay();
    world.disk.clear();
    // One member comes back with an older warrant than the others.
    let purpose = {
        let signatory = Signatory::new(&world.secret);
        let session = world.warrant(0).session;
        let peer = PeerId(4_711);
        Purpose::Resume(
            code("TEA"),
            signatory.pass(session, peer, false),
            signatory.warrant(session, term(1), world.peer(0)),
        )
    };
    world.start_relay();
    let stale = world.raw_enter(purpose);
    world.run_for(seconds(6));
    assert_eq!(world.disk[&world.warrant(0).session].term, term(2));
    assert_eq!(world.heard[&stale].last(), Some(&FromRelay::Issued(world.warrant(0))));
}

#[test]
fn a_pass_or_warrant_not_signed_for_the_session_is_refused() {
    let mut world = World::with_members(1);
    let warrant = world.warrant(0);
    let (own, forger) = (Signatory::new(&world.secret), Signatory::new(&[66; 32]));
    let (session, other, peer) = (warrant.session, SessionId(5), world.peer(0));
    let cases = [
        (own.pass(other, peer, false), warrant),
        (own.pass(other, peer, false), own.warrant(other, term(1), peer).tampered(term(9))),
        (forger.pass(session, peer, false), warrant),
        (own.pass(session, peer, false), forger.warrant(session, term(9), peer)),
        (own.pass(session, peer, false), own.warrant(session, term(1), peer).tampered(term(9))),
    ];
    for (pass, warrant) in cases {
        let conn = world.raw_enter(Purpose::Resume(code("TEA"), pass, warrant));
        assert_eq!(world.heard[&conn], [FromRelay::Refused(Refusal::BadPass)]);
    }
    assert_eq!(world.warrant(0).term, term(1));
    assert!(world.seats[0].conn.is_some(), "the member itself is not disturbed");
    let renamed = Purpose::Resume(code("MILK"), own.pass(session, peer, false), warrant);
    let conn = world.raw_enter(renamed);
    assert_eq!(world.heard[&conn], [FromRelay::Refused(Refusal::BadPass)]);
}

trait Tampered {
    fn tampered(self, term: Term) -> Self;
}

impl Tampered for samovar_wire::Warrant {
    fn tampered(self, term: Term) -> Self {
        Self { term, ..self }
    }
}

#[test]
fn too_many_dormant_sessions_push_out_the_oldest() {
    let mut world = World::new();
    let records = (0..100_002).map(|n| TermRecord {
        session: SessionId(n + 1),
        code: code("TEA"),
        params: PARAMS,
        term: term(1),
        host: PeerId(1),
        begun: (term(1), PeerId(1)),
        members: Vec::new(),
        former: Vec::new(),
        barred: samovar_directory::Barred::default(),
        vouched: Vec::new(),
        serial: n,
    });
    let now = world.now;
    world.directory.restore(now, records);
    world.settle();
    assert_eq!(world.directory.usage().dormant, 100_000);
    assert_eq!(world.forgotten, [SessionId(1), SessionId(2)]);
    assert_eq!(world.directory.usage().codes, 1);
}
