//! Connections, the socket to the relay, and whole peers on loopback.

mod connection;
mod driver;
mod relay_socket;
