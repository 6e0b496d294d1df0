//! A peer in a page: what arrives goes in, what the peer wants goes out, and the page looks in when it likes.
//!
//! The browser may call back while the peer is at work: closing a socket, for one, can end another at once. So every
//! event is queued first and taken by whoever is at work already.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use samovar_peer::{Buffer, Peer, PeerConfig, Request, SocketId, Transmit, stun_servers};
use samovar_wire::relay::{RelayFrame, ToRelay};
use samovar_wire::{PeerId, SortedMap, Time};

use crate::alarm::{Alarm, Ring};
use crate::clock::now;
use crate::connection::{Connection, ConnectionEvent, ConnectionKey, IceServer, Role, Sink, WebConfig};
use crate::inquiry::{Inquiry, Obstacle};
use crate::name::fit_name;
use crate::network::Network;
use crate::relay_socket::{RelayEvent, RelaySocket};

/// A running peer; clones are handles of the same one. When the last is dropped its connections are closed, without
/// a word to the other members: [`Peer::leave`] says goodbye.
#[derive(Clone)]
pub struct WebPeer(Rc<Shell>);

impl WebPeer {
    /// Starts a peer that talks to the relay at `relay_url` (`wss://host/ws`).
    ///
    /// `on_wake` is called after something arrived or a timer ran out, in a hidden tab, too: look for events with
    /// [`with`](Self::with) then. While there is a session that is several times a second, so it is also what the game makes
    /// its steps by while the browser withholds frames: a host whose game makes none is one no longer
    /// ([`samovar_peer::Rules::steps_within`]). It is not called before `start` has returned. It should hold the page weakly: one
    /// that owns this peer would otherwise never be dropped, nor the peer.
    #[must_use]
    pub fn start(relay_url: &str, peer: PeerConfig, on_wake: impl FnMut() + 'static) -> Self {
        Self::start_with(relay_url, peer, WebConfig::default(), on_wake)
    }

    /// As [`start`](Self::start), with another configuration of direct connections.
    #[must_use]
    pub fn start_with(
        relay_url: &str,
        mut peer: PeerConfig,
        config: WebConfig,
        on_wake: impl FnMut() + 'static,
    ) -> Self {
        peer.name = fit_name(&peer.name);
        let shell = Rc::new_cyclic(|shell| Shell {
            driver: RefCell::new(Driver::new(relay_url.to_owned(), peer, config, Weak::clone(shell))),
            queue: RefCell::new(VecDeque::new()),
            on_wake: RefCell::new(Box::new(on_wake)),
            wake_wanted: Cell::new(false),
            newest_relay: Cell::default(),
        });
        shell.work();
        Self(shell)
    }

    /// Gives access to the peer, and sends what it wants to send afterwards.
    ///
    /// # Panics
    /// When called from within `access`.
    pub fn with<R>(&self, access: impl FnOnce(&mut Peer, Time) -> R) -> R {
        let result = access(&mut self.0.driver.borrow_mut().peer, now());
        self.0.work_and_wake();
        result
    }

    /// Returns the function that a page calls when it cannot go on. It tells the others that this peer goes away and may come
    /// back; while the peer is at work it tells the relay alone. It does not keep the peer alive, wakes nobody, does not panic.
    pub fn farewell(&self) -> impl Fn() + 'static {
        let shell = Rc::downgrade(&self.0);
        move || {
            let Some(shell) = shell.upgrade() else { return };
            if let Ok(mut driver) = shell.driver.try_borrow_mut() {
                driver.peer.go_away(now());
                driver.drain();
            } else if let Some(relay) = shell.newest_relay.take().upgrade() {
                // Without an open socket the others notice by silence.
                let _ = relay.send(&RelayFrame::control(&ToRelay::Away));
            }
        }
    }

    /// What answers in place of the relay's WebSocket, once one has closed before it was open: a relay that refuses this
    /// page, or a proxy. `None` when one is open, and while nobody answers at all.
    ///
    /// # Panics
    /// When called from within [`with`](Self::with).
    #[must_use]
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.0.driver.borrow().inquiry.obstacle()
    }
}

