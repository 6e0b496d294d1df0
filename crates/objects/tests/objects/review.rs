//! Defects that a review found: an unlucky order of messages closed links of honest peers, and false messages were
//! believed.

use samovar_objects::{Coding, Motion, Objects, Place, SchemaBuilder, Schemas, State};
use samovar_wire::object::{Announcement, Deaths, Granted, MessageKind, Traits, encode_announcement};
use samovar_wire::{CloseCode, Kind, ObjectId, PeerId, Reader, Receipt, Stamp, Term, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOST: PeerId = PeerId(1);
const A: PeerId = PeerId(2);
const B: PeerId = PeerId(3);
const POT: Traits = Traits::of(Kind(1));
const CRAFT: Traits = Traits::of(Kind(2));

fn schemas() -> Schemas {
    let mut builder = SchemaBuilder::default();
    let grid = |limit: i32, motion| Coding::Grid { width: 1, min: -limit, max: limit, step: 0.01, motion };
    builder.field("place", grid(100_000, Motion::Rated(1)));
    builder.field("velocity", grid(10_000, Motion::Smooth));
    Schemas::new().with(builder.build(CRAFT.kind))
}

fn peer_of(me: PeerId, term: u64, schemas: Schemas) -> Objects {
    let mut objects = Objects::new(me, HOST, Term(term), schemas);
    [HOST, A, B].into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
    objects
}

fn peer(me: PeerId) -> Objects {
    peer_of(me, 1, schemas())
}

fn craft(place: i32, velocity: i32) -> State {
    let mut state = State::default();
    [place, velocity].into_iter().for_each(|number| state.number(number));
    state
}

/// Delivers all reliable messages that `from` has for `to` now; returns their number.
fn tell(from: (PeerId, &mut Objects), to: (PeerId, &mut Objects)) -> usize {
    let (mut bytes, mut count) = (Vec::new(), 0);
    while let Some(pending) = from.1.poll_message(Time::ZERO, to.0, &mut bytes) {
        from.1.on_sent(to.0, pending, Receipt::Lane(0));
        let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
        to.1.handle_message(from.0, kind, &bytes[1..]).unwrap();
        bytes.clear();
        count += 1;
    }
    count
}

fn frame(from: &mut Objects, to: PeerId, now: u64, packet: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let place = Place { now: Time::from_micros(now), peer: to, packet, room: 1_100 };
    from.write_datagram(place, &|_| true, &mut bytes);
    bytes
}

fn announcement(id: ObjectId, owner: PeerId, stamp: Stamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    let head = Announcement::head(id, owner, stamp, POT, Time::ZERO);
    encode_announcement(&head, [&b"forged"[..]].into_iter(), &mut Writer::new(&mut bytes));
    bytes
}

fn destroy(id: ObjectId, stamp: Stamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    out.object_id(id);
    out.stamp(stamp);
    bytes
}

const fn stamp(counter: u32) -> Stamp {
    Stamp { term: Term(1), counter }
}

#[test]
fn packet_that_200_others_overtake_is_accepted() {
    let (mut a, mut b) = (peer(A), peer(B));
    let id = a.create_state(Time::ZERO, CRAFT, &craft(0, 100)).unwrap();
    tell((A, &mut a), (B, &mut b));
    // The link takes a packet that is up to 256 behind the newest (PROTOCOL §2.2).
    let mut late = Vec::new();
    for tick in 1..=200 {
        let now = tick * 16_667;
        a.set_state(Time::from_micros(now), id, &craft(tick as i32 * 3, 100 + tick as i32 % 7)).unwrap();
        let bytes = frame(&mut a, B, now, tick);
        if tick == 3 {
            late = bytes;
            continue;
        }
        b.handle_datagram(A, &bytes[1..]).unwrap();
        a.on_fate(B, tick, true);
    }
    assert_eq!(b.handle_datagram(A, &late[1..]), Ok(()));
    assert_eq!(b.get(id).unwrap().numbers(), a.get(id).unwrap().numbers());
}

#[test]
fn a_sample_newer_than_its_packet_arrives_unchanged() {
    let (mut a, mut b) = (peer(A), peer(B));
    let id = a.create_state(Time::from_micros(40_000), CRAFT, &craft(0, 5_000)).unwrap();
    tell((A, &mut a), (B, &mut b));
    for tick in 1..60 {
        let now = 40_000 + tick * 16_667;
        a.set_state(Time::from_micros(now), id, &craft(tick as i32 * 83, 5_000)).unwrap();
        // The packet's time lies before the sample's: a newcomer does not know the session's time yet, or the game
        // runs ahead of its packets.
        let bytes = frame(&mut a, B, if tick < 30 { 0 } else { now - 20_000 }, tick);
        assert!(!bytes.is_empty());
        b.handle_datagram(A, &bytes[1..]).unwrap();
        a.on_fate(B, tick, true);
        assert_eq!(b.get(id).unwrap().numbers(), a.get(id).unwrap().numbers(), "tick {tick}");
    }
}

#[test]
fn objects_between_a_thousand_tombstones_survive() {
    let (mut host, mut a) = (peer(HOST), peer(A));
    for _ in 0..2 {
        let ids: Vec<_> = (0..1_000).map_while(|_| host.create(Time::ZERO, POT, &[b"x"]).ok()).collect();
        ids.iter().step_by(2).for_each(|&id| host.destroy(id).unwrap());
    }
    let newcomer = PeerId(9);
    let mut new = Objects::new(newcomer, HOST, Term(1), schemas());
    new.add_peer(HOST);
    host.add_peer(newcomer);
    tell((HOST, &mut host), (newcomer, &mut new));
    assert!(new.iter().map(|o| o.id()).eq(host.iter().map(|o| o.id())), "{}", new.iter().count());
    // A new host tells every member of all ends; no living object is lost.
    tell((HOST, &mut host), (A, &mut a));
    let count = a.iter().count();
    let mut fresh = peer(HOST);
    for object in host.iter() {
        let kind = MessageKind::Create;
        let body = announcement(object.id(), HOST, object.stamp());
        assert!(fresh.handle_message(HOST, kind, &body).is_ok());
    }
    host.set_host(HOST, Term(1));
    tell((HOST, &mut host), (A, &mut a));
    assert_eq!(a.iter().count(), count);
}

#[test]
fn an_orphan_report_does_not_take_what_a_member_owns() {
    let (mut host, mut a) = (peer(HOST), peer(A));
    let id = a.create(Time::ZERO, POT, &[b"mine"]).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    let own = host.create(Time::ZERO, POT, &[b"the host's"]).unwrap();
    let gone = PeerId(7);
    host.add_peer(gone);
    host.remove_peer(gone);
    // A liar reports that the gone peer owned both, under stamps of this term that the host has never drawn.
    for id in [id, own] {
        let forged = announcement(id, gone, stamp(50));
        assert_eq!(host.handle_message(B, MessageKind::Orphan, &forged), Ok(()));
    }
    assert_eq!((host.get(id).unwrap().owner(), host.get(id).unwrap().field(0)), (A, &b"mine"[..]));
    assert_eq!(host.get(own).unwrap().field(0), b"the host's");
}

#[test]
fn object_of_an_owner_that_few_knew_ends_with_that_owner() {
    let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
    let id = a.create(Time::ZERO, POT, &[b"mine"]).unwrap();
    tell((A, &mut a), (B, &mut b));
    // A former host took the object, and only the object's creator hears of that. The former host is gone before the
    // next one begins.
    let former = PeerId(77);
    a.set_host(former, Term(1));
    a.add_peer(former);
    assert_eq!(a.handle_message(former, MessageKind::Migrate, &announcement(id, former, stamp(3))), Ok(()));
    for objects in [&mut host, &mut a, &mut b] {
        objects.set_host(HOST, Term(2));
    }
    a.remove_peer(former);
    a.report_orphans(|peer| peer == former);
    tell((A, &mut a), (HOST, &mut host));
    tell((HOST, &mut host), (A, &mut a));
    tell((HOST, &mut host), (B, &mut b));
    for objects in [&host, &a, &b] {
        assert!(objects.get(id).is_none(), "no member has it from its owner");
    }
}

#[test]
fn orphan_report_of_an_unmet_owner_takes_nothing_from_a_member() {
    let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
    let id = a.create(Time::ZERO, POT, &[b"mine"]).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (B, &mut b));
    // While the host slept, another host gave the object to a newcomer. Only B has heard of that.
    let stranger = PeerId(77);
    b.set_host(PeerId(9), Term(1));
    b.add_peer(stranger);
    let later = announcement(id, stranger, stamp(3));
    let mut word = Vec::new();
    Granted { id, stamp: stamp(3), owner: stranger }.encode(&mut Writer::new(&mut word));
    assert_eq!(b.handle_message(PeerId(9), MessageKind::Granted, &word), Ok(()));
    assert_eq!(b.handle_message(stranger, MessageKind::Migrate, &later), Ok(()));
    assert_eq!(b.get(id).unwrap().owner(), stranger);
    // Then the host hosts again, and the newcomer is no member of its view.
    for objects in [&mut host, &mut a, &mut b] {
        objects.set_host(HOST, Term(2));
    }
    b.remove_peer(stranger);
    b.report_orphans(|peer| peer == stranger);
    tell((B, &mut b), (HOST, &mut host));
    tell((HOST, &mut host), (A, &mut a));
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (B, &mut b));
    tell((HOST, &mut host), (B, &mut b));
    for objects in [&host, &a, &b] {
        let object = objects.get(id).expect("it lives everywhere");
        assert_eq!((object.owner(), object.stamp().term), (A, Term(2)));
    }
}

