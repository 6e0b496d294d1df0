//! The observer's state after each order of CREATE, MIGRATE and DESTROY (docs/sources.md, "Bitsquid"), and after
//! false messages about objects.

use samovar_objects::{Objects, Place, Schemas};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::{CloseCode, Kind, ObjectId, PeerId, Receipt, Term, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOST: PeerId = PeerId(1);
const A: PeerId = PeerId(2);
const B: PeerId = PeerId(3);
const X: PeerId = PeerId(4);
const POT: Traits = Traits::of(Kind(1));

fn peer(me: PeerId) -> Objects {
    let mut objects = Objects::new(me, HOST, Term(1), Schemas::new());
    [HOST, A, B, X].into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
    objects
}

/// All reliable messages that `from` has for `to` now.
fn messages(from: &mut Objects, to: PeerId) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let mut bytes = Vec::new();
        let Some(pending) = from.poll_message(Time::ZERO, to, &mut bytes) else { return all };
        from.on_sent(to, pending, Receipt::Lane(0));
        all.push(bytes);
    }
}

fn tell(to: &mut Objects, from: PeerId, message: &[u8]) -> Result<(), CloseCode> {
    let kind = match message[0] {
        2 => MessageKind::Create,
        3 => MessageKind::Migrate,
        4 => MessageKind::Grant,
        5 => MessageKind::Orphan,
        6 => MessageKind::Update,
        7 => MessageKind::Destroy,
        19 => MessageKind::Granted,
        other => panic!("kind {other}"),
    };
    to.handle_message(from, kind, &message[1..])
}

/// A message and its sender.
type Letter = (PeerId, Vec<u8>);

/// An object that A creates and the host grants to B, as the observer X hears of it: the host's GRANTED, which comes
/// first; A's CREATE and update; B's MIGRATE and, if `destroy` is set, DESTROY. Each message comes with its sender.
fn reign_of_two(destroy: bool) -> (ObjectId, Letter, Vec<Letter>, Vec<Letter>) {
    let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
    let id = a.create(Time::ZERO, POT, &[b"created"]).unwrap();
    let create = messages(&mut a, X).remove(0);
    messages(&mut a, HOST).iter().for_each(|m| tell(&mut host, A, m).unwrap());
    a.set(Time::from_micros(1), id, 0, b"late word of a").unwrap();
    let mut update_of_a = Vec::new();
    let place = Place { now: Time::from_micros(1), peer: X, packet: 5, room: 1_000 };
    a.write_datagram(place, &|_| true, &mut update_of_a);
    host.grant(id, B).unwrap();
    messages(&mut host, B).iter().for_each(|m| tell(&mut b, HOST, m).unwrap());
    let migrate = messages(&mut b, X).remove(0);
    let mut from_b = vec![(B, migrate)];
    if destroy {
        b.destroy(id).unwrap();
        from_b.extend(messages(&mut b, X).into_iter().map(|m| (B, m)));
    }
    let word = (HOST, messages(&mut host, X).remove(0));
    (id, word, vec![(A, create), (A, update_of_a)], from_b)
}

/// All ways to interleave two streams without changing the order within either.
fn interleavings<T: Clone>(a: &[T], b: &[T]) -> Vec<Vec<T>> {
    match (a, b) {
        ([], rest) | (rest, []) => vec![rest.to_vec()],
        ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) => {
            let prepend = |first: &T, tails: Vec<Vec<T>>| {
                tails
                    .into_iter()
                    .map(|tail| [core::slice::from_ref(first), &tail].concat())
                    .collect::<Vec<_>>()
            };
            let mut all = prepend(first_a, interleavings(rest_a, b));
            all.extend(prepend(first_b, interleavings(a, rest_b)));
            all
        }
    }
}

fn observe(order: &[Letter]) -> Objects {
    let mut x = peer(X);
    for (from, message) in order {
        // An update comes in a datagram.
        if message[0] == MessageKind::Frame as u8 {
            x.handle_datagram(*from, &message[1..]).unwrap();
        } else {
            tell(&mut x, *from, message).unwrap();
        }
    }
    x
}

#[test]
fn the_new_owner_wins_in_every_order() {
    let (id, word, from_a, from_b) = reign_of_two(false);
    let orders = interleavings(&from_a, &from_b);
    assert_eq!(orders.len(), 3);
    for order in orders {
        let x = observe(&[core::slice::from_ref(&word), &order[..]].concat());
        let object = x.get(id).unwrap();
        assert_eq!((object.owner(), object.stamp().counter, object.field(0)), (B, 1, &b"created"[..]));
    }
}

