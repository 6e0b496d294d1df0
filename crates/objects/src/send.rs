//! Reliable messages to each peer, computed when there is room to send them.

use samovar_wire::limits::{FIELD_MAX, PACKET_MAX};
use samovar_wire::object::{Announcement, Granted, MessageKind, encode_announcement, encode_update_head};
use samovar_wire::{ObjectId, PeerId, Receipt, Stamp, Time, Writer};

use crate::fields::{field_bytes, write_fields};
use crate::frames::is_behind;
use crate::object::Object;
use crate::objects::Objects;
use crate::replica::Known;
use crate::state::State;

/// The greatest age of an update's sample on the wire, counted from the base time. An older sample is sent with this
/// age.
const AGE_MAX_MICROS: u64 = 60_000_000;

/// A reliable message that was composed. The session calls [`Objects::on_sent`] when a link has taken it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending(pub(crate) What);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// These objects were announced as of this frame.
    Announced(Vec<ObjectId>, u64),
    Updated(ObjectId),
    Destroyed(ObjectId),
    Granted(ObjectId, Stamp),
    Vouched(Vec<(ObjectId, Stamp)>),
    Orphan(ObjectId),
    Sights(Vec<ObjectId>),
    Deaths,
}

/// The most ends that may wait for one peer before it counts as too slow.
const OVERDUE: usize = 2 * samovar_wire::limits::OBJECTS_AT_HOST_MAX;

/// The most runs in one DEATHS: as many as surely fit a message.
const DEATHS_MAX: usize = samovar_wire::limits::MESSAGE_MAX / 32;

/// The most grants in one GRANTED: as many as fit a segment.
const GRANTED_MAX: usize = 64;

type IsDelivered<'a> = dyn Fn(Receipt) -> bool + 'a;

/// The kind of an announcement and the parts of its head that depend on the kind.
struct As {
    kind: MessageKind,
    owner: PeerId,
    stamp: Stamp,
    frame: u64,
}

impl Objects {
    /// Composes the announcements for a newcomer as one message for the bulk stream. `None` when they fit a packet,
    /// and at every later call.
    pub fn poll_snapshot(&mut self, peer: PeerId, out: &mut Vec<u8>) -> Option<Pending> {
        if core::mem::replace(&mut self.replicas.get_mut(&peer)?.greeted, true) {
            return None;
        }
        self.settle();
        let mut writer = Writer::new(out);
        writer.u8(MessageKind::Snapshot as u8);
        let mut included = Vec::new();
        // Objects with reliable updates stay in the lane, or an update could arrive before the snapshot. So do
        // objects of other creators: a DESTROY that arrives before them may not be believed.
        let objects = self.replicas.get(&peer)?.unannounced.iter().filter_map(|&id| self.slots.get(id));
        let is_believed = |object: &&Object| object.id.creator == self.me;
        for object in objects.filter(|object| !object.traits.reliable).filter(is_believed) {
            let fields = self.schema(object.traits.kind).map_or(object.texts.len(), |s| s.fields().len());
            if writer.len() + fields * FIELD_MAX > samovar_wire::limits::MESSAGE_MAX - 64 {
                break;
            }
            self.write_own(object, &mut writer);
            included.push(object.id);
        }
        (writer.len() > PACKET_MAX).then_some(Pending(What::Announced(included, self.frame)))
    }

    /// Whether a peer reads so slowly that too many ends wait for it. Everything else that waits is bounded by the
    /// number of objects.
    #[must_use]
    pub fn is_overdue(&self, peer: PeerId) -> bool {
        self.replicas.get(&peer).is_some_and(|replica| replica.destroys.len() > OVERDUE)
    }

    /// Opens a frame if objects changed, so that updates can build on the state that is announced.
    fn settle(&mut self) {
        if !self.touched.is_empty() {
            self.open_frame();
        }
    }

