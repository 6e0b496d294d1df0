//! Messages of other peers about objects, and which of them are believed (PROTOCOL §4).

use samovar_wire::limits::{FIELDS_MAX, OBJECTS_AT_HOST_MAX, OBJECTS_PER_PEER_MAX};
use samovar_wire::object::{Announcement, Destroy, FrameHead, MessageKind, SAMPLE_UNIT, Traits, Update};
use samovar_wire::{CloseCode, DecodeError, Duration, Kind, ObjectId, PeerId, Reader, Stamp, Time};

use crate::arrival::Arrival;
use crate::baselines::{Last, basis, frames_of};
use crate::coder::{Baseline, Coded, Decoder};
use crate::fields::{read_fields, read_numbers};
use crate::object::Object;
use crate::objects::{ObjectEvent, Objects, PRIORITY, Promise};
use crate::past::Past;
use crate::replica::Replica;
use crate::schema::{Coding, Schema};
use crate::state::State;
use crate::text::Text;

/// The number of past states (moments) kept of each object of another peer. A baseline is at most 48 updates old. The
/// other 64 are for states that later updates overtook. If more updates overtook a state, its numbers are too old to
/// be needed (PROTOCOL §4.6).
const KEPT_OF_OTHERS: usize = 112;

/// The most objects that one member may own as far as this peer knows. A member owns `OBJECTS_PER_PEER_MAX` at most,
/// but this peer may not know yet that the member gave some away.
pub(crate) const OBJECTS_OF_OTHERS_MAX: usize = OBJECTS_PER_PEER_MAX + OBJECTS_PER_PEER_MAX / 4;

pub(crate) const fn malformed(error: DecodeError) -> CloseCode {
    match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    }
}