#[test]
fn a_destroyed_object_stays_destroyed_in_every_order() {
    let (id, word, from_a, from_b) = reign_of_two(true);
    assert_eq!(from_b.len(), 2);
    for order in interleavings(&from_a, &from_b) {
        assert!(observe(&[core::slice::from_ref(&word), &order[..]].concat()).get(id).is_none());
    }
}

#[test]
fn a_higher_stamp_brings_a_destroyed_object_back() {
    let (id, word, from_a, from_b) = reign_of_two(false);
    let mut x = observe(&from_a);
    let mut destroy = vec![MessageKind::Destroy as u8];
    let mut writer = Writer::new(&mut destroy);
    writer.object_id(id);
    writer.stamp(samovar_wire::Stamp::created(Term(1)));
    tell(&mut x, A, &destroy).unwrap();
    assert!(x.get(id).is_none());
    tell(&mut x, word.0, &word.1).unwrap();
    from_b.iter().for_each(|(from, m)| tell(&mut x, *from, m).unwrap());
    assert_eq!(x.get(id).unwrap().owner(), B);
}

#[test]
fn grant_counts_only_during_the_term_of_its_host() {
    let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
    let id = a.create(Time::ZERO, POT, &[b"created"]).unwrap();
    messages(&mut a, HOST).iter().for_each(|m| tell(&mut host, A, m).unwrap());
    messages(&mut a, B).iter().for_each(|m| tell(&mut b, A, m).unwrap());
    host.grant(id, B).unwrap();
    let grant = messages(&mut host, B).remove(0);
    // The former host stays as a member. Its grant arrives late.
    let mut later = b.clone();
    later.set_host(A, Term(2));
    assert_eq!(tell(&mut later, HOST, &grant), Ok(()));
    assert_eq!(later.get(id).unwrap().owner(), A, "its successor may have granted it to another");
    assert_eq!(tell(&mut b, HOST, &grant), Ok(()));
    assert_eq!(b.get(id).unwrap().owner(), B);
}

#[test]
fn state_counts_only_from_the_owner_even_under_the_same_stamp() {
    // Two hosts grant the object to one peer each, under the same stamp. The observer knows one of the grants.
    let granted_to = |heir| {
        let (mut host, mut owner) = (peer(HOST), peer(heir));
        let id = host.create(Time::ZERO, POT, &[b"created"]).unwrap();
        host.grant(id, heir).unwrap();
        messages(&mut host, heir).iter().for_each(|m| tell(&mut owner, HOST, m).unwrap());
        let word = messages(&mut host, X).remove(0);
        let announcements = messages(&mut owner, X);
        owner.set(Time::from_micros(1), id, 0, &[heir.0 as u8]).unwrap();
        let mut update = Vec::new();
        let place = Place { now: Time::from_micros(1), peer: X, packet: 5, room: 1_000 };
        owner.write_datagram(place, &|_| true, &mut update);
        (id, owner.get(id).unwrap().stamp(), (word, announcements), update)
    };
    let ((id, stamp, (word, announcements), update), (same, equal, _, lie)) = (granted_to(A), granted_to(B));
    assert_eq!((id, stamp), (same, equal));
    let mut x = peer(X);
    tell(&mut x, HOST, &word).unwrap();
    announcements.iter().for_each(|m| tell(&mut x, A, m).unwrap());
    x.handle_datagram(B, &lie[1..]).unwrap();
    assert_eq!(x.get(id).unwrap().field(0), b"created");
    x.handle_datagram(A, &update[1..]).unwrap();
    assert_eq!(x.get(id).unwrap().field(0), &[A.0 as u8][..]);
}

#[test]
fn an_older_packet_does_not_overwrite_a_newer_value() {
    let (mut a, mut x) = (peer(A), peer(X));
    let id = a.create(Time::ZERO, POT, &[b"0"]).unwrap();
    messages(&mut a, X).iter().for_each(|m| tell(&mut x, A, m).unwrap());
    let mut packets = Vec::new();
    for packet in 1..=3u64 {
        a.set(Time::from_micros(packet), id, 0, &[packet as u8]).unwrap();
        let mut bytes = Vec::new();
        let place = Place { now: Time::from_micros(packet), peer: X, packet, room: 1_000 };
        a.write_datagram(place, &|_| true, &mut bytes);
        packets.push(bytes);
    }
    for &index in &[2, 0, 1] {
        x.handle_datagram(A, &packets[index][1..]).unwrap();
        assert_eq!(x.get(id).unwrap().field(0), [3]);
    }
}

