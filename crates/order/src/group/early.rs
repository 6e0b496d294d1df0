//! Frames of an epoch that begins here only later: who has begun it already may be faster than the host's word.

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{CloseCode, PeerId, SortedMap};

use crate::order::{UNSTABLE_BYTES_MAX, UNSTABLE_MAX};

/// Frames by their senders, each within what a sender may have under way.
#[derive(Debug, Default)]
pub(super) struct Early(SortedMap<PeerId, Vec<Vec<u8>>>);

impl Early {
    /// Keeps a frame.
    ///
    /// # Errors
    /// `LimitExceeded` when its sender says more than it may before it knows that it is heard.
    pub(super) fn keep(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        if self.0.len() >= MEMBERS_MAX && !self.0.contains_key(&from) {
            return Ok(());
        }
        let frames = self.0.entry(from).or_default();
        let stored: usize = frames.iter().map(Vec::len).sum();
        if frames.len() >= 2 * UNSTABLE_MAX || stored >= 2 * UNSTABLE_BYTES_MAX {
            return Err(CloseCode::LimitExceeded);
        }
        frames.push(bytes.to_vec());
        Ok(())
    }

    /// Everything, each sender's in its order.
    pub(super) fn take(&mut self) -> Vec<(PeerId, Vec<u8>)> {
        let all = core::mem::take(&mut self.0);
        all.into_iter()
            .flat_map(|(from, frames)| frames.into_iter().map(move |frame| (from, frame)))
            .collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.values().flatten().map(Vec::len).sum()
    }
}
