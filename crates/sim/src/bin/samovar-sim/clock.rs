//! The one place of the simulator that reads a real clock: to stop in time, and to say how fast it was.

use std::time::Duration;
#[expect(
    clippy::disallowed_types,
    reason = "the worlds have a time of their own; this is about the machine's"
)]
use std::time::Instant;

/// Real time since a start.
#[derive(Clone, Copy)]
#[expect(
    clippy::disallowed_types,
    reason = "the worlds have a time of their own; this is about the machine's"
)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_types,
        reason = "the worlds have a time of their own; this is about the machine's"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
