//! Which way each packet goes, and what waits on it.

use samovar_session::Session;
use samovar_wire::relay::Addressed;
use samovar_wire::{Mode, PeerId, Time};

use super::{Buffer, ConnectionKey, Peer, QUEUE_MAX, Transmit};
use crate::path::{Path, PathState};

/// When more direct paths than this are late at once, their ends rather died than the paths, and the WebSocket is needed for
/// claims: it carries complaints to the host, and no packets behind them. The others, if they live, miss this peer alone, and
/// complain themselves, or hear it by the other ways. A host has nobody to claim against.
const SPARED_ABOVE: usize = 6;

/// Which ways a packet goes: on the rung that is the way, and while that is in doubt on the next one, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ways {
    direct: bool,
    /// The connection to the relay.
    ferry: Option<u32>,
    socket: bool,
}

/// The ways by the relay, which are the same to everybody.
#[derive(Clone, Copy, Debug)]
struct ByRelay {
    /// Its data channels are a way that needs no sparing.
    is_quick: bool,
    /// Those to take besides a direct one that is not enough; `None` while the relay forwards nothing.
    ways: Option<Ways>,
}

impl ByRelay {
    fn ways(&self, now: Time, path: Option<&PathState>) -> Ways {
        let direct = path.is_some_and(|path| path.carriers().next().is_some());
        let is_enough = path
            .is_some_and(|path| path.is_enough(now, self.is_quick) && !(self.is_quick && path.is_late(now)));
        let Some(ways) = self.ways.filter(|_| !is_enough) else {
            return Ways { direct, ..Ways::default() };
        };
        let is_called = path.is_some_and(|path| path.is_called(now));
        Ways { direct, ferry: ways.ferry, socket: is_called || ways.socket }
    }
}

impl Peer {
    fn by_relay(&self, now: Time) -> ByRelay {
        if !self.may_relay() {
            return ByRelay { is_quick: false, ways: None };
        }
        let ferry = self.ferry.way(now);
        let is_sure = ferry.is_some() && self.ferry.path.is_enough(now, true);
        let ways = Ways { direct: false, ferry, socket: !is_sure };
        ByRelay { is_quick: self.ferry.path.is_up(now), ways: Some(ways) }
    }

    /// Bulk is no good twice: it goes by the way that is shown, and not by one on which the other end says that it hears
    /// nothing, if there is another.
    fn way_of_bulk(&self, now: Time, to: PeerId) -> Ways {
        let is_deaf = self.paths.get(&to).is_some_and(|path| path.is_complained_of(now));
        let ferry = self.ferry.way(now);
        match self.path(now, to) {
            Path::None => Ways { direct: true, ..Ways::default() },
            Path::Direct if !is_deaf || !self.may_relay() => Ways { direct: true, ..Ways::default() },
            Path::Relayed => Ways { socket: true, ..Ways::default() },
            _ => Ways { ferry, socket: ferry.is_none(), ..Ways::default() },
        }
    }

    /// Gives each packet of the session its ways.
    pub(super) fn route_session(&mut self, now: Time) {
        let mut by_relay = None;
        let mut packet = core::mem::take(&mut self.packet);
        while self.transmits.len() < QUEUE_MAX {
            let session = self.session.as_mut();
            let Some((to, mode)) = session.and_then(|session| session.poll_transmit_into(now, &mut packet))
            else {
                break;
            };
            let mut ways = match mode {
                Mode::Unreliable => {
                    by_relay.get_or_insert_with(|| self.by_relay(now)).ways(now, self.paths.get(&to))
                }
                Mode::Reliable => self.way_of_bulk(now, to),
            };
            ways.socket |=
                mode == Mode::Unreliable && self.paths.get_mut(&to).is_some_and(PathState::takes_owed);
            self.send(ways, to, mode, &packet);
        }
        self.packet = packet;
    }

    /// A chunk takes one connection.
    fn send(&mut self, ways: Ways, to: PeerId, mode: Mode, payload: &[u8]) {
        if ways.socket {
            self.send_socket(to, mode, payload);
        }
        if let Some(attempt) = ways.ferry {
            self.send_ferry(attempt, mode, Addressed { peer: to, payload });
        }
        let most = if mode == Mode::Reliable { 1 } else { usize::MAX };
        let carriers = self.paths.get(&to).filter(|_| ways.direct).map(PathState::carriers);
        for attempt in carriers.into_iter().flatten().take(most) {
            self.count_out(payload);
            self.transmits.push_back(Transmit::Direct { peer: to, attempt, mode, bytes: payload.to_vec() });
        }
    }

    pub(super) fn send_socket(&mut self, to: PeerId, mode: Mode, payload: &[u8]) {
        if let Some(bytes) = self.client.forward(to, mode, payload) {
            self.count_out(&bytes);
            let socket = self.client.socket();
            self.transmits.push_back(Transmit::Relay { socket, bytes });
        }
    }

