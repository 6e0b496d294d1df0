//! Objects: every order, random lives, frames, interest, limits, and what a workload costs.

mod departures;
mod derive;
mod exhaustive;
mod frames;
mod interest;
mod limits;
mod orders;
mod random;
mod review;
mod turns;
mod workload;
