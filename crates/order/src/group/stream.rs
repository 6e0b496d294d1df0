//! One member's stream of items, as far as this peer has it.

use std::collections::VecDeque;

use samovar_wire::CloseCode;

use crate::order::{UNSTABLE_BYTES_MAX, UNSTABLE_MAX};

/// A receiver hears later than the owner that all have an item, and needs room for the items sent meanwhile: this
/// many times the owner's bound.
const SLACK: usize = 2;

/// Items in order, without a gap: numbers above `trimmed` up to `received`.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    items: VecDeque<Vec<u8>>,
    bytes: usize,
    trimmed: u64,
    taken: u64,
    /// Whether the owner was asked to send missing items again.
    pub(super) is_asked: bool,
}

/// The result of an item's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The item is the next one, to be stored.
    Next,
    /// The item was here before.
    Known,
    /// Other items are missing before this one.
    Gap,
}

impl Stream {
    /// A stream whose first `number` items are not needed here.
    pub(super) fn starting_behind(number: u64) -> Self {
        Self { trimmed: number, taken: number, ..Self::default() }
    }

    /// The number of the last item that is here.
    pub(super) fn received(&self) -> u64 {
        self.trimmed + self.items.len() as u64
    }

    /// The number of the last item that was dropped.
    pub(super) const fn trimmed(&self) -> u64 {
        self.trimmed
    }

    /// The number of the last item that has had its turn.
    pub(super) const fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the owner may append an item.
    pub(super) fn has_room(&self) -> bool {
        self.items.len() < UNSTABLE_MAX && self.bytes < UNSTABLE_BYTES_MAX
    }

    pub(super) fn push(&mut self, item: Vec<u8>) {
        self.bytes += item.len();
        self.is_asked = false;
        self.items.push_back(item);
    }

    /// How the item of this number would be received.
    ///
    /// # Errors
    /// `LimitExceeded` when more is stored than an honest owner causes.
    pub(super) fn admit(&self, number: u64) -> Result<Arrival, CloseCode> {
        let next = self.received() + 1;
        if number != next {
            return Ok(if number < next { Arrival::Known } else { Arrival::Gap });
        }
        let is_full =
            self.items.len() >= SLACK * UNSTABLE_MAX || self.bytes >= SLACK * (UNSTABLE_BYTES_MAX + 20_000);
        if is_full { Err(CloseCode::LimitExceeded) } else { Ok(Arrival::Next) }
    }

    /// The item of this number, if it is stored.
    pub(super) fn item(&self, number: u64) -> Option<&[u8]> {
        let index = usize::try_from(number.checked_sub(self.trimmed + 1)?).ok()?;
        self.items.get(index).map(Vec::as_slice)
    }

    /// The first item that has not had its turn yet.
    pub(super) fn head(&self) -> Option<&[u8]> {
        self.item(self.taken + 1)
    }

    /// All items that have not had their turn yet.
    pub(super) fn rest(&self) -> impl Iterator<Item = &[u8]> {
        let taken = usize::try_from(self.taken - self.trimmed).unwrap_or(usize::MAX);
        self.items.iter().skip(taken).map(Vec::as_slice)
    }

    /// Notes that the first waiting item has had its turn.
    pub(super) fn take(&mut self) {
        self.taken = self.received().min(self.taken + 1);
    }

    /// Forgets items that all have, by the owner's word. An item whose turn is still to come is kept.
    pub(super) fn trim(&mut self, stable: u64) {
        while self.trimmed < stable.min(self.taken) {
            let Some(item) = self.items.pop_front() else { return };
            self.bytes -= item.len();
            self.trimmed += 1;
        }
    }

    /// Forgets all items after `last`, which do not count.
    pub(super) fn cut(&mut self, last: u64) {
        while self.received() > last {
            let Some(item) = self.items.pop_back() else { return };
            self.bytes -= item.len();
        }
        self.taken = self.taken.min(last);
    }
}
