//! Visibility: which of this peer's objects others see, and which objects this peer is told that it sees (PROTOCOL
//! §4.9).

use samovar_wire::object::MessageKind;
use samovar_wire::sight::{Focus, SIGHTS_MAX, Sight};
use samovar_wire::{CloseCode, ObjectId, PeerId, Reader, Receipt, Writer};

use crate::frames::is_behind;
use crate::interest::{distance_squared, sees};
use crate::object::Object;
use crate::objects::{ObjectEvent, Objects};
use crate::send::{Pending, What};

impl Objects {
    /// The place of an object in the game's world; `None` when the schema of its kind has no field for the place.
    #[must_use]
    pub fn place(&self, id: ObjectId) -> Option<[f32; 3]> {
        self.place_of(self.slots.get(id)?)
    }

    fn place_of(&self, object: &Object) -> Option<[f32; 3]> {
        self.schema(object.traits.kind)?.place_of(&object.numbers)
    }

    /// Sets the edge of the grid's cells, in the unit of the places. It is 16 unless set. An edge of about the radius
    /// of the members' foci serves best: smaller cells cost memory and time, and with larger cells distant objects
    /// are checked in vain. A value that is not positive and finite changes nothing.
    pub fn set_cell(&mut self, edge: f32) {
        if !edge.is_finite() || edge <= 0.0 {
            return;
        }
        self.interest.set_cell(edge);
        let slots: Vec<_> = self.slots.iter().filter_map(|object| self.slots.slot(object.id)).collect();
        slots.into_iter().for_each(|slot| self.look(slot));
    }

    /// Sets the part of this peer's objects that a peer wants to see; `None` for everything. It may be set before the
    /// peer is linked, and is forgotten when the peer is removed. It affects only updates of objects that have a
    /// place and change by datagrams.
    pub fn set_focus(&mut self, peer: PeerId, focus: Option<Focus>) {
        debug_assert!(focus.is_none_or(|focus| focus.is_valid()), "a decoded focus is valid");
        let mut slots = Vec::new();
        if let (Some(focus), Some(former)) = (focus, self.interest.focus(peer)) {
            self.interest.near(&focus, &mut slots);
            self.interest.near(&former, &mut slots);
        } else if let Some(replica) = self.replicas.get(&peer) {
            slots.extend(replica.known_slots());
        }
        self.interest.set_focus(peer, focus);
        slots.into_iter().for_each(|slot| self.judge(peer, slot));
    }

    /// Applies the newest focus that a peer asked for.
    pub(crate) fn grant_sight(&mut self, peer: PeerId) {
        if let Some(focus) = self.interest.take_asked(peer) {
            self.set_focus(peer, focus);
        }
    }

    /// The focus of a peer, if it told one.
    #[must_use]
    pub fn focus(&self, peer: PeerId) -> Option<Focus> {
        self.interest.focus(peer)
    }

