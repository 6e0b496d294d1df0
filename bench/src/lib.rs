//! Workloads that measure Samovar and other libraries beside each other, in virtual time and over the same links.
//!
//! `docs/benchmarks.md` names every bench, subject and metric, and says what the figures do not show.

pub mod age;
pub mod client_server;
pub mod goals;
pub mod meter;
pub mod motion;
pub mod network;
pub mod options;
pub mod orders;
pub mod quantise;
pub mod reliable;
pub mod report;
pub mod rng;
pub mod room;
pub mod state;
pub mod subjects;
pub mod suite;
pub mod workload;
