//! The task that owns a peer: it feeds the peer with arrivals, carries out the peer's requests, and runs the game in
//! between.
//!
//! The peer and its game share one task, so they need no locks. The task waits for no socket: each socket has a task of
//! its own behind a bounded queue, and the driver closes a socket that is too slow.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

#[cfg(feature = "direct")]
use samovar_peer::stun_servers;
use samovar_peer::{Buffer, Drive, PathPolicy, Peer, PeerConfig, PeerEvent, Side, SocketId};
#[cfg(feature = "direct")]
use samovar_wire::PeerId;
use samovar_wire::{Mode, Time};
use tokio::sync::mpsc::{
    Receiver, Sender, UnboundedReceiver, UnboundedSender, WeakUnboundedSender, channel, unbounded_channel,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout};

use crate::config::NativeConfig;
#[cfg(feature = "direct")]
use crate::connection::{Connection, ConnectionEvent, ConnectionKey, IceServer};
#[cfg(not(feature = "direct"))]
use crate::left_out::{Connection, ConnectionEvent, ConnectionKey};
use crate::name::fit_name;
use crate::relay_socket::{OpenError, RelayEvent, RelaySocket};

/// A game that runs on a peer. The peer's own task makes all these calls, and a call must not block: during a call this
/// peer sends nothing, and the others soon take it for lost. If the peer was the host, another succeeds it as after a
/// crash, and the peer learns this when the call returns.
///
/// A game calls `stepped` on the session in each tick, or uses the session's lockstep, which calls `stepped` as well.
/// Once a game has called `stepped`, a host whose game makes no step for two seconds hands over
/// ([`Rules::steps_within`](samovar_peer::Rules::steps_within)).
pub trait Game: Send + 'static {
    /// The time between two calls of [`on_tick`](Self::on_tick); asked once. Default: a thirtieth of a second.
    fn tick(&self) -> Duration {
        Duration::from_micros(33_333)
    }

    /// An event of the peer. The game may call the peer in answer; the driver sends the resulting messages at once.
    fn on_event(&mut self, now: Time, peer: &mut Peer, event: PeerEvent);

    /// The relay's WebSocket did not open. The peer tries again by itself, which is useless when the error is
    /// [final](OpenError::is_final). Default: does nothing.
    fn on_unreachable(&mut self, now: Time, peer: &mut Peer, error: OpenError) {
        let _ = (now, peer, error);
    }

    /// The game plays one tick. No extra call makes up for a tick that came late.
    fn on_tick(&mut self, now: Time, peer: &mut Peer);
}

/// A running peer. [`stop`](Self::stop) ends it; dropping the handle does the same without waiting.
#[derive(Debug)]
pub struct NativePeer<G> {
    calls: UnboundedSender<Call<G>>,
    task: JoinHandle<Option<G>>,
}

type Act<G> = Box<dyn FnOnce(Time, &mut Peer, &mut G) + Send>;

enum Call<G> {
    Run(Act<G>),
    /// Lends the driver to a thread that waits for it.
    Lend(SyncSender<Loan<G>>),
}

/// Reaches a running peer from threads outside its runtime. It does not keep the peer alive: the peer ends when its
/// [`NativePeer`] is stopped or dropped.
#[derive(Debug)]
pub struct Lender<G> {
    calls: WeakUnboundedSender<Call<G>>,
}

/// A peer and its game, lent by their task. Until the loan is dropped, the peer takes and sends nothing.
pub struct Loan<G> {
    driver: Option<Driver<G>>,
    back: Option<oneshot::Sender<Driver<G>>>,
}

/// The most events that wait for the peer, of each kind; a full queue slows the sender down.
const QUEUE: usize = 256;
/// Time that a leaving peer has to hand over and say goodbye.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);
/// Time that the peer's sockets have after the goodbye to deliver their queues.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

