//! Time-stamp order: the anomalies of docs/sources.md, "Fujimoto", every schedule of a few messages, random groups,
//! and the cost.

mod anomalies;
mod delay;
mod exhaustive;
mod late;
mod lives;
mod world;
