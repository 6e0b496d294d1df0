//! The relay's end of data channels (PROTOCOL §5.7). The relay sends a packet by the receiver's channels if it heard
//! the receiver there lately, otherwise by the receiver's socket.

use samovar_directory::{ConnId, Directory, RelayOffer};
use samovar_wire::relay::{Addressed, RelayFrame};
use samovar_wire::{Duration, Mode, PeerId, Time};

use super::{Event, World};
use crate::game::{Game, ProcessId};
use crate::network::{Pipe, Place, Stream};

/// The relay uses a member's channels while it has heard the member there within this time.
const HEARD_WITHIN: Duration = Duration::from_millis(700);

/// After this silence on the channels, packets also go by the socket. A member sends a packet on its channels every
/// 200 ms.
const DOUBTED_AFTER: Duration = Duration::from_millis(300);

/// How long a member's complaint about its channels counts.
const DOUBT_COUNTS_FOR: Duration = Duration::from_millis(400);

/// The relay's end of one connection.
#[derive(Debug)]
pub(super) struct RelayPath {
    pub(super) process: ProcessId,
    pub(super) attempt: u32,
    /// When the relay last heard the member here; `None` if it never did. Until then the relay sends nothing here.
    heard: Option<Time>,
    is_open: bool,
    /// The time until which the member's last complaint counts. The complaint says that the member hears nothing
    /// here.
    doubted: Time,
    /// Whether the address of the member's end has changed.
    pub(super) is_dead: bool,
    pipe: Pipe,
    bulk: Stream<Vec<u8>>,
}

/// The first word of the relay's answers.
const ANSWER: &str = "relay";

impl<G: Game> World<G> {
    /// Lets the relay answer the offers that came.
    pub(super) fn answer_offers(&mut self) {
        while let Some(offer) = self.relay.directory.as_mut().and_then(Directory::poll_offer) {
            let RelayOffer { conn, attempt, .. } = offer;
            let Some(process) = self.net.sockets.get(&conn).map(|socket| socket.process) else { continue };
            self.end_relay_path(conn);
            let relay_path = RelayPath {
                process,
                attempt,
                heard: None,
                is_open: false,
                doubted: Time::ZERO,
                is_dead: false,
                pipe: Pipe::default(),
                bulk: Stream::new(),
            };
            self.net.relay_paths.insert(conn, relay_path);
            if let Some(directory) = &mut self.relay.directory {
                directory.handle_answer(conn, attempt, format!("{ANSWER} {}", conn.0));
            }
        }
    }

    /// The connection at the relay that an answer names; `None` if the answer comes from a peer.
    pub(super) fn relay_path_named(answer: &str) -> Option<ConnId> {
        let (word, conn) = answer.split_once(' ')?;
        Some(ConnId(conn.parse().ok()?)).filter(|_| word == ANSWER)
    }

    /// Takes the relay's answer. Both ends then try to reach each other.
    pub(super) fn connect_relay_path(&mut self, id: ProcessId, attempt: u32, conn: ConnId) {
        let (from, trip) = (self.cast.place(id), self.direct_weather(self.cast.place(id)).latency.times(2));
        if self.reaches_relay(from) && self.net.relay_paths.contains_key(&conn) {
            let after = trip.times(2) + self.chance.dice.span(trip.times(2));
            self.queue.push(self.now + after, Event::RelayPathOpened(conn, attempt));
            self.queue.push(self.now + after, Event::DirectOpened { process: id, attempt });
        }
    }

    fn reaches_relay(&self, from: Place) -> bool {
        self.net.has_udp && self.net.cuts.lets_both(from, Place::Relay)
    }

    pub(super) fn on_relay_path_opened(&mut self, conn: ConnId, attempt: u32) {
        if let Some(relay_path) = self.relay_path(conn, attempt) {
            relay_path.is_open = true;
        }
    }

    fn relay_path(&mut self, conn: ConnId, attempt: u32) -> Option<&mut RelayPath> {
        self.net.relay_paths.get_mut(&conn).filter(|relay_path| relay_path.attempt == attempt)
    }

    /// Takes a message that a member sent on its channels, and passes it on.
    pub(super) fn on_to_relay_path(&mut self, conn: ConnId, attempt: u32, mode: Mode, mut bytes: Vec<u8>) {
        let now = self.now;
        let Some(relay_path) =
            self.relay_path(conn, attempt).filter(|relay_path| relay_path.is_open && !relay_path.is_dead)
        else {
            return;
        };
        relay_path.heard = Some(now);
        let Some(directory) = &self.relay.directory else { return };
        let Ok(message) = Addressed::decode(mode, &bytes) else { return };
        let (Some(from), Some(to)) = (directory.peer_of(conn), directory.route(conn, message.peer)) else {
            return;
        };
        Addressed::readdress(&mut bytes, from);
        self.send_member(to, mode, bytes);
    }

    /// Notes a member's complaint that its channels are silent. The complaint comes by the member's socket.
    pub(super) fn note_doubt(&mut self, conn: ConnId, bytes: &[u8]) {
        let to_relay = RelayFrame::Forward { peer: PeerId::RELAY, mode: Mode::Unreliable, payload: &[] };
        if let Some(relay_path) =
            self.net.relay_paths.get_mut(&conn).filter(|_| RelayFrame::decode(bytes) == Ok(to_relay))
        {
            relay_path.doubted = self.now + DOUBT_COUNTS_FOR;
        }
    }