impl<G: Game> NativePeer<G> {
    /// Starts a peer that talks to the relay at `relay_url` (`ws://host:port/ws` or `wss:`). Without the feature
    /// `direct` its path policy is [`PathPolicy::WebSocket`], whatever the configuration says. The caller must be
    /// within a tokio runtime. In a multi-threaded runtime, a stack that hostile packets keep busy slows down no
    /// other task.
    #[must_use]
    pub fn start(relay_url: String, mut peer: PeerConfig, config: NativeConfig, game: G) -> Self {
        peer.name = fit_name(&peer.name);
        if !cfg!(feature = "direct") {
            peer.paths = PathPolicy::WebSocket;
        }
        let (calls, inbox) = unbounded_channel();
        let driver = Driver::new(relay_url, peer, config, game);
        Self { calls, task: tokio::spawn(driver.run(inbox)) }
    }

    /// Runs `call` in the peer's task and returns its result; `None` when the task has ended.
    pub async fn with<R: Send + 'static>(
        &self,
        call: impl FnOnce(Time, &mut Peer, &mut G) -> R + Send + 'static,
    ) -> Option<R> {
        let (answer, result) = oneshot::channel();
        let call = Box::new(move |now: Time, peer: &mut Peer, game: &mut G| {
            // Ignores an error: the caller may have stopped waiting.
            let _ = answer.send(call(now, peer, game));
        });
        self.calls.send(Call::Run(call)).ok()?;
        result.await.ok()
    }

    /// Returns a handle by which threads outside this peer's runtime reach it.
    #[must_use]
    pub fn lender(&self) -> Lender<G> {
        Lender { calls: self.calls.downgrade() }
    }

    /// Leaves, waits at most 3 s until the peer has sent everything, and returns the game; `None` when the game
    /// panicked.
    pub async fn stop(self) -> Option<G> {
        drop(self.calls);
        self.task.await.ok().flatten()
    }
}

impl<G> Lender<G> {
    /// Borrows the peer and its game, and waits until their task lends them; `None` when the task has ended. The thread
    /// must not belong to the peer's runtime: it would wait for itself.
    #[must_use]
    pub fn borrow(&self) -> Option<Loan<G>> {
        let (lend, lent) = sync_channel(1);
        self.calls.upgrade()?.send(Call::Lend(lend)).ok()?;
        lent.recv().ok()
    }
}

impl<G> Loan<G> {
    /// The time, the peer and its game.
    pub fn parts(&mut self) -> Option<(Time, &mut Peer, &mut G)> {
        let driver = self.driver.as_mut()?;
        Some((driver.now(), &mut driver.peer, &mut driver.game))
    }
}

impl<G> Drop for Loan<G> {
    fn drop(&mut self) {
        if let (Some(driver), Some(back)) = (self.driver.take(), self.back.take()) {
            // Ignores an error: when the peer's runtime has ended, nothing takes the driver back.
            let _ = back.send(driver);
        }
    }
}

impl<G> fmt::Debug for Loan<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loan")
    }
}

struct Driver<G> {
    origin: Instant,
    peer: Peer,
    game: G,
    config: NativeConfig,
    relay_url: String,
    /// The relay's sockets: two while the peer moves from one network to another.
    relays: BTreeMap<SocketId, RelaySocket>,
    connections: BTreeMap<ConnectionKey, Connection>,
    inputs: Inputs,
    to_relay_events: Sender<(u32, RelayEvent)>,
    to_connection_events: Sender<(ConnectionKey, ConnectionEvent)>,
    /// The relay's UDP ports as STUN servers, once known.
    #[cfg(feature = "direct")]
    mirrors: Vec<IceServer>,
}

struct Inputs {
    relay: Receiver<(u32, RelayEvent)>,
    connections: Receiver<(ConnectionKey, ConnectionEvent)>,
}

enum Input {
    Relay(SocketId, RelayEvent),
    Connection(ConnectionKey, ConnectionEvent),
}

impl Inputs {
    async fn next(&mut self) -> Option<Input> {
        tokio::select! {
            event = self.relay.recv() => event.map(|(socket, event)| Input::Relay(SocketId(socket), event)),
            event = self.connections.recv() => event.map(|(key, event)| Input::Connection(key, event)),
        }
    }

    fn try_next(&mut self) -> Option<Input> {
        let relay = self.relay.try_recv().ok().map(|(socket, event)| Input::Relay(SocketId(socket), event));
        relay.or_else(|| self.connections.try_recv().ok().map(|(key, event)| Input::Connection(key, event)))
    }
}

