//! The paths to the other peers: those that are wanted, those that exist, and those that were reported.

use samovar_session::Session;
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{Duration, PeerId, SortedMap, Time};

use crate::carried::Carried;
use crate::path::{AttemptEnd, Closed, Path, PathState, Patience};
use crate::relay_path::RelayPath;
use crate::ways::{ByRelay, Carrier, RouteTable, Ways};

/// The number of strangers whose offers a host answers at a time. It answers them because they may soon be admitted.
const STRANGERS_MAX: usize = 2;
/// The time that an offer waits for its sender to become a member here.
const EARLY_FOR: Duration = Duration::from_millis(2_000);

/// An offer of a peer that this peer does not know as a member yet.
#[derive(Debug)]
pub(crate) struct EarlyOffer {
    pub(crate) at: Time,
    pub(crate) from: PeerId,
    /// The sender's number of the connection.
    pub(crate) theirs: u32,
    pub(crate) offer: String,
}

/// The paths of a peer. Most packets change nothing about them. So the paths are tended only when something has
/// happened to one, or a timer of one is due.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) paths: SortedMap<PeerId, PathState>,
    pub(crate) relay_path: RelayPath,
    pub(crate) carried: Carried,
    /// The path to each peer as it was reported to the session and the game.
    shown: SortedMap<PeerId, Path>,
    /// Offers whose senders this peer does not know as members yet, the oldest first.
    early: Vec<EarlyOffer>,
    /// The peers to which paths are wanted.
    wanted: Vec<PeerId>,
    /// The session's [`Session::stirs`] when `wanted` was found.
    wanted_since: Option<u64>,
    last_attempt: u32,
    /// The session's [`Session::stirs`] when the paths were tended, and the time until which they need no more
    /// tending. `None` once something has happened to a path.
    tended: Option<(Option<u64>, Time)>,
    /// The buffer for the packet that is being routed, kept for reuse.
    packet: Vec<u8>,
}

