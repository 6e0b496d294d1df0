//! naia's sockets, as queues that the harness fills and empties. naia admits clients over HTTP; here it admits them at
//! once.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use naia_client::transport as client;
use naia_server::transport as server;
use naia_shared::IdentityToken;

/// Datagrams, each with the observer that sent it or is to receive it.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<Mutex<Datagrams>>);

type Datagrams = VecDeque<(usize, Vec<u8>)>;

impl Queue {
    pub(super) fn push(&self, observer: usize, datagram: &[u8]) {
        lock(&self.0).push_back((observer, datagram.to_vec()));
    }

    pub(super) fn drain(&self, mut take: impl FnMut(usize, &[u8])) {
        lock(&self.0).drain(..).for_each(|(observer, datagram)| take(observer, &datagram));
    }

    fn pop(&self) -> Option<(usize, Vec<u8>)> {
        lock(&self.0).pop_front()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

fn address(observer: usize) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 10_000 + observer as u16).into()
}

fn observer(address: &SocketAddr) -> usize {
    usize::from(address.port() - 10_000)
}

#[derive(Clone)]
pub(super) struct ServerSocket {
    pub(super) arrived: Queue,
    pub(super) sent: Queue,
    requests: Queue,
    /// The tokens of the observers that were let in.
    tokens: Arc<Mutex<Vec<Option<IdentityToken>>>>,
}

impl ServerSocket {
    pub(super) fn new(observers: usize) -> Self {
        let tokens = Arc::new(Mutex::new(vec![None; observers]));
        Self { arrived: Queue::default(), sent: Queue::default(), requests: Queue::default(), tokens }
    }
}

/// The reading end of a queue. It keeps the datagram that it took last, because naia borrows that.
#[derive(Clone)]
struct Receiver {
    queue: Queue,
    last: Vec<u8>,
}

impl Receiver {
    fn next(&mut self) -> Option<(SocketAddr, &[u8])> {
        let (observer, datagram) = self.queue.pop()?;
        self.last = datagram;
        Some((address(observer), &self.last))
    }
}

impl From<ServerSocket> for Box<dyn server::Socket> {
    fn from(socket: ServerSocket) -> Self {
        Box::new(socket)
    }
}

impl server::Socket for ServerSocket {
    fn listen(self: Box<Self>) -> server::ListenResult {
        let requests = Receiver { queue: self.requests.clone(), last: Vec::new() };
        let arrived = Receiver { queue: self.arrived.clone(), last: Vec::new() };
        (self.clone(), Box::new(requests), self, Box::new(arrived))
    }
}

impl server::PacketSender for ServerSocket {
    fn send(&self, address: &SocketAddr, payload: &[u8]) -> Result<(), server::SendError> {
        self.sent.push(observer(address), payload);
        Ok(())
    }
}

impl server::AuthSender for ServerSocket {
    fn accept(&self, address: &SocketAddr, token: &IdentityToken) -> Result<(), server::SendError> {
        lock(&self.tokens)[observer(address)] = Some(token.clone());
        Ok(())
    }

    fn reject(&self, _address: &SocketAddr) -> Result<(), server::SendError> {
        Err(server::SendError)
    }
}

impl server::PacketReceiver for Receiver {
    fn receive(&mut self) -> Result<Option<(SocketAddr, &[u8])>, server::RecvError> {
        Ok(self.next())
    }
}

impl server::AuthReceiver for Receiver {
    fn receive(&mut self) -> Result<Option<(SocketAddr, &[u8])>, server::RecvError> {
        Ok(self.next())
    }
}

#[derive(Clone)]
pub(super) struct ClientSocket {
    pub(super) arrived: Queue,
    pub(super) sent: Queue,
    server: ServerSocket,
    id: usize,
    last: Vec<u8>,
}

impl ClientSocket {
    pub(super) fn new(server: &ServerSocket, id: usize) -> Self {
        let (arrived, sent) = (Queue::default(), Queue::default());
        Self { arrived, sent, server: server.clone(), id, last: Vec::new() }
    }
}

type Connected =
    (Box<dyn client::IdentityReceiver>, Box<dyn client::PacketSender>, Box<dyn client::PacketReceiver>);

impl From<ClientSocket> for Box<dyn client::Socket> {
    fn from(socket: ClientSocket) -> Self {
        Box::new(socket)
    }
}

impl client::Socket for ClientSocket {
    fn connect(self: Box<Self>) -> Connected {
        self.server.requests.push(self.id, &[]);
        (self.clone(), self.clone(), self)
    }

    fn connect_with_auth(self: Box<Self>, _auth: Vec<u8>) -> Connected {
        self.connect()
    }

    fn connect_with_auth_headers(self: Box<Self>, _headers: Vec<(String, String)>) -> Connected {
        self.connect()
    }

    fn connect_with_auth_and_headers(
        self: Box<Self>,
        _auth: Vec<u8>,
        _headers: Vec<(String, String)>,
    ) -> Connected {
        self.connect()
    }
}

impl client::IdentityReceiver for ClientSocket {
    fn receive(&mut self) -> client::IdentityReceiverResult {
        match lock(&self.server.tokens)[self.id].take() {
            Some(token) => client::IdentityReceiverResult::Success(token),
            None => client::IdentityReceiverResult::Waiting,
        }
    }
}

impl client::PacketSender for ClientSocket {
    fn send(&self, payload: &[u8]) -> Result<(), client::SendError> {
        self.sent.push(self.id, payload);
        Ok(())
    }

    fn server_addr(&self) -> client::ServerAddr {
        client::ServerAddr::Found(address(self.id))
    }
}

impl client::PacketReceiver for ClientSocket {
    fn receive(&mut self) -> Result<Option<&[u8]>, client::RecvError> {
        let Some((_, datagram)) = self.arrived.pop() else { return Ok(None) };
        self.last = datagram;
        Ok(Some(&self.last))
    }

    fn server_addr(&self) -> client::ServerAddr {
        client::ServerAddr::Found(address(self.id))
    }
}
