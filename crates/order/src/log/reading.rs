//! The rule of the log: entries have their turns in the order of the log.

use samovar_wire::{DecodeError, PeerId};

use super::entry::{Entry, Purpose, STABLE};
use crate::group::{Rule, Turn};
use crate::order::Delivery;

/// The rule by which entries have their turns.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    me: PeerId,
    purpose: Purpose,
    /// The number of this peer's last message.
    pub(super) said: u64,
    /// The number of this peer's last message that it has seen in a log.
    pub(super) seen: u64,
}

impl Reading {
    pub(super) const fn new(me: PeerId, purpose: Purpose) -> Self {
        Self { me, purpose, said: 0, seen: 0 }
    }
}

impl Rule for Reading {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn begin(&mut self, _owners: &[PeerId], _me: Option<usize>) {}

    fn check(&self, _owner: usize, item: &[u8]) -> Result<(), DecodeError> {
        let entry = Entry::decode(item)?;
        if entry.origin == self.me && entry.number > self.said { Err(DecodeError::Invalid) } else { Ok(()) }
    }

    fn is_due(&self, _owner: usize, item: &[u8], turn: Turn) -> bool {
        !self.is_urgent(item) || turn.is_ending || turn.number <= turn.safe
    }

    fn take(&mut self, _owner: usize, item: &[u8]) -> Option<Delivery> {
        let entry = Entry::decode(item).ok()?;
        let Entry { origin, number, payload, .. } = entry;
        if origin == self.me {
            if number <= self.seen {
                return None;
            }
            self.seen = number;
        }
        let is_wanted = self.purpose != Purpose::Dispatch || origin != self.me;
        is_wanted.then(|| Delivery { from: origin, payload: payload.to_vec() })
    }

    fn is_urgent(&self, item: &[u8]) -> bool {
        item.first() == Some(&STABLE)
    }
}
