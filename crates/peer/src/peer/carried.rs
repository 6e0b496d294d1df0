//! Members carry packets for each other where not everybody has a direct path to everybody: client-server (PROTOCOL §2.6).
//!
//! The host and its backups are *carriers*. Two other members that have no direct path say to each other by a carrier what
//! they have to say. The carrier understands nothing of it, and holds what it carries for a moment, so that much of it goes
//! to a receiver in one datagram.

use samovar_session::Session;
use samovar_wire::carried::{Entry, Leg, entries};
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{Duration, Mode, PeerId, SortedMap, Time};

use super::route::Routes;
use super::{PathPolicy, Peer};
use crate::path::PathState;

/// For how long a carrier holds what it carries, for more to the same receiver.
const HELD_FOR: Duration = Duration::from_millis(8);
/// So many bytes go to a receiver at once; what comes behind them goes in another datagram.
const BUNDLE_MAX: usize = 1_100;
/// A carrier drops packets for a receiver whose path holds more than so many bytes.
const BACKLOG_MAX: u64 = 64 * 1_024;
/// Each packet counts for so many bytes more than it has: many small ones are work, too.
const AROUND: usize = 64;
/// A carrier carries so much for one member: bytes per second, and at once.
const RATE: u64 = 1_000_000;
const BURST: u64 = 256 * 1_024;

/// The carried packets of a peer, at either end of their way and in the middle.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Packets that go out together, by whom they go to.
    bundles: SortedMap<(PeerId, Leg), Bundle>,
    /// How much more each member may have carried.
    allowances: SortedMap<PeerId, Allowance>,
    /// By whom packets to others go at present.
    carriers: SortedMap<PeerId, PeerId>,
}

#[derive(Debug)]
struct Bundle {
    bytes: Vec<u8>,
    due: Time,
}

#[derive(Debug)]
struct Allowance {
    bytes: u64,
    since: Time,
}

impl Allowance {
    fn take(&mut self, now: Time, bytes: usize) -> bool {
        let earned = now.since(self.since).as_micros().min(1_000_000) * RATE / 1_000_000;
        (self.bytes, self.since) = ((self.bytes + earned).min(BURST), now);
        let left = self.bytes.checked_sub(bytes as u64);
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }
}

impl Carried {
    /// When something that is held is to go.
    pub(super) fn due(&self) -> Time {
        self.bundles.values().map(|bundle| bundle.due).min().unwrap_or(Time::FAR)
    }

    /// By whom packets to a member go at present.
    pub(super) fn carrier(&self, to: PeerId) -> Option<PeerId> {
        self.carriers.get(&to).copied()
    }

    /// Whether packets to others go by this member.
    fn is_carrier(&self, peer: PeerId) -> bool {
        self.carriers.values().any(|&carrier| carrier == peer)
    }
}

impl Peer {
    /// Whether this peer wants direct paths with the host and its backups only.
    pub(super) fn is_by_host(&self) -> bool {
        match self.config.paths {
            PathPolicy::ByHost => true,
            PathPolicy::Auto => self.session.as_ref().is_some_and(|session| session.view().is_by_host()),
            PathPolicy::Direct | PathPolicy::Relayed => false,
        }
    }

    /// Whether there shall be a direct path to a peer, as far as this one decides.
    pub(super) fn wants_direct(&self, peer: PeerId) -> bool {
        let Some(session) = self.session.as_ref().filter(|_| self.is_by_host()) else { return true };
        carries(session, session.me()) || carries(session, peer) || !session.is_member()
    }

    /// Tells the session whose packets are carried, and by whom.
    pub(super) fn note_carriers(&mut self, now: Time) {
        if !self.is_by_host() && self.carried.carriers.is_empty() {
            return;
        }
        let routes = self.routes(now);
        let carried =
            self.wanted.iter().filter_map(|&to| Some((to, routes.carrier_of(now, to, self.paths.get(&to))?)));
        self.carried.carriers = carried.collect();
        let Some(session) = &mut self.session else { return };
        for &peer in &self.wanted {
            session.set_carrier(now, peer, self.carried.carrier(peer));
            if let Some(path) = self.paths.get_mut(&peer) {
                path.is_carried = self.carried.carriers.contains_key(&peer);
            }
        }
    }

    /// A packet for a member goes to its carrier with others.
    pub(super) fn bundle_up(&mut self, now: Time, carrier: PeerId, to: PeerId, packet: &[u8]) {
        self.bundle(now, (carrier, Leg::Up), now, Entry { peer: to, payload: packet });
    }

    /// Whether a packet of this peer itself goes with what waits for its receiver, or may still come for it.
    pub(super) fn joins_bundle(&mut self, now: Time, to: PeerId, packet: &[u8]) -> bool {
        let Some(me) = self.me() else { return false };
        if self.carried.is_carrier(to) {
            self.bundle(now, (to, Leg::Up), now, Entry { peer: to, payload: packet });
            true
        } else if self.carried.bundles.contains_key(&(to, Leg::Down)) {
            self.bundle(now, (to, Leg::Down), now, Entry { peer: me, payload: packet });
            true
        } else {
            false
        }
    }

