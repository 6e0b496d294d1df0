//! WebSockets between processes and the relay. Each is a pair of streams that stand still while their path is cut.

use samovar_directory::ConnId;
use samovar_peer::{Path, SocketId};
use samovar_wire::{Duration, Time};

use super::process::{Arrival, State, socket_of};
use super::{Event, World};
use crate::game::{Game, ProcessId};
use crate::network::{Place, Stream};

/// How long the relay waits for a sign of life. The system gives one even for a process that does not run.
const SILENCE_MAX: Duration = Duration::from_millis(6_000);
/// The round trips until a socket is open: TCP, TLS, WebSocket.
const TRIPS: u64 = 3;

/// How long a proxy takes to break all sockets.
const PROXY_TAKES: Duration = Duration::from_millis(5);

/// One socket.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) process: ProcessId,
    pub(super) up: Stream<Vec<u8>>,
    down: Stream<Vec<u8>>,
    /// Whether the relay has accepted the socket.
    is_accepted: bool,
    /// Whether the process must still be told that the socket is lost.
    is_broken: bool,
    /// Whether the process closed the socket.
    is_closing: bool,
    /// Whether the address of the process has changed, so that no byte gets through any more.
    is_reset: bool,
    /// The time of the last sign of life at the relay.
    heard: Time,
}

impl<G: Game> World<G> {
    pub(super) fn open_socket(&mut self, id: ProcessId, name: SocketId) {
        let conn = self.net.next_conn();
        let place = self.cast.place(id);
        let socket = Socket {
            process: id,
            up: Stream::new(),
            down: Stream::new(),
            is_accepted: false,
            is_broken: false,
            is_closing: false,
            is_reset: false,
            heard: self.now,
        };
        self.net.sockets.insert(conn, socket);
        self.cast.processes[id].sockets.insert(name, conn);
        if !self.net.cuts.lets_both(place, Place::Relay) {
            // The relay does not answer, and the client gives up after a while.
            return;
        }
        let trip = self.plan.relay.latency.times(2) + self.chance.dice.span(self.plan.relay.jitter.times(2));
        if self.relay.is_up() {
            self.queue.push(self.now + trip.times(TRIPS), Event::SocketAccepted(conn));
        } else {
            self.queue.push(self.now + trip, Event::SocketLost(conn));
        }
    }

    /// Whether a process and the relay have a connection that both believe to be open.
    pub(super) fn is_connected(&self, id: ProcessId) -> bool {
        let mut sockets =
            self.cast.processes[id].sockets.values().filter_map(|conn| self.net.sockets.get(conn));
        sockets.any(|socket| socket.is_accepted && !socket.is_broken && !socket.is_reset)
    }

    /// How long, since `since`, losses have held up everything between a process and the relay, in one direction. Zero
    /// for a process that reaches its host by another path than its socket.
    pub(super) fn stalled(&self, id: ProcessId, since: Time) -> Duration {
        let process = &self.cast.processes[id];
        let Some(peer) = &process.peer else { return Duration::ZERO };
        let Some(session) = peer.session() else { return Duration::ZERO };
        let now = process.clock.local(self.now);
        if session.is_host() || peer.path(now, session.host()) != Path::Relayed {
            return Duration::ZERO;
        }
        let sockets = process.sockets.values().filter_map(|conn| self.net.sockets.get(conn));
        let stalled =
            |socket: &Socket| socket.down.stalled(since, self.now).max(socket.up.stalled(since, self.now));
        sockets.map(stalled).min().unwrap_or(Duration::ZERO)
    }

    pub(super) fn on_socket_accepted(&mut self, conn: ConnId) {
        let now = self.now;
        let Some(socket) = self.net.sockets.get_mut(&conn).filter(|socket| !socket.is_closing) else {
            return;
        };
        let place = Place::Player(self.cast.processes[socket.process].player);
        let latency = self.plan.relay.latency;
        if !self.relay.is_up() {
            self.queue.push(now + latency, Event::SocketLost(conn));
        } else if self.net.cuts.lets_both(place, Place::Relay) {
            (socket.is_accepted, socket.heard) = (true, now);
            self.relay_opened(conn);
            self.queue.push(now + latency, Event::SocketOpened(conn));
        }
    }

    pub(super) fn on_socket_opened(&mut self, conn: ConnId) {
        let Some(id) = self.net.sockets.get(&conn).map(|socket| socket.process) else { return };
        let process = &mut self.cast.processes[id];
        // A process that does not run now opens another socket when it runs again.
        let is_awake = process.is_awake();
        let Some(socket) = socket_of(&process.sockets, conn).filter(|_| is_awake) else { return };
        let now = process.clock.local(self.now);
        if let Some(peer) = &mut process.peer {
            peer.handle_relay_opened(now, socket);
        }
        self.turn(id);
    }