    /// The one of these members that is nearest to an object. A member's place is the centre of its focus. This
    /// peer's focus is `own`. A member without a focus is as near as the nearest object that it owns. `None` when the
    /// object or all members have no place.
    #[must_use]
    pub fn nearest(
        &self,
        id: ObjectId,
        own: Option<Focus>,
        members: impl Iterator<Item = PeerId>,
    ) -> Option<PeerId> {
        let place = self.place(id)?;
        let distance = |peer: PeerId| {
            let focus = if peer == self.me { own } else { self.interest.focus(peer) };
            if let Some(focus) = focus {
                return Some(distance_squared(focus.center, place));
            }
            let owned = self.slots.iter().filter(|object| object.owner == peer && object.id != id);
            owned
                .filter_map(|object| Some(distance_squared(self.place_of(object)?, place)))
                .min_by(f64::total_cmp)
        };
        let measured = members.filter_map(|peer| Some((distance(peer)?, peer)));
        measured.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, peer)| peer)
    }

    /// Updates the place of an object of this peer, and which peers see it.
    pub(crate) fn look(&mut self, slot: u32) {
        let Some(object) = self.slots.at(slot).filter(|object| object.owner == self.me) else { return };
        let Some(place) = self.place_of(object) else { return };
        self.interest.put(slot, Some(place));
        if self.interest.has_foci() {
            let peers = self.interest.lookers();
            peers.iter().for_each(|&peer| self.judge(peer, slot));
            self.interest.give_back(peers);
        }
    }

    /// Decides which of these newly announced objects a peer sees.
    pub(crate) fn look_for(&mut self, peer: PeerId, ids: &[ObjectId]) {
        if self.interest.focus(peer).is_some() {
            let slots: Vec<_> = ids.iter().filter_map(|&id| self.slots.slot(id)).collect();
            slots.into_iter().for_each(|slot| self.judge(peer, slot));
        }
    }

    /// Decides whether a peer sees an object of this peer, and acts on a change.
    fn judge(&mut self, peer: PeerId, slot: u32) {
        let Some(object) = self.slots.at(slot).filter(|object| object.owner == self.me) else { return };
        let (place, focus) = (self.place_of(object), self.interest.focus(peer));
        let Some(replica) = self.replicas.get_mut(&peer) else { return };
        let Some(known) = replica.known_mut(slot) else { return };
        let is_seen = match (place, focus) {
            (Some(place), Some(focus)) if !object.traits.reliable => sees(&focus, place, known.relevant),
            _ => true,
        };
        if core::mem::replace(&mut known.relevant, is_seen) == is_seen {
            return;
        }
        // Updates continue from the state that the peer is known to have.
        if is_seen && is_behind(object, known) {
            replica.behind.insert(slot);
        } else {
            replica.behind.remove(slot);
        }
        self.interest.note(peer, object.id, is_seen);
    }

    /// Checks which announcements have arrived, for the objects whose visibility a peer must be told. Before that, a
    /// message about an object could overtake its announcement in the bulk stream.
    pub fn settle_sights(&mut self, peer: PeerId, is_delivered: &dyn Fn(Receipt) -> bool) {
        let (Some(untold), Some(replica)) = (self.interest.untold(peer), self.replicas.get_mut(&peer)) else {
            return;
        };
        for slot in untold.keys().filter_map(|&id| self.slots.slot(id)) {
            if let Some(known) = replica.known_mut(slot) {
                known.ready = known.ready || is_delivered(known.announced);
            }
        }
    }

    /// Composes a message that tells a peer which objects it sees, and which no longer.
    pub(crate) fn write_sights(&mut self, peer: PeerId, writer: &mut Writer<'_>) -> Option<Pending> {
        let untold = self.interest.untold(peer)?;
        let replica = self.replicas.get(&peer)?;
        let (mut sights, mut void) = (Vec::new(), Vec::new());
        for (&id, &current) in untold {
            let known = self.slots.slot(id).and_then(|slot| self.slots.at(slot).zip(replica.known(slot)));
            match known {
                // If the object is announced anew, its visibility is decided anew.
                None => void.push(id),
                Some((object, known)) if known.ready || matches!(known.announced, Receipt::Lane(_)) => {
                    sights.push(Sight { id, stamp: object.stamp, current });
                }
                Some(_) => {}
            }
            if sights.len() == SIGHTS_MAX {
                break;
            }
        }
        self.interest.told(peer, &void);
        if sights.is_empty() {
            return None;
        }
        writer.u8(MessageKind::Sight as u8);
        writer.u8(sights.len() as u8);
        sights.iter().for_each(|sight| sight.encode(writer));
        Some(Pending(What::Sights(sights.into_iter().map(|sight| sight.id).collect())))
    }

    /// Handles a peer's request for a focus.
    pub(crate) fn handle_focus(&mut self, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(body);
        let focus = Focus::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
        reader.end().map_err(|_| CloseCode::Malformed)?;
        self.interest.ask(from, focus);
        Ok(())
    }

    /// Handles an owner's message that says which of its objects this peer sees.
    pub(crate) fn handle_sight(&mut self, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(body);
        let count = usize::from(reader.u8().map_err(|_| CloseCode::Malformed)?);
        if count > SIGHTS_MAX {
            return Err(CloseCode::LimitExceeded);
        }
        for _ in 0..count {
            let Sight { id, stamp, current } =
                Sight::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
            // Only the owner's word counts, under its stamp.
            let known = self.slots.get_mut(id).filter(|o| (o.owner, o.stamp) == (from, stamp));
            let Some(object) = known else {
                if let Some(held) = self.confirmations.held_mut(from, id, stamp) {
                    held.current = current;
                }
                continue;
            };
            if core::mem::replace(&mut object.current, current) != current {
                let event = if current { ObjectEvent::Entered(id) } else { ObjectEvent::Left(id) };
                self.events.push_back(event);
            }
        }
        reader.end().map_err(|_| CloseCode::Malformed)
    }
}