    /// Composes the next reliable message for a peer.
    pub fn poll_message(&mut self, now: Time, peer: PeerId, out: &mut Vec<u8>) -> Option<Pending> {
        self.grant_sight(peer);
        let replica = self.replicas.get_mut(&peer)?;
        replica.deaths_due &= self.tombstones.len() > 0;
        if !replica.unannounced.is_empty() {
            self.settle();
        }
        let mut writer = Writer::new(out);
        if let Some(pending) = self.write_sights(peer, &mut writer) {
            return Some(pending);
        }
        let replica = self.replicas.get(&peer)?;
        if let Some((&id, &stamp)) = replica.destroys.first_key_value() {
            writer.u8(MessageKind::Destroy as u8);
            writer.object_id(id);
            writer.stamp(stamp);
            return Some(Pending(What::Destroyed(id)));
        }
        if replica.deaths_due {
            writer.u8(MessageKind::Deaths as u8);
            // Runs beyond one message are not told: hardly any late message about their objects is still in flight.
            self.tombstones.runs().take(DEATHS_MAX).for_each(|run| run.encode(&mut writer));
            return Some(Pending(What::Deaths));
        }
        // The view makes a newcomer a member, so it goes first. The grants go before the other announcements, because
        // the newcomer may hold back others' announcements until it knows the grants.
        if !replica.granted.is_empty() && replica.unannounced.first() != Some(&ObjectId::SESSION) {
            writer.u8(MessageKind::Granted as u8);
            let grants = replica.granted.iter().take(GRANTED_MAX);
            let told = grants.map(|(&id, &(stamp, owner))| {
                Granted { id, stamp, owner }.encode(&mut writer);
                (id, stamp)
            });
            return Some(Pending(What::Vouched(told.collect())));
        }
        if let Some(object) = replica.unannounced.first().and_then(|&id| self.slots.get(id)) {
            self.write_own(object, &mut writer);
            return Some(Pending(What::Announced(vec![object.id], self.frame)));
        }
        if let Some((object, &stamp)) =
            replica.grants.iter().find_map(|(&id, stamp)| Some((self.slots.get(id)?, stamp)))
        {
            let as_grant = As { kind: MessageKind::Grant, owner: peer, stamp, frame: 0 };
            self.write_announcement(object, &as_grant, &mut writer);
            return Some(Pending(What::Granted(object.id, stamp)));
        }
        if let Some(object) = replica.orphans.first().and_then(|&id| self.slots.get(id)) {
            let (owner, stamp) = (object.owner, object.stamp);
            let as_orphan = As { kind: MessageKind::Orphan, owner, stamp, frame: 0 };
            self.write_announcement(object, &as_orphan, &mut writer);
            return Some(Pending(What::Orphan(object.id)));
        }
        self.write_reliable_update(now, peer, &mut writer)
    }

    fn write_reliable_update(&self, now: Time, peer: PeerId, writer: &mut Writer<'_>) -> Option<Pending> {
        let replica = self.replicas.get(&peer)?;
        for &id in &replica.dirty {
            let Some(slot) = self.slots.slot(id) else { continue };
            let Some((object, known)) = self.slots.at(slot).zip(replica.known(slot)) else { continue };
            let changed: Vec<_> = lacking(object, known).collect();
            if changed.is_empty() {
                continue;
            }
            writer.u8(MessageKind::Update as u8);
            writer.varint(now.as_micros());
            let age = now.since(object.sampled).min(samovar_wire::Duration::from_micros(AGE_MAX_MICROS));
            encode_update_head(id, object.stamp, age, changed.len() as u8, writer);
            let schema = self.schema(object.traits.kind);
            let mut buffer = Vec::new();
            for index in changed {
                writer.u8(index as u8);
                buffer.clear();
                match schema.and_then(|schema| schema.fields().get(index)) {
                    Some(field) => writer.prefixed(field_bytes(object, field, &mut buffer)),
                    None => writer.prefixed(object.field(index)),
                }
            }
            return Some(Pending(What::Updated(id)));
        }
        None
    }

