//! Chooses the paths of each packet, and tells the links how much waits on them.

use samovar_session::Session;
use samovar_wire::relay::Addressed;
use samovar_wire::{Mode, PeerId, Time};

use crate::driver::{Buffer, ConnectionKey, Transmit};
use crate::path::{Path, PathState};
use crate::peer::Peer;
use crate::ways::{RouteTable, Ways};

/// If more direct paths than this are late at once, this peer assumes that members died, not the paths to them. Then
/// it keeps the WebSocket free for claims: it complains there to the host only, and sends no further packet there
/// after a complaint. A living member then misses the packets of this peer alone. It complains itself, or hears this
/// peer over other paths. A host is not bound by this, since it makes no claims.
const SPARED_ABOVE: usize = 6;

impl Peer {
    /// The paths that there are now, for any receiver.
    pub(crate) fn table(&self, now: Time) -> RouteTable {
        let session = self.session.as_ref().filter(|session| session.is_member() && self.is_by_host());
        self.routes.table(now, self.may_relay(), session)
    }

    /// The one path of bulk: the reported path, unless the other end complains that it hears nothing on that path and
    /// there is another.
    pub(crate) fn own_way_of_bulk(&self, now: Time, to: PeerId) -> Ways {
        let is_deaf = self.routes.paths.get(&to).is_some_and(|path| path.is_complained_of(now));
        let relay_path = self.routes.relay_path.way(now);
        match self.own_path(now, to) {
            Path::None => Ways::DIRECT,
            Path::Direct if !is_deaf || !self.may_relay() => Ways::DIRECT,
            Path::Relayed => Ways::SOCKET,
            _ => Ways { relay_path, socket: relay_path.is_none(), ..Ways::NONE },
        }
    }

    /// Sends each packet of the session over its paths.
    pub(crate) fn route_session(&mut self, now: Time) {
        let mut table = None;
        let mut packet = self.routes.take_packet();
        while self.out.has_room() {
            let session = self.session.as_mut();
            let Some((to, mode)) = session.and_then(|session| session.poll_transmit_into(now, &mut packet))
            else {
                break;
            };
            if mode == Mode::Reliable {
                match self.routes.carried.carrier(to) {
                    Some(carrier) => self.send_chunk_by(now, carrier, to, &packet),
                    None => self.send(self.own_way_of_bulk(now, to), to, mode, &packet),
                }
                continue;
            }
            let mut ways =
                table.get_or_insert_with(|| self.table(now)).ways(now, to, self.routes.paths.get(&to));
            ways.socket |= self.routes.paths.get_mut(&to).is_some_and(PathState::takes_owed);
            for carrier in core::mem::take(&mut ways.carriers).into_iter().flatten() {
                self.bundle_up(now, carrier, to, &packet);
            }
            let is_direct = ways == Ways::DIRECT;
            if !(is_direct && self.joins_bundle(now, to, &packet)) {
                self.send(ways, to, mode, &packet);
            }
        }
        self.routes.keep_packet(packet);
        self.flush_bundles(now);
    }

    /// Sends a payload over these paths; a chunk takes one connection only.
    pub(crate) fn send(&mut self, ways: Ways, to: PeerId, mode: Mode, payload: &[u8]) {
        if ways.socket {
            self.send_socket(to, mode, payload);
        }
        if let Some(attempt) = ways.relay_path {
            self.send_relay_path(attempt, mode, Addressed { peer: to, payload });
        }
        let most = if mode == Mode::Reliable { 1 } else { usize::MAX };
        let carriers = self.routes.paths.get(&to).filter(|_| ways.direct).map(PathState::carriers);
        for attempt in carriers.into_iter().flatten().take(most) {
            self.count_out(payload);
            self.out.send(Transmit::Direct { peer: to, attempt, mode, bytes: payload.to_vec() });
        }
    }

    pub(crate) fn send_socket(&mut self, to: PeerId, mode: Mode, payload: &[u8]) {
        if let Some(bytes) = self.relay.client.forward(to, mode, payload) {
            self.count_out(&bytes);
            let socket = self.relay.client.socket();
            self.out.send(Transmit::Relay { socket, bytes });
        }
    }

    pub(crate) fn send_relay_path(&mut self, attempt: u32, mode: Mode, message: Addressed<'_>) {
        let bytes = message.encode();
        self.count_out(&bytes);
        self.out.send(Transmit::Direct { peer: PeerId::RELAY, attempt, mode, bytes });
    }