struct Shell {
    driver: RefCell<Driver>,
    queue: RefCell<VecDeque<Input>>,
    on_wake: RefCell<Box<dyn FnMut()>>,
    wake_wanted: Cell<bool>,
    /// The relay's socket that was opened last.
    newest_relay: Cell<Weak<RelaySocket>>,
}

enum Input {
    Relay(SocketId, RelayEvent),
    Connection(ConnectionKey, ConnectionEvent),
    Ring(Ring),
    NetworkChanged,
}

impl Shell {
    fn push(&self, input: Input) {
        self.queue.borrow_mut().push_back(input);
        self.work_and_wake();
    }

    fn work_and_wake(&self) {
        self.work();
        while self.wake_wanted.get() {
            // Held by a call of this very function: that one sees what is wanted now.
            let Ok(mut on_wake) = self.on_wake.try_borrow_mut() else { return };
            self.wake_wanted.set(false);
            on_wake();
        }
    }

    /// Takes everything queued and does what the peer wants; does nothing when it is at work already.
    fn work(&self) {
        let Ok(mut driver) = self.driver.try_borrow_mut() else { return };
        loop {
            driver.drain();
            let Some(input) = self.next() else { break };
            self.wake_wanted.set(true);
            driver.on_input(input);
        }
        let wanted = driver.peer.poll_timeout();
        driver.alarm.set(now(), wanted);
    }

    fn next(&self) -> Option<Input> {
        self.queue.borrow_mut().pop_front()
    }
}

struct Driver {
    peer: Peer,
    config: WebConfig,
    relay_url: String,
    /// The relay's sockets; two while the peer moves from one network to another.
    relays: SortedMap<SocketId, Rc<RelaySocket>>,
    inquiry: Inquiry,
    /// The relay's UDP ports, once known: what is asked there is how members see this page.
    mirrors: Vec<IceServer>,
    connections: SortedMap<ConnectionKey, Connection>,
    alarm: Alarm,
    _network: Network,
    shell: Weak<Shell>,
}

