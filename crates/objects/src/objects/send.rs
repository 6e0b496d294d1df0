//! What each peer lacks, computed when there is room to send it.

use samovar_wire::limits::{FIELD_MAX, PACKET_MAX};
use samovar_wire::object::{Announcement, MessageKind, encode_announcement, encode_update_head};
use samovar_wire::{ObjectId, PeerId, Receipt, Stamp, Time, Writer};

use super::Objects;
use crate::object::Object;
use crate::replica::{InFlight, Known, Progress};

/// Longest time that an update's sample may lie before the packet's base time on the wire: older counts as this old.
const AGE_MAX_MICROS: u64 = 60_000_000;

/// Bytes of an update before its fields, at most: id, stamp, age, count.
const UPDATE_HEAD_MAX: usize = 9 + 15 + 4 + 1;
/// Bytes of a field before its value, at most: index, length.
const FIELD_HEAD_MAX: usize = 3;

/// A reliable message that was composed; the session says with [`Objects::on_sent`] that a link took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending(What);

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Announced(Vec<ObjectId>),
    Updated(ObjectId),
    Destroyed(ObjectId),
    Granted(ObjectId),
    Orphan(ObjectId),
}

/// Where a datagram of updates goes.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Session time.
    pub now: Time,
    /// The receiver.
    pub peer: PeerId,
    /// The packet that will carry it.
    pub packet: u64,
    /// The datagram's size at most, in bytes.
    pub room: usize,
}

type IsDelivered<'a> = dyn Fn(Receipt) -> bool + 'a;

impl Objects {
    /// Composes what a newcomer must be told at once, as one message for the bulk stream; `None` when there is
    /// little of it or it was done.
    pub fn poll_snapshot(&mut self, peer: PeerId, out: &mut Vec<u8>) -> Option<Pending> {
        let replica = self.replicas.get_mut(&peer)?;
        if core::mem::replace(&mut replica.greeted, true) {
            return None;
        }
        let mut writer = Writer::new(out);
        writer.u8(MessageKind::Snapshot as u8);
        let mut included = Vec::new();
        // Objects with reliable updates stay in the lane, or an update could arrive before the snapshot does; so do
        // those that somebody else created, of which a DESTROY that comes before them may not be believed.
        let objects = replica.unannounced.iter().filter_map(|id| self.objects.get(id));
        for object in objects.filter(|object| !object.traits.reliable && object.id.creator == self.me) {
            if writer.len() + object.fields.len() * FIELD_MAX > samovar_wire::limits::MESSAGE_MAX - 64 {
                break;
            }
            write_announcement(announcement_kind(object), object, object.owner, object.stamp, &mut writer);
            included.push(object.id);
        }
        (writer.len() > PACKET_MAX).then_some(Pending(What::Announced(included)))
    }

    /// Composes the next reliable message for a peer.
    pub fn poll_message(&mut self, now: Time, peer: PeerId, out: &mut Vec<u8>) -> Option<Pending> {
        let replica = self.replicas.get(&peer)?;
        let mut writer = Writer::new(out);
        if let Some((&id, &stamp)) = replica.destroys.first_key_value() {
            writer.u8(MessageKind::Destroy as u8);
            writer.object_id(id);
            writer.stamp(stamp);
            return Some(Pending(What::Destroyed(id)));
        }
        if let Some(object) = replica.unannounced.first().and_then(|id| self.objects.get(id)) {
            write_announcement(announcement_kind(object), object, object.owner, object.stamp, &mut writer);
            return Some(Pending(What::Announced(vec![object.id])));
        }
        if let Some((object, &stamp)) =
            replica.grants.iter().find_map(|(id, stamp)| Some((self.objects.get(id)?, stamp)))
        {
            write_announcement(MessageKind::Grant, object, peer, stamp, &mut writer);
            return Some(Pending(What::Granted(object.id)));
        }
        if let Some(object) = replica.orphans.first().and_then(|id| self.objects.get(id)) {
            write_announcement(MessageKind::Orphan, object, object.owner, object.stamp, &mut writer);
            return Some(Pending(What::Orphan(object.id)));
        }
        self.write_reliable_update(now, peer, &mut writer)
    }

    fn write_reliable_update(&self, now: Time, peer: PeerId, writer: &mut Writer<'_>) -> Option<Pending> {
        let replica = self.replicas.get(&peer)?;
        let reliable =
            replica.dirty.iter().filter_map(|id| Some((self.objects.get(id)?, replica.known.get(id)?)));
        for (object, known) in reliable.filter(|(object, _)| object.traits.reliable) {
            let changed: Vec<_> = lacking(object, known).collect();
            if changed.is_empty() {
                continue;
            }
            writer.u8(MessageKind::Update as u8);
            writer.varint(now.as_micros());
            write_update(now, object, changed.into_iter(), writer);
            return Some(Pending(What::Updated(object.id)));
        }
        None
    }