    fn bundle(&mut self, now: Time, key: (PeerId, Leg), due: Time, entry: Entry<'_>) {
        let room = Entry::room(entry.payload);
        if self.carried.bundles.get(&key).is_some_and(|bundle| bundle.bytes.len() + room > BUNDLE_MAX) {
            self.flush(now, key);
        }
        let bundle = self.carried.bundles.entry(key).or_insert_with(|| Bundle { bytes: Vec::new(), due });
        bundle.due = bundle.due.min(due);
        entry.encode(key.1, &mut bundle.bytes);
    }

    /// Sends what has waited for long enough.
    pub(super) fn flush_bundles(&mut self, now: Time) {
        let due = self.carried.bundles.iter().filter(|(_, bundle)| bundle.due <= now).map(|(&key, _)| key);
        for key in due.collect::<Vec<_>>() {
            self.flush(now, key);
        }
    }

    fn flush(&mut self, now: Time, key: (PeerId, Leg)) {
        let Some(bundle) = self.carried.bundles.remove(&key) else { return };
        let (to, leg) = key;
        let own = if leg == Leg::Up { Some(to) } else { self.me() };
        let ways = self.routes(now).own_ways(now, self.paths.get(&to));
        // One packet of this peer itself needs nothing around it.
        match entries(Mode::Unreliable, &bundle.bytes).as_deref() {
            Ok(&[Entry { peer, payload }]) if Some(peer) == own => {
                self.send(ways, to, Mode::Unreliable, payload);
            }
            _ => self.send(ways, to, Mode::Unreliable, &bundle.bytes),
        }
    }

    /// A chunk goes by a carrier.
    pub(super) fn send_chunk_by(&mut self, now: Time, carrier: PeerId, to: PeerId, chunk: &[u8]) {
        self.pass_chunk(now, (carrier, Leg::Up), Entry { peer: to, payload: chunk });
    }

    fn pass_chunk(&mut self, now: Time, (to, leg): (PeerId, Leg), entry: Entry<'_>) {
        let mut bytes = Vec::new();
        entry.encode(leg, &mut bytes);
        let ways = self.own_way_of_bulk(now, to);
        self.send(ways, to, Mode::Reliable, &bytes);
    }

    /// Something that is carried came: at its carrier, or at its receiver.
    pub(super) fn on_carried(&mut self, now: Time, from: PeerId, leg: Leg, (mode, bytes): (Mode, &[u8])) {
        let Some(session) = &mut self.session else { return };
        let Ok(entries) = entries(mode, bytes) else {
            // No packet either, and whoever wrote it is to be told what it is.
            return session.handle_packet(now, from, mode, bytes);
        };
        let (me, knows) = (session.me(), session.view().has(from));
        let (carries_for, is_by_carrier) = (carries(session, me), carries(session, from));
        for Entry { peer, payload } in entries {
            let Some(session) = &mut self.session else { return };
            match leg {
                Leg::Up if peer == me => session.handle_packet(now, from, mode, payload),
                Leg::Up if knows && carries_for && session.view().has(peer) => {
                    self.carry(now, from, peer, (mode, payload));
                }
                Leg::Down if peer == from => session.handle_packet(now, from, mode, payload),
                Leg::Down if knows && is_by_carrier && peer != me && session.view().has(peer) => {
                    session.handle_packet(now, peer, mode, payload);
                    if let Some(path) = self.paths.get_mut(&peer) {
                        path.on_present(now);
                    }
                }
                // Of a view that is not known here yet, or no longer.
                Leg::Up | Leg::Down => {}
            }
        }
    }

    fn carry(&mut self, now: Time, from: PeerId, to: PeerId, (mode, payload): (Mode, &[u8])) {
        if self.carried.allowances.len() > MEMBERS_MAX {
            let session = self.session.as_ref();
            self.carried
                .allowances
                .retain(|peer, _| session.is_some_and(|session| session.view().has(*peer)));
        }
        let full = Allowance { bytes: BURST, since: now };
        let allowance = self.carried.allowances.entry(from).or_insert(full);
        let is_full = self.paths.get(&to).is_some_and(|path| path.backlog > BACKLOG_MAX);
        if !allowance.take(now, payload.len() + AROUND) || is_full {
            return;
        }
        let entry = Entry { peer: from, payload };
        if mode == Mode::Reliable {
            return self.pass_chunk(now, (to, Leg::Down), entry);
        }
        // The timers of a hidden page come late.
        let due = if self.is_visible { now + HELD_FOR } else { now };
        self.bundle(now, (to, Leg::Down), due, entry);
    }
}

/// Whether a peer is one of those that carry, as far as the session here knows.
fn carries(session: &Session, peer: PeerId) -> bool {
    session.view().carries(session.host(), peer)
}

impl Routes {
    /// The first of the carriers by which a packet goes to who has no direct path.
    fn carrier_of(&self, now: Time, to: PeerId, path: Option<&PathState>) -> Option<PeerId> {
        if path.is_some_and(|path| path.is_up(now)) {
            None
        } else {
            self.carriers_to(to).next().map(|by| by.peer)
        }
    }
}
