//! Tells whether the disk answers in time.

use std::sync::atomic::{AtomicU64, Ordering};

/// The longest time of a write, in nanoseconds, before new games should be founded elsewhere.
const WRITE_MAX: u64 = 2_000_000_000;

/// The start of the present write, in nanoseconds; 0 if there is none.
#[derive(Debug, Default)]
pub(crate) struct Writing(AtomicU64);

impl Writing {
    /// Notes that the disk begins to write.
    pub(crate) fn begin(&self, now: u64) {
        self.0.store(now.max(1), Ordering::Relaxed);
    }

    /// Notes that the write is on disk.
    pub(crate) fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the write takes too long.
    pub(crate) fn is_late(&self, now: u64) -> bool {
        let since = self.0.load(Ordering::Relaxed);
        since > 0 && now.saturating_sub(since) > WRITE_MAX
    }
}
