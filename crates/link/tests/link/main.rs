//! Links: promises over bad paths, latency, restarts, hostile bytes.

mod latency;
mod pair;
mod review;
mod trial;
