//! Departures: a peer leaves when not all members have heard the same about its objects.

use samovar_objects::{ObjectError, Objects, Schemas};
use samovar_wire::object::{Announcement, MessageKind, Orphan, Traits, encode_announcement};
use samovar_wire::{Kind, PeerId, Reader, Receipt, Stamp, Term, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOST: PeerId = PeerId(1);
const A: PeerId = PeerId(2);
const X: PeerId = PeerId(3);
const POT: Traits = Traits::of(Kind(1));

fn machine(me: PeerId) -> Objects {
    let mut objects = Objects::new(me, HOST, Term(1), Schemas::new());
    [HOST, A, X].into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
    objects
}

/// Delivers all reliable messages that `from` has for `to` now.
fn tell(from: (PeerId, &mut Objects), to: (PeerId, &mut Objects)) {
    let mut bytes = Vec::new();
    while let Some(pending) = from.1.poll_message(Time::ZERO, to.0, &mut bytes) {
        from.1.on_sent(to.0, pending, Receipt::Lane(0));
        let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
        to.1.handle_message(from.0, kind, &bytes[1..]).unwrap();
        bytes.clear();
    }
}

/// The host adopts the objects of a member that is gone.
fn adopt_from(host: &mut Objects, gone: PeerId) {
    host.remove_peer(gone);
    host.adopt(|peer| peer == gone);
}

/// A member is gone. The host and another member learn of it, and then exchange messages.
fn member_is_gone(gone: PeerId, host: (PeerId, &mut Objects), other: (PeerId, &mut Objects)) {
    adopt_from(host.1, gone);
    other.1.remove_peer(gone);
    other.1.report_orphans(|peer| peer == gone);
    tell((other.0, &mut *other.1), (host.0, &mut *host.1));
    tell(host, other);
}

/// The host is gone, perhaps with others. The new host and another member learn of it, and then exchange messages.
fn host_is_gone(gone: &[PeerId], host: (PeerId, &mut Objects), other: (PeerId, &mut Objects)) {
    for machine in [&mut *host.1, &mut *other.1] {
        machine.set_host(host.0, Term(2));
        gone.iter().for_each(|&peer| machine.remove_peer(peer));
        machine.adopt(|peer| gone.contains(&peer));
        machine.report_orphans(|peer| gone.contains(&peer));
    }
    tell((other.0, &mut *other.1), (host.0, &mut *host.1));
    tell(host, other);
}

/// All have A's object. Then A ends it, and is gone before X hears of the end.
#[test]
fn an_end_that_only_the_host_heard_reaches_the_others() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = a.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (X, &mut x));
    a.destroy(id).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    member_is_gone(A, (HOST, &mut host), (X, &mut x));
    assert!(host.get(id).is_none());
    assert!(x.get(id).is_none(), "an object without an owner stays for ever");
}

/// The host ends its object and is gone. The new host has heard of the end, and another member has not.
#[test]
fn an_end_that_only_the_new_host_heard_reaches_the_others() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = host.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    tell((HOST, &mut host), (X, &mut x));
    host.destroy(id).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host_is_gone(&[HOST], (A, &mut a), (X, &mut x));
    assert!(x.get(id).is_none(), "an object without an owner stays for ever");
}

/// The host took X's object over and ended it. Only the new host, A, has heard of both; X still believes that it owns
/// the object.
#[test]
fn a_migration_and_end_that_the_new_host_heard_reach_the_owner() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    tell((X, &mut x), (A, &mut a));
    host.grant(id, HOST).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host.destroy(id).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host_is_gone(&[HOST], (A, &mut a), (X, &mut x));
    assert_eq!(a.get(id).is_some(), x.get(id).is_some(), "X alone has an object that all others saw end");
}

/// A is granted X's object, ends it, and is gone. The host has heard of both; X still believes that it owns the
/// object.
#[test]
fn a_migration_and_end_that_the_host_heard_reach_the_owner() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    tell((A, &mut a), (HOST, &mut host));
    a.destroy(id).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    member_is_gone(A, (HOST, &mut host), (X, &mut x));
    assert_eq!(host.get(id).is_some(), x.get(id).is_some(), "X alone has an object that all others saw end");
}

