//! The events that wait for the game, and how much of the queue each peer may fill.
//!
//! Each event counts for the peer whose packet caused it, be it a message, an object or an input. Once a peer has
//! filled its share, this peer reads nothing more of it until the game has taken the waiting events. Meanwhile the
//! packets of that peer are not acknowledged, so its reliable messages are not lost. Other peers are read as before.

use std::collections::VecDeque;

use samovar_wire::{Lane, PeerId, SortedMap};

use crate::{Delivery, Event};

/// How many events of one peer may wait, not counting unreliable and sequenced messages.
const STEADY_MAX: usize = 1_024;
/// How many bytes of one peer's messages may wait, not counting unreliable and sequenced ones.
const STEADY_BYTES_MAX: usize = 1_024 * 1_024;
/// How many unreliable and sequenced messages of one peer may wait. Beyond that, the oldest one of that peer is
/// dropped.
const LOSSY_MAX: usize = 256;
/// How many events may wait that no peer caused, but time or the game itself. Beyond that, the oldest of them is
/// dropped.
const OWN_MAX: usize = 4_096;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<Waiting>,
    shares: SortedMap<PeerId, Share>,
    /// The number of waiting events that no peer caused.
    own: usize,
    /// The peer whose packets are being handled.
    speaker: Option<PeerId>,
    /// Peers whose packets wait, in the order in which they filled their shares.
    stalled: Vec<PeerId>,
}

#[derive(Debug)]
struct Waiting {
    by: Option<PeerId>,
    event: Event,
}

/// The number and size of one peer's waiting events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    lossy: usize,
    steady: usize,
    steady_bytes: usize,
}

impl Events {
    /// Sets the peer that causes the events from now on, if one does. Returns the previous one.
    pub(crate) const fn set_speaker(&mut self, speaker: Option<PeerId>) -> Option<PeerId> {
        core::mem::replace(&mut self.speaker, speaker)
    }

    pub(super) fn push(&mut self, event: Event) {
        let waiting = Waiting { by: self.speaker, event };
        match waiting.by {
            Some(by) if waiting.is_lossy() && self.share(by).lossy == LOSSY_MAX => {
                self.drop_oldest(|old| old.by == Some(by) && old.is_lossy());
            }
            None if self.own == OWN_MAX => self.drop_oldest(|old| old.by.is_none()),
            _ => {}
        }
        self.count(&waiting, true);
        self.queue.push_back(waiting);
    }

    /// Whether a peer may cause more events. If not, its packets wait until [`Events::take_stalled`] names it.
    pub(crate) fn has_room(&mut self, peer: PeerId) -> bool {
        let share = self.share(peer);
        let has_room = share.steady < STEADY_MAX && share.steady_bytes < STEADY_BYTES_MAX;
        if !has_room && !self.is_stalled(peer) {
            self.stalled.push(peer);
        }
        has_room
    }

    pub(crate) fn is_stalled(&self, peer: PeerId) -> bool {
        self.stalled.contains(&peer)
    }

    /// Whether there is room for events that no peer causes. Without room, such events wait if they can.
    pub(crate) const fn has_room_for_own(&self) -> bool {
        self.own < OWN_MAX / 2
    }

    /// Takes the peers whose packets may be handled again, since the game has taken all waiting events.
    pub(crate) fn take_stalled(&mut self) -> Vec<PeerId> {
        core::mem::take(&mut self.stalled)
    }

    pub(crate) fn poll(&mut self) -> Option<Event> {
        let waiting = self.queue.pop_front()?;
        self.count(&waiting, false);
        Some(waiting.event)
    }

    fn share(&self, peer: PeerId) -> Share {
        self.shares.get(&peer).copied().unwrap_or_default()
    }

    fn drop_oldest(&mut self, is_it: impl Fn(&Waiting) -> bool) {
        let oldest = self.queue.iter().position(is_it);
        if let Some(dropped) = oldest.and_then(|index| self.queue.remove(index)) {
            self.count(&dropped, false);
        }
    }

    /// Counts an event that came in (`came`), or that was taken out.
    fn count(&mut self, waiting: &Waiting, came: bool) {
        let change = |count: &mut usize, by: usize| *count = if came { *count + by } else { *count - by };
        let Some(by) = waiting.by else { return change(&mut self.own, 1) };
        let share = self.shares.entry(by).or_default();
        if waiting.is_lossy() {
            change(&mut share.lossy, 1);
        } else {
            change(&mut share.steady, 1);
            change(&mut share.steady_bytes, waiting.len());
        }
        if *share == Share::default() {
            self.shares.remove(&by);
        }
    }
}

impl Waiting {
    fn is_lossy(&self) -> bool {
        let lossy = |delivery| matches!(delivery, Delivery::Lane(Lane::Unreliable | Lane::Sequenced(_)));
        matches!(self.event, Event::Message { delivery, .. } if lossy(delivery))
    }

    fn len(&self) -> usize {
        match &self.event {
            Event::Message { bytes, .. } | Event::Late { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }
}
