//! Limits: an honest peer never sends what others refuse, even after false messages or an unlucky order of messages.

use samovar_objects::{ObjectError, Objects, Place, Schemas};
use samovar_wire::limits::OBJECTS_PER_PEER_MAX;
use samovar_wire::object::{
    Announcement, Granted, MessageKind, Traits, encode_announcement, encode_update_head,
};
use samovar_wire::{CloseCode, Duration, Kind, ObjectId, PeerId, Receipt, Stamp, Term, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOST: PeerId = PeerId(1);
const A: PeerId = PeerId(2);
const B: PeerId = PeerId(3);
const POT: Traits = Traits::of(Kind(1));

fn peer(me: PeerId) -> Objects {
    let mut objects = Objects::new(me, HOST, Term(1), Schemas::new());
    [HOST, A, B].into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
    objects
}

/// Delivers all reliable messages that `from` has for `to` now.
fn tell(from: (PeerId, &mut Objects), to: (PeerId, &mut Objects)) -> Result<(), CloseCode> {
    let mut bytes = Vec::new();
    while let Some(pending) = from.1.poll_message(Time::ZERO, to.0, &mut bytes) {
        from.1.on_sent(to.0, pending, Receipt::Lane(0));
        let kind = MessageKind::decode(&mut samovar_wire::Reader::new(&bytes)).unwrap();
        to.1.handle_message(from.0, kind, &bytes[1..])?;
        bytes.clear();
    }
    Ok(())
}

fn announcement(id: ObjectId, owner: PeerId, stamp: Stamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    let head = Announcement::head(id, owner, stamp, POT, Time::ZERO);
    encode_announcement(&head, [&b"x"[..]].into_iter(), &mut Writer::new(&mut bytes));
    bytes
}

#[test]
fn new_owner_can_announce_a_state_beyond_the_size_limit() {
    let (mut host, mut a) = (peer(HOST), peer(A));
    let id = a.create(Time::ZERO, Traits { reliable: true, ..POT }, &[&[][..]; 64]).unwrap();
    tell((A, &mut a), (HOST, &mut host)).unwrap();
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    out.varint(0);
    encode_update_head(id, Stamp::created(Term(1)), Duration::ZERO, 64, &mut out);
    for field in 0..64 {
        out.u8(field);
        out.prefixed(&[1; 255]);
    }
    // The host accepts a state beyond the limit of an honest owner, and can announce all of it.
    assert_eq!(host.handle_message(A, MessageKind::Update, &bytes), Ok(()));
    host.grant(id, HOST).unwrap();
    let mut b = peer(B);
    assert_eq!(tell((HOST, &mut host), (B, &mut b)), Ok(()));
    assert_eq!(b.get(id).unwrap().field(63), [1; 255]);
    assert_eq!(host.set(Time::ZERO, id, 0, &[2; 255]), Ok(()), "a value no larger than before can be set");
    let refused = (0..64).filter(|&i| a.set(Time::ZERO, id, i, &[1; 255]) == Err(ObjectError::BadField));
    assert_eq!(refused.count(), 32);
}

#[test]
fn a_large_change_is_split_and_delays_no_other_object() {
    let (mut a, mut b) = (peer(A), peer(B));
    let large = a.create(Time::ZERO, POT, &[&[][..]; 20]).unwrap();
    let small = a.create(Time::ZERO, POT, &[b"0"]).unwrap();
    tell((A, &mut a), (B, &mut b)).unwrap();
    (0..20).for_each(|field| a.set(Time::ZERO, large, field, &[7; 255]).unwrap());
    a.set(Time::ZERO, small, 0, b"1").unwrap();
    for packet in 0..12 {
        let mut bytes = Vec::new();
        let place = Place { now: Time::from_micros(packet), peer: B, packet, room: 1_000 };
        a.write_datagram(place, &|_| true, &mut bytes);
        assert!(bytes.len() <= 1_000);
        if !bytes.is_empty() {
            b.handle_datagram(A, &bytes[1..]).unwrap();
            a.on_fate(B, packet, true);
        }
        assert!(packet > 0 || b.get(small).unwrap().field(0) == b"1", "a small object does not wait");
    }
    assert!((0..20).all(|field| b.get(large).unwrap().field(field) == [7; 255]));
    assert_eq!(b.get(small).unwrap().field(0), b"1");
    assert!(!a.wants_datagram(B));
}

#[test]
fn host_takes_an_object_with_the_highest_possible_stamp() {
    let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
    let id = host.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((HOST, &mut host), (B, &mut b)).unwrap();
    // A host told B of a grant to A under the highest stamp that there is.
    let last = Stamp { term: Term(1), counter: u32::MAX };
    let mut word = Vec::new();
    Granted { id, stamp: last, owner: A }.encode(&mut Writer::new(&mut word));
    b.handle_message(HOST, MessageKind::Granted, &word).unwrap();
    b.handle_message(A, MessageKind::Migrate, &announcement(id, A, last)).unwrap();
    assert_eq!(b.get(id).unwrap().owner(), A);
    a.remove_peer(A);
    host.remove_peer(A);
    b.remove_peer(A);
    b.report_orphans(|peer| peer == A);
    tell((B, &mut b), (HOST, &mut host)).unwrap();
    assert_eq!(tell((HOST, &mut host), (B, &mut b)), Ok(()), "an honest host is not to blame");
    assert_eq!(b.get(id).unwrap().owner(), HOST);
    assert_eq!(b.get(id).unwrap().stamp(), host.get(id).unwrap().stamp());
    host.destroy(id).unwrap();
    assert_eq!(tell((HOST, &mut host), (B, &mut b)), Ok(()));
    assert!(b.get(id).is_none());
}

#[test]
fn grant_that_crosses_a_destroy_makes_its_receiver_the_owner() {
    for creator in [B, HOST] {
        let (mut host, mut a, mut b) = (peer(HOST), peer(A), peer(B));
        let id = if creator == B { &mut b } else { &mut host }.create(Time::ZERO, POT, &[b"pot"]).unwrap();
        if creator == B {
            tell((B, &mut b), (HOST, &mut host)).unwrap();
        }
        host.grant(id, A).unwrap();
        tell((HOST, &mut host), (A, &mut a)).unwrap();
        if creator == B {
            b.destroy(id).unwrap();
            tell((B, &mut b), (HOST, &mut host)).unwrap();
        } else {
            host.destroy(id).unwrap();
        }
        assert_eq!(tell((A, &mut a), (HOST, &mut host)), Ok(()));
        assert_eq!(host.get(id).unwrap().owner(), A, "a granted object lives on");
        // A grant that was not sent ends with its object.
        host.grant(id, B).unwrap();
        a.destroy(id).unwrap();
        tell((A, &mut a), (HOST, &mut host)).unwrap();
        assert_eq!(host.granted_to(id), None);
    }
}

#[test]
fn only_the_host_writes_the_session_object() {
    let traits = Traits { reliable: true, ..Traits::of(Kind::SESSION) };
    let announce = |owner, term, counter| {
        let mut bytes = Vec::new();
        let head = Announcement::head(
            ObjectId::SESSION,
            owner,
            Stamp { term: Term(term), counter },
            traits,
            Time::ZERO,
        );
        encode_announcement(&head, [&b"view"[..]].into_iter(), &mut Writer::new(&mut bytes));
        bytes
    };
    let mut b = peer(B);
    b.handle_message(HOST, MessageKind::Migrate, &announce(HOST, 1, 0)).unwrap();
    b.set_host(B, Term(2));
    assert_eq!(b.handle_message(A, MessageKind::Migrate, &announce(A, 1, u32::MAX)), Ok(()));
    assert_eq!(b.get(ObjectId::SESSION).unwrap().owner(), HOST);
}

#[test]
fn a_peer_at_its_object_limit_ignores_a_grant() {
    let (mut host, mut a) = (peer(HOST), peer(A));
    (0..OBJECTS_PER_PEER_MAX).for_each(|_| {
        a.create(Time::ZERO, POT, &[]).unwrap();
    });
    let id = host.create(Time::ZERO, POT, &[]).unwrap();
    host.grant(id, A).unwrap();
    assert_eq!(tell((HOST, &mut host), (A, &mut a)), Ok(()));
    assert_eq!(tell((A, &mut a), (HOST, &mut host)), Ok(()));
}

#[test]
fn object_that_ends_during_a_snapshot_is_gone_at_the_newcomer() {
    let gone = PeerId(9);
    let (mut host, mut b) = (peer(HOST), Objects::new(B, HOST, Term(1), Schemas::new()));
    b.add_peer(HOST);
    host.remove_peer(B);
    host.add_peer(gone);
    let old = ObjectId { creator: gone, number: 1 };
    let created = announcement(old, gone, Stamp::created(Term(1)));
    host.handle_message(gone, MessageKind::Create, &created).unwrap();
    host.remove_peer(gone);
    host.adopt(|peer| peer == gone);
    (0..100).for_each(|_| {
        host.create(Time::ZERO, POT, &[&[3; 200]]).unwrap();
    });
    host.add_peer(B);
    let mut snapshot = Vec::new();
    let pending = host.poll_snapshot(B, &mut snapshot).unwrap();
    host.on_sent(B, pending, Receipt::Bulk(1));
    host.destroy(old).unwrap();
    tell((HOST, &mut host), (B, &mut b)).unwrap();
    b.handle_message(HOST, MessageKind::Snapshot, &snapshot[1..]).unwrap();
    assert!(b.get(old).is_none());
    assert_eq!(b.iter().count(), 100);
}