#[test]
fn ending_many_objects_makes_no_receiver_look_slow() {
    let mut host = peer(HOST);
    // B reads slowly: nothing is sent to it for now.
    for number in 1..=40_000 {
        let body = destroy(ObjectId { creator: A, number }, stamp(0));
        host.handle_message(A, MessageKind::Destroy, &body).unwrap();
    }
    assert!(!host.is_overdue(B), "the host would close the link of a peer that did nothing");
    let mut b = peer(B);
    assert!(tell((HOST, &mut host), (B, &mut b)) < 5_000, "many ends are told in runs");
    let late = announcement(ObjectId { creator: A, number: 17 }, A, stamp(0));
    b.handle_message(A, MessageKind::Create, &late).unwrap();
    assert_eq!(b.iter().count(), 0, "it ended");
}

#[test]
fn a_peer_that_is_linked_again_gets_the_newest_state() {
    let (mut a, mut b) = (peer(A), peer(B));
    let id = a.create_state(Time::ZERO, CRAFT, &craft(0, 100)).unwrap();
    tell((A, &mut a), (B, &mut b));
    for link in 0..2 {
        for tick in 1..40 {
            let now = (link * 40 + tick) * 16_667;
            a.set_state(Time::from_micros(now), id, &craft(tick as i32 * 3, 100)).unwrap();
            let bytes = frame(&mut a, B, now, tick);
            assert_eq!(b.handle_datagram(A, &bytes[1..]), Ok(()), "link {link}, tick {tick}");
            a.on_fate(B, tick, true);
        }
        assert_eq!(b.get(id).unwrap().numbers(), a.get(id).unwrap().numbers());
        a.remove_peer(B);
        a.set_state(Time::from_micros(41 * 16_667), id, &craft(9_999, -100)).unwrap();
        a.add_peer(B);
        tell((A, &mut a), (B, &mut b));
        assert_eq!(b.get(id).unwrap().numbers(), [9_999, -100], "the newest state is announced");
    }
}

