//! What other peers say about objects, and what of it is believed (PROTOCOL §4).

use samovar_wire::limits::{OBJECTS_AT_HOST_MAX, OBJECTS_PER_PEER_MAX, STATE_MAX};
use samovar_wire::object::{Announcement, Destroy, MessageKind, Update};
use samovar_wire::{CloseCode, DecodeError, ObjectId, PeerId, Reader, Stamp, Time};

use super::{ObjectEvent, Objects};
use crate::object::{Field, Object};

/// How many objects of a creator that this peer has not heard of others may already have seen die.
const BURIED_AHEAD_MAX: u32 = 256;

const fn malformed(error: DecodeError) -> CloseCode {
    match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    }
}

impl Objects {
    /// Takes a message of the reliable lane or the bulk stream, its kind byte already read.
    ///
    /// # Errors
    /// The code to close the link with: the bytes are malformed, or the peer spoke for somebody else. What is
    /// merely old is ignored and no error.
    pub fn handle_message(&mut self, from: PeerId, kind: MessageKind, body: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(body);
        match kind {
            MessageKind::Create | MessageKind::Migrate | MessageKind::Grant | MessageKind::Orphan => {
                let announcement = Announcement::decode(&mut reader).map_err(malformed)?;
                reader.end().map_err(malformed)?;
                match kind {
                    MessageKind::Grant => self.handle_grant(from, &announcement),
                    MessageKind::Orphan => self.handle_orphan(&announcement),
                    _ => self.handle_announcement(from, kind, &announcement),
                }
            }
            MessageKind::Snapshot => {
                while !reader.is_empty() {
                    let kind = MessageKind::decode(&mut reader).map_err(malformed)?;
                    if !matches!(kind, MessageKind::Create | MessageKind::Migrate) {
                        return Err(CloseCode::Malformed);
                    }
                    let announcement = Announcement::decode(&mut reader).map_err(malformed)?;
                    self.handle_announcement(from, kind, &announcement)?;
                }
                Ok(())
            }
            MessageKind::Update => self.handle_updates(from, None, &mut reader),
            MessageKind::Destroy => {
                let destroy = Destroy::decode(&mut reader).map_err(malformed)?;
                reader.end().map_err(malformed)?;
                self.handle_destroy(from, destroy)
            }
            MessageKind::Control | MessageKind::App => Err(CloseCode::Unexpected),
        }
    }

    /// Takes a datagram of updates, its kind byte already read, that came in the packet of this number.
    ///
    /// # Errors
    /// `Malformed` or `TooLarge`.
    pub fn handle_datagram(&mut self, from: PeerId, packet: u64, body: &[u8]) -> Result<(), CloseCode> {
        self.handle_updates(from, Some(packet), &mut Reader::new(body))
    }

    fn handle_announcement(
        &mut self,
        from: PeerId,
        kind: MessageKind,
        announcement: &Announcement<'_>,
    ) -> Result<(), CloseCode> {
        let (id, stamp) = (announcement.id, announcement.stamp);
        if announcement.owner != from {
            return Err(CloseCode::NotYours);
        }
        self.check_term(stamp)?;
        if id == ObjectId::SESSION {
            // The session object's owner is the host, by its warrant and by nothing else (DESIGN §1). A former
            // host's word is merely old, and who was one once cannot be told: it is not taken, or anybody could
            // write the view until the new host has.
            if from != self.host {
                return if stamp.term == self.term { Err(CloseCode::BadWarrant) } else { Ok(()) };
            }
            // Its traits outlive a host, and a view that came in pieces would be a broken one.
            if !announcement.traits.reliable || announcement.traits.dies_with_owner {
                return Err(CloseCode::Malformed);
            }
        } else if kind == MessageKind::Create && (id.creator != from || stamp.counter != 0) {
            return Err(CloseCode::NotYours);
        } else if kind == MessageKind::Migrate {
            self.check_granted(from, id, stamp)?;
        }
        self.accept(announcement)
    }