/// The host took X's object over and ended it. Only X has heard of that; the new host still believes that X owns it.
#[test]
fn a_migration_and_end_that_the_owner_heard_reach_the_new_host() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    tell((X, &mut x), (A, &mut a));
    host.grant(id, HOST).unwrap();
    tell((HOST, &mut host), (X, &mut x));
    host.destroy(id).unwrap();
    tell((HOST, &mut host), (X, &mut x));
    host_is_gone(&[HOST], (A, &mut a), (X, &mut x));
    assert_eq!(a.get(id).is_some(), x.get(id).is_some(), "A has an object that its owner saw end");
}

/// The host revoked a grant, but had no room to say so before the object ended. The first receiver was told of its
/// grant, and is honest when it announces itself.
#[test]
fn first_receiver_may_announce_itself_after_an_unsent_grant() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host.grant(id, X).unwrap();
    x.destroy(id).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    tell((A, &mut a), (HOST, &mut host));
    assert_eq!(host.get(id).map(samovar_objects::Object::owner), Some(A));
}

/// X tells a newcomer of its object. The object was granted to A, which ends it before it knows of the newcomer.
#[test]
fn newcomer_drops_an_object_ended_by_an_owner_it_never_met() {
    let newcomer = PeerId(4);
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    let mut new = Objects::new(newcomer, HOST, Term(1), Schemas::new());
    [HOST, A, X].into_iter().for_each(|peer| new.add_peer(peer));
    x.add_peer(newcomer);
    tell((X, &mut x), (newcomer, &mut new));
    tell((A, &mut a), (X, &mut x));
    host.add_peer(newcomer);
    a.destroy(id).unwrap();
    tell((A, &mut a), (X, &mut x));
    tell((A, &mut a), (HOST, &mut host));
    a.add_peer(newcomer);
    tell((A, &mut a), (newcomer, &mut new));
    tell((X, &mut x), (newcomer, &mut new));
    tell((HOST, &mut host), (newcomer, &mut new));
    tell((HOST, &mut host), (X, &mut x));
    assert!(x.get(id).is_none());
    assert!(new.get(id).is_none(), "the newcomer believes for ever that X owns it");
}

/// The former host admitted A, and only X heard of that before both were gone. An object of A that only X knows is
/// dropped.
#[test]
fn an_object_of_an_owner_unknown_to_the_new_host_is_dropped() {
    let (mut a, mut x) = (machine(A), machine(X));
    let next = PeerId(4);
    let mut new = Objects::new(next, HOST, Term(1), Schemas::new());
    [HOST, X].into_iter().for_each(|peer| new.add_peer(peer));
    x.add_peer(next);
    let id = a.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((A, &mut a), (X, &mut x));
    host_is_gone(&[HOST, A], (next, &mut new), (X, &mut x));
    assert_eq!(new.get(id).is_some(), x.get(id).is_some());
}

/// The host revokes a grant while the receiver's announcement is in flight. The host has no room to say so before
/// that announcement arrives.
#[test]
fn an_earlier_receivers_announcement_keeps_a_waiting_grant() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host.grant(id, X).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (X, &mut x));
    tell((HOST, &mut host), (X, &mut x));
    tell((X, &mut x), (HOST, &mut host));
    assert_eq!(host.granted_to(id), None, "the host waits for ever for a peer that it did not tell");
    assert_eq!(host.get(id).map(samovar_objects::Object::owner), Some(X));
}

/// The host ended the object of a peer that the newcomer never met. An old message about the object is still in
/// flight.
#[test]
fn newcomer_believes_the_host_that_an_unknown_object_ended() {
    let (newcomer, old) = (PeerId(4), PeerId(9));
    let (mut host, mut a) = (machine(HOST), machine(A));
    let mut creator = Objects::new(old, HOST, Term(1), Schemas::new());
    creator.add_peer(HOST);
    host.add_peer(old);
    let id = creator.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((old, &mut creator), (HOST, &mut host));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    tell((A, &mut a), (HOST, &mut host));
    adopt_from(&mut host, old);
    let mut new = Objects::new(newcomer, HOST, Term(1), Schemas::new());
    [HOST, A].into_iter().for_each(|peer| new.add_peer(peer));
    [&mut host, &mut a].into_iter().for_each(|machine| machine.add_peer(newcomer));
    let mut late = Vec::new();
    let pending = a.poll_message(Time::ZERO, newcomer, &mut late).unwrap();
    a.on_sent(newcomer, pending, Receipt::Lane(0));
    host.grant(id, HOST).unwrap();
    host.destroy(id).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    tell((HOST, &mut host), (newcomer, &mut new));
    new.handle_message(A, MessageKind::Migrate, &late[1..]).unwrap();
    assert!(a.get(id).is_none() && host.get(id).is_none());
    assert!(new.get(id).is_none(), "the newcomer keeps the object for ever");
}

