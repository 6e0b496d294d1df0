//! The duel and the maze: their rules, and whole games over sessions in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod duel;
mod maze;