#[test]
fn a_report_of_impossible_ends_uses_up_no_stamps() {
    let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
    let id = a.create(Time::ZERO, POT, &[b"x"]).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (B, &mut b));
    host.add_peer(PeerId(7));
    host.remove_peer(PeerId(7));
    let mut report = Vec::new();
    let run = Deaths { creator: A, first: 0, last: u32::MAX, stamp: stamp(u32::MAX) };
    run.encode(&mut Writer::new(&mut report));
    host.handle_message(B, MessageKind::Deaths, &report).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (B, &mut b));
    // The object can still change hands.
    host.grant(id, B).unwrap();
    tell((HOST, &mut host), (B, &mut b));
    tell((B, &mut b), (HOST, &mut host));
    tell((B, &mut b), (A, &mut a));
    tell((HOST, &mut host), (A, &mut a));
    for objects in [&host, &a, &b] {
        assert_eq!(objects.get(id).map(|o| o.owner()), Some(B));
    }
}

#[test]
fn numbers_anywhere_in_32_bits_arrive_unchanged() {
    let mut builder = SchemaBuilder::default();
    let motion = Motion::Smooth;
    builder.field("wide", Coding::Grid { width: 1, min: i32::MIN, max: i32::MAX, step: 1.0, motion });
    let schemas = Schemas::new().with(builder.build(CRAFT.kind));
    let (mut a, mut b) = (peer_of(A, 1, schemas.clone()), peer_of(B, 1, schemas));
    let wide = |number| {
        let mut state = State::default();
        state.number(number);
        state
    };
    let id = a.create_state(Time::ZERO, CRAFT, &wide(i32::MIN)).unwrap();
    tell((A, &mut a), (B, &mut b));
    for (tick, number) in (1..).zip([i32::MAX, i32::MIN, 0, i32::MIN + 5, i32::MAX - 3]) {
        a.set_state(Time::from_micros(tick * 16_667), id, &wide(number)).unwrap();
        let bytes = frame(&mut a, B, tick * 16_667, tick);
        assert_eq!(b.handle_datagram(A, &bytes[1..]), Ok(()));
        a.on_fate(B, tick, true);
        assert_eq!(b.get(id).unwrap().numbers(), [number]);
    }
}

