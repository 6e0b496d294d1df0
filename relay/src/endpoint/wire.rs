//! The sockets of the port: one for each thread, all with the same address. The system gives all datagrams of one sender
//! to the same socket.
//!
//! A machine has several addresses, and a client that asked one of them takes no answer from another. So each
//! datagram arrives with its destination address, and leaves from a given one. `quinn-udp` moves both between the
//! system and this module, several datagrams at a time.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use str0m::crypto::CryptoProvider;
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::metrics::{Metrics, Undelivered};
use crate::processors::ThreadId;

/// Bytes of unread datagrams that the system shall keep.
const RECEIVE_BUFFER: usize = 4 * 1_024 * 1_024;
/// The number of slots that one read of the socket fills.
const SLOTS: usize = 8;
/// Bytes of a slot: the most that the system joins of one sender's datagrams.
const SLOT: usize = 64 * 1_024;
/// The most bytes of datagrams that are handed to the system at once; the system takes no more.
const JOINED_MAX: usize = 60_000;

/// A bound socket, with the properties of its system.
#[derive(Debug)]
pub(super) struct Bound {
    socket: std::net::UdpSocket,
    state: UdpSocketState,
}

/// The socket in use.
#[derive(Debug)]
pub(super) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    is_v6: bool,
}

/// The buffer for arriving datagrams.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    metas: [RecvMeta; SLOTS],
    filled: usize,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram<'a> {
    /// The sender's address, which may be forged.
    pub(super) from: SocketAddr,
    /// The relay's address that the datagram came to, if the system tells.
    pub(super) to: Option<IpAddr>,
    pub(super) bytes: &'a [u8],
}

/// Sends datagrams.
pub(super) struct Wire<'a> {
    pub(super) thread: ThreadId,
    pub(super) socket: &'a Socket,
    pub(super) addresses: &'a [SocketAddr],
    pub(super) provider: &'a CryptoProvider,
    pub(super) metrics: &'a Metrics,
}

/// Datagrams of one size, and a shorter one at the end, that are sent together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    way: Option<(SocketAddr, Option<IpAddr>)>,
    bytes: Vec<u8>,
    size: usize,
    count: usize,
}

impl Bound {
    /// Binds as many sockets at this address as there shall be threads, with large buffers if the system allows. There
    /// are fewer if the system does not share an address.
    pub(super) fn bind(address: SocketAddr, threads: usize) -> io::Result<Vec<Self>> {
        let first = Self::bind_one(address, false)?;
        let address = first.address()?;
        let mut all = vec![first];
        if threads > 1 {
            // The first socket is bound before it shares its address, so that a second relay finds the address taken.
            let shared = share(&all[0].socket.try_clone()?.into());
            let others = shared.and_then(|()| (1..threads).map(|_| Self::bind_one(address, true)).collect());
            let others: io::Result<Vec<Self>> = others;
            match others {
                Ok(others) => all.extend(others),
                Err(error) if shares_none(&error) => {
                    tracing::warn!(%error, "the system shares no UDP port, so one thread serves it");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    fn bind_one(address: SocketAddr, is_shared: bool) -> io::Result<Self> {
        use socket2::{Domain, Protocol, Socket, Type};
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if is_shared {
            share(&socket)?;
        }
        if address.is_ipv6() && address.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        // Ignores errors, because smaller buffers are enough for all but a crowd.
        drop(socket.set_recv_buffer_size(RECEIVE_BUFFER));
        drop(socket.set_send_buffer_size(RECEIVE_BUFFER));
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { socket: socket.into(), state })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Makes the socket ready for use. The caller must be within the runtime that uses the socket.
    pub(super) fn into_socket(self) -> io::Result<Socket> {
        let is_v6 = self.address()?.is_ipv6();
        Ok(Socket { socket: UdpSocket::from_std(self.socket)?, state: self.state, is_v6 })
    }
}

/// Lets further sockets of this process have the same address. Linux then spreads the senders over them; other systems
/// give all datagrams to one.
#[cfg(target_os = "linux")]
fn share(socket: &socket2::Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

/// Whether a system tells by this error that it shares no address: some only look like Linux.
fn shares_none(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, InvalidInput, Unsupported};
    const NO_SUCH_OPTION: i32 = 92;
    matches!(error.kind(), Unsupported | InvalidInput | AddrInUse)
        || error.raw_os_error() == Some(NO_SUCH_OPTION)
}

#[cfg(not(target_os = "linux"))]
fn share(_: &socket2::Socket) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Socket {
    /// Waits until datagrams may have arrived.
    pub(super) async fn readable(&self) {
        drop(self.socket.readable().await);
    }

    /// Takes the arrived datagrams, as far as there is room. Returns whether there may be more.
    pub(super) fn receive(&self, inbox: &mut Inbox) -> bool {
        inbox.filled = 0;
        let mut places = inbox.bytes.chunks_exact_mut(SLOT);
        let mut slots: [IoSliceMut<'_>; SLOTS] = std::array::from_fn(|_| {
            IoSliceMut::new(places.next().expect("there are as many places as slots"))
        });
        let metas = &mut inbox.metas;
        let receive = || self.state.recv((&self.socket).into(), &mut slots, metas);
        // An error says that there are no more datagrams, or belongs to an earlier datagram whose receiver is gone.
        inbox.filled = self.socket.try_io(Interest::READABLE, receive).unwrap_or(0);
        inbox.filled > 0
    }

    fn send(&self, to: SocketAddr, from: Option<IpAddr>, (bytes, size): (&[u8], usize)) -> io::Result<()> {
        let transmit = Transmit {
            destination: self.system_address(to),
            ecn: None,
            contents: bytes,
            segment_size: (size < bytes.len()).then_some(size),
            src_ip: from,
        };
        self.socket.try_io(Interest::WRITABLE, || self.state.try_send((&self.socket).into(), &transmit))
    }

    /// The address in the form that the system takes: a socket of IPv6 reaches IPv4 by mapped addresses.
    fn system_address(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.is_v6 => (ip.to_ipv6_mapped(), address.port()).into(),
            _ => address,
        }
    }
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; SLOTS * SLOT], metas: [RecvMeta::default(); SLOTS], filled: 0 }
    }

    /// The datagrams of the last read, one by one: the system joins a sender's datagrams of one size.
    pub(super) fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let filled = self.metas[..self.filled].iter().zip(self.bytes.chunks_exact(SLOT));
        filled.flat_map(|(meta, place)| {
            let from = SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port());
            let joined = place[..meta.len.min(SLOT)].chunks(meta.stride.max(1));
            joined.map(move |bytes| Datagram { from, to: meta.dst_ip, bytes })
        })
    }
}

