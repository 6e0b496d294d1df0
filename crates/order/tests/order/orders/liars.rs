//! Members and hosts that lie about their streams, their epoch, or other members.

use samovar_order::{Event, UNSTABLE_BYTES_MAX};
use samovar_wire::order::{Frame, Install, Report, Run, Want};
use samovar_wire::{CloseCode, PeerId, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::orders::any::{AnyOrder, Kind};
use crate::orders::world::{Parcel, World, view_of};

const HOST: PeerId = PeerId(1);
const B: PeerId = PeerId(2);
const C: PeerId = PeerId(3);
const D: PeerId = PeerId(4);

fn payloads(order: &mut AnyOrder) -> Vec<(PeerId, Vec<u8>)> {
    let events = core::iter::from_fn(|| order.get_mut().poll_event());
    events
        .filter_map(|event| if let Event::Delivered(d) = event { Some((d.from, d.payload)) } else { None })
        .collect()
}

/// The host drops a member after it gave a number to that member's submission. That member is the host later.
#[test]
fn message_of_a_host_left_behind_is_not_delivered_twice() {
    for kind in [Kind::Total, Kind::Dispatcher] {
        let mut world = World::new(kind, 4);
        let message = world.send(B).unwrap();
        world.arrive((B, HOST));
        // B no longer receives the host's frames, and the host goes on without it.
        for _ in 0..2 {
            let view = world.next_view(HOST, vec![HOST, C, D]);
            world.publish(view);
            world.lanes.remove(&(HOST, B));
            world.drain_but(&[(HOST, B), (B, HOST)]);
        }
        assert_eq!(world.history.deliveries(C), [message], "{kind:?}");
        assert_eq!(world.history.views(C).len(), 3, "{kind:?}");
        world.lanes.clear();
        // The relay makes B the host; its links to members that it was away from are new.
        let view = world.next_view(B, vec![HOST, B, C, D]);
        // A session hears of the links first, then of the view; it is polled after that.
        world.is_eager = false;
        world.relink(B, HOST);
        world.publish(view);
        world.drain();
        assert_eq!(world.history.check_causal(), Ok(()), "{kind:?}");
    }
}

fn order_at(peer: PeerId, kind: Kind, n: u32) -> AnyOrder {
    World::new(kind, n).nodes.remove(&peer).unwrap()
}

/// A member reports more of a present member's stream than that member has sent.
#[test]
fn invented_items_of_a_present_member_are_not_delivered() {
    let mut world = World::new(Kind::Vector, 3);
    let view = world.next_view(HOST, world.view.members.clone());
    world.publish(view.clone());
    // C is hostile: it sends an invented report instead of its own.
    world.arrive((HOST, C));
    world.lanes.remove(&(C, HOST));
    let report = Report { view: view.id, epoch: 1, again: false, stable: 0, counts: vec![0, 1, 0] };
    let item = [&[1 + 4_u8][..], &[0], &99_u32.to_le_bytes()].concat();
    let fill = Frame::Fill(B, Run { epoch: 1, first: 1, encoded: &item });
    let lane = world.lanes.entry((C, HOST)).or_default();
    lane.push_back(Parcel::Frame(Frame::Report(report).to_bytes()));
    // B's report arrives before C's frames.
    while world.busy().contains(&(HOST, B)) || world.busy().contains(&(B, HOST)) {
        world.arrive((HOST, B));
        world.arrive((B, HOST));
    }
    let mut host = world.nodes.remove(&HOST).unwrap();
    let mut b = world.nodes.remove(&B).unwrap();
    let bytes =
        Frame::Report(Report { view: view.id, epoch: 1, again: false, stable: 0, counts: vec![0, 1, 0] });
    let _ = host.get_mut().handle_frame(C, &bytes.to_bytes());
    let _ = host.get_mut().handle_frame(C, &fill.to_bytes());
    let said: Vec<_> = core::iter::from_fn(|| host.get_mut().poll_transmit()).collect();
    for transmit in said.into_iter().filter(|transmit| transmit.to == B) {
        let _ = b.get_mut().handle_frame(HOST, &transmit.bytes);
    }
    assert_eq!(payloads(&mut host), [], "B has sent nothing at all");
}

/// A member reports more of a log than its former host, which is still here, has sent.
#[test]
fn invented_entries_of_a_living_former_host_are_ignored() {
    let mut world = World::new(Kind::Total, 3);
    // The host hands over to B.
    let view = world.next_view(B, world.view.members.clone());
    let mut b = world.nodes.remove(&B).unwrap();
    b.get_mut().handle_view(&view);
    let report = |counts| {
        Frame::Report(Report { view: view.id, epoch: 1, again: false, stable: 0, counts }).to_bytes()
    };
    assert_eq!(b.get_mut().handle_frame(HOST, &report(vec![0])), Ok(()));
    let _ = b.get_mut().handle_frame(C, &report(vec![1]));
    // An entry: flags, origin, number, message.
    let mut entry = vec![0];
    Writer::new(&mut entry).u32(HOST.0);
    entry.extend([1, b'!']);
    let mut encoded = Vec::new();
    Writer::new(&mut encoded).prefixed(&entry);
    let fill = Frame::Fill(HOST, Run { epoch: 1, first: 1, encoded: &encoded }).to_bytes();
    let _ = b.get_mut().handle_frame(C, &fill);
    assert_eq!(payloads(&mut b), [], "the former host has sent nothing at all");
}

/// A hostile host gives a member's message a number that the member never used.
#[test]
fn a_number_invented_by_a_lost_host_does_not_block_its_member() {
    let mut b = order_at(B, Kind::Total, 3);
    let mut entry = vec![0];
    let mut out = Writer::new(&mut entry);
    out.u32(B.0);
    out.varint(u64::MAX - 1);
    entry.push(b'!');
    let mut encoded = Vec::new();
    Writer::new(&mut encoded).prefixed(&entry);
    let items = Frame::Items { safe: 0, stable: 0, run: Run { epoch: 1, first: 1, encoded: &encoded } };
    let _ = b.get_mut().handle_frame(HOST, &items.to_bytes());
    drop(payloads(&mut b));
    // B hosts next, with no hostile member left.
    let mut view = view_of(3);
    view.id.term = view.id.term.next_witnessed();
    (view.host, view.members, view.backups) = (B, vec![B], vec![]);
    b.get_mut().handle_view(&view);
    drop(payloads(&mut b));
    assert_eq!(b.get_mut().send(b"tea"), Ok(()));
    assert_eq!(payloads(&mut b), [(B, b"tea".to_vec())], "it was taken");
}

/// One member repeats its REPORT of the former epoch.
#[test]
fn a_flood_of_reports_makes_a_host_send_bounded_bytes() {
    let mut world = World::new(Kind::Vector, 3);
    let item = [&[200_u8, 1][..], &[0; 200]].concat();
    let mut host = world.nodes.remove(&HOST).unwrap();
    // The hostile member sends as much as it may, and never announces that all have it.
    for first in 1..=2_000 {
        let run = Run { epoch: 1, first, encoded: &item };
        let _ = host.get_mut().handle_frame(C, &Frame::Items { safe: 0, stable: 0, run }.to_bytes());
    }
    let view = world.next_view(HOST, world.view.members.clone());
    host.get_mut().handle_view(&view);
    let report = |counts, epoch| {
        Frame::Report(Report { view: view.id, epoch, again: false, stable: 0, counts }).to_bytes()
    };
    assert_eq!(host.get_mut().handle_frame(B, &report(vec![0, 0, 0], 1)), Ok(()));
    assert_eq!(host.get_mut().handle_frame(C, &report(vec![0, 0, 2_000], 1)), Ok(()));
    while host.get_mut().poll_transmit().is_some() {}
    while host.get_mut().poll_event().is_some() {}
    let flood = report(vec![0, 0, 0], 1);
    for _ in 0..100 {
        let _ = host.get_mut().handle_frame(C, &flood);
    }
    let said: usize = core::iter::from_fn(|| host.get_mut().poll_transmit()).map(|out| out.bytes.len()).sum();
    assert!(said < 16 * UNSTABLE_BYTES_MAX, "{said} bytes for {} of it", 100 * flood.len());
}

/// Links begin anew while the host's INSTALL is slow.
#[test]
fn honest_member_stays_within_limits_when_its_link_is_renewed() {
    let mut world = World::new(Kind::Vector, 3);
    let view = world.next_view(HOST, world.view.members.clone());
    world.publish(view);
    // C hears of the view, but not how the former one ended.
    world.arrive((HOST, C));
    world.arrive((C, HOST));
    world.drain_but(&[(HOST, C), (B, C)]);
    assert_eq!((world.history.views(B).len(), world.history.views(C).len()), (2, 1));
    let [mut b, mut c] = [B, C].map(|peer| world.nodes.remove(&peer).unwrap());
    let mut is_said = true;
    let mut sent = 0;
    for link in 0..4 {
        while is_said && b.get_mut().send(&[7; 250]).is_ok() {
            sent += 1;
        }
        is_said = false;
        // B and C exchange frames until neither has more to send.
        let mut again = true;
        while core::mem::take(&mut again) {
            while let Some(out) = b.get_mut().poll_transmit() {
                if out.to == C {
                    again = true;
                    assert_eq!(c.get_mut().handle_frame(B, &out.bytes), Ok(()), "link {link}, {sent} sent");
                }
            }
            while let Some(out) = c.get_mut().poll_transmit() {
                if out.to == B {
                    again = true;
                    assert_eq!(b.get_mut().handle_frame(C, &out.bytes), Ok(()));
                }
            }
        }
        b.get_mut().handle_link(C);
        c.get_mut().handle_link(B);
    }
}

/// Removed members had sent frames of an epoch that never begins.
#[test]
fn frames_of_removed_members_are_dropped() {
    let mut host = order_at(HOST, Kind::Vector, 32);
    let said = |epoch| {
        let run = Run { epoch, first: 1, encoded: &[2, 0, 7] };
        Frame::Items { safe: 0, stable: 0, run }.to_bytes()
    };
    for n in 2..=32 {
        assert_eq!(host.get_mut().handle_frame(PeerId(n), &said(1 << 50)), Ok(()));
    }
    let full = host.get().stored_bytes();
    let mut view = view_of(32);
    view.id.number += 1;
    view.members.truncate(2);
    host.get_mut().handle_view(&view);
    assert!(host.get().stored_bytes() < full / 10, "frames of gone members are dropped");
}

/// A member claims to be in an epoch that does not exist.
#[test]
fn report_of_an_epoch_that_was_not_begun_is_refused() {
    for epoch in [3, 1_000, (1 << 56) - 1] {
        let mut world = World::new(Kind::Total, 3);
        let view = world.next_view(HOST, world.view.members.clone());
        world.publish(view.clone());
        let report = Report { view: view.id, epoch, again: false, stable: 0, counts: vec![] };
        let host = world.nodes.get_mut(&HOST).unwrap().get_mut();
        let result = host.handle_frame(C, &Frame::Report(report).to_bytes());
        assert_eq!(result, Err(CloseCode::LimitExceeded), "epoch {epoch}");
    }
}

#[test]
fn a_new_host_refuses_a_report_of_an_epoch_that_cannot_exist() {
    let mut world = World::new(Kind::Total, 3);
    let view = world.next_view(B, world.view.members.clone());
    let heir = world.nodes.get_mut(&B).unwrap().get_mut();
    heir.handle_view(&view);
    let mut claim = |epoch| {
        let report = Report { view: view.id, epoch, again: false, stable: 0, counts: vec![] };
        heir.handle_frame(C, &Frame::Report(report).to_bytes())
    };
    let most = view.id.number + view.id.term.0;
    assert_eq!((claim(most + 1), claim(most)), (Err(CloseCode::LimitExceeded), Ok(())));
}

/// A hostile host names the last possible epoch, and is gone.
#[test]
fn members_reach_a_new_view_after_a_host_named_the_last_epoch() {
    let mut world = World::new(Kind::Total, 3);
    let view = world.next_view(HOST, world.view.members.clone());
    world.publish(view.clone());
    for peer in [B, C] {
        world.arrive((HOST, peer));
        let (epoch, members) = ((1 << 56) - 1, view.members.clone());
        let install = Install { epoch, view: view.id, host: HOST, members, asked: 1, cut: None };
        world.lanes.clear();
        let order = world.nodes.get_mut(&peer).unwrap();
        let _ = order.get_mut().handle_frame(HOST, &Frame::Install(install).to_bytes());
        // The member's frames to the hostile host are dropped.
        while order.get_mut().poll_transmit().is_some() {}
        while order.get_mut().poll_event().is_some() {}
    }
    world.crash(HOST, |_| 0);
    let view = world.next_view(B, vec![B, C]);
    world.publish(view);
    world.drain();
    assert_eq!(world.history.views(C).last(), Some(&world.view.id));
}

/// A hostile member announces that all have items that it sent to one member only, and is gone.
#[test]
fn host_does_not_wait_for_items_falsely_announced_as_stable() {
    let mut world = World::new(Kind::Vector, 3);
    let b = world.nodes.get_mut(&B).unwrap();
    let item = [1 + 4_u8, 0, 9, 0, 0, 0];
    for (stable, first, encoded) in [(0, 1, &item[..]), (1, 2, &[][..])] {
        let items = Frame::Items { safe: 0, stable, run: Run { epoch: 1, first, encoded } };
        assert_eq!(b.get_mut().handle_frame(C, &items.to_bytes()), Ok(()));
    }
    while b.get_mut().poll_event().is_some() {}
    world.crash(C, |_| 0);
    let view = world.next_view(HOST, vec![HOST, B]);
    world.publish(view);
    world.drain();
    let awaited: Vec<_> = world.nodes[&HOST].get().awaited().iter().copied().collect();
    assert_eq!(awaited, [], "they have reported and sent all they have");
    assert_eq!(world.history.views(HOST).last(), Some(&world.view.id));
}

/// An item of a vector order without dependencies.
fn item(text: u8) -> [u8; 3] {
    [2, 0, text]
}

/// The frames that an order sends to one peer.
fn said_to(order: &mut AnyOrder, to: PeerId) -> Vec<Vec<u8>> {
    let said = core::iter::from_fn(|| order.get_mut().poll_transmit());
    said.filter(|transmit| transmit.to == to).map(|transmit| transmit.bytes).collect()
}

#[test]
fn unsolicited_fill_is_ignored() {
    let mut host = order_at(HOST, Kind::Vector, 3);
    let fill = Frame::Fill(B, Run { epoch: 1, first: 1, encoded: &item(7) }).to_bytes();
    assert_eq!(host.get_mut().handle_frame(C, &fill), Ok(()));
    assert_eq!(payloads(&mut host), []);
    assert_eq!(host.get_mut().handle_frame(B, &fill), Ok(()));
    assert_eq!(payloads(&mut host), [(B, vec![7])], "the owner may fill");
}

#[test]
fn only_the_host_is_sent_wanted_items() {
    let mut b = order_at(B, Kind::Vector, 3);
    b.get_mut().send(b"tea").unwrap();
    [HOST, C].into_iter().for_each(|to| drop(said_to(&mut b, to)));
    let want = Frame::Want(Want { owner: B, epoch: 1, first: 1, last: 1 }).to_bytes();
    assert_eq!(b.get_mut().handle_frame(C, &want), Ok(()));
    assert_eq!(said_to(&mut b, C), Vec::<Vec<u8>>::new());
    assert_eq!(b.get_mut().handle_frame(HOST, &want), Ok(()));
    assert_eq!(said_to(&mut b, HOST).len(), 1);
}

#[test]
fn install_is_ignored_while_an_item_up_to_its_cut_is_missing() {
    let mut world = World::new(Kind::Vector, 3);
    let view = world.next_view(HOST, world.view.members.clone());
    let b = world.nodes.get_mut(&B).unwrap();
    b.get_mut().handle_view(&view);
    let install = |cut| Install {
        epoch: 2,
        view: view.id,
        host: HOST,
        members: view.members.clone(),
        asked: 1,
        cut: Some(cut),
    };
    let begins = |b: &mut AnyOrder| {
        core::iter::from_fn(|| b.get_mut().poll_event()).any(|event| matches!(event, Event::View(_)))
    };
    begins(b);
    let bytes = Frame::Install(install(vec![0, 0, 1])).to_bytes();
    assert_eq!(b.get_mut().handle_frame(HOST, &bytes), Ok(()));
    assert!(!begins(b), "an item of C is missing");
    let bytes = Frame::Install(install(vec![0, 0, 0])).to_bytes();
    assert_eq!(b.get_mut().handle_frame(HOST, &bytes), Ok(()));
    assert!(begins(b));
}

#[test]
fn a_report_of_items_that_cannot_exist_is_refused() {
    let mut host = order_at(HOST, Kind::Vector, 3);
    let view = view_of(3).id;
    let mut has = |counts| {
        let report = Report { view, epoch: 1, again: false, stable: 0, counts };
        host.get_mut().handle_frame(C, &Frame::Report(report).to_bytes())
    };
    assert_eq!(has(vec![1, 0, 0]), Err(CloseCode::LimitExceeded), "the host has sent nothing");
    assert_eq!(has(vec![0, 4_097, 0]), Err(CloseCode::LimitExceeded), "B would wait for all earlier ones");
    assert_eq!(has(vec![0, 4_096, 0]), Ok(()));
    assert_eq!(has(vec![0, 0]), Err(CloseCode::Malformed));
}

#[test]
fn frames_of_a_future_epoch_are_kept_for_few_senders() {
    let mut host = order_at(HOST, Kind::Vector, 3);
    let said = Frame::Items { safe: 0, stable: 0, run: Run { epoch: 2, first: 1, encoded: &item(7) } };
    let mut kept = |peers: core::ops::Range<u32>| {
        for n in peers {
            assert_eq!(host.get_mut().handle_frame(PeerId(n), &said.to_bytes()), Ok(()));
        }
        host.get().stored_bytes()
    };
    let full = kept(100..132);
    assert_eq!(kept(132..1_000), full);
}

#[test]
fn only_members_submit_and_only_in_the_present_epoch() {
    let mut host = order_at(HOST, Kind::Total, 3);
    let submit = |epoch| {
        let item = [2, 0, 7];
        Frame::Submit(0, Run { epoch, first: 1, encoded: &item }).to_bytes()
    };
    for (from, epoch) in [(C, 0), (C, 2), (PeerId(9), 1)] {
        assert_eq!(host.get_mut().handle_frame(from, &submit(epoch)), Ok(()));
        assert_eq!(payloads(&mut host), [], "{from} in epoch {epoch}");
    }
    assert_eq!(host.get_mut().handle_frame(C, &submit(1)), Ok(()));
    assert_eq!(payloads(&mut host), [(C, vec![7])]);
}
