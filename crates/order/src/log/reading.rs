//! When an entry of the log has its turn: in the order in which it stands there.

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{DecodeError, PeerId, SortedSet};

use super::entry::{Entry, Key, LATE, MARK, PEER_LATE, PEER_ON_TIME, Purpose, STABLE};
use crate::group::{Rule, Turn};
use crate::order::Delivery;

/// Entries have their turns in the order of the log.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    me: PeerId,
    purpose: Purpose,
    /// The number of the last message that this peer has said.
    pub(super) said: u64,
    /// The number of this peer's last message that it has seen in a log; not by time.
    pub(super) seen: u64,
    /// By time: own messages that were seen since this was last asked for.
    pub(super) taken: Vec<u64>,
    /// By time: where the last message that was not late stands.
    pub(super) last: Option<Key>,
    /// By time: whom nobody waits for.
    pub(super) late: SortedSet<PeerId>,
}

impl Reading {
    pub(super) const fn new(me: PeerId, purpose: Purpose) -> Self {
        Self { me, purpose, said: 0, seen: 0, taken: Vec::new(), last: None, late: SortedSet::new() }
    }

    /// The whole entry is given on: its reader tells what of it is for the game.
    fn take_timed(&mut self, entry: Entry<'_>) -> Option<Delivery> {
        let is_news = match entry.flags {
            PEER_LATE => self.late.len() < MEMBERS_MAX && self.late.insert(entry.origin),
            PEER_ON_TIME => self.late.remove(&entry.origin),
            _ => true,
        };
        let key = entry.key()?;
        let mut flags = entry.flags;
        if matches!(flags, 0 | MARK) {
            // Who was not there when the host read what this stands behind cannot have told it.
            if self.last.is_some_and(|last| key < last) {
                flags |= LATE;
            } else {
                self.last = Some(key);
            }
        }
        if entry.origin == self.me && entry.flags & !LATE == 0 {
            self.taken.push(entry.number);
        }
        let is_said = is_news && entry.flags != MARK;
        is_said.then(|| Delivery { from: entry.origin, payload: Entry { flags, ..entry }.encode() })
    }
}

impl Rule for Reading {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn begin(&mut self, _owners: &[PeerId], _me: Option<usize>) {}

    fn check(&self, _owner: usize, item: &[u8]) -> Result<(), DecodeError> {
        let entry = Entry::decode(item, self.purpose)?;
        if entry.origin == self.me && entry.number > self.said { Err(DecodeError::Invalid) } else { Ok(()) }
    }

    fn is_due(&self, _owner: usize, item: &[u8], turn: Turn) -> bool {
        !self.is_urgent(item) || turn.is_ending || turn.number <= turn.safe
    }

    fn take(&mut self, _owner: usize, item: &[u8]) -> Option<Delivery> {
        let entry = Entry::decode(item, self.purpose).ok()?;
        if self.purpose == Purpose::Time {
            return self.take_timed(entry);
        }
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