/// A member ended the object of a peer that the newcomer never met. An old message about the object is still in
/// flight. The newcomer cannot believe the end at once, and must not forget it either.
#[test]
fn a_newcomer_remembers_the_end_of_an_unknown_object() {
    let (newcomer, old) = (PeerId(4), PeerId(9));
    let (mut host, mut a) = (machine(HOST), machine(A));
    let mut creator = Objects::new(old, HOST, Term(1), Schemas::new());
    creator.add_peer(HOST);
    host.add_peer(old);
    let id = creator.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((old, &mut creator), (HOST, &mut host));
    adopt_from(&mut host, old);
    let mut new = Objects::new(newcomer, HOST, Term(1), Schemas::new());
    [HOST, A].into_iter().for_each(|peer| new.add_peer(peer));
    host.add_peer(newcomer);
    let mut late = Vec::new();
    let pending = host.poll_message(Time::ZERO, newcomer, &mut late).unwrap();
    host.on_sent(newcomer, pending, Receipt::Lane(0));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    a.destroy(id).unwrap();
    a.add_peer(newcomer);
    tell((A, &mut a), (newcomer, &mut new));
    tell((A, &mut a), (HOST, &mut host));
    new.handle_message(HOST, MessageKind::Migrate, &late[1..]).unwrap();
    tell((HOST, &mut host), (newcomer, &mut new));
    assert!(a.get(id).is_none() && host.get(id).is_none());
    assert!(new.get(id).is_none(), "the newcomer keeps the object for ever");
}

/// Two members were granted the object, one after the other. The object ended, and the second member is gone. The
/// first may still announce itself.
#[test]
fn an_earlier_grant_counts_when_a_later_receiver_is_gone() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = host.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host.grant(id, X).unwrap();
    tell((HOST, &mut host), (X, &mut x));
    host.destroy(id).unwrap();
    adopt_from(&mut host, X);
    tell((A, &mut a), (HOST, &mut host));
    assert_eq!(host.get(id).map(samovar_objects::Object::owner), Some(A));
}

/// The receiver was granted the object twice and is gone, and the host has forgotten it. X knows of the first grant.
/// The host must not draw the second stamp again, because the receiver has used it.
#[test]
fn a_granted_stamp_is_not_reused_when_its_receiver_is_gone() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = a.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (X, &mut x));
    a.destroy(id).unwrap();
    tell((A, &mut a), (X, &mut x));
    let mut late = Vec::new();
    let pending = a.poll_message(Time::ZERO, HOST, &mut late).unwrap();
    a.on_sent(HOST, pending, Receipt::Lane(0));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    tell((A, &mut a), (X, &mut x));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host.handle_message(A, MessageKind::Destroy, &late[1..]).unwrap();
    member_is_gone(A, (HOST, &mut host), (X, &mut x));
    assert_eq!(host.get(id).is_some(), x.get(id).is_some());
    let stamp = |objects: &Objects| objects.get(id).map(samovar_objects::Object::stamp);
    assert!(stamp(&host).is_none() || stamp(&host) != stamp(&a), "two owners under {:?}", stamp(&a));
}