    /// A link took the composed message for `peer`.
    pub fn on_sent(&mut self, peer: PeerId, pending: Pending, receipt: Receipt) {
        let Some(replica) = self.replicas.get_mut(&peer) else { return };
        match pending.0 {
            What::Announced(ids) => {
                for object in ids.iter().filter_map(|id| self.objects.get(id)) {
                    let fields = object.fields.iter().map(|f| Progress { sent: f.version, acked: f.version });
                    let known = Known { announced: receipt, ready: false, fields: fields.collect() };
                    replica.known.insert(object.id, known);
                    replica.unannounced.remove(&object.id);
                    replica.dirty.remove(&object.id);
                }
            }
            What::Updated(id) => {
                if let Some((object, known)) = self.objects.get(&id).zip(replica.known.get_mut(&id)) {
                    for (progress, field) in known.fields.iter_mut().zip(&object.fields) {
                        *progress = Progress { sent: field.version, acked: field.version };
                    }
                    // Delivered in order, so the newest message stands for all before it.
                    (known.announced, known.ready) = (receipt, false);
                }
                replica.dirty.remove(&id);
            }
            What::Destroyed(id) => {
                replica.destroys.remove(&id);
            }
            What::Granted(id) => {
                replica.grants.remove(&id);
            }
            What::Orphan(id) => {
                replica.orphans.remove(&id);
            }
        }
    }

    /// Whether a peer is known to hold the newest state of an object that this peer owns and updates reliably.
    #[must_use]
    pub fn is_synced(&self, peer: PeerId, id: ObjectId, is_delivered: &IsDelivered<'_>) -> bool {
        let (Some(replica), Some(object)) = (self.replicas.get(&peer), self.objects.get(&id)) else {
            return false;
        };
        let Some(known) = replica.known.get(&id) else { return false };
        is_delivered(known.announced) && lacking(object, known).next().is_none()
    }

    /// Whether a peer lacks something that a datagram could bring.
    #[must_use]
    pub fn wants_datagram(&self, peer: PeerId) -> bool {
        self.replicas.get(&peer).is_some_and(|replica| !replica.dirty.is_empty())
    }

    /// Appends a datagram with the fields that the peer has not acked at their newest value
    /// and that are not under way; appends nothing when there are none.
    pub fn write_datagram(&mut self, place: Place, is_delivered: &IsDelivered<'_>, out: &mut Vec<u8>) {
        let Place { now, peer, packet, room } = place;
        let Some(replica) = self.replicas.get_mut(&peer) else { return };
        let start = out.len();
        let mut writer = Writer::new(out);
        writer.u8(MessageKind::Update as u8);
        writer.varint(now.as_micros());
        let head = writer.len();
        let mut contents = Vec::new();
        let cursor = replica.cursor.take();
        let (before, after): (Vec<_>, Vec<_>) = replica.dirty.iter().partition(|&&id| Some(id) < cursor);
        for id in after.into_iter().chain(before) {
            let (Some(object), Some(known)) = (self.objects.get(&id), replica.known.get_mut(&id)) else {
                replica.dirty.remove(&id);
                continue;
            };
            known.ready = known.ready || is_delivered(known.announced);
            if object.traits.reliable || !known.ready {
                continue;
            }
            if lacking(object, known).next().is_none() {
                // Everything is under way or acked; a loss puts it back.
                replica.dirty.remove(&id);
                continue;
            }
            let mut left = room.saturating_sub(writer.len() - start + UPDATE_HEAD_MAX);
            // What does not fit goes in the next packet, so that a large object does not wait for ever.
            let fits = |&(_, value): &(usize, &[u8])| {
                left.checked_sub(FIELD_HEAD_MAX + value.len()).map(|rest| left = rest).is_some()
            };
            let fields: Vec<_> = lacking(object, known).take_while(fits).collect();
            let written: Vec<_> = fields.iter().map(|&(index, _)| index).collect();
            if !fields.is_empty() {
                write_update(now, object, fields.into_iter(), &mut writer);
            }
            for index in written {
                let version = object.fields[index].version;
                known.fields[index].sent = version;
                contents.push(InFlight { id, field: index as u8, version });
            }
            if lacking(object, known).next().is_some() {
                replica.cursor = Some(id);
                break;
            }
        }
        if writer.len() == head {
            writer.truncate(start);
        } else {
            replica.on_packet(packet, contents);
        }
    }

    /// The fate of a packet that carried a datagram to `peer`.
    pub fn on_fate(&mut self, peer: PeerId, packet: u64, delivered: bool) {
        if let Some(replica) = self.replicas.get_mut(&peer) {
            replica.on_fate(packet, delivered);
        }
    }
}

/// The fields of an object that a peer neither has nor has under way.
fn lacking<'a>(object: &'a Object, known: &'a Known) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
    let fields = object.fields.iter().zip(&known.fields).enumerate();
    fields
        .filter(|(_, (field, progress))| field.version > progress.sent)
        .map(|(i, (field, _))| (i, &field.bytes[..]))
}

fn write_update<'a>(
    now: Time,
    object: &Object,
    fields: impl Iterator<Item = (usize, &'a [u8])>,
    writer: &mut Writer<'_>,
) {
    let age = now.since(object.sampled).min(samovar_wire::Duration::from_micros(AGE_MAX_MICROS));
    let fields: Vec<_> = fields.collect();
    encode_update_head(object.id, object.stamp, age, fields.len() as u8, writer);
    for (index, value) in fields {
        writer.u8(index as u8);
        writer.prefixed(value);
    }
}

/// CREATE while the creator's first ownership lasts, MIGRATE ever after.
fn announcement_kind(object: &Object) -> MessageKind {
    let first = object.stamp.counter == 0 && object.id.creator == object.owner;
    if first { MessageKind::Create } else { MessageKind::Migrate }
}

fn write_announcement(
    kind: MessageKind,
    object: &Object,
    owner: PeerId,
    stamp: Stamp,
    writer: &mut Writer<'_>,
) {
    writer.u8(kind as u8);
    let head = Announcement::head(object.id, owner, stamp, object.traits, object.sampled);
    encode_announcement(&head, object.fields.iter().map(|f| &f.bytes[..]), writer);
}
