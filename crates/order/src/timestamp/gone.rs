//! Messages of a member that is gone: some survivors may have received messages that others lack.
//!
//! As soon as its view drops the member, each survivor tells every other one which messages it has. Until all have
//! told, or the member would have been late anyway, its last promise still holds back messages. So no member delivers
//! a message that belongs behind one still to come from another survivor.

use samovar_wire::limits::{TIMED_HELD_MAX, TIMED_MAX};
use samovar_wire::timed::{Timed, TimedMessage};
use samovar_wire::{PeerId, SortedSet, Time, Writer};

use super::peer::Peer;
use super::{FORMER_MAX, TimeOrder, Transmit};

/// The most bytes of messages told in one message.
const TOLD_BYTES: usize = 4 * TIMED_MAX;

impl TimeOrder {
    /// Tells the survivors of a new view the messages of the members that the view drops.
    pub(super) fn see_off(&mut self, members: &[PeerId]) {
        let stays = |peer: &PeerId| members.contains(peer);
        let survivors: Vec<_> = self.members().filter(stays).collect();
        let gone: Vec<_> = self.members().filter(|peer| !stays(peer)).collect();
        for peer in self.peers.values_mut() {
            if let Some(awaited) = &mut peer.awaited {
                awaited.retain(|awaited| stays(awaited));
            }
        }
        self.out.retain(|transmit| stays(&transmit.to));
        for id in gone {
            let Some(peer) = self.peers.get_mut(&id) else { continue };
            let mut awaited = SortedSet::new();
            survivors.iter().filter(|survivor| !peer.told.contains(survivor)).for_each(|&survivor| {
                awaited.insert(survivor);
            });
            peer.awaited = Some(awaited);
            let passed = core::mem::take(&mut peer.passed);
            let told = chunks(id, peer);
            for &to in &survivors {
                self.out.extend(told.iter().map(|bytes| Transmit { to, bytes: bytes.clone() }));
            }
            self.take_passed(id, passed);
        }
    }

    /// Takes messages of a gone member from a survivor. This peer may not know yet that the member is gone.
    pub(super) fn on_gone(&mut self, now: Time, from: PeerId, id: PeerId, told: (bool, Vec<Timed>)) {
        let (more, messages) = told;
        let is_member = self.peers.get(&from).is_some_and(|peer| !peer.is_gone());
        let Some(peer) = self.peers.get_mut(&id).filter(|_| is_member && from != id) else { return };
        let is_gone = peer.is_gone();
        if !more {
            peer.told.insert(from);
            if let Some(awaited) = &mut peer.awaited {
                awaited.remove(&from);
            }
        }
        if is_gone {
            self.take_passed(id, messages);
        } else {
            let room = TIMED_HELD_MAX.saturating_sub(peer.passed.len());
            let behind = now + super::AHEAD_ALLOWED;
            peer.passed.extend(messages.into_iter().filter(|message| message.time <= behind).take(room));
        }
        self.drop_gone(now);
    }

    fn take_passed(&mut self, id: PeerId, mut messages: Vec<Timed>) {
        samovar_wire::sorted::sort_by_key(&mut messages, |message| message.number);
        for message in messages {
            let Some(peer) = self.peers.get_mut(&id) else { return };
            // A sender's messages come in order, so all up to the newest one are here.
            if peer.has_begun && message.number > peer.newest {
                peer.keep(&message);
                if !self.is_full(id, message.bytes.len()) {
                    self.hold(id, message);
                }
            }
        }
    }

    /// Forgets gone members when none of their messages can come any more, or when these would be late.
    pub(super) fn drop_gone(&mut self, now: Time) {
        let (patience, former) = (self.config.patience, &mut self.former);
        self.peers.retain(|&id, peer| {
            let is_told = peer.awaited.as_ref().is_some_and(SortedSet::is_empty);
            let is_over = is_told || peer.is_gone() && peer.late_at(patience) <= now;
            if is_over {
                former.insert(id, peer.newest);
            }
            !is_over
        });
        while self.former.len() > FORMER_MAX {
            self.former.pop_first();
        }
    }
}

/// The recent messages of a member that is gone, to be told to survivors: split into several messages, the last of
/// which marks the end.
fn chunks(id: PeerId, peer: &Peer) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut messages: Vec<Timed> = Vec::new();
    let mut size = 0;
    let encode = |more, messages| {
        let mut bytes = Vec::new();
        TimedMessage::Gone { peer: id, more, messages }.encode(&mut Writer::new(&mut bytes));
        bytes
    };
    for message in &peer.recent {
        if size + message.bytes.len() > TOLD_BYTES {
            chunks.push(encode(true, core::mem::take(&mut messages)));
            size = 0;
        }
        size += message.bytes.len();
        messages.push(message.clone());
    }
    chunks.push(encode(false, messages));
    chunks
}
