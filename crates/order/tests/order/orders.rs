//! The orders under random and exhaustive schedules, held to their definitions: see `history` for these.
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