/// The host hands over and stays as a member. The next host takes only the objects that are bound to the host.
#[test]
fn the_new_host_takes_host_bound_objects_of_a_former_host() {
    const CROWN: Traits = Traits { with_host: true, ..POT };
    const FLEETING: Traits = Traits { orphan: Orphan::Destroy, ..CROWN };
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let [crown, fleeting, pot] =
        [CROWN, FLEETING, POT].map(|traits| host.create(Time::ZERO, traits, &[b"?"]).unwrap());
    let lent = x.create(Time::ZERO, CROWN, &[b"of x"]).unwrap();
    for to in [(A, &mut a), (X, &mut x)] {
        tell((HOST, &mut host), to);
    }
    tell((X, &mut x), (A, &mut a));
    for machine in [&mut host, &mut a, &mut x] {
        machine.set_host(A, Term(2));
    }
    a.adopt(|_| false);
    for to in [(HOST, &mut host), (X, &mut x)] {
        tell((A, &mut a), to);
    }
    for machine in [&host, &a, &x] {
        let owner = |id| machine.get(id).map(samovar_objects::Object::owner);
        assert_eq!([crown, fleeting, lent].map(owner), [Some(A); 3]);
    }
    assert_eq!(a.get(pot).unwrap().owner(), HOST);
    assert_eq!(host.set(Time::ZERO, crown, 0, b"old"), Err(ObjectError::NotOwner));
    a.adopt(|_| false);
    assert_eq!(a.get(crown).unwrap().stamp().counter, 1, "it is taken once");
}

/// A former host granted X's object to A, unknown to X, which hosts now. X grants it to a member that is cut off,
/// ends it, and forgets the grant with that member. A's late announcement must not bring the object back at any peer.
fn late_word_of_a_former_grant(is_told: bool) {
    let far = PeerId(4);
    let mut machines = [HOST, A, X, far].map(machine);
    let [host, a, x, other] = &mut machines;
    host.add_peer(far);
    a.add_peer(far);
    x.add_peer(far);
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut *x), (HOST, &mut *host));
    tell((X, &mut *x), (A, &mut *a));
    tell((X, &mut *x), (far, &mut *other));
    host.grant(id, A).unwrap();
    tell((HOST, &mut *host), (A, &mut *a));
    let mut late = Vec::new();
    while let Some(pending) = a.poll_message(Time::ZERO, X, &mut late) {
        a.on_sent(X, pending, Receipt::Lane(0));
    }

    let newcomer = PeerId(5);
    for machine in [&mut *a, &mut *x, &mut *other] {
        machine.add_peer(newcomer);
        machine.set_host(X, Term(2));
        machine.remove_peer(HOST);
    }
    for (peer, machine) in [(A, &mut *a), (far, &mut *other)] {
        tell((X, &mut *x), (peer, machine));
    }
    x.grant(id, newcomer).unwrap();
    if is_told {
        let mut grant = Vec::new();
        while let Some(pending) = x.poll_message(Time::ZERO, newcomer, &mut grant) {
            x.on_sent(newcomer, pending, Receipt::Lane(0));
        }
    }
    x.destroy(id).unwrap();
    tell((X, &mut *x), (far, &mut *other));
    [&mut *x, &mut *other].into_iter().for_each(|machine| machine.remove_peer(newcomer));
    tell((X, &mut *x), (far, &mut *other));
    x.handle_message(A, MessageKind::Migrate, &late[1..]).unwrap();
    tell((A, &mut *a), (far, &mut *other));
    tell((X, &mut *x), (far, &mut *other));
    tell((X, &mut *x), (A, &mut *a));
    let has = [&*x, &*other, &*a].map(|machine| machine.get(id).is_some());
    assert_eq!(has, [false; 3], "host, another, its heir");
}

#[test]
fn host_tells_the_end_under_a_grant_whose_receiver_is_gone() {
    late_word_of_a_former_grant(true);
}

#[test]
fn host_tells_the_end_under_a_grant_that_was_not_sent() {
    late_word_of_a_former_grant(false);
}

/// The former owner ends the object before it hears of the grant. The grant's receiver ends it as well, before it
/// announced itself.
#[test]
fn new_owner_may_end_an_object_before_announcing_itself() {
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let id = x.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    tell((X, &mut x), (A, &mut a));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    x.destroy(id).unwrap();
    tell((X, &mut x), (HOST, &mut host));
    assert_eq!(host.granted_to(id), Some(A));
    a.destroy(id).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    assert_eq!(host.granted_to(id), None, "no peer can bring it back");
}

