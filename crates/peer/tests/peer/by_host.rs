//! What holds in a mesh where the host and its backups carry for the others: the same tests by other paths (see `world`), and
//! what is said of these.

mod carried;
#[path = "chaos.rs"]
mod chaos;
#[path = "peers.rs"]
mod peers;
#[expect(dead_code, reason = "not every test is run here")]
#[path = "world/mod.rs"]
mod world;
