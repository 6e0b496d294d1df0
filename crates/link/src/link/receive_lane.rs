//! The receiving half of a reliable lane: segments put in order and joined to messages (PROTOCOL §3.1).

use samovar_wire::limits::MESSAGE_MAX;
use samovar_wire::link_frame::expand;
use samovar_wire::{CloseCode, SortedMap};

use super::bounds::window_of;
use super::buffers::Buffers;

#[derive(Debug)]
pub(super) struct ReceiveLane {
    window: u64,
    next: u64,
    /// Segments from `next` on that came early, at most a window of them.
    early: SortedMap<u64, (bool, Vec<u8>)>,
    /// The first part of a message whose last segment has not come yet.
    partial: Vec<u8>,
}

impl ReceiveLane {
    pub(super) fn new(lane: u8) -> Self {
        Self { window: window_of(lane), next: 0, early: SortedMap::new(), partial: Vec::new() }
    }

    /// The number of the next segment to come; all before it are delivered.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether a sender that follows the protocol can have sent this segment.
    pub(super) fn check(&self, truncated: u16) -> Result<(), CloseCode> {
        let number = expand(truncated, self.next);
        if number < self.next + self.window { Ok(()) } else { Err(CloseCode::LimitExceeded) }
    }

    /// Takes a segment and delivers the messages that it completes.
    pub(super) fn handle(
        &mut self,
        segment: (u16, bool, &[u8]),
        buffers: &mut Buffers,
        deliver: &mut impl FnMut(Vec<u8>),
    ) -> Result<(), CloseCode> {
        let (truncated, last, bytes) = segment;
        let number = expand(truncated, self.next);
        if number > self.next {
            self.early.entry(number).or_insert_with(|| (last, buffers.copy_of(bytes)));
            return Ok(());
        }
        if number < self.next {
            return Ok(());
        }
        self.join(last, bytes, buffers, deliver)?;
        while let Some((last, bytes)) = self.early.remove(&self.next) {
            self.join(last, &bytes, buffers, deliver)?;
            buffers.give(bytes);
        }
        Ok(())
    }

    fn join(
        &mut self,
        last: bool,
        bytes: &[u8],
        buffers: &mut Buffers,
        deliver: &mut impl FnMut(Vec<u8>),
    ) -> Result<(), CloseCode> {
        self.next += 1;
        if self.partial.len() + bytes.len() > MESSAGE_MAX {
            return Err(CloseCode::TooLarge);
        }
        match (last, self.partial.is_empty()) {
            (true, true) => deliver(buffers.copy_of(bytes)),
            (true, false) => {
                self.partial.extend_from_slice(bytes);
                deliver(core::mem::take(&mut self.partial));
            }
            (false, _) => self.partial.extend_from_slice(bytes),
        }
        Ok(())
    }
}
