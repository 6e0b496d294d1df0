//! Whole peers with the real directory in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]
#![expect(
    clippy::duplicate_mod,
    reason = "some tests are run by two kinds of paths, each with a world of its own"
)]

mod by_host;
mod chaos;
mod ladder;
mod peers;
mod way_back;
#[expect(dead_code, reason = "the tests of the other paths need all of it")]
mod world;
