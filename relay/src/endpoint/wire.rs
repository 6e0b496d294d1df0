//! The one socket, as all connections use it.

use std::io;
use std::net::{IpAddr, SocketAddr};

use str0m::crypto::CryptoProvider;
use tokio::net::UdpSocket;

use crate::metrics::{Metrics, Undelivered};

/// Bytes that the system shall keep of what was not read yet.
const RECEIVE_BUFFER: usize = 4 * 1_024 * 1_024;

/// Sends datagrams.
pub(super) struct Wire<'a> {
    pub(super) socket: &'a UdpSocket,
    pub(super) is_v6: bool,
    pub(super) addresses: &'a [SocketAddr],
    pub(super) provider: &'a CryptoProvider,
    pub(super) metrics: &'a Metrics,
}

impl Wire<'_> {
    /// Sends one, or loses it when the system's buffer is full: it is a datagram.
    pub(super) fn send(&self, to: SocketAddr, bytes: &[u8]) {
        if self.socket.try_send_to(bytes, self.system_address(to)).is_ok() {
            self.metrics.datagram_out(bytes.len());
        } else {
            self.metrics.undelivered(Undelivered::System);
        }
    }

    /// Which of the relay's addresses somebody has found it at.
    pub(super) fn address_for(&self, from: SocketAddr) -> Option<SocketAddr> {
        self.addresses.iter().find(|address| address.is_ipv4() == from.is_ipv4()).copied()
    }

    /// A socket of IPv6 reaches IPv4 by addresses of its own kind.
    fn system_address(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.is_v6 => (ip.to_ipv6_mapped(), address.port()).into(),
            _ => address,
        }
    }
}

/// A socket at this address, with large buffers where the system lets it have them.
pub(super) fn bind(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    // Less is enough for all but a crowd.
    drop(socket.set_recv_buffer_size(RECEIVE_BUFFER));
    drop(socket.set_send_buffer_size(RECEIVE_BUFFER));
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}
