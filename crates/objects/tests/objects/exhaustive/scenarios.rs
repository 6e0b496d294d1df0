//! The scenarios of docs/sources.md, "Bitsquid", and others in which such messages race.

use samovar_wire::{PeerId, Stamp, Term};

use crate::exhaustive::stage::{A, B, C, End, HOST, Scenario, Stage, X};

/// A scenario's name and its constructor.
type Named = (&'static str, fn() -> Scenario);

pub(crate) const SCENARIOS: [Named; 13] = [
    ("a reign of two", reign_of_two),
    ("a reign of two that ends", reign_of_two_that_ends),
    ("three owners", three_owners),
    ("from A to B and back", there_and_back),
    ("a destroy races a grant, at a member", || destroy_races_grant(X)),
    ("a destroy races a grant, at the host", || destroy_races_grant(HOST)),
    ("a grant to a peer that never saw the object, at a member", || grant_of_the_unseen(X)),
    ("a grant to a peer that never saw the object, at that peer", || grant_of_the_unseen(B)),
    ("a grant lost with its receiver", || grant_lost(true)),
    ("a grant lost with its receiver, which no peer heard", || grant_lost(false)),
    ("two grants at once, at the host", two_grants),
    ("two hosts that each count to one", || two_hosts(1)),
    ("two hosts, of which the first counts further", || two_hosts(2)),
];

fn owned(owner: PeerId, term: u64, counter: u32) -> End {
    End::Owned(owner, Stamp { term: Term(term), counter })
}

/// A creates an object and tells all peers but the observer. Its CREATE and an update become letters to the observer.
fn begun(observer: PeerId) -> (Stage, samovar_wire::ObjectId) {
    let mut stage = Stage::new(observer);
    let id = stage.create(A);
    [HOST, B, C].into_iter().filter(|&peer| peer != observer).for_each(|peer| stage.tell(A, peer));
    stage.seal(A);
    stage.seal_update(A, id, b"of a");
    (stage, id)
}

/// The host grants the object to `to`, and the new owner announces itself to every other peer.
fn migrate(stage: &mut Stage, id: samovar_wire::ObjectId, to: PeerId) {
    stage.peer(HOST).grant(id, to).unwrap();
    stage.tell(HOST, to);
    [A, B, C].into_iter().filter(|&peer| peer != to).for_each(|peer| stage.tell(HOST, peer));
    stage.seal(HOST);
    [HOST, A, B, C].into_iter().filter(|&peer| peer != to).for_each(|peer| stage.tell(to, peer));
    stage.seal(to);
}

fn reign_of_two() -> Scenario {
    let (mut stage, id) = begun(X);
    migrate(&mut stage, id, B);
    stage.seal_update(B, id, b"of b");
    stage.seal_update(B, id, b"of b, newer");
    stage.ends(id, owned(B, 1, 1))
}

fn reign_of_two_that_ends() -> Scenario {
    let (mut stage, id) = begun(X);
    migrate(&mut stage, id, B);
    stage.seal_update(B, id, b"of b");
    stage.peer(B).destroy(id).unwrap();
    stage.seal(B);
    stage.ends(id, End::Dead)
}

fn three_owners() -> Scenario {
    let (mut stage, id) = begun(X);
    migrate(&mut stage, id, B);
    stage.seal_update(B, id, b"of b");
    migrate(&mut stage, id, C);
    stage.seal_update(C, id, b"of c");
    stage.peer(C).destroy(id).unwrap();
    stage.seal(C);
    stage.ends(id, End::Dead)
}

/// The update of A's first ownership may arrive when A owns the object again, and must not count then.
fn there_and_back() -> Scenario {
    let (mut stage, id) = begun(X);
    migrate(&mut stage, id, B);
    stage.seal_update(B, id, b"of b");
    migrate(&mut stage, id, A);
    stage.seal_update(A, id, b"of a, again");
    stage.ends(id, owned(A, 1, 2))
}

/// A destroys an object that the host has granted to B already. The granted object lives on.
fn destroy_races_grant(observer: PeerId) -> Scenario {
    let mut stage = Stage::new(observer);
    let id = stage.create(A);
    stage.tell(A, HOST);
    if observer == X {
        stage.seal(A);
        stage.seal_update(A, id, b"of a");
    }
    stage.peer(HOST).grant(id, B).unwrap();
    stage.tell(HOST, B);
    if observer == X {
        stage.seal(HOST);
    }
    stage.begin();
    if observer == HOST {
        stage.seal_update(A, id, b"of a");
    }
    stage.peer(A).destroy(id).unwrap();
    stage.seal(A);
    stage.seal(B);
    stage.seal_update(B, id, b"of b");
    stage.ends(id, owned(B, 1, 1))
}

/// A's CREATE is still in flight to B when B is granted the object and announces it.
fn grant_of_the_unseen(observer: PeerId) -> Scenario {
    let mut stage = Stage::new(observer);
    let id = stage.create(A);
    stage.tell(A, HOST);
    stage.seal(A);
    stage.seal_update(A, id, b"of a");
    stage.peer(HOST).grant(id, B).unwrap();
    if observer == B {
        stage.seal(HOST);
    } else {
        stage.tell(HOST, B);
        stage.seal(HOST);
        stage.seal(B);
        stage.seal_update(B, id, b"of b");
    }
    stage.ends(id, owned(B, 1, 1))
}

/// B is gone. The observer alone may have heard that B took the object over.
fn grant_lost(was_heard: bool) -> Scenario {
    let (mut stage, id) = begun(X);
    stage.peer(HOST).grant(id, B).unwrap();
    stage.tell(HOST, B);
    stage.seal(HOST);
    if was_heard {
        stage.seal(B);
        stage.seal_update(B, id, b"of b");
    }
    stage.seal_departure(B);
    stage.peer(HOST).remove_peer(B);
    stage.peer(HOST).adopt(|peer| peer == B);
    stage.seal(HOST);
    stage.seal_update(HOST, id, b"of the host");
    stage.ends(id, owned(HOST, 1, 2))
}

/// The host revokes a grant before it hears from the grant's receiver, B. C ends the object.
fn two_grants() -> Scenario {
    let mut stage = Stage::new(HOST);
    let id = stage.create(A);
    [HOST, B, C].into_iter().for_each(|peer| stage.tell(A, peer));
    for heir in [B, C] {
        stage.peer(HOST).grant(id, heir).unwrap();
        stage.tell(HOST, heir);
    }
    stage.begin();
    stage.seal_update(A, id, b"of a");
    stage.seal(B);
    stage.seal_update(B, id, b"of b");
    stage.seal(C);
    stage.seal_update(C, id, b"of c");
    stage.peer(C).destroy(id).unwrap();
    stage.seal(C);
    stage.ends(id, End::Dead)
}

/// The second host never heard of the first one's grants. Its counter reaches the same number, or a lower one, so its
/// term decides.
fn two_hosts(grants: u32) -> Scenario {
    let (mut stage, id) = begun(X);
    (1..grants).for_each(|_| stage.peer(HOST).grant(id, C).unwrap());
    stage.peer(HOST).grant(id, B).unwrap();
    stage.tell(HOST, B);
    stage.seal(HOST);
    stage.seal(B);
    stage.seal_update(B, id, b"of b");
    for peer in [A, B, C] {
        stage.peer(peer).remove_peer(HOST);
        stage.peer(peer).set_host(A, Term(2));
    }
    stage.seal_host(A, Term(2), |stage| {
        stage.peer(A).grant(id, C).unwrap();
        stage.tell(A, C);
        stage.seal(A);
        stage.seal(C);
        stage.seal_update(C, id, b"of c");
    });
    stage.ends(id, owned(C, 2, 1))
}
