//! What holds in a mesh, in a star: the same tests, by another topology (see `world`).

#![expect(clippy::duplicate_mod, reason = "each file of tests brings its own world")]

#[path = "../chaos.rs"]
mod chaos;
#[path = "../peers.rs"]
mod peers;