impl Driver {
    fn new(relay_url: String, peer: PeerConfig, config: WebConfig, shell: Weak<Shell>) -> Self {
        let (rings, changes) = (Weak::clone(&shell), Weak::clone(&shell));
        Self {
            peer: Peer::new(now(), peer),
            config,
            relay_url,
            relays: SortedMap::new(),
            inquiry: Inquiry::default(),
            mirrors: Vec::new(),
            connections: SortedMap::new(),
            alarm: Alarm::new(Rc::new(move |ring| push(&rings, Input::Ring(ring)))),
            _network: Network::watch(Rc::new(move || push(&changes, Input::NetworkChanged))),
            shell,
        }
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Relay(socket, event) if self.relays.contains_key(&socket) => match event {
                RelayEvent::Opened => {
                    self.inquiry.on_opened();
                    if let (Some(shell), Some(relay)) = (self.shell.upgrade(), self.relays.get(&socket)) {
                        shell.newest_relay.set(Rc::downgrade(relay));
                    }
                    self.peer.handle_relay_opened(now(), socket);
                }
                RelayEvent::Message(bytes) => self.peer.handle_relay_message(now(), socket, &bytes),
                RelayEvent::Closed => self.lose_relay(socket),
            },
            Input::Connection(key, event) if self.connections.contains_key(&key) => {
                self.on_connection(key, event)
            }
            // Of a socket or an attempt that was replaced or closed.
            Input::Relay(..) | Input::Connection(..) => {}
            Input::NetworkChanged => self.peer.handle_network_changed(now()),
            Input::Ring(ring) => {
                self.alarm.rang();
                if ring == Ring::Due {
                    self.peer.handle_timeout(now());
                }
            }
        }
    }

    fn on_connection(&mut self, key: ConnectionKey, event: ConnectionEvent) {
        let ConnectionKey { peer, attempt } = key;
        match event {
            ConnectionEvent::Described(sdp) => self.peer.handle_local_description(now(), peer, attempt, sdp),
            ConnectionEvent::Opened => self.peer.handle_direct_opened(now(), peer, attempt),
            ConnectionEvent::Packet(mode, bytes) => {
                self.peer.handle_direct_packet(now(), peer, attempt, mode, &bytes);
            }
            ConnectionEvent::Closed => self.lose_connection(key),
        }
    }

    fn lose_relay(&mut self, socket: SocketId) {
        if self.relays.remove(&socket).is_some() {
            self.inquiry.on_closed(&self.relay_url);
            self.peer.handle_relay_closed(now(), socket);
        }
    }

    fn lose_connection(&mut self, key: ConnectionKey) {
        if self.connections.remove(&key).is_some() {
            self.peer.handle_direct_closed(now(), key.peer, key.attempt);
        }
    }

    /// Tells what still waits of what was sent before.
    fn tell_backlogs(&mut self) {
        let now = now();
        for (&socket, relay) in &self.relays {
            self.peer.handle_backlog(now, Buffer::Relay(socket), relay.backlog());
        }
        for (&key, connection) in &self.connections {
            self.peer.handle_backlog(now, Buffer::Direct(key), connection.backlog());
        }
    }

    /// Does what the peer wants until it wants nothing. Its events wait for the page.
    fn drain(&mut self) {
        self.tell_backlogs();
        loop {
            let mut idle = true;
            // Before requests: a farewell goes out before what carries it is closed.
            while let Some(transmit) = self.peer.poll_transmit(now()) {
                idle = false;
                self.transmit(transmit);
            }
            while let Some(request) = self.peer.poll_request() {
                idle = false;
                self.obey(request);
            }
            if idle {
                return;
            }
        }
    }

    fn transmit(&mut self, transmit: Transmit) {
        match transmit {
            Transmit::Relay { socket, bytes } => {
                if self.relays.get(&socket).is_some_and(|relay| relay.send(&bytes).is_err()) {
                    self.lose_relay(socket);
                }
            }
            Transmit::Direct { peer, attempt, mode, bytes } => {
                let key = ConnectionKey { peer, attempt };
                if self.connections.get(&key).is_some_and(|connection| connection.send(mode, &bytes).is_err())
                {
                    self.lose_connection(key);
                }
            }
        }
    }

    fn obey(&mut self, request: Request) {
        match request {
            Request::OpenRelay(socket) => self.open_relay(socket),
            Request::CloseRelay(socket) => _ = self.relays.remove(&socket),
            Request::Offer { peer, attempt } => self.connect(ConnectionKey { peer, attempt }, Role::Offer),
            Request::Answer { peer, attempt, offer } => {
                self.connect(ConnectionKey { peer, attempt }, Role::Answer(offer));
            }
            Request::Accept { peer, attempt, answer } => {
                if peer == PeerId::RELAY {
                    let server = |url| IceServer { url, username: String::new(), credential: String::new() };
                    self.mirrors = stun_servers(&answer).map(server).collect();
                }
                if let Some(connection) = self.connections.get(&ConnectionKey { peer, attempt }) {
                    connection.accept(&answer);
                }
            }
            Request::CloseDirect { peer, attempt } => {
                self.connections.remove(&ConnectionKey { peer, attempt });
            }
        }
    }

    fn open_relay(&mut self, socket: SocketId) {
        let shell = Weak::clone(&self.shell);
        let sink = Rc::new(move |event| push(&shell, Input::Relay(socket, event)));
        match RelaySocket::open(&self.relay_url, sink) {
            Ok(relay) => _ = self.relays.insert(socket, Rc::new(relay)),
            Err(_) => self.peer.handle_relay_closed(now(), socket),
        }
    }

    fn connect(&mut self, key: ConnectionKey, role: Role) {
        let shell = Weak::clone(&self.shell);
        let sink: Sink = Rc::new(move |key, event| push(&shell, Input::Connection(key, event)));
        let mut config = self.config.clone();
        if key.peer != PeerId::RELAY {
            config.ice_servers.extend(self.mirrors.iter().cloned());
        }
        match Connection::start(key, role, &config, sink) {
            Ok(connection) => _ = self.connections.insert(key, connection),
            Err(_) => self.peer.handle_direct_closed(now(), key.peer, key.attempt),
        }
    }
}

fn push(shell: &Weak<Shell>, input: Input) {
    // Late events of a peer that is gone concern nobody.
    if let Some(shell) = shell.upgrade() {
        shell.push(input);
    }
}