    /// Complains to the peers whose direct paths are silent. Packets of such a peer may be lost, and it cannot know
    /// that while it hears this peer. The complaint also goes over the silent path, which may be cut in one direction
    /// only. A peer that is not heard at all gets the complaint over the WebSocket, too.
    pub(crate) fn complain(&mut self, now: Time) {
        if !self.may_relay() {
            return;
        }
        let table = self.table(now);
        let by_relay = &table.by_relay;
        let host = self.session.as_ref().filter(|session| !session.is_host()).map(Session::host);
        let late = self.routes.paths.values().filter(|path| path.is_late(now)).count();
        let is_spared = host.is_some() && late > SPARED_ABOVE;
        let complaint = |(&peer, path): (&PeerId, &mut PathState)| {
            let mut is_aloud = path.complains_aloud(now);
            if is_spared {
                path.takes_owed();
                is_aloud &= host == Some(peer);
            }
            (path.complains(now, by_relay.is_quick) || is_aloud).then_some((peer, is_aloud))
        };
        let silent: Vec<_> = self.routes.paths.iter_mut().filter_map(complaint).collect();
        if silent.iter().any(|(_, is_aloud)| *is_aloud) && self.routes.relay_path.path.current().is_some() {
            // The relay's channels to this peer may lose the answers, so the relay gets a complaint as well.
            self.send_socket(PeerId::RELAY, Mode::Unreliable, &[]);
        }
        for (peer, is_aloud) in silent {
            let mut ways = table.own_ways(now, self.routes.paths.get(&peer));
            ways.socket |= is_aloud;
            self.send(ways, peer, Mode::Unreliable, &[]);
        }
    }

    /// Tells the session which paths lose nothing (the relay's WebSocket alone), and which go through the relay
    /// alone.
    pub(crate) fn note_losses(&mut self, now: Time) {
        let table = self.table(now);
        let Some(session) = &mut self.session else { return };
        for (&peer, path) in &self.routes.paths {
            let ways = table.ways(now, peer, Some(path));
            let mut path = session.path(now, peer);
            path.set_lossless(ways == Ways::SOCKET);
            path.set_relayed(ways.is_relayed());
        }
    }

    /// Reports the bytes that a driver's buffer still holds, for a connection or for the relay's WebSocket. Call it
    /// before sending more; links hold packets back while that is too much. A report for a connection that is not the
    /// current one is ignored.
    pub fn handle_backlog(&mut self, now: Time, buffer: Buffer, bytes: usize) {
        let bytes = bytes as u64;
        let known = match buffer {
            Buffer::Relay(socket) if socket != self.relay.client.socket() => return,
            Buffer::Relay(_) => &mut self.relay.backlog,
            Buffer::Direct(ConnectionKey { peer, attempt }) => {
                let path = self.routes.path_mut(peer).filter(|path| path.current() == Some(attempt));
                let Some(path) = path else { return };
                &mut path.backlog
            }
        };
        if core::mem::replace(known, bytes) == 0 && bytes == 0 {
            return;
        }
        self.rest.end();
        let table = self.table(now);
        let ways: Vec<_> = self
            .routes
            .paths
            .iter()
            .map(|(&peer, path)| (peer, path.backlog, table.ways(now, peer, Some(path))))
            .collect();
        // The links share the relay's buffers equally.
        let shared = |is_one: fn(&Ways) -> bool| ways.iter().filter(|(.., ways)| is_one(ways)).count().max(1);
        let socket = self.relay.backlog / shared(|ways| ways.socket) as u64;
        let relay_path =
            self.routes.relay_path.path.backlog / shared(|ways| ways.relay_path.is_some()) as u64;
        let Some(session) = &mut self.session else { return };
        for (peer, direct, ways) in ways {
            // If packets take several paths, the shortest queue counts, because the queue of a dead path never
            // drains.
            let queues =
                [(ways.direct, direct), (ways.relay_path.is_some(), relay_path), (ways.socket, socket)];
            if let Some(backlog) =
                queues.into_iter().filter_map(|(is_way, queue)| is_way.then_some(queue)).min()
            {
                session.path(now, peer).handle_backlog(backlog);
            }
        }
    }

    /// This peer's id; `None` until the relay lets it in.
    pub(crate) fn me(&self) -> Option<PeerId> {
        self.session.as_ref().map(Session::me)
    }
}
