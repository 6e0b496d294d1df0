//! What holds in a mesh, in a star: the same tests, by another topology (see `world`).

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

#[path = "../chaos.rs"]
mod chaos;
#[path = "../peers.rs"]
mod peers;
