//! Room for what waits in all queues together, so that memory is bounded however many members do not read.
//!
//! A queue may be as long as there is room left (the dynamic threshold of Choudhury and Hahne, 1998): many who hoard get
//! less each, and whoever does not hoard always finds as much as one of them has.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How much all queues of a relay hold.
#[derive(Debug)]
pub(crate) struct Room {
    used: AtomicUsize,
    all: AtomicUsize,
}

/// How much waits in a queue, or in several.
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
    /// Room for so many bytes.
    pub(crate) const fn new(all: usize) -> Self {
        Self { used: AtomicUsize::new(0), all: AtomicUsize::new(all) }
    }

    /// For so many from now on.
    pub(crate) fn set(&self, all: usize) {
        self.all.store(all, Ordering::Relaxed);
    }

    /// One queue holds so much, and held so much before.
    pub(crate) fn change(&self, before: usize, now: usize) {
        // Sums wrap, so one addition does for more and for less.
        self.used.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    /// How much more there is room for.
    pub(crate) fn left(&self) -> usize {
        self.all.load(Ordering::Relaxed).saturating_sub(self.used.load(Ordering::Relaxed))
    }
}
