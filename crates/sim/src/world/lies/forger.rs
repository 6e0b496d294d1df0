//! Forges changes of owner: a liar claims that it was granted another member's object, or that it has ended that
//! object.
//!
//! The liar's link numbers its segments, so a forged message has to pass through the session. The session sends it as
//! a message of the game, and the forger changes its kind byte in the packet that goes out.

use std::collections::VecDeque;

use samovar_session::objects::{Object, Schemas};
use samovar_session::{Session, Target};
use samovar_wire::object::{Announcement, MessageKind, encode_announcement};
use samovar_wire::{Lane, ObjectId, PeerId, Stamp, Writer};

use crate::dice::Dice;

/// The most forged messages that the forger remembers, to change their retransmissions too. An older message is
/// retransmitted as a message of the game.
const KEPT_MAX: usize = 32;
/// No host has granted a stamp this far above the known one, because no host makes so many stamps in one term.
const FAR: u32 = 1_000;

/// The messages that a liar has forged.
#[derive(Debug, Default)]
pub(super) struct Forger {
    /// The messages as the session sent them, and the kinds that the forger gives them.
    sent: VecDeque<(Vec<u8>, MessageKind)>,
}

impl Forger {
    /// Tells a member, but not the host, of a change of owner that the host has not granted. Returns the object and
    /// the stamp if no host can have granted that stamp.
    pub(super) fn forge(
        &mut self,
        session: &mut Session,
        schemas: &Schemas,
        dice: &mut Dice,
    ) -> Option<(ObjectId, Stamp)> {
        let (me, host, term) = (session.me(), session.host(), session.term());
        let members = session.view().members().map(|member| member.peer);
        let others: Vec<_> = members.filter(|&peer| peer != me && peer != host).collect();
        let to = dice.pick(&others).copied().filter(|_| me != host)?;
        let is_others = |object: &&Object| object.owner() != me && object.id() != ObjectId::SESSION;
        let objects: Vec<_> = session.objects().filter(is_others).collect();
        let object = *dice.pick(&objects)?;
        let more = if dice.chance(0.5) { FAR } else { 1 + dice.below(3) as u32 };
        let stamp = Stamp { term, counter: object.stamp().counter.saturating_add(more) };
        let id = object.id();
        let (kind, body) = if dice.chance(0.7) {
            (MessageKind::Migrate, announcement(object, me, stamp, schemas))
        } else {
            (MessageKind::Destroy, end(id, stamp))
        };
        session.send(Target::Peer(to), Lane::SESSION, &body).ok()?;
        self.sent.push_back(([&[MessageKind::App as u8], &body[..]].concat(), kind));
        if self.sent.len() > KEPT_MAX {
            self.sent.pop_front();
        }
        (more == FAR && kind == MessageKind::Migrate).then_some((id, stamp))
    }

    /// Changes the kinds of forged messages in a packet that goes out.
    pub(super) fn rewrite(&self, packet: &mut [u8]) {
        for (message, kind) in &self.sent {
            let at = packet.windows(message.len()).position(|window| window == message);
            if let Some(first) = at.and_then(|at| packet.get_mut(at)) {
                *first = *kind as u8;
            }
        }
    }
}

/// The announcement of an object, as if the liar owned it.
fn announcement(object: &Object, me: PeerId, stamp: Stamp, schemas: &Schemas) -> Vec<u8> {
    let head = Announcement::head(object.id(), me, stamp, object.traits(), object.sampled());
    let (mut fields, mut at) = (Vec::new(), 0);
    for field in schemas.of(object.traits().kind).map_or(&[][..], |schema| schema.fields()) {
        let mut bytes = Vec::new();
        let numbers = &object.numbers()[at..at + field.coding.width()];
        // PROTOCOL §4.2 defines how numbers are coded.
        for &number in numbers {
            Writer::new(&mut bytes).varint(u64::from((number << 1 ^ number >> 31).cast_unsigned()));
        }
        at += numbers.len();
        fields.push(bytes);
    }
    let mut bytes = Vec::new();
    encode_announcement(&head, fields.iter().map(|field| &field[..]), &mut Writer::new(&mut bytes));
    bytes
}

fn end(id: ObjectId, stamp: Stamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    out.object_id(id);
    out.stamp(stamp);
    bytes
}
