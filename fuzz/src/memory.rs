//! An allocator that counts the bytes that are held, so that the memory of a target can be bounded.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator and two counters.
pub(crate) struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize) {
    let held = HELD.fetch_add(more, Relaxed) + more;
    PEAK.fetch_max(held, Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Calls `run`, and fails if that holds more than `bound` bytes at once, beyond the bytes that were held before.
pub(crate) fn within(bound: usize, run: impl FnOnce()) {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    run();
    let most = PEAK.load(Relaxed).saturating_sub(before);
    assert!(most <= bound, "{most} bytes were held at once; {bound} is the bound");
}
