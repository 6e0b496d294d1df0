//! What holds in a mesh where the host and its backups carry for the others: the same tests by other paths (see `world`), and
//! what is said of these.

#![expect(clippy::duplicate_mod, reason = "each file of tests brings its own world")]

mod carried;
#[path = "../chaos.rs"]
mod chaos;
#[path = "../peers.rs"]
mod peers;
