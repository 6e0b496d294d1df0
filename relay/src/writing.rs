//! Whether the disk answers.

use std::sync::atomic::{AtomicU64, Ordering};

/// How long the disk may write before new games are better founded elsewhere, in nanoseconds.
const WRITE_MAX: u64 = 2_000_000_000;

/// Since when the disk writes, in nanoseconds; 0 when it does not.
#[derive(Debug, Default)]
pub(crate) struct Writing(AtomicU64);

impl Writing {
    /// The disk begins to write.
    pub(crate) fn begin(&self, now: u64) {
        self.0.store(now.max(1), Ordering::Relaxed);
    }

    /// What was to be written is on disk.
    pub(crate) fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether it takes too long.
    pub(crate) fn is_late(&self, now: u64) -> bool {
        let since = self.0.load(Ordering::Relaxed);
        since > 0 && now.saturating_sub(since) > WRITE_MAX
    }
}