#[test]
fn objects_given_away_do_not_count_against_the_limit() {
    let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
    let ids: Vec<_> = (0..1_024).map(|_| a.create(Time::ZERO, POT, &[b"x"]).unwrap()).collect();
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (B, &mut b));
    host.grant(ids[0], HOST).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    a.create(Time::ZERO, POT, &[b"one more"]).unwrap();
    // B has not heard yet that the host has the first one.
    let mut bytes = Vec::new();
    a.poll_message(Time::ZERO, B, &mut bytes).unwrap();
    assert_eq!(b.handle_message(A, MessageKind::Create, &bytes[1..]), Ok::<(), CloseCode>(()));
}

#[test]
fn updates_go_on_when_the_clock_steps_back() {
    let (mut a, mut b) = (peer(A), peer(B));
    let id = a.create_state(Time::ZERO, CRAFT, &craft(0, 0)).unwrap();
    tell((A, &mut a), (B, &mut b));
    for (packet, now) in [(1, 90_000_000), (2, 1_000_000), (3, 1_016_667)] {
        a.set_state(Time::from_micros(now), id, &craft(packet as i32, 0)).unwrap();
        let bytes = frame(&mut a, B, now, packet);
        b.handle_datagram(A, &bytes[1..]).unwrap();
        assert_eq!(b.get(id).unwrap().numbers(), [packet as i32, 0]);
    }
}

#[test]
fn a_growing_text_may_arrive_before_a_shrinking_one() {
    for reliable in [false, true] {
        let (mut a, mut b) = (peer(A), peer(B));
        let fields: Vec<&[u8]> = (0..64).map(|i| if i < 32 { &[][..] } else { &[7; 255][..] }).collect();
        let id = a.create(Time::ZERO, Traits { reliable, ..POT }, &fields).unwrap();
        tell((A, &mut a), (B, &mut b));
        (32..64).for_each(|field| a.set(Time::ZERO, id, field, &[]).unwrap());
        (0..32).for_each(|field| a.set(Time::ZERO, id, field, &[8; 255]).unwrap());
        tell((A, &mut a), (B, &mut b));
        for packet in 1..60 {
            let bytes = frame(&mut a, B, packet * 16_667, packet);
            if !bytes.is_empty() {
                assert_eq!(b.handle_datagram(A, &bytes[1..]), Ok(()));
                a.on_fate(B, packet, true);
            }
        }
        assert!((0..64).all(|i| a.get(id).unwrap().field(i) == b.get(id).unwrap().field(i)));
    }
}

#[test]
fn set_state_has_the_same_size_limit_as_create_state() {
    let mut builder = SchemaBuilder::default();
    builder.field("number", Coding::Exact { width: 4 });
    (0..40).for_each(|_| builder.field("text", Coding::Text { max: 255 }));
    let schemas = Schemas::new().with(builder.build(CRAFT.kind));
    let (mut a, mut b) = (peer_of(A, 1, schemas.clone()), peer_of(B, 1, schemas));
    let state = |long: usize| {
        let mut state = State::default();
        (0..4).for_each(|_| state.number(i32::MIN));
        (0..40).for_each(|i| state.text(&[9; 255][..if i < long { 255 } else { 0 }]));
        state
    };
    let id = a.create_state(Time::ZERO, CRAFT, &state(32)).unwrap();
    tell((A, &mut a), (B, &mut b));
    assert!(a.create_state(Time::ZERO, CRAFT, &state(40)).is_err());
    assert!(a.set_state(Time::ZERO, id, &state(40)).is_err());
}
