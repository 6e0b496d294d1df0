//! The orders under random and exhaustive schedules, checked against their definitions in `history`.
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
