//! Links: promises over bad paths, latency, restarts, hostile bytes.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod latency;
mod pair;
mod review;
mod trial;