    /// Closes a process's socket. The relay hears of it after all that was sent before.
    pub(super) fn close_socket(&mut self, id: ProcessId, name: SocketId) {
        let Some(conn) = self.cast.processes[id].sockets.remove(&name) else { return };
        let place = self.cast.place(id);
        let Some(socket) = self.net.sockets.get_mut(&conn) else { return };
        socket.is_closing = true;
        if !socket.is_accepted {
            self.net.sockets.remove(&conn);
        } else if socket.is_reset {
            // The relay notices only by silence.
        } else if !socket.up.is_holding() && self.net.cuts.lets(place, Place::Relay) {
            let at = socket.up.carry(self.now, 0, &self.plan.relay, &mut self.chance.dice);
            self.queue.push(at, Event::HungUp(conn));
        }
        // Otherwise the relay notices only by silence.
    }

    /// Sends bytes of a process to the relay, or holds them while they do not get through.
    pub(super) fn send_up(&mut self, id: ProcessId, name: SocketId, bytes: Vec<u8>) {
        let place = self.cast.place(id);
        let Some(&conn) = self.cast.processes[id].sockets.get(&name) else { return };
        let lets = self.net.cuts.lets(place, Place::Relay);
        let is_sound = |socket: &&mut Socket| !socket.is_broken && !socket.is_reset;
        let Some(socket) = self.net.sockets.get_mut(&conn).filter(is_sound) else { return };
        let size = bytes.len();
        if !lets || socket.up.is_holding() {
            socket.up.hold(bytes, size);
            return;
        }
        let at = socket.up.carry(self.now, size, &self.plan.relay, &mut self.chance.dice);
        self.tell_relayed(place, Place::Relay, &bytes);
        self.queue.push(at, Event::ToRelay(conn, bytes));
    }

    /// Sends bytes of the relay to a process, or holds them while they do not get through.
    pub(super) fn send_down(&mut self, conn: ConnId, bytes: Vec<u8>) {
        let takes = |socket: &&mut Socket| socket.is_accepted && !socket.is_reset;
        let Some(socket) = self.net.sockets.get_mut(&conn).filter(takes) else { return };
        let place = Place::Player(self.cast.processes[socket.process].player);
        let size = bytes.len();
        if !self.net.cuts.lets(Place::Relay, place) || socket.down.is_holding() {
            socket.down.hold(bytes, size);
            return;
        }
        let at = socket.down.carry(self.now, size, &self.plan.relay, &mut self.chance.dice);
        self.tell_relayed(Place::Relay, place, &bytes);
        self.queue.push(at, Event::FromRelay(conn, bytes));
    }

    pub(super) fn on_to_relay(&mut self, conn: ConnId, bytes: &[u8]) {
        let Some(socket) = self.net.sockets.get_mut(&conn).filter(|socket| socket.is_accepted) else {
            return;
        };
        socket.heard = self.now;
        self.note_doubt(conn, bytes);
        self.relay_message(conn, bytes);
    }

    pub(super) fn on_from_relay(&mut self, conn: ConnId, bytes: Vec<u8>) {
        let Some(socket) = self.net.sockets.get(&conn) else { return };
        self.arrive(socket.process, Arrival::Relay(conn, bytes));
    }

    /// Drops a socket, because the relay hears that the process closed it.
    pub(super) fn on_hung_up(&mut self, conn: ConnId) {
        if self.net.sockets.remove(&conn).is_some_and(|socket| socket.is_accepted) {
            self.relay_closed(conn);
        }
    }

    /// Lets the relay close a socket after all that it sent before.
    pub(super) fn hang_up(&mut self, conn: ConnId) {
        let Some(socket) = self.net.sockets.get_mut(&conn) else { return };
        socket.is_accepted = false;
        let place = Place::Player(self.cast.processes[socket.process].player);
        if self.net.cuts.lets(Place::Relay, place) && !socket.down.is_holding() {
            let at = socket.down.carry(self.now, 0, &self.plan.relay, &mut self.chance.dice);
            self.queue.push(at, Event::SocketLost(conn));
        } else {
            socket.is_broken = true;
        }
    }

    pub(super) fn on_socket_lost(&mut self, conn: ConnId) {
        if let Some(socket) = self.net.sockets.remove(&conn) {
            self.arrive(socket.process, Arrival::SocketLost(conn));
        }
    }

    /// Resets the sockets of a process whose address has changed. The first packet from the new address is answered
    /// by a reset. The relay notices only by silence.
    pub(super) fn reset_sockets(&mut self, id: ProcessId) {
        for &conn in self.cast.processes[id].sockets.values() {
            if let Some(socket) = self.net.sockets.get_mut(&conn) {
                socket.is_reset = true;
            }
            self.queue.push(self.now + self.plan.relay.latency.times(2), Event::SocketReset(conn));
        }
    }