    /// Terms are passed on before anything is said under them, so a later one than ours has no warrant.
    fn check_term(&self, stamp: Stamp) -> Result<(), CloseCode> {
        if stamp.term > self.term { Err(CloseCode::FutureStamp) } else { Ok(()) }
    }

    /// The host knows what it granted; what is of a former host's term it cannot know, and an older stamp is old.
    fn check_granted(&self, from: PeerId, id: ObjectId, stamp: Stamp) -> Result<(), CloseCode> {
        let current = self.objects.get(&id).map(|o| o.stamp).max(self.tombs.stamp(id));
        let fresh = current.is_none_or(|current| stamp > current);
        if !self.is_host()
            || !fresh
            || stamp.term < self.term
            || self.granted.get(&id) == Some(&(stamp, from))
        {
            return Ok(());
        }
        let promised = self.granted.get(&id).is_some_and(|&(promised, _)| stamp < promised);
        if promised { Ok(()) } else { Err(CloseCode::NotYours) }
    }

    fn accept(&mut self, new: &Announcement<'_>) -> Result<(), CloseCode> {
        if self.tombs.stamp(new.id).is_some_and(|death| death >= new.stamp) {
            return Ok(());
        }
        let known = self.objects.get(&new.id).map(|o| (o.stamp, o.owner));
        match known {
            // A counter at its end cannot grow: then the host, which checks every change of owner, is right.
            Some((stamp, owner)) if stamp == new.stamp && owner != new.owner && new.owner == self.host => {}
            Some((stamp, owner)) if stamp == new.stamp && owner != new.owner => {
                return Err(CloseCode::NotYours);
            }
            Some((stamp, _)) if stamp >= new.stamp => return Ok(()),
            _ => {}
        }
        let limit = if new.owner == self.host { OBJECTS_AT_HOST_MAX } else { OBJECTS_PER_PEER_MAX };
        if self.owned_by(new.owner) >= limit {
            return Err(CloseCode::LimitExceeded);
        }
        self.tombs.exhume(new.id);
        if self.granted.get(&new.id).is_some_and(|&(stamp, _)| stamp <= new.stamp) {
            self.granted.remove(&new.id);
        }
        self.replicas.values_mut().for_each(|replica| replica.forget(new.id));
        let revision = self.objects.get(&new.id).map_or(0, |o| o.revision + 1);
        let fields = new.fields.iter().map(|f| Field { bytes: f.to_vec(), ..Field::default() }).collect();
        let (id, stamp, traits) = (new.id, new.stamp, new.traits);
        let object = Object { id, owner: new.owner, stamp, traits, sampled: new.sampled, revision, fields };
        self.objects.insert(id, object);
        match known {
            Some((_, from)) if from != new.owner => {
                self.events.push_back(ObjectEvent::OwnerChanged { id, from, to: new.owner });
            }
            Some(_) => {}
            None => self.events.push_back(ObjectEvent::Created(id)),
        }
        Ok(())
    }

    fn handle_grant(&mut self, from: PeerId, grant: &Announcement<'_>) -> Result<(), CloseCode> {
        if from != self.host && grant.stamp.term == self.term {
            return Err(CloseCode::BadWarrant);
        }
        self.check_term(grant.stamp)?;
        if grant.owner != self.me || grant.id == ObjectId::SESSION {
            return Err(CloseCode::NotYours);
        }
        if grant.stamp.term < self.term {
            return Ok(());
        }
        let newest = self.objects.get(&grant.id).map(|o| o.stamp).max(self.tombs.stamp(grant.id));
        if newest.is_some_and(|newest| newest >= grant.stamp) {
            return Ok(());
        }
        // Our own copy may be newer than the host's, but the former owner's last word is not ours to judge: the
        // host's copy is used only where we have none.
        if self.owned_by(self.me) >= OBJECTS_PER_PEER_MAX {
            return Ok(());
        }
        if !self.objects.contains_key(&grant.id) {
            self.accept(grant)?;
        }
        self.take(grant.id, grant.stamp);
        Ok(())
    }

