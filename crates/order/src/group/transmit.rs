//! Sending: this peer's items to all members, acks, and items that others ask for.

use samovar_wire::order::{Frame, ITEMS_BYTES_MAX, Run};
use samovar_wire::{PeerId, Writer};

use super::{Group, Mate, Past, Rule, Stream};
use crate::order::Transmit;

/// After this many items of others, or this many bytes, a peer without messages of its own sends an ack.
const UNSAID_MAX: usize = 32;
const UNSAID_BYTES_MAX: usize = 64 * 1_024;
/// An owner announces how many of its items all members have, each time this has grown by so many items or bytes.
const STABLE_STEP: u64 = 64;
const STABLE_BYTES_STEP: usize = 64 * 1_024;

/// Encodes items from `first` to `last`, as many as fit one frame. Returns the number of the last one encoded.
fn encode_items(stream: &Stream, first: u64, last: u64, out: &mut Vec<u8>) -> u64 {
    let mut number = first;
    while number <= last {
        let Some(item) = stream.item(number) else { break };
        if !out.is_empty() && out.len() + item.len() + 4 > ITEMS_BYTES_MAX {
            break;
        }
        Writer::new(out).prefixed(item);
        number += 1;
    }
    number - 1
}

impl Group<dyn Rule> {
    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        if let Some(transmit) = self.outbox.pop_front() {
            return Some(transmit);
        }
        let (items, bytes) = self.unsaid;
        if items >= UNSAID_MAX || bytes >= UNSAID_BYTES_MAX || self.is_report_due {
            self.report_to_owners();
        } else {
            self.say_stable();
        }
        if self.outbox.is_empty() {
            let mates: Vec<_> = self.mates.keys().copied().collect();
            mates.into_iter().for_each(|peer| self.push_items(peer));
        }
        self.outbox.pop_front()
    }

    /// Queues a frame behind this peer's items.
    pub(super) fn push(&mut self, to: PeerId, frame: &Frame<'_>) {
        self.push_items(to);
        self.outbox.push_back(Transmit { to, bytes: frame.to_bytes() });
    }

    /// Queues a frame of this peer's order.
    pub(crate) fn tell(&mut self, to: PeerId, frame: &Frame<'_>) {
        self.push(to, frame);
    }

    /// Queues the items of this peer's stream that a member was not sent yet, and the new safe number.
    fn push_items(&mut self, to: PeerId) {
        let has_one_stream = self.rule.has_one_stream();
        let (epoch, safe, last_urgent) = (self.epoch.number, self.safe, self.last_urgent);
        let Some(at) = self.owner(self.me) else { return };
        let (stable, freed) = (self.own_stable(), self.freed);
        let Some(mate) = self.mates.get_mut(&to).filter(|mate| !mate.is_paused) else { return };
        let stream = &self.epoch.streams[at];
        let last = stream.received();
        // All members have the items that are no longer stored, so this one does.
        mate.sent = mate.sent.max(stream.trimmed());
        while mate.sent < last {
            let first = mate.sent + 1;
            let mut encoded = Vec::new();
            let end = encode_items(stream, first, last, &mut encoded);
            let run = Run { epoch, first, encoded: &encoded };
            let frame = match stream.item(first) {
                Some(item) if end == first && mate.is_opened && !has_one_stream => Frame::item(first, item),
                _ => {
                    (mate.told_stable, mate.told_freed) = (stable, freed);
                    Frame::Items { safe, stable, run }
                }
            };
            self.outbox.push_back(Transmit { to, bytes: frame.to_bytes() });
            (mate.sent, mate.told_safe, mate.is_opened) = (end, safe, true);
        }
        if mate.told_safe < safe.min(last_urgent) {
            mate.told_safe = safe;
            let run = Run { epoch, first: last + 1, encoded: &[] };
            let bytes = Frame::Items { safe, stable, run }.to_bytes();
            self.outbox.push_back(Transmit { to, bytes });
        }
    }

    fn report_to_owners(&mut self) {
        (self.unsaid, self.is_report_due) = ((0, 0), false);
        let owners: Vec<_> = self.epoch.owners.iter().copied().filter(|&owner| owner != self.me).collect();
        for owner in owners {
            self.note_stable_told(owner);
            self.send_report(owner, false);
        }
    }

    /// Announces from time to time which items of its stream this peer no longer keeps.
    fn say_stable(&mut self) {
        let (stable, freed) = (self.own_stable(), self.freed);
        let is_due = |mate: &Mate| {
            stable - mate.told_stable >= STABLE_STEP || freed - mate.told_freed >= STABLE_BYTES_STEP
        };
        let due: Vec<_> = self.mates.iter().filter(|(_, mate)| is_due(mate)).map(|(&peer, _)| peer).collect();
        for peer in due {
            self.note_stable_told(peer);
            self.send_report(peer, false);
        }
    }

    fn note_stable_told(&mut self, peer: PeerId) {
        let (stable, freed) = (self.own_stable(), self.freed);
        if let Some(mate) = self.mates.get_mut(&peer) {
            (mate.told_stable, mate.told_freed) = (stable, freed);
        }
    }

    /// An ack of the host's stream for another kind of frame: the number of items that this peer has.
    pub(crate) fn say_count(&mut self) -> u64 {
        self.unsaid = (0, 0);
        self.epoch.streams.first().map_or(0, Stream::received)
    }

    /// Takes an ack of this peer's stream that came in another kind of frame.
    pub(crate) fn hear_count(&mut self, from: PeerId, count: u64) {
        let received = self.own().map_or(0, Stream::received);
        if let Some(mate) = self.mates.get_mut(&from).filter(|_| count <= received) {
            mate.known = mate.known.max(count);
            self.update_stable();
        }
    }

    /// How many items of this peer's stream all members are known to have.
    pub(super) fn own_stable(&self) -> u64 {
        let own = self.own().map_or(0, Stream::received);
        self.mates.values().map(|mate| mate.known).fold(own, u64::min)
    }

    /// Drops items that all members have now, and finds the safe number anew.
    pub(super) fn update_stable(&mut self) {
        let stable = self.own_stable();
        let Some(at) = self.owner(self.me) else { return };
        let stream = &mut self.epoch.streams[at];
        let before = stream.bytes();
        stream.trim(stable);
        self.freed += before - stream.bytes();
        if self.rule.has_one_stream() {
            let received = stream.received();
            let backups = self.told.iter().flat_map(|told| &told.backups);
            let held = backups.filter_map(|backup| self.mates.get(backup)).map(|mate| mate.known).min();
            let alone = if self.mates.is_empty() { received } else { 0 };
            self.safe = self.safe.max(held.unwrap_or(alone));
        }
    }

    /// Sends items of the present or the former epoch to a member that lacks them. Returns whether there were any.
    pub(super) fn fill(&mut self, to: PeerId, epoch: u64, owner: PeerId, numbers: (u64, u64)) -> bool {
        let find = |owners: &[PeerId]| owners.binary_search(&owner).ok();
        let (streams, at) = match &self.past {
            _ if epoch == self.epoch.number => (&self.epoch.streams, find(&self.epoch.owners)),
            Some(Past { number, owners, streams, .. }) if epoch == *number => (streams, find(owners)),
            _ => return false,
        };
        let Some(at) = at else { return false };
        let (mut first, last) = (numbers.0, numbers.1.min(streams[at].received()));
        let mut frames = Vec::new();
        while first <= last {
            let mut encoded = Vec::new();
            let end = encode_items(&streams[at], first, last, &mut encoded);
            if end < first {
                break;
            }
            frames.push(Frame::Fill(owner, Run { epoch, first, encoded: &encoded }).to_bytes());
            first = end + 1;
        }
        let is_any = !frames.is_empty();
        self.outbox.extend(frames.into_iter().map(|bytes| Transmit { to, bytes }));
        is_any
    }
}
