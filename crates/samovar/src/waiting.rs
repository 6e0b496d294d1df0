//! Objects that wait for their players (`orphan = "seat"`). Each is labelled with the seat of the player that made it.
//! While the player is away, the host holds it.
//!
//! The session gives such an object back if its host saw the player go. This part does the rest, for hosts that did not:
//! it goes by the labels.

use std::collections::{BTreeMap, BTreeSet};

use samovar_session::{Object, Orphan, Session};
use samovar_wire::{Duration, Kind, ObjectId, PeerId, SeatId, Time};

/// The time between two looks at the objects that this program holds for others.
const TENDS_EVERY: Duration = Duration::from_millis(500);

/// The objects of this player that would wait for it.
#[derive(Default)]
pub(crate) struct Own {
    /// Those that the present game has made.
    pub(crate) made: BTreeSet<ObjectId>,
    /// Those of types of which a player has one: see [`Room::own_or`](crate::Room::own_or).
    pub(crate) singles: BTreeMap<Kind, ObjectId>,
}

/// What this program knows of the labels of others.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Members that have hosted: a former host may still hold objects for players.
    hosts: BTreeSet<PeerId>,
    /// Objects with the label of another player than the one that made them.
    mislabelled: BTreeSet<ObjectId>,
    tended: Time,
}

impl Waiting {
    /// Looks at all labels, ends objects that came back too late, and looks now and then at those that this program holds for others.
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
            // It came back after the game had made another one.
            if is_another && !player.made.contains(&id) {
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
                Some(player) => drop(session.ownership(now).transfer(id, player)),
                None if session.host() != session.me() => drop(session.ownership(now).release(id)),
                None => {}
            }
        }
    }

    /// A member that never hosted holds nothing for others: a foreign label on an object of its own is a lie. Another
    /// host that holds the object has judged it.
    fn judge(&mut self, session: &Session) {
        self.hosts.retain(|&peer| session.view().has(peer));
        self.hosts.insert(session.host());
        self.mislabelled.retain(|&id| session.object(id).is_some());
        for (object, seat) in labelled(session) {
            let owner = object.owner();
            let of_owner = session.seat_of(owner).map(|record| record.seat);
            if owner == session.me() {
            } else if owner == session.host() {
                self.mislabelled.remove(&object.id());
            } else if !self.hosts.contains(&owner) && of_owner.is_some_and(|own| own != seat) {
                self.mislabelled.insert(object.id());
            }
        }
    }
}

/// All objects that would wait for their players, with their labels. What no seat could be is one that nobody has.
fn labelled(session: &Session) -> impl Iterator<Item = (&Object, SeatId)> {
    session.objects().filter(|object| object.traits().orphan == Orphan::Freeze).filter_map(|object| {
        let label = *object.numbers().first()?;
        Some((object, SeatId(u16::try_from(label).unwrap_or(u16::MAX))))
    })
}
