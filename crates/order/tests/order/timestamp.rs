//! Time-stamp order: the third seed's anomalies, every schedule of a few messages, random groups, and what it costs.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod anomalies;
mod delay;
mod exhaustive;
mod late;
mod lives;
mod world;
