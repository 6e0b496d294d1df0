//! The orders under random and exhaustive schedules, held to their definitions: see `history` for these.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod anomalies;
mod any;
mod costs;
mod exhaustive;
mod history;
mod hostile;
mod liars;
mod random;

mod succession;
mod world;
