//! Peers that joined and that no host has named. Only a few of one address have a place in a game. A peer that stays
//! unnamed for long makes room for a newcomer (PROTOCOL §5.2).

use std::collections::BTreeMap;

use samovar_wire::relay::Refusal;
use samovar_wire::{Duration, PeerId, SessionId, Time};

use super::connection::Phase;
use super::entry::Wish;
use super::timers::Timer;
use super::{Class, CloseReason, ConnId, Directory};
use crate::limits::{NAMED_WITHIN, RESTORED_WAIT, STRANGERS_PER_ORIGIN_MAX, WAITING_PER_ORIGIN_MAX};

/// A host admits a newcomer within this time, or hardly at all.
const SEATED_WITHIN: Duration = Duration::from_millis(3_000);

/// The origin of a connection: connections of one address have the same. The driver draws it; a directory only
/// compares origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(pub u64);

/// Whether a game has a place for a stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The game has a place.
    Free,
    /// The game has no place now, because the stranger's address has as many strangers in the game as allowed. Some
    /// of these will be named or leave.
    Later,
    /// The game is full.
    Full,
}

pub(super) struct Stranger {
    peer: PeerId,
    conn: ConnId,
    origin: Option<Origin>,
    since: Time,
}

impl Directory {
    /// Whether a connection's peer is no member of its game, as far as the relay knows.
    #[must_use]
    pub fn is_stranger(&self, conn: ConnId) -> bool {
        match self.connections.get(&conn).map(|connection| &connection.phase) {
            Some(Phase::Entered(session, peer)) => {
                self.games.get(session).is_some_and(|game| !game.counts(*peer))
            }
            _ => false,
        }
    }

    /// The class for forwarding this connection's messages.
    pub(super) fn class_of(&self, conn: ConnId) -> Class {
        if self.is_stranger(conn) { Class::Stranger(conn) } else { Class::Member }
    }

    fn origin_of(&self, conn: ConnId) -> Option<Origin> {
        self.connections.get(&conn)?.caller.origin
    }

