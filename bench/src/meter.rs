//! CPU time of the calling thread, and a global allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a count of the calls that ask for memory or for more of it.
#[derive(Debug)]
pub struct CountingAllocator;

// SAFETY: every call goes to the system's allocator unchanged; the counter touches no memory of the caller.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The cost of a piece of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// CPU time of this thread; time that other processes take does not count.
    pub cpu: Duration,
    /// Calls of the allocator that asked for memory.
    pub allocations: u64,
}

/// Does a piece of work. Returns its cost.
pub fn measure(work: impl FnOnce()) -> Cost {
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    let start = thread_cpu();
    work();
    let cpu = thread_cpu().saturating_sub(start);
    Cost { cpu, allocations: ALLOCATIONS.load(Ordering::Relaxed) - allocations }
}

fn thread_cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock").into()
}
