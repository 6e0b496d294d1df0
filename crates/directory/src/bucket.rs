//! A rate limit as one number: the generic cell rate algorithm (ITU-T I.371), which is a token bucket without floats.

use samovar_wire::{Duration, Time};

/// Lets through one unit per `interval` on average and `burst` at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    interval: Duration,
    /// How far `due` may lie ahead of the present.
    slack: Duration,
    /// When the bucket will be full again.
    due: Time,
}

impl Bucket {
    pub(crate) const fn new(interval: Duration, burst: u64) -> Self {
        Self { interval, slack: interval.times(burst.saturating_sub(1)), due: Time::ZERO }
    }

    /// Takes one token. Returns `false` if there is none.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        if self.ready_at() > now {
            return false;
        }
        self.due = self.due.max(now) + self.interval;
        true
    }

    /// When the next token can be taken; in the past when it can be taken now.
    pub(crate) fn ready_at(&self) -> Time {
        self.due - self.slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_burst_passes_at_once_and_then_the_mean_rate() {
        let mut bucket = Bucket::new(Duration::from_millis(50), 3);
        let start = Time::from_micros(1_000_000);
        assert_eq!((0..5).filter(|_| bucket.take(start)).count(), 3);
        assert_eq!(bucket.ready_at(), start + Duration::from_millis(50));
        let later = start + Duration::from_millis(100);
        assert_eq!((0..5).filter(|_| bucket.take(later)).count(), 2);
        let much_later = start + Duration::from_millis(100_000);
        assert_eq!((0..5).filter(|_| bucket.take(much_later)).count(), 3);
    }

    #[test]
    fn a_bucket_is_full_at_the_origin_of_time() {
        let mut bucket = Bucket::new(Duration::from_millis(50), 2);
        assert!(bucket.take(Time::ZERO) && bucket.take(Time::ZERO) && !bucket.take(Time::ZERO));
    }
}
