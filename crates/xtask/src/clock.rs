//! The one place of the workspace's tools that reads a clock.

use std::fmt;
use std::time::Duration;
#[expect(
    clippy::disallowed_types,
    reason = "a build tool measures real time; the ban protects sans-I/O crates"
)]
use std::time::Instant;

/// Time since a step began; displays as seconds.
#[expect(
    clippy::disallowed_types,
    reason = "a build tool measures real time; the ban protects sans-I/O crates"
)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    #[expect(
        clippy::disallowed_types,
        reason = "a build tool measures real time; the ban protects sans-I/O crates"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time that has passed since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

impl fmt::Display for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.elapsed().as_secs_f64())
    }
}
