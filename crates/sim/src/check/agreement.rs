//! docs/recovery.md, promises 1 and 4: when changes stop, all live members have the same objects and members, and one
//! host.

use samovar_session::{Object, Session};
use samovar_wire::{ObjectId, PeerId, Stamp, Term};

use crate::game::ProcessId;

/// A member's knowledge of its session: the host, the members and the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    host: PeerId,
    term: Term,
    members: Vec<(u16, PeerId)>,
    objects: Vec<Thing>,
}

type Thing = (ObjectId, PeerId, Stamp, Vec<i32>, Vec<Vec<u8>>);

/// Records what a member knows of its session.
pub(crate) fn picture(session: &Session) -> Picture {
    let thing = |o: &Object| {
        let texts = (0..o.field_count()).map(|index| o.field(index).to_vec()).collect();
        (o.id(), o.owner(), o.stamp(), o.numbers().to_vec(), texts)
    };
    let mut members: Vec<_> = session.view().members().map(|m| (m.record.seat.0, m.peer)).collect();
    members.sort_unstable();
    Picture {
        host: session.host(),
        term: session.term(),
        members,
        objects: session.objects().map(thing).collect(),
    }
}

/// The first difference between two pictures; `None` if they are equal.
pub(crate) fn disagreement(a: (ProcessId, &Picture), b: (ProcessId, &Picture)) -> Option<String> {
    let ((pa, a), (pb, b)) = (a, b);
    let heads = |p: &Picture| (p.host, p.term);
    if heads(a) != heads(b) {
        return Some(format!("process {pa} has the host {:?} and process {pb} {:?}", heads(a), heads(b)));
    }
    if a.members != b.members {
        return Some(format!("the members are {:?} at process {pa}, {:?} at {pb}", a.members, b.members));
    }
    let missing = |from: &Picture, other: &Picture| {
        let is_missing = |thing: &&Thing| !other.objects.iter().any(|o| o.0 == thing.0);
        from.objects.iter().find(is_missing).map(|thing| thing.0)
    };
    if let Some(id) = missing(a, b) {
        return Some(format!("object {id} is at process {pa} and not at {pb}"));
    }
    if let Some(id) = missing(b, a) {
        return Some(format!("object {id} is at process {pb} and not at {pa}"));
    }
    let differs = a.objects.iter().zip(&b.objects).find(|(x, y)| x != y);
    differs.map(|(x, y)| format!("at process {pa} there is {x:?}, at {pb} {y:?}"))
}
