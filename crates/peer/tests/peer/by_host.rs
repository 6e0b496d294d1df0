//! Tests of client-server games, in which the host and its backups carry packets for the others. The tests of `chaos`
//! and `peers` run here once more, over these paths (see `world`), and `carried` has further ones.

mod carried;
#[path = "chaos.rs"]
mod chaos;
#[path = "peers.rs"]
mod peers;
#[expect(dead_code, reason = "not every test is run here")]
#[path = "world/mod.rs"]
mod world;
