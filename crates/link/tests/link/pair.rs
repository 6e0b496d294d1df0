//! Two links and a path between them, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod budget;
mod hostile;
mod promises;
mod restarts;
mod world;