    /// Sends a message of the directory to a member. Packets that the relay forwards go by the member's channels, if
    /// the relay hears the member there.
    pub(super) fn forward_down(&mut self, conn: ConnId, bytes: Vec<u8>) {
        match RelayFrame::decode(&bytes) {
            Ok(RelayFrame::Forward { peer, mode, payload }) => {
                let message = Addressed { peer, payload }.encode();
                let by_socket = self.send_member(conn, mode, message);
                if payload.is_empty() && !by_socket {
                    self.send_down(conn, bytes);
                }
            }
            _ => self.send_down(conn, bytes),
        }
    }

    /// Sends a packet or chunk from the relay to a member. Returns whether it went by the socket, alone or as well.
    fn send_member(&mut self, conn: ConnId, mode: Mode, message: Vec<u8>) -> bool {
        let now = self.now;
        let is_heard =
            |relay_path: &&mut RelayPath| relay_path.heard.is_some_and(|heard| heard + HEARD_WITHIN > now);
        let Some(to) = self.net.relay_paths.get(&conn).map(|relay_path| self.cast.place(relay_path.process))
        else {
            self.send_by_socket(conn, mode, &message);
            return true;
        };
        let weather = self.direct_weather(to);
        let Some(relay_path) = self.net.relay_paths.get_mut(&conn).filter(is_heard) else {
            self.send_by_socket(conn, mode, &message);
            return true;
        };
        let arrivals = match mode {
            Mode::Unreliable => relay_path.pipe.carry(now, message.len(), &weather, &mut self.chance.dice),
            Mode::Reliable => {
                [Some(relay_path.bulk.carry(now, message.len(), &weather, &mut self.chance.dice)), None]
            }
        };
        let is_doubted =
            now < relay_path.doubted || relay_path.heard.is_none_or(|heard| heard + DOUBTED_AFTER <= now);
        let (to_process, attempt, is_dead) = (relay_path.process, relay_path.attempt, relay_path.is_dead);
        self.tell_packet(Place::Relay, to, &message[4..], arrivals[0].is_some());
        if !is_dead && self.net.has_udp && self.net.cuts.lets(Place::Relay, to) {
            for at in arrivals.into_iter().flatten() {
                let bytes = message.clone();
                self.queue.push(at, Event::Packet { to: to_process, attempt, mode, bytes });
            }
        }
        let by_socket = is_doubted && mode == Mode::Unreliable;
        if by_socket {
            self.send_by_socket(conn, mode, &message);
        }
        by_socket
    }

    fn send_by_socket(&mut self, conn: ConnId, mode: Mode, message: &[u8]) {
        if let Ok(Addressed { peer, payload }) = Addressed::decode(mode, message) {
            self.send_down(conn, RelayFrame::forward(peer, mode, payload));
        }
    }

    /// Sends a member's message on its channels to the relay.
    pub(super) fn send_relay_path(&mut self, id: ProcessId, attempt: u32, mode: Mode, bytes: Vec<u8>) {
        let from = self.cast.place(id);
        let weather = self.direct_weather(from);
        let Some(channel) = self.cast.processes[id].channels.get_mut(&attempt) else { return };
        let Some(conn) = channel.relay_path else { return };
        let arrivals = channel.carry(self.now, (mode, bytes.len()), &weather, &mut self.chance.dice);
        if channel.is_dead || !self.net.has_udp || !self.net.cuts.lets(from, Place::Relay) {
            return;
        }
        if let Ok(Addressed { peer, payload }) = Addressed::decode(mode, &bytes) {
            let to = self.cast.process_of(peer).map_or(Place::Relay, |process| self.cast.place(process));
            self.tell_packet(from, to, payload, arrivals[0].is_some());
        }
        for at in arrivals.into_iter().flatten() {
            self.queue.push(at, Event::ToRelayPath { conn, attempt, mode, bytes: bytes.clone() });
        }
    }

    /// Ends the relay's end of a connection, because its socket closed or another connection takes its place.
    pub(super) fn end_relay_path(&mut self, conn: ConnId) {
        let Some(RelayPath { process, attempt, .. }) = self.net.relay_paths.remove(&conn) else { return };
        let to = self.cast.place(process);
        let after = if self.net.has_udp && self.net.cuts.lets(Place::Relay, to) {
            self.direct_weather(to).latency
        } else {
            super::direct::CONSENT_LASTS
        };
        self.queue.push(self.now + after, Event::DirectClosed { process, attempt });
    }

    /// Drops the relay's end, because the relay hears that the member closed its own.
    pub(super) fn on_relay_path_closed(&mut self, conn: ConnId, attempt: u32) {
        if self.relay_path(conn, attempt).is_some() {
            self.net.relay_paths.remove(&conn);
        }
    }

    /// Drops the relay's ends of all connections. Members notice that later.
    pub(super) fn abandon_relay_paths(&mut self) {
        for (_, RelayPath { process, attempt, .. }) in std::mem::take(&mut self.net.relay_paths) {
            let event = Event::DirectClosed { process, attempt };
            self.queue.push(self.now + super::direct::CONSENT_LASTS, event);
        }
    }

    /// Changes the address of a process. Connections that it opened before carry no data any more.
    pub(super) fn move_network(&mut self, id: ProcessId) {
        for relay_path in self.net.relay_paths.values_mut().filter(|relay_path| relay_path.process == id) {
            relay_path.is_dead = true;
        }
        let ends: Vec<_> =
            self.cast.processes[id].channels.iter().map(|(&n, c)| [Some((id, n)), c.other]).collect();
        for (process, attempt) in ends.into_iter().flatten().flatten() {
            if let Some(channel) = self.cast.processes[process].channels.get_mut(&attempt) {
                channel.is_dead = true;
            }
        }
        self.reset_sockets(id);
    }
}
