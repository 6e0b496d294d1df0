//! Runs a peer in a page: the driver tells the peer what the browser reports, and carries out the peer's requests.
//!
//! The browser may call back while a call of the driver runs: for example, closing one socket can end another at
//! once. So every event first goes into a queue, and the running call takes it. The driver borrows nothing while it
//! calls the browser or the page. So after an exception of either, the peer can still announce that it goes away.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use samovar_peer::{Buffer, Drive, Peer, PeerConfig, SocketId, stun_servers};
use samovar_wire::relay::{RelayFrame, ToRelay};
use samovar_wire::{Mode, PeerId, SortedMap, Time};

use crate::alarm::{Alarm, Ring};
use crate::clock::now;
use crate::connection::{Connection, ConnectionEvent, ConnectionKey, IceServer, Side, Sink, WebConfig};
use crate::inquiry::{Inquiry, Obstacle};
use crate::network::Network;
use crate::relay_socket::{RelayEvent, RelaySocket};

/// The page's function that the driver calls after an event.
type OnWake = Box<dyn FnMut()>;

/// One peer, and its sockets and connections.
pub(crate) struct Driver {
    peer: RefCell<Peer>,
    config: WebConfig,
    relay_url: String,
    /// The relay's sockets: two while the peer moves from one network to another.
    relays: Carriers<SocketId, RelaySocket>,
    connections: Carriers<ConnectionKey, Connection>,
    /// The relay's UDP ports as STUN servers, once known. They tell this page the address at which other members see
    /// it.
    mirrors: RefCell<Vec<IceServer>>,
    inquiry: Inquiry,
    alarm: Alarm,
    _network: Network,
    queue: RefCell<VecDeque<Input>>,
    is_at_work: Cell<bool>,
    /// Whether the relay has accepted a WebSocket, and has not closed one since.
    is_open: Cell<bool>,
    /// The page's function; `None` while it runs.
    on_wake: Cell<Option<OnWake>>,
    wake_wanted: Cell<bool>,
    myself: Weak<Self>,
}

enum Input {
    Relay(SocketId, RelayEvent),
    Connection(ConnectionKey, ConnectionEvent),
    Ring(Ring),
    NetworkChanged,
}

impl Driver {
    /// A driver that does nothing before [`Driver::work`].
    pub(crate) fn new(
        relay_url: String,
        peer: PeerConfig,
        config: WebConfig,
        on_wake: OnWake,
        myself: Weak<Self>,
    ) -> Self {
        let (rings, changes) = (Weak::clone(&myself), Weak::clone(&myself));
        Self {
            peer: RefCell::new(Peer::new(now(), peer)),
            config,
            relay_url,
            relays: Carriers::default(),
            connections: Carriers::default(),
            mirrors: RefCell::default(),
            inquiry: Inquiry::default(),
            alarm: Alarm::new(Rc::new(move |ring| push(&rings, Input::Ring(ring)))),
            _network: Network::watch(Rc::new(move || push(&changes, Input::NetworkChanged))),
            queue: RefCell::default(),
            is_at_work: Cell::new(false),
            is_open: Cell::new(false),
            on_wake: Cell::new(Some(on_wake)),
            wake_wanted: Cell::new(false),
            myself,
        }
    }

    /// Gives the page access to the peer, then carries out the peer's requests.
    ///
    /// # Panics
    /// When called from within `access`.
    pub(crate) fn with<R>(&self, access: impl FnOnce(&mut Peer, Time) -> R) -> R {
        let result = self.tell(access);
        self.work_and_wake();
        result
    }

    /// Announces that this peer goes away, even after a panic.
    pub(crate) fn go_away(&self) {
        let now = now();
        if let Ok(mut peer) = self.peer.try_borrow_mut() {
            peer.go_away(now);
        } else {
            // The peer is still borrowed, so it has panicked. Only the relay can be told; without an open socket to
            // it, the others notice the silence.
            for (_, relay) in self.relays.all() {
                let _ = relay.send(&RelayFrame::control(&ToRelay::Away));
            }
            return;
        }
        self.drain();
    }

    /// Whether the relay has accepted a WebSocket, and has not closed one since.
    pub(crate) fn is_relay_open(&self) -> bool {
        self.is_open.get()
    }

    /// The HTTP answer that came in place of the relay's WebSocket.
    pub(crate) fn obstacle(&self) -> Option<Obstacle> {
        self.inquiry.obstacle()
    }

    /// Takes every queued event and carries out the peer's requests. While another call of this method runs, does
    /// nothing: that call takes the new events, too.
    pub(crate) fn work(&self) {
        if self.is_at_work.replace(true) {
            return;
        }
        loop {
            self.drain();
            let input = self.queue.borrow_mut().pop_front();
            let Some(input) = input else { break };
            self.wake_wanted.set(true);
            self.on_input(input);
        }
        let wanted = self.peer.borrow().poll_timeout();
        self.alarm.set(now(), wanted);
        self.is_at_work.set(false);
    }

    fn work_and_wake(&self) {
        self.work();
        while self.wake_wanted.get() {
            // `None` means that the function is running and has called the peer. The outer loop then calls the
            // function again.
            let Some(mut on_wake) = self.on_wake.take() else { return };
            self.wake_wanted.set(false);
            on_wake();
            self.on_wake.set(Some(on_wake));
        }
    }

