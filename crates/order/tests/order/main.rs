//! Orders: causal, total, by time stamp, and lockstep, in random and exhaustive schedules.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod lockstep;
mod orders;
mod timestamp;