impl Wire<'_> {
    /// Sends one datagram from this address of the relay. If the system's buffer is full, the datagram is lost.
    pub(super) fn send(&self, to: SocketAddr, from: Option<IpAddr>, bytes: &[u8]) {
        self.hand_over(to, from, (bytes, bytes.len()));
    }

    /// The relay's address that a sender at this address reaches.
    pub(super) fn address_for(&self, from: SocketAddr) -> Option<SocketAddr> {
        self.addresses.iter().find(|address| address.is_ipv4() == from.is_ipv4()).copied()
    }

    /// Hands datagrams of this size to the system, all at once.
    fn hand_over(&self, to: SocketAddr, from: Option<IpAddr>, (bytes, size): (&[u8], usize)) {
        let is_sent = self.socket.send(to, from, (bytes, size)).is_ok();
        for datagram in bytes.chunks(size.max(1)) {
            if is_sent {
                self.metrics.datagram_out(self.thread, datagram.len());
            } else {
                self.metrics.undelivered(Undelivered::System);
            }
        }
    }
}

impl Batch {
    /// Adds a datagram to the batch. First sends the gathered datagrams if they go elsewhere, or if there is no room
    /// for another.
    pub(super) fn send(&mut self, wire: &Wire<'_>, way: (SocketAddr, Option<IpAddr>), bytes: &[u8]) {
        let is_whole = self.bytes.len() == self.size * self.count;
        let fits = self.way == Some(way)
            && is_whole
            && bytes.len() <= self.size
            && self.count < wire.socket.state.max_gso_segments()
            && self.bytes.len() + bytes.len() <= JOINED_MAX;
        if !fits {
            self.flush(wire);
            (self.way, self.size) = (Some(way), bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
        self.count += 1;
    }

    /// Sends the gathered datagrams.
    pub(super) fn flush(&mut self, wire: &Wire<'_>) {
        if let Some((to, from)) = self.way.take() {
            wire.hand_over(to, from, (&self.bytes, self.size));
        }
        self.bytes.clear();
        self.count = 0;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn each_thread_gets_its_share_of_the_senders() {
        let sockets = Bound::bind("127.0.0.1:0".parse().expect("an address"), 4).expect("binds");
        let address = sockets[0].address().expect("bound");
        for _ in 0..200 {
            let sender = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
            sender.send_to(b"check", address).expect("sends");
        }
        let shares = sockets.iter().map(|bound| {
            let arrived = || bound.socket.recv(&mut [0; 8]).is_ok();
            std::iter::repeat_with(arrived).take_while(|arrived| *arrived).count()
        });
        let shares: Vec<_> = shares.collect();
        assert!(shares.iter().all(|share| *share >= 20), "{shares:?}");
        assert_eq!(shares.iter().sum::<usize>(), 200, "{shares:?}");
    }
}
