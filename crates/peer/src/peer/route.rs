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
pub(super) struct Ways {
    direct: bool,
    /// Members that carry it.
    carriers: [Option<PeerId>; 2],
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

/// A member that carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carrier {
    pub(super) peer: PeerId,
    /// There is a direct way to it, or one was tried in vain.
    is_usable: bool,
    /// The way to it is good enough that no other is needed.
    is_sure: bool,
}

/// The ways that there are, whoever a packet is for.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    by_relay: ByRelay,
    /// The members that carry, the best first.
    carriers: Vec<Carrier>,
    /// For whom they do.
    members: Vec<PeerId>,
}

impl Routes {
    /// Those that carry for this member: for a backup only who comes before it, for the host nobody.
    pub(super) fn carriers_to(&self, to: PeerId) -> impl Iterator<Item = Carrier> {
        let is_member = self.members.contains(&to);
        let before = self.carriers.iter().take_while(move |carrier| is_member && carrier.peer != to);
        before.filter(|carrier| carrier.is_usable).copied()
    }

    fn ways(&self, now: Time, to: PeerId, path: Option<&PathState>) -> Ways {
        let ways = self.own_ways(now, path);
        let mut carriers = self.carriers_to(to);
        let Some(first) = carriers.next().filter(|_| !is_enough(now, path, true)) else { return ways };
        if first.is_sure {
            return Ways { direct: ways.direct, carriers: [Some(first.peer), None], ..Ways::default() };
        }
        Ways { carriers: [Some(first.peer), carriers.next().map(|next| next.peer)], ..ways }
    }

    /// The ways without members that carry.
    pub(super) fn own_ways(&self, now: Time, path: Option<&PathState>) -> Ways {
        let direct = path.is_some_and(|path| path.carriers().next().is_some());
        let ways = self.by_relay.ways.filter(|_| !is_enough(now, path, self.by_relay.is_quick));
        let Some(ways) = ways else { return Ways { direct, ..Ways::default() } };
        let is_called = path.is_some_and(|path| path.is_called(now));
        Ways { direct, ferry: ways.ferry, socket: is_called || ways.socket, ..Ways::default() }
    }
}

/// Whether a path needs no other beside it. Where the next way `is_quick`, that is taken sooner.
fn is_enough(now: Time, path: Option<&PathState>, is_quick: bool) -> bool {
    path.is_some_and(|path| path.is_enough(now, is_quick) && !(is_quick && path.is_late(now)))
}

impl Peer {
    fn by_relay(&self, now: Time) -> ByRelay {
        if !self.may_relay() {
            return ByRelay { is_quick: false, ways: None };
        }
        let ferry = self.ferry.way(now);
        let is_sure = ferry.is_some() && self.ferry.path.is_enough(now, true);
        let ways = Ways { ferry, socket: !is_sure, ..Ways::default() };
        ByRelay { is_quick: self.ferry.path.is_up(now), ways: Some(ways) }
    }

    pub(super) fn routes(&self, now: Time) -> Routes {
        let by_relay = self.by_relay(now);
        let session = self.session.as_ref().filter(|session| session.is_member() && self.is_by_host());
        let Some(session) = session else {
            return Routes { by_relay, carriers: Vec::new(), members: Vec::new() };
        };
        let (me, host) = (session.me(), session.host());
        let by = core::iter::once(host).chain(session.view().backups().iter().copied());
        let carrier = |peer: PeerId| {
            let path = self.paths.get(&peer);
            let is_direct = path.is_some_and(|path| path.is_up(now));
            let is_sure = if is_direct {
                is_enough(now, path, true)
            } else {
                path.is_some_and(|path| path.is_heard(now))
            };
            let is_usable = is_direct || self.may_relay() && path.is_some_and(PathState::has_failed);
            Carrier { peer, is_usable, is_sure }
        };
        let carriers = by.take_while(|&peer| peer != me).map(carrier).collect();
        Routes { by_relay, carriers, members: self.wanted.clone() }
    }

    /// Bulk is no good twice: it goes by the way that is shown, and not by one on which the other end says that it hears
    /// nothing, if there is another.
    pub(super) fn own_way_of_bulk(&self, now: Time, to: PeerId) -> Ways {
        let is_deaf = self.paths.get(&to).is_some_and(|path| path.is_complained_of(now));
        let ferry = self.ferry.way(now);
        match self.own_path(now, to) {
            Path::None => Ways { direct: true, ..Ways::default() },
            Path::Direct if !is_deaf || !self.may_relay() => Ways { direct: true, ..Ways::default() },
            Path::Relayed => Ways { socket: true, ..Ways::default() },
            _ => Ways { ferry, socket: ferry.is_none(), ..Ways::default() },
        }
    }

    /// Gives each packet of the session its ways.
    pub(super) fn route_session(&mut self, now: Time) {
        let mut routes = None;
        let mut packet = core::mem::take(&mut self.packet);
        while self.transmits.len() < QUEUE_MAX {
            let session = self.session.as_mut();
            let Some((to, mode)) = session.and_then(|session| session.poll_transmit_into(now, &mut packet))
            else {
                break;
            };
            if mode == Mode::Reliable {
                match self.carried.carrier(to) {
                    Some(carrier) => self.send_chunk_by(now, carrier, to, &packet),
                    None => self.send(self.own_way_of_bulk(now, to), to, mode, &packet),
                }
                continue;
            }
            let mut ways = routes.get_or_insert_with(|| self.routes(now)).ways(now, to, self.paths.get(&to));
            ways.socket |= self.paths.get_mut(&to).is_some_and(PathState::takes_owed);
            for carrier in core::mem::take(&mut ways.carriers).into_iter().flatten() {
                self.bundle_up(now, carrier, to, &packet);
            }
            let is_direct = ways == Ways { direct: true, ..Ways::default() };
            if !(is_direct && self.joins_bundle(now, to, &packet)) {
                self.send(ways, to, mode, &packet);
            }
        }
        self.packet = packet;
        self.flush_bundles(now);
    }

    /// A chunk takes one connection.
    pub(super) fn send(&mut self, ways: Ways, to: PeerId, mode: Mode, payload: &[u8]) {
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
        let routes = self.routes(now);
        let by_relay = &routes.by_relay;
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
            let mut ways = routes.own_ways(now, self.paths.get(&peer));
            ways.socket |= is_aloud;
            self.send(ways, peer, Mode::Unreliable, &[]);
        }
    }

    /// Tells the session which paths lose nothing: those that are the relay's WebSocket and no other.
    pub(super) fn note_losses(&mut self, now: Time) {
        let routes = self.routes(now);
        let Some(session) = &mut self.session else { return };
        for (&peer, path) in &self.paths {
            let is_lossless = routes.ways(now, peer, Some(path)) == Ways { socket: true, ..Ways::default() };
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
        let routes = self.routes(now);
        let ways: Vec<_> = self
            .paths
            .iter()
            .map(|(&peer, path)| (peer, path.backlog, routes.ways(now, peer, Some(path))))
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