    pub(super) fn on_socket_reset(&mut self, conn: ConnId) {
        if let Some(id) = self.net.sockets.get(&conn).map(|socket| socket.process) {
            self.arrive(id, Arrival::SocketLost(conn));
        }
    }

    /// Breaks all sockets of a relay that ends. A socket that is just being opened finds the relay gone, or started
    /// again.
    pub(super) fn break_all_sockets(&mut self) {
        let accepted = self.net.sockets.iter().filter(|(_, socket)| socket.is_accepted);
        for conn in accepted.map(|(&conn, _)| conn).collect::<Vec<_>>() {
            self.hang_up(conn);
        }
    }

    /// Lets a proxy break all sockets, one after another. Both ends hear of it.
    pub(super) fn break_sockets_by_proxy(&mut self) {
        self.trace.note(self.now, Place::Relay, || "is behind a proxy that breaks all sockets".to_owned());
        let accepted = self.net.sockets.iter().filter(|(_, socket)| socket.is_accepted);
        for conn in accepted.map(|(&conn, _)| conn).collect::<Vec<_>>() {
            let at = self.now + self.chance.dice.span(PROXY_TAKES);
            self.queue.push(at, Event::SocketBroken(conn));
        }
    }

    pub(super) fn on_socket_broken(&mut self, conn: ConnId) {
        if self.net.sockets.get(&conn).is_some_and(|socket| socket.is_accepted) {
            self.relay_closed(conn);
            self.hang_up(conn);
        }
    }

    pub(super) fn close_sockets(&mut self, id: ProcessId) {
        for socket in self.cast.processes[id].sockets.keys().copied().collect::<Vec<_>>() {
            self.close_socket(id, socket);
        }
    }

    /// Sends the messages that were held back, and gives up sockets that were silent for too long.
    pub(super) fn tend_sockets(&mut self) {
        let mut dead = Vec::new();
        let mut released = Vec::new();
        for (&conn, socket) in &mut self.net.sockets {
            let process = &self.cast.processes[socket.process];
            let place = Place::Player(process.player);
            let (up, down) =
                (self.net.cuts.lets(place, Place::Relay), self.net.cuts.lets(Place::Relay, place));
            // The system answers for a process that does not run, unless the machine sleeps.
            let asleep = matches!(process.state, State::Stopped { keeps_datagrams: false, .. });
            let is_there = process.state != State::Ended
                && !asleep
                && !socket.is_reset
                && socket_of(&process.sockets, conn).is_some();
            if up && down && is_there {
                socket.heard = self.now;
            }
            if socket.heard + SILENCE_MAX <= self.now && self.relay.inbox.is_none() {
                dead.push(conn);
            }
            if up && down && (socket.up.is_holding() || socket.down.is_holding() || socket.is_broken) {
                released.push((conn, socket.up.release(), socket.down.release()));
            }
        }
        for (conn, up, down) in released {
            self.release(conn, up.into(), down.into());
        }
        for conn in dead {
            let was_accepted = self.net.sockets.get(&conn).is_some_and(|socket| socket.is_accepted);
            if was_accepted {
                self.relay_closed(conn);
            }
            self.drop_dead(conn);
        }
    }

    /// Closes a socket that the relay has given up. Its process hears of that as soon as the path carries bytes
    /// again.
    fn drop_dead(&mut self, conn: ConnId) {
        let Some(socket) = self.net.sockets.get(&conn) else { return };
        let process = &self.cast.processes[socket.process];
        if socket_of(&process.sockets, conn).is_none() {
            self.net.sockets.remove(&conn);
        } else {
            self.hang_up(conn);
            if let Some(socket) = self.net.sockets.get_mut(&conn) {
                socket.heard = Time::FAR - Duration::from_millis(60_000);
            }
        }
    }

    fn release(&mut self, conn: ConnId, up: Vec<Vec<u8>>, down: Vec<Vec<u8>>) {
        let Some(socket) = self.net.sockets.get(&conn) else { return };
        let (id, is_broken, is_closing) = (socket.process, socket.is_broken, socket.is_closing);
        let place = self.cast.place(id);
        for bytes in up {
            let Some(socket) = self.net.sockets.get_mut(&conn) else { return };
            let at = socket.up.carry(self.now, bytes.len(), &self.plan.relay, &mut self.chance.dice);
            self.tell_relayed(place, Place::Relay, &bytes);
            self.queue.push(at, Event::ToRelay(conn, bytes));
        }
        for bytes in down {
            self.send_down(conn, bytes);
        }
        if is_broken {
            let latency = self.plan.relay.latency;
            self.queue.push(self.now + latency, Event::SocketLost(conn));
        } else if is_closing && let Some(socket) = self.net.sockets.get_mut(&conn) {
            let at = socket.up.carry(self.now, 0, &self.plan.relay, &mut self.chance.dice);
            self.queue.push(at, Event::HungUp(conn));
        }
    }
}
