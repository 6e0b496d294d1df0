//! Interest: which objects an owner tells to which peer. Claims: a peer's changes to an object before it owns it.

use samovar_objects::{Focus, Kinded, ObjectError, ObjectEvent, Objects, Place, Replicate, Schemas};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::sight::Sight;
use samovar_wire::{CloseCode, ObjectId, PeerId, Reader, Receipt, Stamp, Term, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOST: PeerId = PeerId(1);
const A: PeerId = PeerId(2);

#[derive(Replicate, Clone, Debug, PartialEq)]
#[replicate(kind = 4)]
struct Boat {
    #[replicate(range = 1024.0, precision = 0.25, place)]
    at: [f32; 2],
    #[replicate(bound = 8)]
    name: String,
}

const BOAT: Traits = Traits::of(Boat::KIND);

fn boat(x: f32) -> Boat {
    Boat { at: [x, 0.0], name: "Swan".to_owned() }
}

fn peers() -> (Objects, Objects) {
    let new = |me| Objects::new(me, HOST, Term(1), Schemas::new().with(Boat::schema()));
    let (mut host, mut a) = (new(HOST), new(A));
    host.add_peer(A);
    a.add_peer(HOST);
    (host, a)
}

/// Delivers all reliable messages; returns their kinds.
fn tell(from: (PeerId, &mut Objects), to: (PeerId, &mut Objects)) -> Vec<MessageKind> {
    let mut kinds = Vec::new();
    let mut bytes = Vec::new();
    while let Some(pending) = from.1.poll_message(Time::ZERO, to.0, &mut bytes) {
        from.1.on_sent(to.0, pending, Receipt::Lane(0));
        let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
        to.1.handle_message(from.0, kind, &bytes[1..]).unwrap();
        kinds.push(kind);
        bytes.clear();
    }
    kinds
}

/// Delivers a datagram from the host; returns its length.
fn frame(host: &mut Objects, a: &mut Objects, packet: u64) -> usize {
    let mut bytes = Vec::new();
    let place = Place { now: Time::from_micros(20_000 * packet), peer: A, packet, room: 1_000 };
    host.write_datagram(place, &|_| true, &mut bytes);
    if !bytes.is_empty() {
        a.handle_datagram(HOST, &bytes[1..]).unwrap();
    }
    host.on_fate(A, packet, true);
    bytes.len()
}

fn focus(x: f32) -> Option<Focus> {
    Some(Focus { center: [x, 0.0, 0.0], radius: 41.0 })
}

#[test]
fn object_outside_a_focus_is_not_sent_until_it_is_seen_again() {
    let (mut host, mut a) = peers();
    let id = host.create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host.set_focus(A, focus(0.0));
    for n in 1..200 {
        host.write(Time::from_micros(20_000 * n), id, &boat(n as f32)).unwrap();
        frame(&mut host, &mut a, n);
        assert!(!host.wants_datagram(A));
    }
    assert_eq!(tell((HOST, &mut host), (A, &mut a)), [MessageKind::Sight]);
    assert_eq!(a.read::<Boat>(id).unwrap(), boat(47.0), "47 is the last within 1.15 radii");
    assert!(!a.get(id).unwrap().is_current() && host.get(id).unwrap().is_current());
    host.set_focus(A, focus(199.0));
    assert!(host.wants_datagram(A));
    let whole = Boat::schema().numbers() + "Swan".len();
    assert!(frame(&mut host, &mut a, 200) < 20 + whole);
    tell((HOST, &mut host), (A, &mut a));
    assert_eq!(a.read::<Boat>(id).unwrap(), boat(199.0));
    let events: Vec<_> = core::iter::from_fn(|| a.poll_event()).collect();
    assert_eq!(events, [ObjectEvent::Created(id), ObjectEvent::Left(id), ObjectEvent::Entered(id)]);
}

#[test]
fn focus_applies_to_objects_that_are_created_later() {
    let (mut host, mut a) = peers();
    host.set_focus(A, focus(0.0));
    let far = host.create_as(Time::ZERO, BOAT, &boat(500.0)).unwrap();
    let near = host.create_as(Time::ZERO, BOAT, &boat(5.0)).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    let current = |a: &Objects| [far, near].map(|id| a.get(id).unwrap().is_current());
    assert_eq!(current(&a), [false, true]);
    host.set_cell(3.0);
    host.set_focus(A, focus(490.0));
    tell((HOST, &mut host), (A, &mut a));
    assert_eq!(current(&a), [true, false]);
    host.set_focus(A, None);
    tell((HOST, &mut host), (A, &mut a));
    assert_eq!(current(&a), [true, true]);
}

#[test]
fn only_the_owner_tells_visibility() {
    let (mut host, mut a) = peers();
    let id = host.create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    let sight = |count: u8, stamp| {
        let mut bytes = vec![count];
        Sight { id, stamp, current: false }.encode(&mut Writer::new(&mut bytes));
        bytes
    };
    let stamp = Stamp::created(Term(1));
    a.add_peer(PeerId(3));
    a.handle_message(PeerId(3), MessageKind::Sight, &sight(1, stamp)).unwrap();
    a.handle_message(HOST, MessageKind::Sight, &sight(1, stamp.granted(Term(1)))).unwrap();
    assert!(a.get(id).unwrap().is_current());
    let refused = |a: &mut Objects, bytes: &[u8]| a.handle_message(HOST, MessageKind::Sight, bytes);
    assert_eq!(refused(&mut a, &sight(2, stamp)), Err(CloseCode::Malformed));
    assert_eq!(refused(&mut a, &sight(65, stamp)), Err(CloseCode::LimitExceeded));
    assert_eq!(a.handle_message(HOST, MessageKind::Focus, &[1, 2]), Err(CloseCode::Malformed));
}

#[test]
fn a_claim_is_private_until_the_grant_makes_it_the_state() {
    let (mut host, mut a) = peers();
    let id = host.create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    assert_eq!(a.write(Time::ZERO, id, &boat(9.0)), Err(ObjectError::NotOwner));
    a.claim(id).unwrap();
    host.write(Time::from_micros(1), id, &boat(1.0)).unwrap();
    frame(&mut host, &mut a, 1);
    assert_eq!(a.read::<Boat>(id).unwrap(), boat(1.0), "fields without a change are the owner's");
    a.write(Time::ZERO, id, &boat(9.0)).unwrap();
    a.set(Time::ZERO, id, 0, b"Mine").unwrap();
    host.write(Time::from_micros(2), id, &boat(2.0)).unwrap();
    frame(&mut host, &mut a, 2);
    let mine = Boat { name: "Mine".to_owned(), ..boat(9.0) };
    assert_eq!(a.read::<Boat>(id).unwrap(), mine);
    assert!(a.iter().all(|object| object.is_claimed() && object.owner() == HOST));
    assert!(tell((A, &mut a), (HOST, &mut host)).is_empty() && !a.wants_datagram(HOST));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    assert_eq!(tell((A, &mut a), (HOST, &mut host)), [MessageKind::Migrate]);
    for objects in [&host, &a] {
        assert_eq!(objects.read::<Boat>(id).unwrap(), mine);
        assert!(objects.get(id).unwrap().owner() == A && !objects.get(id).unwrap().is_claimed());
    }
}

#[test]
fn ungranted_claim_restores_the_state_and_returns_changes() {
    let (mut host, mut a) = peers();
    let id = host.create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    a.claim(id).unwrap();
    a.write(Time::ZERO, id, &boat(9.0)).unwrap();
    let before = a.get(id).unwrap().revision();
    let last = a.end_claim(id).unwrap();
    assert_eq!(Boat::read(&mut last.reader()).unwrap(), boat(9.0));
    assert_eq!(a.read::<Boat>(id).unwrap(), boat(0.0));
    assert!(a.get(id).unwrap().revision() > before && !a.get(id).unwrap().is_claimed());
    assert!(a.end_claim(id).is_none());
    assert_eq!(a.claim(ObjectId { creator: A, number: 9 }), Err(ObjectError::Unknown));
    assert_eq!(a.read::<Boat>(ObjectId::SESSION), Err(ObjectError::Unknown));
}
