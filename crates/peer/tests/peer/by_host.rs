//! The tests of a mesh where the host and its backups carry for the others: the same tests over other paths (see
//! `world`), and some of its own.

mod carried;
#[path = "chaos.rs"]
mod chaos;
#[path = "peers.rs"]
mod peers;
#[expect(dead_code, reason = "not every test is run here")]
#[path = "world/mod.rs"]
mod world;