    /// Calls the peer with the current time.
    fn tell<R>(&self, say: impl FnOnce(&mut Peer, Time) -> R) -> R {
        let now = now();
        say(&mut self.peer.borrow_mut(), now)
    }

    fn on_input(&self, input: Input) {
        match input {
            Input::Relay(socket, event) if self.relays.get(socket).is_some() => match event {
                RelayEvent::Opened => {
                    self.inquiry.on_opened();
                    self.is_open.set(true);
                    self.tell(|peer, now| peer.handle_relay_opened(now, socket));
                }
                RelayEvent::Message(bytes) => {
                    self.tell(|peer, now| peer.handle_relay_message(now, socket, &bytes));
                }
                RelayEvent::Closed => { self }.lose(Buffer::Relay(socket)),
            },
            Input::Connection(key, event) if self.connections.get(key).is_some() => {
                { self }.on_connection(key, event);
            }
            // The event comes from a socket or an attempt that was replaced or closed.
            Input::Relay(..) | Input::Connection(..) => {}
            Input::NetworkChanged => self.tell(|peer, now| peer.handle_network_changed(now)),
            Input::Ring(ring) => {
                self.alarm.rang();
                if ring == Ring::Due {
                    self.tell(|peer, now| peer.handle_timeout(now));
                }
            }
        }
    }

    /// Carries out the peer's requests until there are none. The peer's events wait for the page.
    fn drain(&self) {
        let mut driver = self;
        driver.tell_backlogs();
        driver.carry_out();
    }
}

impl Drive for &Driver {
    fn tell<R>(&mut self, say: impl FnOnce(&mut Peer, Time) -> R) -> R {
        Driver::tell(self, say)
    }

    fn open_relay(&mut self, socket: SocketId) {
        let myself = Weak::clone(&self.myself);
        let sink = Rc::new(move |event| push(&myself, Input::Relay(socket, event)));
        match RelaySocket::open(&self.relay_url, sink) {
            Ok(relay) => self.relays.add(socket, relay),
            Err(_) => self.tell(|peer, now| peer.handle_relay_closed(now, socket)),
        }
    }

    fn connect(&mut self, key: ConnectionKey, side: Side) {
        let myself = Weak::clone(&self.myself);
        let sink: Sink = Rc::new(move |key, event| push(&myself, Input::Connection(key, event)));
        let mut config = self.config.clone();
        if key.peer != PeerId::RELAY {
            config.ice_servers.extend(self.mirrors.borrow().iter().cloned());
        }
        match Connection::start(key, side, &config, sink) {
            Ok(connection) => self.connections.add(key, connection),
            Err(_) => self.tell(|peer, now| peer.handle_direct_closed(now, key.peer, key.attempt)),
        }
    }

    fn accept(&mut self, key: ConnectionKey, answer: String) {
        if let Some(connection) = self.connections.get(key) {
            connection.accept(&answer);
        }
    }

    fn learn_mirrors(&mut self, answer: &str) {
        self.mirrors.replace(stun_servers(answer).map(IceServer::stun).collect());
    }

    fn send(&mut self, by: Buffer, mode: Mode, bytes: Vec<u8>) -> bool {
        match by {
            Buffer::Relay(socket) => self.relays.get(socket).is_none_or(|relay| relay.send(&bytes).is_ok()),
            Buffer::Direct(key) => {
                self.connections.get(key).is_none_or(|connection| connection.send(mode, &bytes).is_ok())
            }
        }
    }

    fn close(&mut self, what: Buffer) -> bool {
        match what {
            Buffer::Relay(socket) => self.relays.take(socket).is_some(),
            Buffer::Direct(key) => self.connections.take(key).is_some(),
        }
    }

    fn tell_backlogs(&mut self) {
        for (socket, relay) in self.relays.all() {
            let backlog = relay.backlog();
            self.tell(|peer, now| peer.handle_backlog(now, Buffer::Relay(socket), backlog));
        }
        for (key, connection) in self.connections.all() {
            let backlog = connection.backlog();
            self.tell(|peer, now| peer.handle_backlog(now, Buffer::Direct(key), backlog));
        }
    }

    fn on_relay_lost(&mut self) {
        self.is_open.set(false);
        self.inquiry.on_closed(&self.relay_url);
    }
}

fn push(driver: &Weak<Driver>, input: Input) {
    // A peer that is gone ignores late events.
    if let Some(driver) = driver.upgrade() {
        driver.queue.borrow_mut().push_back(input);
        driver.work_and_wake();
    }
}

/// Sockets or connections by their keys. A removed one is dropped only when nothing is borrowed any more, because
/// closing it may make the browser call back.
struct Carriers<K, C>(RefCell<SortedMap<K, Rc<C>>>);

impl<K: Ord, C> Default for Carriers<K, C> {
    fn default() -> Self {
        Self(RefCell::new(SortedMap::new()))
    }
}

impl<K: Ord + Copy, C> Carriers<K, C> {
    fn add(&self, key: K, carrier: C) {
        let replaced = self.0.borrow_mut().insert(key, Rc::new(carrier));
        drop(replaced);
    }

    fn get(&self, key: K) -> Option<Rc<C>> {
        self.0.borrow().get(&key).cloned()
    }

    fn take(&self, key: K) -> Option<Rc<C>> {
        self.0.borrow_mut().remove(&key)
    }

    fn all(&self) -> Vec<(K, Rc<C>)> {
        self.0.borrow().iter().map(|(&key, carrier)| (key, Rc::clone(carrier))).collect()
    }
}
