//! Objects: every order, random lives, frames, interest, limits, and what a workload costs.

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
