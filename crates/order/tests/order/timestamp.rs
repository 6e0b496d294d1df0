//! Time-stamp order: the third seed's anomalies, every schedule of a few messages, random groups, and what it costs.

mod anomalies;
mod delay;
mod exhaustive;
mod late;
mod lives;
mod world;
