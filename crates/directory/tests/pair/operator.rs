//! The relay's operator sees games, and gives orders (PROTOCOL §5.2).

use samovar_directory::{CloseReason, HostChange, Note, OperatorError, Origin};
use samovar_wire::relay::{FromRelay, Purpose, Refusal};
use samovar_wire::{PeerPass, Warrant};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_directory::{ClientEvent, ConnId};

use crate::world::{World, code, seconds};

const EVE: Option<Origin> = Some(Origin(7));

fn join() -> Purpose {
    Purpose::Join(code("TEA"))
}

impl World {
    fn refused(&self, conn: ConnId) -> Option<Refusal> {
        match self.closed.get(&conn) {
            Some(CloseReason::Refused(refusal)) => Some(*refusal),
            _ => None,
        }
    }

    fn name_raw(&mut self, host: ConnId, peers: &[samovar_wire::PeerId]) {
        self.raw_send(host, &samovar_wire::relay::ToRelay::Members(peers.to_vec(), 0));
    }

    fn pass_of(&self, conn: ConnId) -> (PeerPass, Warrant) {
        let entered = self.heard[&conn].iter().find_map(|said| match said {
            FromRelay::Entered(entered) => Some((entered.pass, entered.warrant)),
            _ => None,
        });
        entered.expect("it has entered")
    }
}

#[test]
fn the_operator_sees_games_and_their_members() {
    let mut world = World::with_members(2);
    let stranger = world.raw_enter_from(EVE, join());
    let third = world.raw_peer(stranger);
    world.run_for(seconds(3));
    let reports: Vec<_> = world.directory.reports(world.now).collect();
    let [game] = &reports[..] else { panic!("one game: {reports:?}") };
    assert_eq!((game.code.as_str(), game.host), ("TEA", Some(world.peer(0))));
    let mut named: Vec<_> = game.members.iter().map(|member| (member.peer, member.is_named)).collect();
    named.sort();
    let mut expected = vec![(world.peer(0), true), (world.peer(1), true), (third, false)];
    expected.sort();
    assert_eq!(named, expected);
    assert!(game.members.iter().all(|member| member.entered >= seconds(3)));
}

#[test]
fn a_member_that_the_operator_puts_out_is_out_of_the_session() {
    let mut world = World::with_members(3);
    let eve = world.raw_enter_from(EVE, join());
    let (pass, warrant) = world.pass_of(eve);
    world.name_peers(0, vec![world.peer(0), world.peer(1), world.peer(2), pass.peer]);
    world.directory.put_out(world.now, &code("TEA"), pass.peer).unwrap();
    world.settle();
    assert_eq!(world.refused(eve), Some(Refusal::Barred));
    assert!(world.seats[0].events.contains(&ClientEvent::PutOut(pass.peer)), "the host is told");
    let back = world.raw_enter_from(EVE, Purpose::Resume(code("TEA"), pass, warrant));
    assert_eq!(world.refused(back), Some(Refusal::Barred));
    let newcomer = world.raw_enter_from(EVE, join());
    assert!(world.pass_of(newcomer).0.peer != pass.peer, "it may come back as a newcomer");
    let reloaded = world.raw_enter_from(EVE, Purpose::Rejoin(code("TEA"), pass));
    assert!(world.pass_of(reloaded).0.peer != pass.peer, "also a page that still has its pass");
}

#[test]
fn a_host_that_names_a_barred_member_is_told() {
    let mut world = World::with_members(2);
    let eve = world.raw_enter_from(EVE, join());
    let (pass, _) = world.pass_of(eve);
    let peers = vec![world.peer(0), world.peer(1), pass.peer];
    world.name_peers(0, peers.clone());
    world.directory.put_out(world.now, &code("TEA"), pass.peer).unwrap();
    world.settle();
    world.seats[0].events.clear();
    world.run_for(seconds(1));
    // For example because another host was told, and died.
    world.name_peers(0, vec![world.peer(0), world.peer(1)]);
    world.run_for(seconds(1));
    world.name_peers(0, peers);
    assert!(world.seats[0].events.contains(&ClientEvent::PutOut(pass.peer)));
}

#[test]
fn a_host_that_is_put_out_is_succeeded_at_once() {
    let mut world = World::with_members(3);
    let host = world.peer(0);
    world.directory.put_out(world.now, &code("TEA"), host).unwrap();
    world.settle();
    let warrant = world.seats[1].client.warrant().unwrap();
    assert_eq!(warrant.host, world.peer(1), "the first in the line");
    assert!(
        world.notes.iter().any(|note| {
            matches!(note, Note::HostChanged { cause: HostChange::PutOut, recovery: None, .. })
        })
    );
    assert!(world.seats[0].over);
    // The next host still has the former one in its view.
    world.name_peers(1, vec![world.peer(1), world.peer(2), host]);
    assert!(world.seats[1].events.contains(&ClientEvent::PutOut(host)));
}

