//! Several clients and one directory in virtual time. Their sockets take no time; the disk may take some.

mod abuse;
mod after_restart;
mod bars;
mod behind;
mod client;
mod draining;
mod entry;
mod hosts_word;
mod majority;
mod matching;
mod notes;
mod operator;
mod places;
mod probes;
mod rejoin;
mod reserve;
mod restart;
mod soak;
mod strangers;
mod succession;
mod vouching;

mod world;