    fn handle_orphan(&mut self, orphan: &Announcement<'_>) -> Result<(), CloseCode> {
        let is_orphan = self.departed.contains(&orphan.owner) && orphan.id != ObjectId::SESSION;
        // The host takes no more than the gone could have owned and it may own itself.
        let has_room = self.owned_by(self.me) < OBJECTS_AT_HOST_MAX;
        if !self.is_host() || !is_orphan || !has_room || orphan.stamp.term > self.term {
            return Ok(());
        }
        if self.objects.get(&orphan.id).is_none_or(|known| known.stamp < orphan.stamp) {
            self.accept(orphan)?;
            self.adopt_one(orphan.id);
        }
        Ok(())
    }

    fn handle_updates(
        &mut self,
        from: PeerId,
        packet: Option<u64>,
        reader: &mut Reader<'_>,
    ) -> Result<(), CloseCode> {
        let base = Time::from_micros(reader.varint().map_err(malformed)?);
        while !reader.is_empty() {
            let update = Update::decode(base, reader).map_err(malformed)?;
            self.apply(from, packet, &update)?;
        }
        Ok(())
    }

    fn apply(&mut self, from: PeerId, packet: Option<u64>, update: &Update<'_>) -> Result<(), CloseCode> {
        let Some(object) = self.objects.get_mut(&update.id) else { return Ok(()) };
        // Only the owner speaks, under its own stamp (DESIGN §5.3).
        if object.owner != from || object.stamp != update.stamp {
            return Ok(());
        }
        let mut size: usize = object.fields.iter().map(|field| field.bytes.len()).sum();
        for (index, value) in update.fields() {
            let field = object.fields.get_mut(index).ok_or(CloseCode::Malformed)?;
            if let Some(packet) = packet {
                if packet < field.packet {
                    continue;
                }
                field.packet = packet;
            }
            // Whoever takes the object over has to announce all of it.
            size = size - field.bytes.len() + value.len();
            if size > STATE_MAX {
                return Err(CloseCode::TooLarge);
            }
            field.bytes.clear();
            field.bytes.extend_from_slice(value);
            object.revision += 1;
            object.sampled = object.sampled.max(update.sampled);
        }
        Ok(())
    }

    /// Whether somebody other than its creator can know of the death of an object that this peer has not seen. A death
    /// must be remembered, or a late CREATE brings the object back; but nobody can bury what is not yet born.
    fn may_bury(&self, from: PeerId, id: ObjectId, stamp: Stamp) -> bool {
        let newest = self.objects.range(..=ObjectId { number: u32::MAX, ..id }).next_back();
        let newest =
            newest.filter(|(known, _)| known.creator == id.creator).map_or(0, |(known, _)| known.number);
        let newest = newest.max(self.tombs.newest(id.creator));
        let is_near = id.number <= newest.saturating_add(BURIED_AHEAD_MAX);
        let is_grant_of_this_term = self.is_host() && stamp.term == self.term && from != self.host;
        self.is_known(id.creator) && is_near && !is_grant_of_this_term
    }

    fn handle_destroy(&mut self, from: PeerId, destroy: Destroy) -> Result<(), CloseCode> {
        let Destroy { id, stamp } = destroy;
        self.check_term(stamp)?;
        if id == ObjectId::SESSION {
            return Err(CloseCode::NotYours);
        }
        match self.objects.get(&id) {
            Some(object) if stamp < object.stamp => return Ok(()),
            // As with an announcement, the host is right about a counter at its end.
            Some(object) if stamp == object.stamp && object.owner != from && from != self.host => {
                return Err(CloseCode::NotYours);
            }
            Some(object) if stamp > object.stamp => self.check_granted(from, id, stamp)?,
            Some(_) => {}
            None if from != id.creator && !self.may_bury(from, id, stamp) => return Ok(()),
            None => {}
        }
        let kind = self.objects.get(&id).map(|o| o.traits.kind);
        self.end(id, stamp);
        if let Some(kind) = kind {
            self.events.push_back(ObjectEvent::Destroyed { id, kind });
        }
        Ok(())
    }
}
