//! Objects: every order of messages, random lives, frames, interest, limits, and the cost of a workload.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod departures;
mod derive;
mod exhaustive;
mod frames;
mod interest;
mod limits;
mod orders;
mod random;
mod review;
mod turns;
mod workload;
