//! Connections of a build without the feature `direct`. A peer of such a build asks for none, since its path policy is
//! [`WebSocket`](samovar_peer::PathPolicy::WebSocket).

use std::convert::Infallible;

use bytes::Bytes;
pub(crate) use samovar_peer::ConnectionKey;
use samovar_wire::Mode;

use crate::relay_socket::Overflow;

/// An event of a connection.
pub(crate) type ConnectionEvent = samovar_peer::ConnectionEvent<Bytes>;

/// A connection that cannot exist.
pub(crate) struct Connection(Infallible);

impl Connection {
    pub(crate) fn accept(&self, _: String) {
        match self.0 {}
    }

    pub(crate) fn send(&self, _: Mode, _: Vec<u8>) -> Result<(), Overflow> {
        match self.0 {}
    }

    pub(crate) fn backlog(&self) -> usize {
        match self.0 {}
    }
}