/// A host believes that a member is gone, ends its object, tells one member, and is gone. The next host never heard
/// of the object.
#[test]
fn end_unknown_to_the_owner_and_the_new_host_is_undone() {
    const NEXT: PeerId = PeerId(4);
    let (mut host, mut a, mut x, mut next) = (machine(HOST), machine(A), machine(X), machine(NEXT));
    [&mut host, &mut a, &mut x].into_iter().for_each(|objects| objects.add_peer(NEXT));
    let id = a.create(Time::ZERO, Traits { orphan: Orphan::Destroy, ..POT }, &[b"pot"]).unwrap();
    tell((A, &mut a), (HOST, &mut host));
    tell((A, &mut a), (X, &mut x));
    adopt_from(&mut host, A);
    tell((HOST, &mut host), (X, &mut x));
    assert!(x.get(id).is_none());
    host_is_gone(&[HOST], (NEXT, &mut next), (X, &mut x));
    a.set_host(NEXT, Term(2));
    a.remove_peer(HOST);
    tell((A, &mut a), (X, &mut x));
    assert!(x.get(id).is_none(), "X knows of the end, and not that the owner lives");
    tell((A, &mut a), (NEXT, &mut next));
    tell((NEXT, &mut next), (A, &mut a));
    tell((A, &mut a), (NEXT, &mut next));
    tell((A, &mut a), (X, &mut x));
    tell((NEXT, &mut next), (X, &mut x));
    for objects in [&next, &a, &x] {
        assert_eq!(objects.get(id).map(samovar_objects::Object::owner), Some(A));
    }
}

/// X takes A's object and ends it. B is not linked to X, and the next host has heard of none of this.
#[test]
fn end_reported_by_the_creator_reaches_peers_that_missed_it() {
    const NEXT: PeerId = PeerId(4);
    const B: PeerId = PeerId(5);
    let (mut host, mut a, mut x) = (machine(HOST), machine(A), machine(X));
    let (mut next, mut b) = (machine(NEXT), machine(B));
    for objects in [&mut host, &mut a, &mut x] {
        objects.add_peer(NEXT);
    }
    [&mut a, &mut next].into_iter().for_each(|objects| objects.add_peer(B));
    let id = a.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    for (peer, objects) in [(HOST, &mut host), (X, &mut x), (B, &mut b)] {
        tell((A, &mut a), (peer, objects));
    }
    host.grant(id, X).unwrap();
    tell((HOST, &mut host), (X, &mut x));
    tell((HOST, &mut host), (A, &mut a));
    tell((X, &mut x), (A, &mut a));
    x.destroy(id).unwrap();
    tell((X, &mut x), (A, &mut a));
    assert!(a.get(id).is_none() && b.get(id).map(samovar_objects::Object::owner) == Some(A));
    host_is_gone(&[HOST, X], (NEXT, &mut next), (A, &mut a));
    b.set_host(NEXT, Term(2));
    [HOST, X].into_iter().for_each(|gone| b.remove_peer(gone));
    tell((A, &mut a), (NEXT, &mut next));
    tell((NEXT, &mut next), (B, &mut b));
    assert!(b.get(id).is_none(), "no other peer could tell B");
}

/// The next message of this kind that a peer has for another. Messages before it are lost.
fn next_of(from: &mut Objects, to: PeerId, kind: MessageKind) -> Vec<u8> {
    loop {
        let mut bytes = Vec::new();
        let pending = from.poll_message(Time::ZERO, to, &mut bytes).unwrap();
        from.on_sent(to, pending, Receipt::Lane(0));
        if bytes[0] == kind as u8 {
            return bytes;
        }
    }
}

