//! The relay as a process, over real sockets on the loopback interface.

mod forward;
mod page;
mod peer;
mod process;
mod start;
mod terms;