    pub(super) fn send_ferry(&mut self, attempt: u32, mode: Mode, message: Addressed<'_>) {
        let bytes = message.encode();
        self.count_out(&bytes);
        self.transmits.push_back(Transmit::Direct { peer: PeerId::RELAY, attempt, mode, bytes });
    }

    /// Tells those whose direct paths are silent that they are not heard: what they send may be lost, and they would not
    /// know while they hear us. Those who are not heard at all are told so by the WebSocket, too. What is cut one way is its
    /// own shortest way back.
    pub(super) fn complain(&mut self, now: Time) {
        if !self.may_relay() {
            return;
        }
        let by_relay = self.by_relay(now);
        let host = self.session.as_ref().filter(|session| !session.is_host()).map(Session::host);
        let late = self.paths.values().filter(|path| path.is_late(now)).count();
        let is_spared = host.is_some() && late > SPARED_ABOVE;
        let complaint = |(&peer, path): (&PeerId, &mut PathState)| {
            let mut is_aloud = path.complains_aloud(now);
            if is_spared {
                path.takes_owed();
                is_aloud &= host == Some(peer);
            }
            (path.complains(now, by_relay.is_quick) || is_aloud).then_some((peer, is_aloud))
        };
        let silent: Vec<_> = self.paths.iter_mut().filter_map(complaint).collect();
        if silent.iter().any(|(_, is_aloud)| *is_aloud) && self.ferry.path.current().is_some() {
            // What they answer may be lost on the way from the relay, too.
            self.send_socket(PeerId::RELAY, Mode::Unreliable, &[]);
        }
        for (peer, is_aloud) in silent {
            let mut ways = by_relay.ways(now, self.paths.get(&peer));
            ways.socket |= is_aloud;
            self.send(ways, peer, Mode::Unreliable, &[]);
        }
    }

    /// Tells the session which paths lose nothing: those that are the relay's WebSocket and no other.
    pub(super) fn note_losses(&mut self, now: Time) {
        let by_relay = self.by_relay(now);
        let Some(session) = &mut self.session else { return };
        for (&peer, path) in &self.paths {
            let is_lossless = by_relay.ways(now, Some(path)) == Ways { socket: true, ..Ways::default() };
            session.set_lossless(now, peer, is_lossless);
        }
    }

    /// Tells what a driver's buffer still holds of what it was given before: bytes for a connection, or for the
    /// relay's WebSocket. To be called before sending more; links hold back while it is too much. Of a connection that
    /// does not carry nothing is believed.
    pub fn handle_backlog(&mut self, now: Time, buffer: Buffer, bytes: usize) {
        let bytes = bytes as u64;
        let known = match buffer {
            Buffer::Relay(socket) if socket != self.client.socket() => return,
            Buffer::Relay(_) => &mut self.relay_backlog,
            Buffer::Direct(ConnectionKey { peer, attempt }) => {
                let path = self.path_mut(peer).filter(|path| path.current() == Some(attempt));
                let Some(path) = path else { return };
                &mut path.backlog
            }
        };
        if core::mem::replace(known, bytes) == 0 && bytes == 0 {
            return;
        }
        self.settled = None;
        let by_relay = self.by_relay(now);
        let ways: Vec<_> = self
            .paths
            .iter()
            .map(|(&peer, path)| (peer, path.backlog, by_relay.ways(now, Some(path))))
            .collect();
        // Of the relay's buffers each link has its share.
        let shared = |is_one: fn(&Ways) -> bool| ways.iter().filter(|(.., ways)| is_one(ways)).count().max(1);
        let socket = self.relay_backlog / shared(|ways| ways.socket) as u64;
        let ferry = self.ferry.path.backlog / shared(|ways| ways.ferry.is_some()) as u64;
        let Some(session) = &mut self.session else { return };
        for (peer, direct, ways) in ways {
            // In doubt the shortest queue counts: that of a path that died never drains.
            let queues = [(ways.direct, direct), (ways.ferry.is_some(), ferry), (ways.socket, socket)];
            if let Some(backlog) =
                queues.into_iter().filter_map(|(is_way, queue)| is_way.then_some(queue)).min()
            {
                session.handle_backlog(now, peer, backlog);
            }
        }
    }

    /// The paths to an end: a member, or the relay.
    pub(super) fn path_mut(&mut self, end: PeerId) -> Option<&mut PathState> {
        if end == PeerId::RELAY { Some(&mut self.ferry.path) } else { self.paths.get_mut(&end) }
    }

    /// Who this is, from the relay's word on.
    pub(super) fn me(&self) -> Option<PeerId> {
        self.session.as_ref().map(Session::me)
    }
}
