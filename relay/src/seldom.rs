//! Logs an event that may be very frequent: the first time at once, and then at most once a minute with its count.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two lines about the same event.
const EVERY: Duration = Duration::from_secs(60);

/// The unreported occurrences of one event.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<Untold>);

#[derive(Debug, Default)]
struct Untold {
    told: Option<Instant>,
    times: u64,
}

impl Seldom {
    /// Notes that the event occurred. Returns the count since the last report if a report is due.
    pub(crate) fn happened(&self, now: Instant) -> Option<u64> {
        let mut untold = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        untold.times += 1;
        if untold.told.is_some_and(|told| now.saturating_duration_since(told) < EVERY) {
            return None;
        }
        untold.told = Some(now);
        Some(std::mem::take(&mut untold.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_reported_at_once_then_once_a_minute() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        let at = |seconds| seldom.happened(start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(0), at(1), at(59)], [Some(1), None, None, None]);
        assert_eq!([at(60), at(61), at(300)], [Some(4), None, Some(2)]);
    }
}