impl Objects {
    /// Takes a message of the reliable lane or the bulk stream, its kind byte already read.
    ///
    /// # Errors
    /// The code to close the link with, for example because the bytes are malformed or the peer spoke for another
    /// peer. Old messages are ignored without an error.
    pub fn handle_message(&mut self, from: PeerId, kind: MessageKind, body: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(body);
        match kind {
            MessageKind::Create | MessageKind::Migrate | MessageKind::Grant | MessageKind::Orphan => {
                let announcement = Announcement::decode(&mut reader).map_err(malformed)?;
                reader.end().map_err(malformed)?;
                match kind {
                    MessageKind::Grant => self.handle_grant(from, &announcement),
                    MessageKind::Orphan => self.handle_orphan(from, &announcement),
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
            MessageKind::Update => self.handle_updates(from, &mut reader),
            MessageKind::Destroy => {
                let destroy = Destroy::decode(&mut reader).map_err(malformed)?;
                reader.end().map_err(malformed)?;
                self.handle_destroy(from, destroy)
            }
            MessageKind::Granted => self.handle_granted(from, &mut reader),
            MessageKind::Deaths => self.handle_deaths(from, &mut reader),
            MessageKind::Focus => self.handle_focus(from, reader.rest()),
            MessageKind::Sight => self.handle_sight(from, reader.rest()),
            _ => Err(CloseCode::Unexpected),
        }
    }

    /// The new states in the last datagram that was handled.
    #[must_use]
    pub fn arrivals(&self) -> &[Arrival] {
        &self.scratch.arrivals
    }

    /// Takes a datagram, the kind byte of FRAME already read.
    ///
    /// # Errors
    /// `Malformed` or `TooLarge`.
    pub fn handle_datagram(&mut self, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(body);
        let head = FrameHead::decode(&mut reader).map_err(malformed)?;
        let mut coded = core::mem::take(&mut self.scratch.coded);
        self.scratch.arrivals.clear();
        let mut decoder = Decoder::new(from, head.count, reader.rest(), &mut coded);
        let mut last = None;
        let result = loop {
            match decoder.read(&self.schemas.0, &mut coded) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(malformed(error)),
            }
            if let Err(code) = self.apply_state(from, &head, &coded, &mut last) {
                break Err(code);
            }
        };
        self.scratch.coded = coded;
        result
    }

    fn apply_state(
        &mut self,
        from: PeerId,
        head: &FrameHead,
        coded: &Coded,
        last: &mut Last,
    ) -> Result<(), CloseCode> {
        // Only the owner's states count, under its stamp (docs/recovery.md, promise 3).
        let known = self.slots.get_mut(coded.id).filter(|o| (o.owner, o.stamp) == (from, coded.stamp));
        let spoken_of = known.or_else(|| self.confirmations.held_mut(from, coded.id, coded.stamp));
        let Some(object) = spoken_of.filter(|object| head.frame > object.since) else { return Ok(()) };
        if object.traits.kind != coded.kind || object.traits.reliable {
            return Err(CloseCode::Malformed);
        }
        let sample = head.base.saturating_sub(coded.age);
        let width = object.numbers.len();
        if let Some(schema) = self.schemas.0.of(coded.kind).filter(|schema| schema.numbers() > 0) {
            let frames = frames_of(head.frame, head.baselines, coded.baseline);
            let basis = basis(frames, |frame| object.past.at(width, frame), sample, last);
            if basis.is_some() || coded.baseline == Baseline::None {
                let numbers = &mut self.scratch.numbers;
                coded.resolve(schema, basis.as_ref(), numbers).map_err(malformed)?;
                object.past.note(KEPT_OF_OTHERS, head.frame, sample, numbers);
                if head.frame > object.frame {
                    object.numbers.copy_from_slice(numbers);
                }
            } else if head.frame > object.frame {
                // An honest sender builds a state only on moments that this peer has.
                return Err(CloseCode::Malformed);
            }
            // Otherwise many updates overtook this state, and its baseline is no longer kept: its numbers are too old
            // to be needed.
        }
        // Texts of two states of the owner may exceed the limit together, so too many bytes do not end the link.
        for (index, bytes) in coded.texts() {
            let text = object.texts.get_mut(index).ok_or(CloseCode::Malformed)?;
            if head.frame <= text.frame {
                continue;
            }
            text.frame = head.frame;
            text.bytes.clear();
            text.bytes.extend_from_slice(bytes);
        }
        if head.frame > object.frame {
            object.frame = head.frame;
            let [sampled, sent] =
                [sample, head.base].map(|time| Time::from_micros(time.saturating_mul(SAMPLE_UNIT)));
            object.sampled = object.sampled.max(sampled);
            self.scratch.arrivals.push(Arrival { sampled, sent });
        }
        object.revision += 1;
        Ok(())
    }

    fn handle_announcement(
        &mut self,
        from: PeerId,
        kind: MessageKind,
        announcement: &Announcement<'_>,
    ) -> Result<(), CloseCode> {
        let (id, stamp) = (announcement.id, announcement.stamp);
        let owner = announcement.owner;
        if owner != from {
            return Err(CloseCode::NotYours);
        }
        self.check_term(stamp)?;
        if id == ObjectId::SESSION {
            // Only the host owns the session object, by its warrant (ARCHITECTURE.md, "One idea"). A former host's
            // announcement is old and not false, so it is ignored without an error. If it counted, any peer could
            // write the view until the new host has written it.
            if from != self.host {
                return if stamp.term == self.term { Err(CloseCode::BadWarrant) } else { Ok(()) };
            }
            // The traits must make the object outlive its host, and be reliable, since half a view would be wrong.
            if announcement.traits != (Traits { reliable: true, ..Traits::of(Kind::SESSION) }) {
                return Err(CloseCode::Malformed);
            }
        } else if kind == MessageKind::Create && (id.creator != owner || stamp.counter != 0) {
            return Err(CloseCode::NotYours);
        } else if kind == MessageKind::Migrate {
            self.check_granted(from, id, stamp)?;
            if self.is_unconfirmed(from, id, stamp) {
                return self.hold(announcement);
            }
        }
        self.accept(announcement)
    }

    /// Refuses a stamp of a later term than this peer knows: a term is announced before any message under it.
    pub(crate) fn check_term(&self, stamp: Stamp) -> Result<(), CloseCode> {
        if stamp.term > self.term { Err(CloseCode::FutureStamp) } else { Ok(()) }
    }

    /// At the host: checks a stamp that is newer than the known one. The host must have granted it to `from`. A stamp
    /// of a former term passes, because this host does not know the grants of former hosts.
    pub(crate) fn check_granted(&self, from: PeerId, id: ObjectId, stamp: Stamp) -> Result<(), CloseCode> {
        let current = self.slots.get(id).map(|o| o.stamp).max(self.tombstones.stamp(id));
        let fresh = current.is_none_or(|current| stamp > current);
        let is_told = |promise: &Promise| promise.told.contains(&(stamp, from));
        if !self.is_host() || !fresh || stamp.term < self.term || self.granted.get(&id).is_some_and(is_told) {
            Ok(())
        } else {
            Err(CloseCode::NotYours)
        }
    }

    fn accept(&mut self, new: &Announcement<'_>) -> Result<(), CloseCode> {
        if self.tombstones.stamp(new.id).is_some_and(|death| death >= new.stamp) {
            return Ok(());
        }
        let known = self.slots.get(new.id).map(|o| (o.stamp, o.owner));
        match known {
            Some((stamp, owner)) if stamp == new.stamp && owner == new.owner => {
                return self.refresh(new);
            }
            // Two owners may have one stamp when a counter has reached its maximum. Then the host's announcement
            // counts, because the host checks changes of owner.
            Some((stamp, owner)) if stamp == new.stamp && owner != new.owner && new.owner == self.host => {}
            Some((stamp, owner)) if stamp == new.stamp && owner != new.owner => {
                return Err(CloseCode::NotYours);
            }
            Some((stamp, _)) if stamp >= new.stamp => return Ok(()),
            _ => {}
        }
        self.check_room(new.owner)?;
        let object = self.read_announcement(new)?;
        self.install(object);
        Ok(())
    }

    /// Fails when a peer may own no more objects, as far as this peer knows.
    pub(crate) fn check_room(&self, owner: PeerId) -> Result<(), CloseCode> {
        let limit = if owner == self.host { OBJECTS_AT_HOST_MAX } else { OBJECTS_OF_OTHERS_MAX };
        if self.slots.owned_by(owner) >= limit { Err(CloseCode::LimitExceeded) } else { Ok(()) }
    }

    /// Stores an announced object with its owner. The caller has checked its stamp.
    pub(crate) fn install(&mut self, mut new: Object) {
        let (id, stamp, owner) = (new.id, new.stamp, new.owner);
        let contested = self.contested(id, stamp, owner);
        let known = self.slots.get(id).map(|known| (known.owner, known.revision));
        // The announcement may have been held back, and claims may have changed since.
        new.claimed = self.is_claimed(id);
        new.revision = known.map_or(new.revision, |(_, revision)| new.revision.max(revision + 1));
        let is_current = new.current;
        self.tombstones.exhume(id);
        self.confirmations.settle(id, stamp);
        if let Some(promise) = self.granted.get_mut(&id) {
            promise.told.retain(|&(told, _)| told > stamp);
            let waits =
                |(_, replica): (&PeerId, &Replica)| replica.grants.get(&id).is_some_and(|s| *s > stamp);
            if promise.stamp <= stamp {
                self.granted.remove(&id);
            } else if !self.replicas.iter().any(waits) {
                promise.fall_back();
            }
        }
        let slot = self.slots.slot(id);
        self.touched.retain(|&touched| Some(touched) != slot);
        self.replicas.values_mut().for_each(|replica| {
            replica.forget(slot, id);
            replica.grants.retain(|granted, s| *granted != id || *s > stamp);
        });
        self.slots.insert(new);
        if self.is_host() && stamp.term < self.term && stamp.counter > 0 {
            // A former host granted this, and may have died before it told all members.
            self.vouch(id, stamp, owner);
        }
        if let Some(end) = contested {
            self.defend(id, owner, end);
        }
        self.refresh_claim(id);
        match known {
            Some((from, _)) if from != owner => {
                self.events.push_back(ObjectEvent::OwnerChanged { id, from, to: owner });
            }
            Some(_) => {}
            None => self.events.push_back(ObjectEvent::Created(id)),
        }
        if !is_current {
            self.events.push_back(ObjectEvent::Left(id));
        }
    }

    /// Takes a second announcement of a known object. The owner's link to this peer began anew, and updates on the
    /// new link build on this announcement.
    fn refresh(&mut self, new: &Announcement<'_>) -> Result<(), CloseCode> {
        let object = self.read_announcement(new)?;
        let Some(slot) = self.slots.slot(new.id) else { return Ok(()) };
        let Some(known) = self.slots.at_mut(slot) else { return Ok(()) };
        let is_same = (known.traits, known.texts.len()) == (object.traits, object.texts.len());
        if new.frame >= known.frame && is_same {
            // An announced object counts as inside this peer's focus.
            if !core::mem::replace(known, object).current {
                self.events.push_back(ObjectEvent::Entered(new.id));
            }
            self.refresh_claim(new.id);
        }
        Ok(())
    }

    /// The object in an announcement.
    pub(crate) fn read_announcement(&self, new: &Announcement<'_>) -> Result<Object, CloseCode> {
        if !self.schemas.0.permits(new.traits) {
            return Err(CloseCode::Malformed);
        }
        let mut state = State::default();
        let schema = self.schema(new.traits.kind);
        read_fields(schema, new.fields.iter(), &mut state)?;
        let revision = self.slots.get(new.id).map_or(0, |object| object.revision + 1);
        let fields = schema.map_or(state.texts().len(), |schema| schema.fields().len());
        let (frame, sampled) = (new.frame, new.sampled);
        let mut past = Past::default();
        past.note(KEPT_OF_OTHERS, frame, sampled.as_micros() / SAMPLE_UNIT, state.numbers());
        Ok(Object {
            id: new.id,
            owner: new.owner,
            stamp: new.stamp,
            traits: new.traits,
            sampled,
            revision,
            numbers: state.numbers().to_vec(),
            texts: state.texts().map(|bytes| Text { bytes: bytes.to_vec(), frame }).collect(),
            frame,
            since: frame,
            past,
            touched: false,
            versions: if new.traits.reliable { vec![0; fields] } else { Vec::new() },
            priority: PRIORITY,
            interval: Duration::ZERO,
            current: true,
            claimed: self.is_claimed(new.id),
        })
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
        let newest = self.slots.get(grant.id).map(|o| o.stamp).max(self.tombstones.stamp(grant.id));
        if newest.is_some_and(|newest| newest >= grant.stamp) {
            return Ok(());
        }
        if self.slots.owned_by(self.me) >= OBJECTS_PER_PEER_MAX {
            return Ok(());
        }
        // This peer uses the host's copy only if it has none itself, or one outside its focus, because its own copy may
        // be newer. It cannot tell which copy holds the former owner's last state.
        if self.slots.get(grant.id).is_none_or(|object| !object.current) {
            self.accept(grant)?;
        }
        self.take(grant.id, grant.stamp);
        Ok(())
    }

    fn handle_orphan(&mut self, from: PeerId, orphan: &Announcement<'_>) -> Result<(), CloseCode> {
        let (id, stamp, owner) = (orphan.id, orphan.stamp, orphan.owner);
        if !self.is_host() || id == ObjectId::SESSION || stamp.term > self.term {
            return Ok(());
        }
        let known = self.slots.get(id).map(|object| object.stamp);
        let death = self.tombstones.stamp(id).filter(|&death| death >= stamp && known.is_none());
        if known.is_some_and(|known| known >= stamp) || owner == self.me || self.replicas.contains_key(&owner)
        {
            // The present owner itself announces the object to the reporter.
            return Ok(());
        }
        // This host granted every ownership of this term, so its own record counts. When the recorded owner is
        // present, the record also counts against an owner of whom the host never heard. The reporter heard
        // otherwise, and is told of the object again under a higher stamp.
        let was_here = self.departed.contains(&owner);
        let is_known_better = |known_owner: &PeerId| {
            let lives = *known_owner == self.me || self.replicas.contains_key(known_owner);
            stamp.term == self.term || (lives && !was_here)
        };
        if let Some(known_owner) = self.slots.get(id).map(|object| object.owner).filter(is_known_better) {
            let is_drawn_here = known_owner == self.me && stamp.term == self.term;
            if is_drawn_here || self.is_near(id, stamp) {
                self.outbid(id, known_owner, stamp);
            }
            return Ok(());
        }
        // The host adopts an object only if the gone peer could have owned it and the host may own one more.
        let may_be = was_here || known.is_some();
        if death.is_none() && may_be && self.slots.owned_by(self.me) < OBJECTS_AT_HOST_MAX {
            self.accept(orphan)?;
            self.adopt_one(id);
            return Ok(());
        }
        if death.is_none() && self.may_bury(from, id, stamp) {
            // Others may know the object under a former owner that lives but no longer announces it.
            self.end_by(self.me, id, stamp);
        } else if let Some(replica) = self.replicas.get_mut(&from)
            && replica.destroys.len() < OBJECTS_AT_HOST_MAX
        {
            // The object has ended, or the host cannot take it over. It must end at the reporter as well, or it would
            // stay there for ever.
            replica.tell_end(id, death.unwrap_or(stamp));
        }
        Ok(())
    }

    fn handle_updates(&mut self, from: PeerId, reader: &mut Reader<'_>) -> Result<(), CloseCode> {
        let base = Time::from_micros(reader.varint().map_err(malformed)?);
        while !reader.is_empty() {
            let update = Update::decode(base, reader).map_err(malformed)?;
            self.apply(from, &update)?;
        }
        Ok(())
    }

    fn apply(&mut self, from: PeerId, update: &Update<'_>) -> Result<(), CloseCode> {
        // Only the owner's updates count, under its stamp (docs/recovery.md, promise 3). An object that changes by
        // frames takes no updates from the lane.
        let known = self.slots.get_mut(update.id).filter(|o| (o.owner, o.stamp) == (from, update.stamp));
        let spoken_of = known.or_else(|| self.confirmations.held_mut(from, update.id, update.stamp));
        let Some(object) = spoken_of.filter(|object| object.traits.reliable) else { return Ok(()) };
        let schema = self.schemas.0.of(object.traits.kind);
        for (index, value) in update.fields() {
            set_field(object, schema, index, value)?;
            object.revision += 1;
        }
        object.sampled = object.sampled.max(update.sampled);
        Ok(())
    }
}

/// Sets one field from a reliable update.
fn set_field(
    object: &mut Object,
    schema: Option<&Schema>,
    index: usize,
    value: &[u8],
) -> Result<(), CloseCode> {
    debug_assert!(index < FIELDS_MAX, "an update that decodes has no higher index");
    let mut at = index;
    if let Some(schema) = schema {
        let field = schema.fields().get(index).ok_or(CloseCode::Malformed)?;
        match field.coding {
            Coding::Text { max } if value.len() > usize::from(max) => return Err(CloseCode::Malformed),
            Coding::Text { .. } => at = field.at,
            _ => return read_numbers(field, value, &mut object.numbers),
        }
    }
    let text = object.texts.get_mut(at).ok_or(CloseCode::Malformed)?;
    text.bytes.clear();
    text.bytes.extend_from_slice(value);
    Ok(())
}
