//! A histogram of times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts of times by `N` bounds. A time above the last bound is in no bucket, and counts in `above`.
#[derive(Debug)]
pub(super) struct Histogram<const N: usize> {
    buckets: [AtomicU64; N],
    above: AtomicU64,
    nanos: AtomicU64,
}

/// The content of a histogram, or of several, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Snapshot<const N: usize> {
    pub(super) buckets: [u64; N],
    pub(super) above: u64,
    pub(super) nanos: u64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; N], above: AtomicU64::new(0), nanos: AtomicU64::new(0) }
    }
}

impl<const N: usize> Histogram<N> {
    /// Counts one time. The bounds are in microseconds, ascending, and the same in every call.
    pub(super) fn observe(&self, bounds: &[u64; N], time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let place = bounds.iter().position(|bound| nanos <= bound * 1_000);
        place.map_or(&self.above, |place| &self.buckets[place]).fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The sum of several histograms.
    pub(super) fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Snapshot<N> {
        let mut sum = Snapshot { buckets: [0; N], above: 0, nanos: 0 };
        for one in all {
            for (total, count) in sum.buckets.iter_mut().zip(&one.buckets) {
                *total += count.load(Ordering::Relaxed);
            }
            sum.above += one.above.load(Ordering::Relaxed);
            sum.nanos = sum.nanos.wrapping_add(one.nanos.load(Ordering::Relaxed));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_equal_to_a_bound_counts_in_its_bucket() {
        let histogram = Histogram::default();
        for micros in [0, 10, 11, 20, 21, 1_000_000] {
            histogram.observe(&[10, 20], Duration::from_micros(micros));
        }
        let sum = Histogram::sum([&histogram, &histogram]);
        assert_eq!(sum, Snapshot { buckets: [4, 4], above: 4, nanos: 2 * 1_000_062_000 });
    }
}
