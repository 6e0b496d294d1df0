//! Carrying of packets between members that have no direct path, as in a client-server game (PROTOCOL §2.6).
//!
//! The host and its backups are *carriers*. Two other members without a direct path send their packets to each other by
//! a carrier. The carrier does not read them. It holds each packet for a moment, so that many packets go to a receiver
//! in one datagram.

use samovar_session::Session;
use samovar_wire::carried::{Entry, Leg, entries};
use samovar_wire::{Duration, Mode, PeerId, Time};

use crate::carried::BundleKey;
use crate::config::PathPolicy;
use crate::peer::Peer;

/// A carrier holds a packet for this long, to send it together with others for the same receiver.
const HELD_FOR: Duration = Duration::from_millis(8);
/// A carrier drops packets for a receiver whose path holds more than this many bytes.
const BACKLOG_MAX: u64 = 64 * 1_024;
/// Each carried packet counts for this many bytes besides its own, because small packets cost work, too.
const AROUND: usize = 64;

impl Peer {
    /// Whether this peer wants direct paths with the host and its backups only.
    pub(crate) fn is_by_host(&self) -> bool {
        match self.config.paths {
            PathPolicy::ByHost => true,
            PathPolicy::Auto => self.session.as_ref().is_some_and(|session| session.view().is_by_host()),
            PathPolicy::Direct | PathPolicy::Relayed | PathPolicy::WebSocket => false,
        }
    }

    /// Whether this peer wants a direct path to `peer`.
    pub(crate) fn wants_direct(&self, peer: PeerId) -> bool {
        let Some(session) = self.session.as_ref().filter(|_| self.is_by_host()) else { return true };
        carries(session, session.me()) || carries(session, peer) || !session.is_member()
    }

    /// Chooses the carrier of packets to each member, and tells the session.
    pub(crate) fn note_carriers(&mut self, now: Time) {
        if !self.is_by_host() && !self.routes.carried.has_carriers() {
            return;
        }
        let table = self.table(now);
        self.routes.set_carriers(now, &table);
        let Some(session) = &mut self.session else { return };
        for (peer, carrier) in self.routes.mark_carried() {
            session.path(now, peer).set_carrier(carrier);
        }
    }

    /// Puts a packet for a member into the bundle for its carrier.
    pub(crate) fn bundle_up(&mut self, now: Time, carrier: PeerId, to: PeerId, packet: &[u8]) {
        self.bundle(now, (carrier, Leg::Up), now, Entry { peer: to, payload: packet });
    }

    /// Puts a packet of this peer into a bundle for its receiver, if such a bundle waits or the receiver is a
    /// carrier. Returns whether it did.
    pub(crate) fn joins_bundle(&mut self, now: Time, to: PeerId, packet: &[u8]) -> bool {
        let Some(me) = self.me() else { return false };
        if self.routes.carried.is_carrier(to) {
            self.bundle(now, (to, Leg::Up), now, Entry { peer: to, payload: packet });
            true
        } else if self.routes.carried.waits((to, Leg::Down)) {
            self.bundle(now, (to, Leg::Down), now, Entry { peer: me, payload: packet });
            true
        } else {
            false
        }
    }

    fn bundle(&mut self, now: Time, key: BundleKey, due: Time, entry: Entry<'_>) {
        if !self.routes.carried.has_room(key, entry.payload) {
            self.flush(now, key);
        }
        self.routes.carried.add(key, due, entry);
    }

    /// Sends the bundles that are due.
    pub(crate) fn flush_bundles(&mut self, now: Time) {
        for key in self.routes.carried.due_now(now) {
            self.flush(now, key);
        }
    }

    fn flush(&mut self, now: Time, key: BundleKey) {
        let Some(bundle) = self.routes.carried.take(key) else { return };
        let (to, leg) = key;
        let own = if leg == Leg::Up { Some(to) } else { self.me() };
        let ways = self.table(now).own_ways(now, self.routes.paths.get(&to));
        // A single packet from this peer to the receiver itself goes without the bundle's framing.
        let mut inside = entries(Mode::Unreliable, &bundle).into_iter().flatten();
        match (inside.next(), inside.next()) {
            (Some(Entry { peer, payload }), None) if Some(peer) == own => {
                self.send(ways, to, Mode::Unreliable, payload);
            }
            _ => self.send(ways, to, Mode::Unreliable, &bundle),
        }
    }

    /// Sends a chunk by a carrier.
    pub(crate) fn send_chunk_by(&mut self, now: Time, carrier: PeerId, to: PeerId, chunk: &[u8]) {
        self.pass_chunk(now, (carrier, Leg::Up), Entry { peer: to, payload: chunk });
    }

    fn pass_chunk(&mut self, now: Time, (to, leg): (PeerId, Leg), entry: Entry<'_>) {
        let mut bytes = Vec::new();
        entry.encode(leg, &mut bytes);
        let ways = self.own_way_of_bulk(now, to);
        self.send(ways, to, Mode::Reliable, &bytes);
    }

    /// Handles a bundle, at its carrier or at its receiver.
    pub(crate) fn on_carried(&mut self, now: Time, from: PeerId, leg: Leg, (mode, bytes): (Mode, &[u8])) {
        let Some(session) = &mut self.session else { return };
        let Ok(entries) = entries(mode, bytes) else {
            // The bytes are no bundle and no packet, so the session tells their sender that they are malformed.
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
                    if let Some(path) = self.routes.paths.get_mut(&peer) {
                        path.on_present(now);
                    }
                }
                // The packet is dropped. Its sender may act by an older or a newer view than this peer has.
                Leg::Up | Leg::Down => {}
            }
        }
    }

    fn carry(&mut self, now: Time, from: PeerId, to: PeerId, (mode, payload): (Mode, &[u8])) {
        let session = self.session.as_ref();
        let is_member = |peer| session.is_some_and(|session| session.view().has(peer));
        let is_full = self.routes.paths.get(&to).is_some_and(|path| path.backlog > BACKLOG_MAX);
        let allowance = self.routes.carried.allowance(now, from, is_member);
        if !allowance.take(now, payload.len() + AROUND) || is_full {
            return;
        }
        let entry = Entry { peer: from, payload };
        if mode == Mode::Reliable {
            return self.pass_chunk(now, (to, Leg::Down), entry);
        }
        // A hidden page sends at once, because its timers fire late.
        let due = if self.is_visible { now + HELD_FOR } else { now };
        self.bundle(now, (to, Leg::Down), due, entry);
    }
}

/// Whether a peer is a carrier by the session's present view.
fn carries(session: &Session, peer: PeerId) -> bool {
    session.view().carries(session.host(), peer)
}
