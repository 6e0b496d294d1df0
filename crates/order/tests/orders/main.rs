//! The orders under random and exhaustive schedules, held to their definitions: see `history` for these.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod any;
mod dice;
mod exhaustive;
mod history;
mod random;
mod world;
