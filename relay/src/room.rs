//! Room for the waiting messages of all queues together, so that memory is bounded even if many members do not read.
//!
//! Each queue may hold as many bytes as the room has left (the dynamic threshold of Choudhury and Hahne, 1998). So
//! the more queues are full, the shorter each must be, and another queue always finds as much room as each full one
//! holds.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that all queues of a relay hold, and the most that they may hold.
#[derive(Debug)]
pub(crate) struct Room {
    used: AtomicUsize,
    all: AtomicUsize,
}

/// The content of a queue, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depth {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Room {
    /// Room for `all` bytes.
    pub(crate) const fn new(all: usize) -> Self {
        Self { used: AtomicUsize::new(0), all: AtomicUsize::new(all) }
    }

    /// Sets the room from now on.
    pub(crate) fn set(&self, all: usize) {
        self.all.store(all, Ordering::Relaxed);
    }

    /// Notes that one queue changes its content from `before` to `now` bytes.
    pub(crate) fn change(&self, before: usize, now: usize) {
        // The addition wraps, so it serves for growth and for loss.
        self.used.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    /// The remaining room.
    pub(crate) fn left(&self) -> usize {
        self.all.load(Ordering::Relaxed).saturating_sub(self.used.load(Ordering::Relaxed))
    }
}
