//! Orders: causal, total, by time stamp, and lockstep, in random and exhaustive schedules.

mod lockstep;
mod orders;
mod timestamp;