impl Routes {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            paths: SortedMap::new(),
            relay_path: RelayPath::new(now),
            carried: Carried::default(),
            shown: SortedMap::new(),
            early: Vec::new(),
            wanted: Vec::new(),
            wanted_since: None,
            last_attempt: 0,
            tended: None,
            packet: Vec::new(),
        }
    }

    /// The path to an end: a member, or the relay.
    pub(crate) fn path_mut(&mut self, end: PeerId) -> Option<&mut PathState> {
        if end == PeerId::RELAY { Some(&mut self.relay_path.path) } else { self.paths.get_mut(&end) }
    }

    /// Adds a path for a stranger, if few strangers have one. Returns whether it did.
    pub(crate) fn lets_in(&mut self, now: Time, stranger: PeerId) -> bool {
        let strangers = self.paths.keys().filter(|peer| !self.wanted.contains(peer)).count();
        let has_room = strangers < STRANGERS_MAX;
        if has_room {
            self.paths.insert(stranger, PathState::new(now, Patience::PAIR));
        }
        has_room
    }

    /// Keeps the offer of a peer that may be a member: a view can arrive after its members' offers.
    pub(crate) fn keep_early(&mut self, offer: EarlyOffer) {
        self.early.retain(|kept| kept.from != offer.from && offer.at < kept.at + EARLY_FOR);
        if self.early.len() == MEMBERS_MAX {
            self.early.remove(0);
        }
        self.early.push(offer);
    }

    /// Takes an offer whose sender has become a member since.
    pub(crate) fn take_early(&mut self, now: Time) -> Option<EarlyOffer> {
        self.early.retain(|offer| now < offer.at + EARLY_FOR);
        let known = self.early.iter().position(|offer| self.paths.contains_key(&offer.from))?;
        Some(self.early.remove(known))
    }

    /// Begins an attempt at a connection with an end that has a path. `answers` is the other end's number of the
    /// attempt, if the other end offered.
    pub(crate) fn open(&mut self, now: Time, end: PeerId, answers: Option<u32>) -> u32 {
        self.last_attempt += 1;
        let attempt = self.last_attempt;
        if let Some(path) = self.path_mut(end) {
            path.on_opening(now, attempt, answers);
        }
        attempt
    }

    pub(crate) fn take_packet(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.packet)
    }

    pub(crate) fn keep_packet(&mut self, packet: Vec<u8>) {
        self.packet = packet;
    }

    /// The path to a peer without carriers. `may_relay` tells whether the relay forwards.
    pub(crate) fn own_path(&self, now: Time, peer: PeerId, may_relay: bool) -> Path {
        let is_direct = self.paths.get(&peer).is_some_and(|path| path.is_up(now));
        match (is_direct, may_relay) {
            (true, _) => Path::Direct,
            (false, true) if self.relay_path.path.is_up(now) => Path::RelayedUdp,
            (false, true) => Path::Relayed,
            (false, false) => Path::None,
        }
    }

    fn by_relay(&self, now: Time, may_relay: bool) -> ByRelay {
        if !may_relay {
            return ByRelay { is_quick: false, ways: None };
        }
        let relay_path = self.relay_path.way(now);
        let is_sure = relay_path.is_some() && self.relay_path.path.is_enough(now, true);
        let ways = Ways { relay_path, socket: !is_sure, ..Ways::NONE };
        ByRelay { is_quick: self.relay_path.path.is_up(now), ways: Some(ways) }
    }

    /// The paths that packets can take now, for any receiver. `may_relay` tells whether the relay forwards; `session`
    /// is there if its members carry packets.
    pub(crate) fn table(&self, now: Time, may_relay: bool, session: Option<&Session>) -> RouteTable {
        let by_relay = self.by_relay(now, may_relay);
        let Some(session) = session else {
            return RouteTable { by_relay, carriers: Vec::new(), members: Vec::new() };
        };
        let (me, host) = (session.me(), session.host());
        let by = core::iter::once(host).chain(session.view().backups().iter().copied());
        let carrier = |peer: PeerId| Carrier::new(now, peer, self.paths.get(&peer), may_relay);
        let carriers = by.take_while(|&peer| peer != me).map(carrier).collect();
        RouteTable { by_relay, carriers, members: self.wanted.clone() }
    }

    /// Notes the carrier of packets to each member.
    pub(crate) fn set_carriers(&mut self, now: Time, table: &RouteTable) {
        let by = |&to: &PeerId| Some((to, table.carrier_of(now, to, self.paths.get(&to))?));
        self.carried.set_carriers(self.wanted.iter().filter_map(by).collect());
    }

    /// Notes at each path whether a member carries its packets, and returns the carriers.
    pub(crate) fn mark_carried(&mut self) -> impl Iterator<Item = (PeerId, Option<PeerId>)> {
        let Self { wanted, paths, carried, .. } = self;
        wanted.iter().map(|&peer| {
            let carrier = carried.carrier(peer);
            if let Some(path) = paths.get_mut(&peer) {
                path.is_carried = carrier.is_some();
            }
            (peer, carrier)
        })
    }

    /// The peers to which paths are wanted.
    pub(crate) fn wanted(&self) -> &[PeerId] {
        &self.wanted
    }

    /// Finds the peers to which paths are wanted: the members, and the host that is asked for admission. Returns
    /// whether they may have changed.
    pub(crate) fn want(&mut self, now: Time, session: &Session) -> bool {
        if self.wanted_since.replace(session.stirs()) == Some(session.stirs()) {
            return false;
        }
        let (me, host, view) = (session.me(), session.host(), session.view());
        let host = (!session.is_member() && !view.has(host)).then_some(host);
        let members = view.members().map(|m| m.peer).filter(|&peer| peer != me);
        self.wanted.clear();
        self.wanted.extend(members.chain(host));
        for &peer in &self.wanted {
            self.paths.entry(peer).or_insert_with(|| PathState::new(now, Patience::PAIR));
        }
        true
    }

    /// Ends the paths that are not wanted any more. A path to a stranger comes from an offer that this peer answered:
    /// the stranger may be about to be admitted, so the path stays while its connection does. The path to a
    /// former member ends.
    pub(crate) fn end_unwanted(&mut self) -> Vec<(PeerId, Closed)> {
        let mut ended = Vec::new();
        if self.paths.len() > self.wanted.len() {
            let leftover = |peer: &PeerId, path: &PathState| {
                !self.wanted.contains(peer) && (self.shown.contains_key(peer) || path.is_idle())
            };
            let gone: Vec<_> =
                self.paths.iter().filter(|(peer, path)| leftover(peer, path)).map(|(&p, _)| p).collect();
            for peer in gone {
                if let Some(mut path) = self.paths.remove(&peer) {
                    ended.extend(path.end(AttemptEnd::Gone).map(|closed| (peer, closed)));
                }
            }
        }
        ended
    }

    /// Ends the paths to all members.
    pub(crate) fn end_all(&mut self) -> Vec<(PeerId, Closed)> {
        let paths = core::mem::take(&mut self.paths).into_iter();
        paths
            .flat_map(|(peer, mut path)| path.end(AttemptEnd::Gone).map(move |closed| (peer, closed)))
            .collect()
    }

    /// Gives up connections and attempts whose time is over.
    pub(crate) fn expire(&mut self, now: Time, may_offer: bool) -> Vec<(PeerId, Closed)> {
        let mut expired = Vec::new();
        for (&peer, path) in &mut self.paths {
            expired.extend(core::iter::from_fn(|| path.expire(now, may_offer)).map(|closed| (peer, closed)));
        }
        let relay_path = core::iter::from_fn(|| self.relay_path.path.expire(now, true));
        expired.extend(relay_path.map(|closed| (PeerId::RELAY, closed)));
        expired
    }

    /// The paths that were reported.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (PeerId, Path)> {
        self.shown.iter().map(|(&peer, &path)| (peer, path))
    }

    /// Notes the path to a peer as reported. Returns whether it differs from the last report.
    pub(crate) fn show(&mut self, peer: PeerId, path: Path) -> bool {
        self.shown.insert(peer, path) != Some(path)
    }

    /// Forgets the reports of paths that are not wanted any more.
    pub(crate) fn hide_unwanted(&mut self) {
        self.shown.retain(|peer, _| self.wanted.contains(peer));
    }

    /// Notes that something may have happened to a path.
    pub(crate) const fn touch(&mut self) {
        self.tended = None;
    }

    /// Whether the paths need no tending: nothing can have happened to them since the last time, and no timer is due.
    pub(crate) fn are_tended(&self, now: Time, stirs: Option<u64>) -> bool {
        self.tended.is_some_and(|(since, due)| since == stirs && due > now)
    }

    /// Notes that the paths are tended, and need it again at `due`.
    pub(crate) const fn set_tended(&mut self, stirs: Option<u64>, due: Time) {
        self.tended = Some((stirs, due));
    }

    /// The time until which the paths are tended; `None` if that is not known.
    pub(crate) fn tended_until(&self) -> Option<Time> {
        self.tended.map(|(_, due)| due)
    }

    /// When the next path that is not in doubt yet comes into doubt.
    pub(crate) fn doubted_at(&self, now: Time) -> Time {
        let doubted = self.paths.values().map(|path| path.doubted_at(true)).filter(|&at| at > now).min();
        doubted.unwrap_or(Time::FAR)
    }

    /// Forgets the carried packets of the last session, because another session begins.
    pub(crate) fn begin_session(&mut self) {
        self.carried = Carried::default();
        (self.wanted_since, self.tended) = (None, None);
    }

    /// Forgets the wanted and the reported paths, because the session is left.
    pub(crate) fn leave_session(&mut self) {
        (self.wanted_since, self.tended) = (None, None);
        self.wanted.clear();
        self.shown = SortedMap::new();
    }
}