impl<G> Driver<G> {
    fn now(&self) -> Time {
        Time::from_micros(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Lends the driver, and waits until it is back; `None` when the borrower did not return it.
    async fn lend(self, to: SyncSender<Loan<G>>) -> Option<Self> {
        let (back, given_back) = oneshot::channel();
        let loan = Loan { driver: Some(self), back: Some(back) };
        // When the borrower no longer waits, the loan is dropped here and the driver comes back at once.
        drop(to.send(loan));
        given_back.await.ok()
    }
}

impl<G: Game> Driver<G> {
    fn new(relay_url: String, peer: PeerConfig, config: NativeConfig, game: G) -> Self {
        let (to_relay_events, relay) = channel(QUEUE);
        let (to_connection_events, connections) = channel(QUEUE);
        Self {
            origin: Instant::now(),
            peer: Peer::new(Time::ZERO, peer),
            game,
            config,
            relay_url,
            relays: BTreeMap::new(),
            connections: BTreeMap::new(),
            inputs: Inputs { relay, connections },
            to_relay_events,
            to_connection_events,
            #[cfg(feature = "direct")]
            mirrors: Vec::new(),
        }
    }

    /// Runs until the handle is dropped, then leaves and returns the game; `None` when a borrower did not give the
    /// driver back.
    async fn run(mut self, mut calls: UnboundedReceiver<Call<G>>) -> Option<G> {
        let mut ticks = interval(self.game.tick().max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        self.drain();
        loop {
            tokio::select! {
                call = calls.recv() => match call {
                    Some(Call::Run(call)) => call(self.now(), &mut self.peer, &mut self.game),
                    Some(Call::Lend(to)) => self = self.lend(to).await?,
                    None => break,
                },
                () = self.turn(&mut ticks) => {}
            }
            self.drain();
        }
        // A leaving peer answers no more calls; their callers must not wait for it.
        drop(calls);
        Some(self.leave(ticks).await)
    }

    /// Waits for the next event, tick or timer, and handles it.
    async fn turn(&mut self, ticks: &mut Interval) {
        let wake = self.wake();
        tokio::select! {
            Some(input) = self.inputs.next() => self.on_input(input),
            _ = ticks.tick() => {
                self.take_queued();
                self.game.on_tick(self.now(), &mut self.peer);
            }
            () = sleep_until(wake) => {
                self.take_queued();
                self.peer.handle_timeout(self.now());
            }
        }
    }

    async fn leave(mut self, mut ticks: Interval) -> G {
        self.peer.leave(self.now());
        self.drain();
        // First a host hands over. Then the peer says goodbye and closes its sockets. The loop waits until none is
        // left.
        let goodbye = async {
            while !self.relays.is_empty() || !self.connections.is_empty() {
                self.turn(&mut ticks).await;
                self.drain();
            }
        };
        if timeout(LEAVE_WITHIN, goodbye).await.is_err() {
            // The time is over: the hand-over found no heir, for example because all leave at once. The relay must
            // hear of this leave, or it would wait for this peer to come back.
            self.peer.leave_at_once(self.now());
            self.drain();
        }
        let Self {
            game, relays, connections, inputs: mut rest, to_relay_events, to_connection_events, ..
        } = self;
        drop((relays, connections, to_relay_events, to_connection_events));
        // Each socket's task holds a sender: the queues end when the last task has delivered and closed.
        let relay_flushed = async { while rest.relay.recv().await.is_some() {} };
        let connections_flushed = async { while rest.connections.recv().await.is_some() {} };
        let flushed = async { tokio::join!(relay_flushed, connections_flushed) };
        let _ = timeout(FLUSH_WITHIN, flushed).await;
        game
    }

    /// The time at which the peer next needs a call of `handle_timeout`, and an hour from now at most.
    fn wake(&self) -> Instant {
        let latest = Instant::now() + Duration::from_secs(3_600);
        let wanted = self.peer.poll_timeout().map(|time| Duration::from_micros(time.as_micros()));
        wanted.and_then(|span| self.origin.checked_add(span)).map_or(latest, |wake| wake.min(latest))
    }

    /// Passes on the messages that have already arrived. Otherwise a peer whose task runs late would take the members
    /// for silent.
    fn take_queued(&mut self) {
        for _ in 0..2 * QUEUE {
            let Some(input) = self.inputs.try_next() else { return };
            self.on_input(input);
        }
    }

    fn on_input(&mut self, input: Input) {
        let now = self.now();
        match input {
            Input::Relay(socket, event) if self.relays.contains_key(&socket) => match event {
                RelayEvent::Opened => self.peer.handle_relay_opened(now, socket),
                RelayEvent::Message(bytes) => self.peer.handle_relay_message(now, socket, &bytes),
                RelayEvent::Closed(why) => {
                    if let Some(error) = why {
                        self.game.on_unreachable(now, &mut self.peer, error);
                    }
                    self.lose(Buffer::Relay(socket));
                }
            },
            Input::Connection(key, event) if self.connections.contains_key(&key) => {
                self.on_connection(key, event)
            }
            // The event comes from a socket or an attempt that was replaced or closed.
            Input::Relay(..) | Input::Connection(..) => {}
        }
    }

    /// Carries out the peer's requests and hands its events to the game, until there are none.
    fn drain(&mut self) {
        self.tell_backlogs();
        loop {
            self.carry_out();
            let Some(event) = self.peer.poll_event() else { return };
            self.game.on_event(self.now(), &mut self.peer, event);
        }
    }
}

impl<G> Drive for Driver<G> {
    fn tell<R>(&mut self, say: impl FnOnce(&mut Peer, Time) -> R) -> R {
        let now = self.now();
        say(&mut self.peer, now)
    }

    fn open_relay(&mut self, socket: SocketId) {
        let (url, events) = (self.relay_url.clone(), self.to_relay_events.clone());
        let relay = RelaySocket::open(url, self.config.trust.clone(), socket.0, events);
        self.relays.insert(socket, relay);
    }

    #[cfg(feature = "direct")]
    fn connect(&mut self, key: ConnectionKey, side: Side) {
        let mut config = self.config.clone();
        if key.peer != PeerId::RELAY {
            config.ice_servers.extend(self.mirrors.iter().cloned());
        }
        let connection = Connection::start(key, side, &config, self.to_connection_events.clone());
        self.connections.insert(key, connection);
    }

    /// This build has no direct paths, so the attempt ends at once.
    #[cfg(not(feature = "direct"))]
    fn connect(&mut self, key: ConnectionKey, _: Side) {
        self.peer.handle_direct_closed(self.now(), key.peer, key.attempt);
    }

    fn accept(&mut self, key: ConnectionKey, answer: String) {
        if let Some(connection) = self.connections.get(&key) {
            connection.accept(answer);
        }
    }

    /// The servers tell this peer the address at which other members see it. A peer that only this machine reaches
    /// needs none.
    #[cfg(feature = "direct")]
    fn learn_mirrors(&mut self, answer: &str) {
        if self.config.bind.iter().any(|address| !address.is_loopback()) {
            self.mirrors = stun_servers(answer).map(IceServer::stun).collect();
        }
    }

    #[cfg(not(feature = "direct"))]
    fn learn_mirrors(&mut self, _: &str) {}

    fn send(&mut self, by: Buffer, mode: Mode, bytes: Vec<u8>) -> bool {
        match by {
            Buffer::Relay(socket) => self.relays.get(&socket).is_none_or(|relay| relay.send(bytes).is_ok()),
            Buffer::Direct(key) => {
                self.connections.get(&key).is_none_or(|connection| connection.send(mode, bytes).is_ok())
            }
        }
    }

    fn close(&mut self, what: Buffer) -> bool {
        match what {
            Buffer::Relay(socket) => self.relays.remove(&socket).is_some(),
            Buffer::Direct(key) => self.connections.remove(&key).is_some(),
        }
    }

    fn tell_backlogs(&mut self) {
        let now = self.now();
        for (&socket, relay) in &self.relays {
            self.peer.handle_backlog(now, Buffer::Relay(socket), relay.backlog());
        }
        for (&key, connection) in &self.connections {
            self.peer.handle_backlog(now, Buffer::Direct(key), connection.backlog());
        }
    }
}
