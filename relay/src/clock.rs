//! The relay's own time.

use std::time::{Duration, Instant};

use samovar_wire::Time;

/// Time since the relay started.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) start: Instant,
}

impl Clock {
    /// Starts the clock.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The directory's time.
    pub(crate) fn now(&self) -> Time {
        Time::from_micros(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// The relay's time in nanoseconds.
    pub(crate) fn nanos(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The span until a time.
    pub(crate) fn until(&self, time: Time) -> Duration {
        Duration::from_micros(time.since(self.now()).as_micros())
    }
}
