//! Connections, the socket to the relay, and whole peers on loopback.

#[cfg(feature = "direct")]
mod connection;
mod driver;
mod relay_socket;