/// The host grants its object to B, to A and to X, and ends it. X announces itself to A and is gone; the host never
/// hears of that. A hears the host's GRANTED about X, and X's announcement, before it hears of its own, lower grant.
/// The host hears B's announcement. Returns the host, A and B.
fn heir_that_has_seen_another() -> [Objects; 3] {
    const B: PeerId = PeerId(4);
    let (mut host, mut a, mut x, mut b) = (machine(HOST), machine(A), machine(X), machine(B));
    [&mut host, &mut a, &mut x].into_iter().for_each(|objects| objects.add_peer(B));
    let id = host.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    for (peer, objects) in [(A, &mut a), (X, &mut x), (B, &mut b)] {
        tell((HOST, &mut host), (peer, objects));
    }
    let [first, second, third] = [B, A, X].map(|heir| {
        host.grant(id, heir).unwrap();
        next_of(&mut host, heir, MessageKind::Grant)
    });
    let word = next_of(&mut host, A, MessageKind::Granted);
    a.handle_message(HOST, MessageKind::Granted, &word[1..]).unwrap();
    host.destroy(id).unwrap();
    x.handle_message(HOST, MessageKind::Grant, &third[1..]).unwrap();
    adopt_from(&mut host, X);
    b.handle_message(HOST, MessageKind::Grant, &first[1..]).unwrap();
    tell((B, &mut b), (HOST, &mut host));
    tell((X, &mut x), (A, &mut a));
    a.handle_message(HOST, MessageKind::Grant, &second[1..]).unwrap();
    assert_eq!((host.get(id).unwrap().owner(), host.granted_to(id)), (B, Some(A)));
    assert_eq!(a.get(id).unwrap().owner(), X);
    [host, a, b]
}

#[test]
fn host_grants_anew_when_the_receiver_saw_a_higher_stamp() {
    let [mut host, mut a, _] = heir_that_has_seen_another();
    member_is_gone(X, (HOST, &mut host), (A, &mut a));
    tell((A, &mut a), (HOST, &mut host));
    let owners = [&host, &a].map(|objects| objects.iter().map(samovar_objects::Object::owner).next());
    assert_eq!(owners, [Some(A); 2], "as the host and A see it");
}

#[test]
fn invented_stamps_above_a_grant_draw_one_new_stamp_only() {
    let [mut host, mut a, _] = heir_that_has_seen_another();
    let object = a.iter().next().unwrap();
    let (id, drawn) = (object.id(), object.stamp());
    let owner = PeerId(0xdead);
    let mut bytes = Vec::new();
    for n in 0..100_000 {
        let stamp = Stamp { counter: drawn.counter + n, ..drawn };
        bytes.clear();
        let head = Announcement::head(id, owner, stamp, POT, Time::ZERO);
        encode_announcement(&head, [b"pot".as_slice()].into_iter(), &mut Writer::new(&mut bytes));
        host.handle_message(A, MessageKind::Orphan, &bytes).unwrap();
    }
    tell((HOST, &mut host), (A, &mut a));
    let owned = a.get(id).unwrap();
    assert_eq!((owned.owner(), owned.stamp().counter), (A, drawn.counter + 1));
}

/// A newcomer hears from the host that X owns an object next. X is gone before it says so, and the host renews its term.
/// The newcomer has to hear that the former owner still owns the object.
#[test]
fn object_of_a_grant_that_a_new_term_dropped_reaches_a_newcomer() {
    let newcomer = PeerId(5);
    let (mut host, mut a, mut new) =
        (machine(HOST), machine(A), Objects::new(newcomer, HOST, Term(1), Schemas::new()));
    let id = host.create(Time::ZERO, POT, &[b"pot"]).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    host.grant(id, A).unwrap();
    tell((HOST, &mut host), (A, &mut a));
    tell((A, &mut a), (HOST, &mut host));
    host.grant(id, X).unwrap();
    [HOST, A].into_iter().for_each(|peer| new.add_peer(peer));
    [&mut host, &mut a].into_iter().for_each(|machine| machine.add_peer(newcomer));
    tell((HOST, &mut host), (newcomer, &mut new));
    tell((A, &mut a), (newcomer, &mut new));
    assert!(new.get(id).is_none(), "the host has named another owner");

    for machine in [&mut host, &mut a, &mut new] {
        machine.set_host(HOST, Term(2));
        machine.remove_peer(X);
        machine.adopt(|peer| peer == X);
    }
    tell((HOST, &mut host), (newcomer, &mut new));
    tell((A, &mut a), (newcomer, &mut new));
    assert_eq!(
        new.get(id).map(samovar_objects::Object::owner),
        host.get(id).map(samovar_objects::Object::owner)
    );
    assert!(new.get(id).is_some());
}
