//! The spread of a measured time: its mean and its percentiles over the last seconds.

use samovar_wire::{Duration, Time};

/// Steps in each doubling of a time, so that a percentile is at most an eighth too long.
const STEPS: usize = 8;
/// Doublings from the first to the last bucket.
const DOUBLINGS: usize = 20;
/// The width of the shortest buckets, in microseconds.
const UNIT: u64 = 16;
const BUCKETS: usize = STEPS * (DOUBLINGS + 1);
/// The length of one of the two windows.
const WINDOW: Duration = Duration::from_millis(5_000);

/// A histogram of times up to 16 s, with eight buckets in each doubling; longer times count in the last one.
#[derive(Clone, PartialEq, Eq)]
pub struct Spread {
    counts: [u32; BUCKETS],
    samples: u32,
    total: Duration,
}

/// The buckets would be most of a session's output.
impl core::fmt::Debug for Spread {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Spread")
            .field("samples", &self.samples)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl Default for Spread {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], samples: 0, total: Duration::ZERO }
    }
}

/// The bucket of a time.
fn bucket(time: Duration) -> usize {
    let units = usize::try_from(time.as_micros() / UNIT).unwrap_or(usize::MAX);
    if units < STEPS {
        return units;
    }
    let doubling = units.ilog2() - STEPS.ilog2();
    let step = (units >> doubling) - STEPS;
    ((doubling as usize + 1) * STEPS + step).min(BUCKETS - 1)
}

/// The end of a bucket, where the next bucket begins.
fn end(bucket: usize) -> Duration {
    let (doubling, step) = (bucket / STEPS, bucket % STEPS);
    let units = if doubling == 0 { step + 1 } else { (STEPS + step + 1) << (doubling - 1) };
    Duration::from_micros(units as u64 * UNIT)
}

impl Spread {
    /// Counts a time.
    pub fn note(&mut self, time: Duration) {
        self.samples = self.samples.saturating_add(1);
        self.total = self.total + time;
        if let Some(count) = self.counts.get_mut(bucket(time)) {
            *count = count.saturating_add(1);
        }
    }

    /// The number of times that were counted.
    #[must_use]
    pub const fn samples(&self) -> u32 {
        self.samples
    }

    /// The mean; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.total.as_micros().checked_div(self.samples.into())?;
        Some(Duration::from_micros(mean))
    }

    /// The time that this part of the samples (0 to 1) does not exceed, rounded up by an eighth at most; `None` without
    /// samples.
    #[must_use]
    pub fn percentile(&self, part: f64) -> Option<Duration> {
        let wanted = (f64::from(self.samples) * part).ceil().max(1.0) as u32;
        let mut seen = 0_u32;
        let at = self.counts.iter().position(|&count| {
            seen = seen.saturating_add(count);
            seen >= wanted
        });
        at.filter(|_| self.samples > 0).map(end)
    }

    /// Adds the times of another spread.
    fn add(&mut self, other: &Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.total = self.total + other.total;
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
    }
}

/// The spread over two windows of 5 s: the present one and the one before. A window begins with the first time that
/// is noted after the former window ended. So all times of the last 5 s count, and none older than 15 s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentSpread {
    present: Spread,
    former: Spread,
    began: Time,
}

impl RecentSpread {
    /// Counts a time that was measured now.
    pub fn note(&mut self, now: Time, time: Duration) {
        self.turn(now);
        self.present.note(time);
    }

    /// The spread at this time.
    #[must_use]
    pub fn over(&self, now: Time) -> Spread {
        let mut recent = self.clone();
        recent.turn(now);
        recent.present.add(&recent.former);
        recent.present
    }

    /// Begins a new window if the present one is over.
    fn turn(&mut self, now: Time) {
        let age = now.since(self.began);
        if age >= WINDOW {
            self.former = core::mem::take(&mut self.present);
            if age >= WINDOW + WINDOW {
                self.former = Spread::default();
            }
            self.began = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn percentile_is_at_most_an_eighth_too_long() {
        for micros in (0..400).map(|n| n * n * 100) {
            let mut spread = Spread::default();
            spread.note(Duration::from_micros(micros));
            let told = spread.percentile(0.5).unwrap().as_micros();
            assert!(told > micros && told <= micros + micros / 8 + UNIT, "{micros}: {told}");
        }
        let mut spread = Spread::default();
        spread.note(Duration::from_micros(u64::MAX));
        assert!(spread.percentile(1.0).unwrap() > millis(16_000));
    }

    #[test]
    fn mean_and_percentiles_are_of_all_samples() {
        let mut spread = Spread::default();
        assert_eq!((spread.mean(), spread.percentile(0.99)), (None, None));
        (1..=100).for_each(|n| spread.note(millis(n)));
        assert_eq!(spread.mean(), Some(Duration::from_micros(50_500)));
        let [half, most, all] =
            [0.5, 0.99, 1.0].map(|part| spread.percentile(part).unwrap().as_micros() / 1_000);
        assert!((50..=56).contains(&half) && (99..=111).contains(&most) && all >= 100, "{half} {most} {all}");
    }

    #[test]
    fn recent_spread_keeps_only_the_last_two_windows() {
        let at = |n: u64| Time::from_micros(n * 1_000_000);
        let mut recent = RecentSpread::default();
        recent.note(at(101), millis(1));
        assert_eq!(recent.over(at(105)).samples(), 1);
        recent.note(at(107), millis(2));
        assert_eq!([107, 111, 112, 117].map(|n| recent.over(at(n)).samples()), [2, 2, 1, 0]);
    }
}
