//! The relay and robots, each a process in a network name space of its own: killed, frozen, and cut off from each
//! other.
//!
//! If such name spaces are not allowed, each test says so in its output and ends.

mod acme;
mod addresses;
mod chaos;
mod comings;
mod crashes;
mod partitions;
mod proxies;
mod relay;
mod sleep;
mod table;