#[test]
fn update_is_once_in_each_frame_until_one_arrives() {
    let mut a = peer(A);
    let id = a.create(Time::ZERO, POT, &[b"0", b"still"]).unwrap();
    messages(&mut a, X);
    let write = |a: &mut Objects, packet: u64| {
        let mut bytes = Vec::new();
        let place = Place { now: Time::from_micros(packet), peer: X, packet, room: 1_000 };
        a.write_datagram(place, &|_| true, &mut bytes);
        bytes.len()
    };
    assert_eq!(write(&mut a, 1), 0, "an object that does not change costs nothing");
    a.set(Time::ZERO, id, 0, b"1").unwrap();
    let size = write(&mut a, 2);
    assert!(size > 0 && write(&mut a, 2) == 0, "once in a frame");
    assert!((size - 1..=size + 1).contains(&write(&mut a, 3)), "again in the next");
    a.on_fate(X, 2, false);
    assert!(a.wants_datagram(X));
    a.on_fate(X, 3, true);
    assert_eq!(write(&mut a, 4), 0);
    assert!(!a.wants_datagram(X));
}

#[test]
fn forwarded_creates_and_ungranted_migrates_are_refused() {
    let (id, _, from_a, from_b) = reign_of_two(false);
    let mut x = peer(X);
    assert_eq!(tell(&mut x, B, &from_a[0].1), Err(CloseCode::NotYours), "a CREATE of another's object");
    let mut host = peer(HOST);
    tell(&mut host, A, &from_a[0].1).unwrap();
    assert_eq!(
        tell(&mut host, B, &from_b[0].1),
        Err(CloseCode::NotYours),
        "a MIGRATE that the host did not grant"
    );
    assert_eq!(host.get(id).unwrap().owner(), A);
}

#[test]
fn undeclared_traits_are_refused() {
    let stated = || Schemas::new().with_traits(Traits { reliable: true, ..POT });
    let of_game = |me| Objects::new(me, HOST, Term(1), stated());
    let mut host = of_game(HOST);
    host.add_peer(A);
    let cases = [
        (Traits { reliable: true, ..POT }, Ok(())),
        (POT, Err(CloseCode::Malformed)),
        (Traits { reliable: true, with_host: true, ..POT }, Err(CloseCode::Malformed)),
        (Traits { reliable: true, ..Traits::of(Kind(2)) }, Err(CloseCode::Malformed)),
    ];
    for (traits, expected) in cases {
        let mut a = peer(A);
        a.create(Time::ZERO, traits, &[b"0"]).unwrap();
        let create = messages(&mut a, HOST).remove(0);
        assert_eq!(tell(&mut host, A, &create), expected, "{traits:?}");
        let own = of_game(A).create(Time::ZERO, traits, &[b"0"]);
        assert_eq!(own.is_ok(), expected.is_ok(), "{traits:?}");
    }
}

#[test]
fn invented_orphan_reports_and_ends_change_nothing() {
    let (mut host, mut x) = (peer(HOST), peer(X));
    let mut liar = Objects::new(PeerId(66), PeerId(66), Term(1), Schemas::new());
    liar.add_peer(HOST);
    for _ in 0..500 {
        liar.create(Time::ZERO, POT, &[b"invented"]).unwrap();
    }
    for mut message in messages(&mut liar, HOST) {
        message[0] = MessageKind::Orphan as u8;
        tell(&mut host, B, &message).unwrap();
    }
    assert_eq!(host.iter().count(), 0);
    for creator in 0..2_000 {
        let mut destroy = vec![MessageKind::Destroy as u8];
        let mut writer = Writer::new(&mut destroy);
        writer.object_id(ObjectId { creator: PeerId(1_000 + creator), number: 1 });
        writer.stamp(samovar_wire::Stamp { term: Term(1), counter: u32::MAX });
        tell(&mut x, B, &destroy).unwrap();
        tell(&mut host, B, &destroy).unwrap();
    }
    assert_eq!((x.remembered_deaths(), host.remembered_deaths()), (0, 0));
}
