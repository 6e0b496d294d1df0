//! Harness shared by the tests that cross crates.
