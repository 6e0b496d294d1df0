//! A host puts members out.

use samovar_session::{Departure, EndReason, Event};
use samovar_wire::{CloseCode, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{TEAPOT, World, world_of};

fn departure_of(world: &World, at: PeerId, gone: PeerId) -> Vec<Departure> {
    let left = |event: &Event| match event {
        Event::MemberLeft { member, departure } if member.peer == gone => Some(*departure),
        _ => None,
    };
    world.events[&at].iter().filter_map(left).collect()
}

#[test]
fn member_that_is_put_out_ends_and_its_ticket_is_void() {
    for loss in [0, 20] {
        let (mut world, host, members) = world_of(51, loss, 4);
        world.run(1_000);
        let [out, other] =
            members.into_iter().filter(|&member| member != host).take(2).collect::<Vec<_>>()[..]
        else {
            panic!("three others")
        };
        let pot = world.create(out, TEAPOT, &[b"pot"]);
        world.run(1_000);
        let (seat, ticket) = (world.peers[&out].seat(), world.peers[&out].ticket());
        let now = world.now;
        assert!(world.peer(host).put_out(now, out));
        world.run(2_000);
        assert_eq!(
            world.events[&out].last(),
            Some(&Event::Ended(EndReason::Refused(CloseCode::PutOut))),
            "{loss} % loss"
        );
        for at in [host, other] {
            assert_eq!(departure_of(&world, at, out), [Departure::PutOut], "{loss} % loss");
            assert_eq!(world.peers[&at].object(pot).unwrap().owner(), host);
        }
        world.kill(out);
        let back = world.join(ticket);
        world.run(2_000);
        assert!(world.peers[&back].is_member());
        assert_ne!(world.peers[&back].seat(), seat, "the peer is a newcomer");
        world.assert_converged();
    }
}

#[test]
fn member_that_is_put_out_and_stays_is_not_heard() {
    let (mut world, host, members) = world_of(52, 0, 3);
    world.run(1_000);
    let (out, other) = (members[0], members[1]);
    // The member that is put out hears nothing of it.
    world.cuts = vec![(host, out), (other, out)];
    let now = world.now;
    assert!(world.peer(host).put_out(now, out));
    world.run(500);
    let pot = world.create(out, TEAPOT, &[b"pot"]);
    world.run(2_000);
    for at in [host, other] {
        assert!(!world.peers[&at].view().has(out));
        assert!(world.peers[&at].object(pot).is_none());
    }
    world.cuts.clear();
    world.run(2_000);
    assert!(world.events[&out].iter().any(|event| matches!(event, Event::Ended(_))));
}

#[test]
fn only_the_host_puts_out_and_only_other_members() {
    let (mut world, host, members) = world_of(53, 0, 3);
    world.run(1_000);
    let now = world.now;
    let stranger = PeerId(9_999);
    for (by, whom) in [(host, host), (host, stranger), (members[0], members[1]), (members[0], host)] {
        assert!(!world.peer(by).put_out(now, whom), "{by} {whom}");
    }
    world.run(1_000);
    assert_eq!(world.peers[&host].view().members().count(), 3);
}

#[test]
fn a_bar_puts_out_and_is_told_to_the_relay_once() {
    let (mut world, host, members) = world_of(54, 0, 3);
    world.run(1_000);
    let (out, now) = (members[0], world.now);
    assert!(!world.peer(out).bar(now, host));
    assert_eq!(world.peer(out).witness(now).poll_bar(), None);
    assert!(world.peer(host).bar(now, out));
    assert!(!world.peer(host).bar(now, out), "it is out already");
    assert_eq!(world.peer(host).witness(now).poll_bar(), Some(out));
    assert_eq!(world.peer(host).witness(now).poll_bar(), None);
    world.run(1_000);
    assert_eq!(world.events[&out].last(), Some(&Event::Ended(EndReason::Refused(CloseCode::PutOut))));
}