    /// Notes that a link took the composed message for `peer`.
    pub fn on_sent(&mut self, peer: PeerId, pending: Pending, receipt: Receipt) {
        let Some(replica) = self.replicas.get_mut(&peer) else { return };
        match pending.0 {
            What::Announced(ids, frame) => {
                for slot in ids.iter().filter_map(|&id| self.slots.slot(id)) {
                    let Some(object) = self.slots.at(slot) else { continue };
                    let known = Known::new(receipt, frame, object.texts.len(), &object.versions);
                    replica.unannounced.remove(&object.id);
                    replica.dirty.remove(&object.id);
                    if is_behind(object, &known) && !object.traits.reliable {
                        replica.behind.insert(slot);
                    } else {
                        replica.behind.remove(slot);
                    }
                    replica.learn(slot, known);
                }
                self.look_for(peer, &ids);
            }
            What::Updated(id) => {
                if let Some(slot) = self.slots.slot(id)
                    && let Some((object, known)) = self.slots.at(slot).zip(replica.known_mut(slot))
                {
                    known.versions.clone_from(&object.versions);
                    // Delivery is in order, so the newest receipt stands for all before it.
                    (known.announced, known.ready) = (receipt, false);
                }
                replica.dirty.remove(&id);
            }
            What::Destroyed(id) => {
                replica.destroys.remove(&id);
            }
            What::Granted(id, stamp) => {
                replica.grants.remove(&id);
                if let Some(promise) = self.granted.get_mut(&id)
                    && !promise.told.contains(&(stamp, peer))
                {
                    promise.told.push((stamp, peer));
                }
            }
            What::Vouched(told) => {
                replica.granted.retain(|&id, &mut (stamp, _)| !told.contains(&(id, stamp)));
            }
            What::Deaths => replica.deaths_due = false,
            What::Orphan(id) => {
                replica.orphans.remove(&id);
            }
            What::Sights(ids) => self.interest.told(peer, &ids),
        }
    }

    /// Whether a peer is known to hold the newest state of an object that this peer owns and updates reliably.
    #[must_use]
    pub fn is_synced(&self, peer: PeerId, id: ObjectId, is_delivered: &IsDelivered<'_>) -> bool {
        self.known_at(peer, id).is_some_and(|(object, known)| {
            is_delivered(known.announced) && lacking(object, known).next().is_none()
        })
    }

    /// Whether a peer may lack the newest state of an object that this peer owns; `false` if the object was not
    /// announced to that peer.
    #[must_use]
    pub fn may_lag(&self, peer: PeerId, id: ObjectId, is_delivered: &IsDelivered<'_>) -> bool {
        self.known_at(peer, id).is_some_and(|(object, known)| match object.traits.reliable {
            true => !is_delivered(known.announced) || lacking(object, known).next().is_some(),
            false => (known.ready || is_delivered(known.announced)) && is_behind(object, known),
        })
    }

    fn known_at(&self, peer: PeerId, id: ObjectId) -> Option<(&Object, &Known)> {
        let (replica, slot) = self.replicas.get(&peer).zip(self.slots.slot(id))?;
        self.slots.at(slot).zip(replica.known(slot))
    }

    /// Writes an announcement of an object of this peer: CREATE while the creator's first ownership lasts, MIGRATE
    /// afterwards.
    fn write_own(&self, object: &Object, writer: &mut Writer<'_>) {
        let first = object.stamp.counter == 0 && object.id.creator == object.owner;
        let kind = if first { MessageKind::Create } else { MessageKind::Migrate };
        let announced = As { kind, owner: object.owner, stamp: object.stamp, frame: self.frame };
        self.write_announcement(object, &announced, writer);
    }

    fn write_announcement(&self, object: &Object, announced: &As, writer: &mut Writer<'_>) {
        let As { kind, owner, stamp, frame } = *announced;
        writer.u8(kind as u8);
        let head = Announcement::head(object.id, owner, stamp, object.traits, object.sampled).in_frame(frame);
        let mut fields = State::default();
        write_fields(object, self.schema(object.traits.kind), &mut fields);
        encode_announcement(&head, fields.texts(), writer);
    }
}

/// The fields of an object with reliable updates that a peer lacks and that are not in flight to it.
fn lacking<'a>(object: &'a Object, known: &'a Known) -> impl Iterator<Item = usize> + use<'a> {
    let versions = object.versions.iter().zip(&known.versions).enumerate();
    versions.filter(|(_, (version, sent))| version > sent).map(|(index, _)| index)
}
