//! Objects that wait for their players (`orphan = "seat"`). Each is labelled with the seat of the player that made it.
//! While the player is away, the host holds it.
//!
//! The session gives such an object back if its host saw the player go. If the host did not see that, this module
//! gives the object back by its label.

use samovar_session::{Event, Object, Orphan, Session};
use samovar_wire::sorted::{SortedMap, SortedSet};
use samovar_wire::{Duration, Kind, ObjectId, PeerId, SeatId, Time};

/// The time between two looks at the objects that this program holds for others.
const TENDS_EVERY: Duration = Duration::from_millis(500);

/// The objects of this player that would wait for the player.
#[derive(Default)]
pub(crate) struct Own {
    /// The objects that the present game has made.
    pub(crate) made: SortedSet<ObjectId>,
    /// The object of each type of which a player has only one: see [`Room::own_or`](crate::Room::own_or).
    pub(crate) singles: SortedMap<Kind, ObjectId>,
}

/// This program's knowledge about the labels of other members' objects.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Members that have hosted: a former host may still hold objects for players.
    hosts: SortedSet<PeerId>,
    /// The seats of all members that this program has seen.
    seats: SortedMap<PeerId, SeatId>,
    /// Objects whose label names another player than the one that made them.
    mislabelled: SortedSet<ObjectId>,
    tended: Time,
}

impl Waiting {
    /// Notes the members, and judges the label of an object that a member has given away.
    pub(crate) fn note(&mut self, session: &Session, event: &Event) {
        self.hosts.insert(session.host());
        for member in session.view().members() {
            self.seats.insert(member.peer, member.record.seat);
        }
        if let Event::OwnerChanged { id, from, .. } = event
            && let Some(object) = session.object(*id)
        {
            self.judge_one(object, *from);
        }
    }

    /// Judges all labels, and ends objects that came back too late. From time to time it also looks at the objects that
    /// this program holds for others.
    pub(crate) fn tend(&mut self, now: Time, session: &mut Session, player: &mut Own) {
        self.judge(session);
        let own = |(object, _): &(&Object, SeatId)| object.owner() == session.me();
        let (mine, held): (Vec<_>, Vec<_>) = labelled(session)
            .filter(own)
            .map(|(object, seat)| (object.id(), object.traits().kind, seat))
            .partition(|(.., seat)| session.seat() == Some(*seat));
        player.made.retain(|&id| session.object(id).is_some());
        for (id, kind, _) in mine {
            let is_another = player.singles.get(&kind).is_some_and(|&single| single != id);
            let is_late = is_another && !player.made.contains(&id);
            // An object ends if it came back after the game had made another one, or if another player labelled it
            // falsely.
            if is_late || self.mislabelled.contains(&id) {
                let _ = session.edit(now).destroy(id);
            }
        }
        if now < self.tended + TENDS_EVERY {
            return;
        }
        self.tended = now;
        for (id, _, seat) in held {
            let record = session.view().seats().find(|record| record.seat == seat && !record.has_left());
            let is_void = record.is_none() || self.mislabelled.contains(&id);
            match record.and_then(|record| record.peer) {
                _ if is_void => drop(session.edit(now).destroy(id)),
                // If this program does not host, the host gets the object: the host knows better which players are
                // there.
                #[cfg(feature = "ownership")]
                _ if session.host() != session.me() => drop(session.ownership(now).release(id)),
                #[cfg(feature = "ownership")]
                Some(player) => drop(session.ownership(now).transfer(id, player)),
                _ => {}
            }
        }
    }

    fn judge(&mut self, session: &Session) {
        self.hosts.retain(|&peer| session.view().has(peer));
        self.seats.retain(|&peer, _| session.view().has(peer));
        self.hosts.insert(session.host());
        self.mislabelled.retain(|&id| session.object(id).is_some());
        session.objects().filter(|object| object.owner() != session.me()).for_each(|object| {
            if object.owner() == session.host() {
                // The host that holds the object has judged it.
                self.mislabelled.remove(&object.id());
            } else {
                self.judge_one(object, object.owner());
            }
        });
    }

    /// Marks an object as mislabelled if its owner never hosted and its label names another player. Only hosts hold
    /// objects for others, so such a label is false.
    fn judge_one(&mut self, object: &Object, owner: PeerId) {
        if let (Some(label), Some(&seat)) = (label(object), self.seats.get(&owner))
            && label != seat
            && !self.hosts.contains(&owner)
        {
            self.mislabelled.insert(object.id());
        }
    }
}

/// The label of an object that would wait for its player. A number that no seat can have counts as a seat without a
/// player.
fn label(object: &Object) -> Option<SeatId> {
    let label = *object.numbers().first().filter(|_| object.traits().orphan == Orphan::Freeze)?;
    Some(SeatId(u16::try_from(label).unwrap_or(u16::MAX)))
}

/// All objects that have labels, with the labels.
fn labelled(session: &Session) -> impl Iterator<Item = (&Object, SeatId)> {
    session.objects().filter_map(|object| Some((object, label(object)?)))
}
