//! Records the values that members write and the messages that they send, and checks what others see of them
//! (docs/recovery.md, promises 3 and 5).

use std::collections::{BTreeMap, BTreeSet};

use samovar_session::{Object, Session};
use samovar_wire::{ObjectId, PeerId, SortedMap, Stamp};

use super::inputs::TALLY;
use super::values::value;
use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// An object's value at a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shown {
    stamp: Stamp,
    writer: PeerId,
    count: i32,
}

/// The messages of one peer to another during one membership. When a peer hears that a member left and then joined
/// again, it begins a new episode. Messages under way are lost with the old membership, and both peers know that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Talk {
    episode: u32,
    count: u32,
}

impl Talk {
    fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.episode) << 32 | u64::from(self.count)).to_le_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = u64::from_le_bytes(bytes.try_into().ok()?);
        Some(Self { episode: (number >> 32) as u32, count: number as u32 })
    }
}

/// The record of a world.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// For each object and writer, the highest count that was written.
    written: BTreeMap<(ObjectId, PeerId), i32>,
    /// The last value of each object at each process, also of objects that are gone.
    shown: BTreeMap<(ProcessId, PeerId), SortedMap<ObjectId, Shown>>,
    /// The messages that one peer sent another, and those that the other heard.
    sent: BTreeMap<(PeerId, PeerId), Talk>,
    heard: BTreeMap<(PeerId, PeerId), Talk>,
    complaint: Option<Broken>,
    liars: BTreeSet<PeerId>,
}

impl Ledger {
    pub(super) fn note_written(&mut self, id: ObjectId, writer: PeerId, count: i32) {
        let highest = self.written.entry((id, writer)).or_insert(count);
        *highest = count.max(*highest);
    }

    /// Stops checking the values that this peer writes.
    pub(super) fn distrust(&mut self, peer: PeerId) {
        self.liars.insert(peer);
    }

    /// Notes that a member joined, as another member sees it.
    pub(super) fn note_joined(&mut self, at: PeerId, member: PeerId) {
        let talk = self.sent.entry((at, member)).or_default();
        *talk = Talk { episode: talk.episode + 1, count: 0 };
    }

    pub(super) fn next_message(&self, from: PeerId, to: PeerId) -> [u8; 8] {
        self.sent.get(&(from, to)).copied().unwrap_or_default().to_bytes()
    }

    pub(super) fn note_sent(&mut self, from: PeerId, to: PeerId) {
        self.sent.entry((from, to)).or_default().count += 1;
    }

    pub(super) fn note_heard(&mut self, from: PeerId, to: PeerId, bytes: &[u8]) {
        let expected = self.heard.entry((from, to)).or_default();
        let heard = Talk::from_bytes(bytes);
        let is_next = heard.is_some_and(|heard| {
            heard == *expected || (heard.episode > expected.episode && heard.count == 0)
        });
        if !is_next {
            let what = format!("{to} expected {expected:?} of {from} and heard {heard:?}");
            self.complaint.get_or_insert(Broken::new(Promise::Reliable, what));
        }
        if let Some(heard) = heard {
            *expected = Talk { count: heard.count + 1, ..heard };
        }
    }

    pub(super) fn take_complaint(&mut self) -> Result<(), Broken> {
        self.complaint.take().map_or(Ok(()), Err)
    }

    /// Checks the values of all objects at a process.
    pub(super) fn look(&mut self, process: ProcessId, session: &Session) -> Result<(), Broken> {
        let me = session.me();
        let objects = session.objects().filter(|object| object.id() != ObjectId::SESSION);
        let objects = objects.filter(|object| object.traits().kind != TALLY);
        let shown = self.shown.entry((process, me)).or_default();
        let is_false = |object: &&Object| {
            let writer = object.numbers().first().map(|writer| PeerId(writer.cast_unsigned()));
            self.liars.contains(&object.owner()) || writer.is_some_and(|writer| self.liars.contains(&writer))
        };
        for object in objects.filter(|object| !object.is_claimed() && !is_false(object)) {
            see(&self.written, shown, object)
                .map_err(|what| Broken::new(Promise::OnlyTheOwnerSpeaks, format!("at {me}: {what}")))?;
        }
        Ok(())
    }

    /// Checks that all messages between present members have arrived.
    pub(super) fn look_settled(&self, members: &[PeerId]) -> Result<(), Broken> {
        for (&(from, to), &sent) in &self.sent {
            if members.contains(&from) && members.contains(&to) {
                let heard = self.heard.get(&(from, to)).copied().unwrap_or_default();
                if heard != sent && sent.count > 0 {
                    let what = format!("{from} sent {to} {sent:?}, and {heard:?} arrived");
                    return Err(Broken::new(Promise::Reliable, what));
                }
            }
        }
        Ok(())
    }
}

fn see(
    written: &BTreeMap<(ObjectId, PeerId), i32>,
    all: &mut SortedMap<ObjectId, Shown>,
    object: &Object,
) -> Result<(), String> {
    let (id, stamp, owner) = (object.id(), object.stamp(), object.owner());
    let &[writer, count, ..] = object.numbers() else { return Err(format!("{id} has no value")) };
    let writer = PeerId(writer.cast_unsigned());
    if object.numbers() != value(writer, count) {
        return Err(format!("{id} shows {:?}, which nobody wrote", object.numbers()));
    }
    let shown = Shown { stamp, writer, count };
    let before = all.insert(id, shown);
    // An unchanged value was checked before.
    if before == Some(shown) {
        return Ok(());
    }
    if written.get(&(id, writer)).is_none_or(|&highest| count > highest) {
        return Err(format!("{id} shows count {count} of {writer}, which did not write that"));
    }
    let Some(before) = before else { return Ok(()) };
    if before.stamp != stamp || (before.writer, before.count) == (writer, count) {
        return Ok(());
    }
    if writer != owner {
        return Err(format!("{id} was changed to {shown:?} although {owner} owns it"));
    }
    if before.writer == writer && before.count > count {
        return Err(format!("{id} went from {before:?} back to {shown:?}"));
    }
    Ok(())
}
