//! Frames of an epoch that this peer has not begun: another member's frames may arrive before the host's INSTALL.

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{CloseCode, PeerId, SortedMap};

use crate::order::{UNSTABLE_BYTES_MAX, UNSTABLE_MAX};

/// Frames by sender, each within the bound of a sender's unacked items.
#[derive(Clone, Debug, Default)]
pub(super) struct Early(SortedMap<PeerId, Vec<(u64, Vec<u8>)>>);

impl Early {
    /// Keeps a frame of an epoch.
    ///
    /// # Errors
    /// `LimitExceeded` when its sender sends more than it may before an ack.
    pub(super) fn keep(&mut self, from: PeerId, epoch: u64, bytes: &[u8]) -> Result<(), CloseCode> {
        if self.0.len() >= MEMBERS_MAX && !self.0.contains_key(&from) {
            return Ok(());
        }
        let frames = self.0.entry(from).or_default();
        // A sender in a later epoch knows that this peer will join that epoch, if any, and skip those in between. So
        // the sender's frames of earlier epochs are dropped.
        if frames.last().is_some_and(|&(of, _)| of < epoch) {
            frames.clear();
        }
        let stored: usize = frames.iter().map(|(_, frame)| frame.len()).sum();
        if frames.len() >= 2 * UNSTABLE_MAX || stored >= 2 * UNSTABLE_BYTES_MAX {
            return Err(CloseCode::LimitExceeded);
        }
        frames.push((epoch, bytes.to_vec()));
        Ok(())
    }

    /// The frames of this epoch, each sender's in its order. Frames of earlier ones are dropped.
    pub(super) fn take(&mut self, epoch: u64) -> Vec<(PeerId, Vec<u8>)> {
        let mut due = Vec::new();
        for (&from, frames) in self.0.iter_mut() {
            frames.retain(|&(of, _)| of >= epoch);
            let taken = frames.extract_if(.., |&mut (of, _)| of == epoch);
            due.extend(taken.map(|(_, frame)| (from, frame)));
        }
        self.0.retain(|_, frames| !frames.is_empty());
        due
    }

    /// Keeps the frames of some senders only.
    pub(super) fn retain(&mut self, keeps: impl Fn(PeerId) -> bool) {
        self.0.retain(|&from, _| keeps(from));
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.values().flatten().map(|(_, frame)| frame.len()).sum()
    }
}