#[test]
fn a_peer_that_is_put_out_gets_no_term_on_its_way_to_disk() {
    let mut world = World::with_members(3);
    let [first, second] = [world.peer(0), world.peer(1)];
    world.disk_works = false;
    for peer in [first, second] {
        world.directory.put_out(world.now, &code("TEA"), peer).unwrap();
        world.settle();
    }
    world.disk_works = true;
    world.write();
    world.settle();
    assert_eq!(world.warrant(2).host, world.peer(2));
    assert!(world.seats[0].over && world.seats[1].over);
}

#[test]
fn an_ended_game_lets_nobody_in_for_a_day() {
    let mut world = World::with_members(2);
    let eve = world.raw_enter_from(EVE, join());
    let (pass, warrant) = world.pass_of(eve);
    world.name_peers(0, vec![world.peer(0), world.peer(1), pass.peer]);
    world.directory.end_game(world.now, &code("TEA")).unwrap();
    world.settle();
    assert_eq!(world.refused(eve), Some(Refusal::Ended));
    assert!(world.seats.iter().all(|seat| seat.over));
    assert_eq!(world.directory.usage().games, 0);
    let ways = || [join(), Purpose::Rejoin(code("TEA"), pass), Purpose::Resume(code("TEA"), pass, warrant)];
    for hours in [0, 1, 22] {
        world.run_for(seconds(hours * 3_600));
        for way in ways() {
            let late = world.raw_enter(way);
            assert_eq!(world.refused(late), Some(Refusal::Ended));
        }
    }
    world.kill_relay();
    world.start_relay();
    for hours in [0, 1, 22] {
        world.run_for(seconds(hours * 3_600));
        for way in ways() {
            let late = world.raw_enter(way);
            assert_eq!(world.refused(late), Some(Refusal::Ended), "also after the relay restarted");
        }
    }
}

#[test]
fn no_host_makes_the_relay_forget_whom_the_operator_put_out() {
    let mut world = World::with_members(2);
    let eve = world.raw_enter_from(EVE, join());
    let (pass, warrant) = world.pass_of(eve);
    world.name_peers(0, vec![world.peer(0), world.peer(1), pass.peer]);
    world.directory.put_out(world.now, &code("TEA"), pass.peer).unwrap();
    for made_up in 0..100 {
        let now = world.now;
        world.seats[0].client.bar(now, samovar_wire::PeerId(made_up));
        world.run_for(seconds(1));
    }
    let back = world.raw_enter_from(EVE, Purpose::Resume(code("TEA"), pass, warrant));
    assert_eq!(world.refused(back), Some(Refusal::Barred));
}

#[test]
fn a_banned_member_that_was_alone_stays_out() {
    let mut world = World::new();
    let eve = world.raw_enter_from(EVE, Purpose::Create(Some(code("TEA"))));
    let (pass, warrant) = world.pass_of(eve);
    let bob = world.raw_enter(join());
    world.name_raw(eve, &[pass.peer, world.raw_peer(bob)]);
    world.raw_send(bob, &samovar_wire::relay::ToRelay::Leave);
    world.directory.ban(world.now, eve);
    world.settle();
    assert_eq!(world.refused(eve), Some(Refusal::Banned));
    let elsewhere = world.raw_enter(Purpose::Resume(code("TEA"), pass, warrant));
    assert_eq!(world.refused(elsewhere), Some(Refusal::Barred));
}

#[test]
fn a_lonely_game_that_was_ended_stays_so() {
    let mut world = World::with_members(1);
    world.directory.end_game(world.now, &code("TEA")).unwrap();
    world.settle();
    let late = world.raw_enter(join());
    assert_eq!(world.refused(late), Some(Refusal::Ended));
}

#[test]
fn a_banned_connection_hears_why_and_its_member_is_put_out() {
    let mut world = World::with_members(2);
    let eve = world.raw_enter_from(EVE, join());
    let (pass, _) = world.pass_of(eve);
    world.name_peers(0, vec![world.peer(0), world.peer(1), pass.peer]);
    world.directory.ban(world.now, eve);
    world.settle();
    assert_eq!(world.refused(eve), Some(Refusal::Banned));
    assert!(world.seats[0].events.contains(&ClientEvent::PutOut(pass.peer)));
}

#[test]
fn orders_that_miss_say_what_is_missing() {
    let mut world = World::with_members(1);
    let now = world.now;
    let host = world.peer(0);
    assert_eq!(world.directory.put_out(now, &code("MILK"), host), Err(OperatorError::NoSuchGame));
    let unknown = samovar_wire::PeerId(host.0 ^ 1);
    assert_eq!(world.directory.put_out(now, &code("TEA"), unknown), Err(OperatorError::NoSuchMember));
    assert_eq!(world.directory.end_game(now, &code("MILK")), Err(OperatorError::NoSuchGame));
    let own = world.own_enters(Purpose::Create(Some(code("OWN"))));
    let (pass, _) = world.pass_of(own);
    assert_eq!(world.directory.put_out(now, &code("OWN"), pass.peer), Err(OperatorError::Own));
    world.directory.ban(now, own);
    world.settle();
    assert_eq!(world.refused(own), None);
}