    pub(super) fn strangers(&self, session: SessionId) -> impl Iterator<Item = Stranger> + '_ {
        let game = self.games.get(&session);
        let peers = game.into_iter().flat_map(|game| game.members.iter().chain(&game.entrants));
        peers.filter_map(move |(&peer, &conn)| {
            let connection = self.connections.get(&conn)?;
            let (origin, since) = (connection.caller.origin, connection.entered);
            let is_one = game.is_some_and(|game| !game.is_expected(peer));
            is_one.then_some(Stranger { peer, conn, origin, since })
        })
    }

    /// Whether a live game has a place for a stranger on this connection. `peer` is the stranger's id if it was in
    /// the game before.
    fn place(&self, conn: ConnId, session: SessionId, peer: Option<PeerId>) -> Place {
        let origin = self.origin_of(conn);
        let alike =
            self.strangers(session).filter(|other| Some(other.peer) != peer && other.origin == origin);
        if origin.is_some() && alike.count() >= STRANGERS_PER_ORIGIN_MAX {
            return Place::Later;
        }
        let is_full = self.games.get(&session).is_some_and(|game| {
            let again = peer.is_some_and(|peer| game.has(peer));
            game.connections() - usize::from(again) >= self.quota.connections_per_game
        });
        if is_full { Place::Full } else { Place::Free }
    }

    /// Whether a newcomer on this connection gets into a live game at once, and its host has a seat for the newcomer, as
    /// far as the relay knows. Strangers that have just come will take seats, too.
    pub(super) fn has_seat_for(&self, now: Time, conn: ConnId, session: SessionId) -> bool {
        let Some(listing) = self.games.get(&session).and_then(|game| game.listing.as_ref()) else {
            return false;
        };
        let fresh = self.strangers(session).filter(|other| now < other.since + SEATED_WITHIN).count();
        usize::from(listing.players) + fresh < usize::from(listing.capacity)
            && self.admits(conn, session, None).is_ok()
            && self.place(conn, session, None) == Place::Free
    }

    /// Like `place`, but first makes room: a peer that has been unnamed for too long loses its place.
    pub(super) fn make_place(
        &mut self,
        now: Time,
        conn: ConnId,
        session: SessionId,
        peer: Option<PeerId>,
    ) -> Place {
        let place = self.place(conn, session, peer);
        if place == Place::Free {
            return place;
        }
        let origin = self.origin_of(conn).filter(|_| place == Place::Later);
        let others = self.strangers(session).filter(|other| Some(other.peer) != peer);
        let in_the_way = others.filter(|other| origin.is_none() || other.origin == origin);
        let oldest = in_the_way.min_by_key(|other| (other.since, other.conn));
        match oldest.filter(|oldest| oldest.since + NAMED_WITHIN <= now) {
            Some(oldest) => {
                self.close(now, oldest.conn, CloseReason::GaveWay);
                self.place(conn, session, peer)
            }
            None => place,
        }
    }

    /// Makes a connection wait for a game, or for a place in it.
    pub(super) fn wait(
        &mut self,
        now: Time,
        conn: ConnId,
        session: SessionId,
        phase: Phase,
    ) -> Result<(), Refusal> {
        let origin = self.origin_of(conn);
        let waiting = self.awaiting.entry(session).or_default();
        let alike = waiting.iter().filter(|other| {
            origin.is_some() && self.connections.get(other).is_some_and(|other| other.caller.origin == origin)
        });
        let is_crowded =
            waiting.len() >= self.quota.connections_per_game || alike.count() >= WAITING_PER_ORIGIN_MAX;
        // A peer that shows a member's pass cannot crowd the queue, because each pass has one place in it.
        if is_crowded && !matches!(phase, Phase::Returning(..)) {
            return Err(Refusal::Busy);
        }
        waiting.insert(conn);
        self.set_phase(conn, phase);
        self.timers.set(Timer::Connection(conn), now + RESTORED_WAIT);
        Ok(())
    }

    /// Lets in the peers that wait for a place in a live game, as far as there are places.
    pub(super) fn let_awaiting_in(&mut self, now: Time, session: SessionId) {
        let Some(waiting) = self.awaiting.get(&session) else { return };
        let Some(game) = self.games.get(&session) else { return };
        let (code, params) = (game.code.clone(), game.params);
        let mut left = self.quota.connections_per_game.saturating_sub(game.connections());
        let mut counts = BTreeMap::<Origin, usize>::new();
        for origin in self.strangers(session).filter_map(|stranger| stranger.origin) {
            *counts.entry(origin).or_default() += 1;
        }
        let mut entering = Vec::new();
        for &conn in waiting {
            let Some(connection) = self.connections.get(&conn) else { continue };
            if !matches!(connection.phase, Phase::Returning(..)) {
                let count = connection.caller.origin.map(|origin| counts.entry(origin).or_default());
                if left == 0 || count.as_ref().is_some_and(|count| **count >= STRANGERS_PER_ORIGIN_MAX) {
                    continue;
                }
                left -= 1;
                count.into_iter().for_each(|count| *count += 1);
            }
            entering.push((conn, connection.phase));
        }
        for (conn, phase) in entering {
            self.timers.stop(Timer::Connection(conn));
            self.stop_waiting(session, conn);
            // Their parameters hash was compared when they began to wait.
            let entered = match phase {
                Phase::Resuming(_, peer) => self
                    .admits(conn, session, Some(peer))
                    .map(|()| self.become_entrant(now, conn, session, peer)),
                Phase::Returning(_, former) => {
                    self.join(now, conn, Wish { code: &code, params, former: Some(former) }).map(drop)
                }
                _ => self.join(now, conn, Wish { code: &code, params, former: None }).map(drop),
            };
            if let Err(refusal) = entered {
                self.refuse(now, conn, refusal);
            }
        }
    }

    pub(super) fn stop_waiting(&mut self, session: SessionId, conn: ConnId) {
        if let Some(awaiting) = self.awaiting.get_mut(&session) {
            awaiting.remove(&conn);
            if awaiting.is_empty() {
                self.awaiting.remove(&session);
            }
        }
    }
}
