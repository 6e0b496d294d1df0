//! The receiving half of the reliable lane: segments put in order and joined to messages.

use std::collections::BTreeMap;

use samovar_wire::CloseCode;
use samovar_wire::limits::{MESSAGE_MAX, SEGMENT_WINDOW};

#[derive(Debug, Default)]
pub(super) struct ReceiveLane {
    next: u64,
    /// Segments from `next` on that came early, at most a window of them.
    early: BTreeMap<u64, (bool, Vec<u8>)>,
    /// The message whose last segment has not come yet.
    partial: Vec<u8>,
}

impl ReceiveLane {
    /// The number of the next segment to come; all before it are delivered.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether a sender that keeps the rules can have sent this segment.
    pub(super) fn check(&self, number: u64) -> Result<(), CloseCode> {
        if number < self.next.saturating_add(SEGMENT_WINDOW) { Ok(()) } else { Err(CloseCode::LimitExceeded) }
    }

    pub(super) fn insert(&mut self, number: u64, last: bool, bytes: &[u8]) {
        if number >= self.next {
            self.early.entry(number).or_insert_with(|| (last, bytes.to_vec()));
        }
    }

    /// The next complete message.
    pub(super) fn next_message(&mut self) -> Result<Option<Vec<u8>>, CloseCode> {
        while let Some((last, bytes)) = self.early.remove(&self.next) {
            self.next += 1;
            self.partial.extend_from_slice(&bytes);
            if self.partial.len() > MESSAGE_MAX {
                return Err(CloseCode::TooLarge);
            }
            if last {
                return Ok(Some(core::mem::take(&mut self.partial)));
            }
        }
        Ok(None)
    }
}
