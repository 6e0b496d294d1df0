//! The peers that a host or the operator has barred, and the relay's own code (PROTOCOL §5.2).
//!
//! A bar makes a pass void and keeps newcomers of an address out. It does not apply to the relay's own connections, nor
//! to other members of that address.

use samovar_wire::relay::{FromRelay, Refusal};
use samovar_wire::{GameCode, PeerId, PeerPass, SessionId, Time};

use super::connection::{Caller, Phase};
use super::game::Game;
use super::{ConnId, Directory, Origin, TermRecord};
use crate::limits::BARS_MAX;

/// The peers and addresses that a game no longer lets in; the last [`BARS_MAX`] of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Barred {
    /// Peers whose passes are void.
    pub peers: Vec<PeerId>,
    /// The origins of which no newcomers are let in.
    pub origins: Vec<Origin>,
    /// Whether the operator has ended the game: it lets nobody in.
    pub is_ended: bool,
}

impl Barred {
    /// Adds a peer and its origin. Returns whether that changed anything.
    fn add(&mut self, peer: PeerId, origin: Option<Origin>) -> bool {
        let before =
            (self.peers.len(), self.origins.len(), self.peers.last().copied(), self.origins.last().copied());
        keep(&mut self.peers, peer);
        if let Some(origin) = origin {
            keep(&mut self.origins, origin);
        }
        before
            != (
                self.peers.len(),
                self.origins.len(),
                self.peers.last().copied(),
                self.origins.last().copied(),
            )
    }

    /// The bars for the session that is founded anew after this one. All its peers are new, so only origins stay
    /// barred.
    pub(super) fn founded_anew(&self) -> Self {
        Self { origins: self.origins.clone(), ..Self::default() }
    }

    pub(super) fn has(&self, peer: PeerId) -> bool {
        self.peers.contains(&peer)
    }

    fn keeps_out(&self, caller: Caller) -> bool {
        !caller.is_own && caller.origin.is_some_and(|origin| self.origins.contains(&origin))
    }
}

/// Adds a new element, and drops the oldest beyond the limit.
fn keep<T: PartialEq>(known: &mut Vec<T>, new: T) {
    if !known.contains(&new) {
        known.push(new);
        known.drain(..known.len().saturating_sub(BARS_MAX));
    }
}

impl Game {
    /// Notes that the operator has put a peer out.
    pub(super) fn note_kicked(&mut self, peer: PeerId) {
        keep(&mut self.kicked, peer);
    }

    /// Remembers the opener of a peer's connection, for as long as the peer is connected or is a present or former
    /// member.
    pub(super) fn note_caller(&mut self, peer: PeerId, caller: Caller) {
        let mut callers = core::mem::take(&mut self.callers);
        callers.retain(|&peer, _| self.has(peer) || self.has_named(peer));
        callers.insert(peer, caller);
        self.callers = callers;
    }

    pub(super) fn is_own(&self, peer: PeerId) -> bool {
        self.callers.get(&peer).is_some_and(|caller| caller.is_own)
    }

    /// Bars a peer, and the unnamed peers that share its address or showed its pass. Returns the connections to close,
    /// and whether that changed anything.
    fn bar(&mut self, peer: PeerId) -> (Vec<ConnId>, bool) {
        let origin = self.callers.get(&peer).and_then(|caller| caller.origin);
        self.bar_from(peer, origin)
    }

    /// Bars a peer, and newcomers of this origin, if any. Returns the same as [`Game::bar`].
    pub(super) fn bar_from(&mut self, peer: PeerId, origin: Option<Origin>) -> (Vec<ConnId>, bool) {
        let is_new = self.barred.add(peer, origin);
        let by_pass: Vec<_> =
            self.returned.extract_if(.., |_, former| *former == peer).map(|(newcomer, _)| newcomer).collect();
        self.named.retain(|named| *named != peer);
        self.former.retain(|former| *former != peer);
        let is_out = |other: PeerId| {
            let caller = self.callers.get(&other).copied().unwrap_or_default();
            let is_kept_out = self.barred.keeps_out(caller) || by_pass.contains(&other);
            other == peer || is_kept_out && !self.is_expected(other)
        };
        let here = self.members.iter().chain(&self.entrants);
        (here.filter(|(other, _)| is_out(**other)).map(|(_, conn)| *conn).collect(), is_new)
    }
}

impl Directory {
    /// Sets the code under which only the relay's own connections found games and bring them back.
    pub fn set_own_code(&mut self, code: Option<GameCode>) {
        self.own_code = code;
    }

    /// The host bars a peer. No other member can bar, and neither the host nor the relay's own peers can be barred.
    pub(super) fn on_bar(&mut self, now: Time, session: SessionId, by: PeerId, peer: PeerId) {
        self.note_reign(now, session, by);
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.host() != Some(by) || peer == by || game.is_own(peer) {
            return;
        }
        // A host that bars whom the game has never had would only make it forget others.
        if !game.callers.contains_key(&peer) && !game.has_named(peer) {
            return;
        }
        let barred = game.bar(peer);
        self.spend_token(session, peer);
        self.carry_out_bar(now, session, barred, Refusal::Barred);
    }

    /// Closes the connections of barred peers, and writes the bars to disk if they are new.
    pub(super) fn carry_out_bar(
        &mut self,
        now: Time,
        session: SessionId,
        (closed, is_new): (Vec<ConnId>, bool),
        refusal: Refusal,
    ) {
        if is_new {
            self.keep_record(session);
        }
        for conn in closed {
            self.refuse(now, conn, refusal);
        }
        self.watch_members(now, session);
        self.consider_claims(now, session);
        self.let_awaiting_in(now, session);
    }

    /// Tells the host of each barred peer among the members that it names: it does not know of the bar, because a
    /// former host or the operator made it.
    pub(super) fn tell_barred(&mut self, session: SessionId, members: &[PeerId]) {
        let Some(game) = self.games.get(&session) else { return };
        let Some(host) = game.host_conn() else { return };
        for peer in members.iter().copied().filter(|peer| game.barred.has(*peer)).collect::<Vec<_>>() {
            self.send(host, &FromRelay::PutOut(peer));
        }
    }

    /// Refuses a peer whose pass is barred, and a newcomer whose address is barred.
    pub(super) fn admits(
        &self,
        conn: ConnId,
        session: SessionId,
        shown: Option<PeerId>,
    ) -> Result<(), Refusal> {
        let caller = self.caller(conn);
        let archived = || self.archive.get(session).map(|record| &record.barred);
        let Some(barred) = self.games.get(&session).map(|game| &game.barred).or_else(archived) else {
            return Ok(());
        };
        if barred.is_ended {
            return Err(Refusal::Ended);
        }
        let is_void = !caller.is_own && shown.is_some_and(|peer| barred.has(peer));
        let is_member = || shown.is_some_and(|peer| self.has_place(session, peer));
        if is_void || barred.keeps_out(caller) && !is_member() { Err(Refusal::Barred) } else { Ok(()) }
    }

    /// Whether the operator has put a peer out, so that its pass counts as none.
    pub(super) fn was_kicked(&self, pass: &PeerPass) -> bool {
        self.games.get(&pass.session).is_some_and(|game| game.kicked.contains(&pass.peer))
    }

    /// Whether the peer of a pass is more than a newcomer: it was a member, or has a place in the game.
    fn has_place(&self, session: SessionId, peer: PeerId) -> bool {
        match self.games.get(&session) {
            Some(game) => game.has_named(peer) || game.is_expected(peer),
            None => self.archive.get(session).is_some_and(|record| record.has_named(peer)),
        }
    }

    /// Whether a code is the relay's own, and this connection is not.
    pub(super) fn is_kept_from(&self, conn: ConnId, code: &GameCode) -> bool {
        self.own_code.as_ref() == Some(code) && !self.caller(conn).is_own
    }

    /// Whether a peer may list a session again. Under the relay's own code the last members may, while the code is kept
    /// for them: they may have played on over direct paths.
    pub(super) fn may_relist(&self, conn: ConnId, record: &TermRecord, pass: &PeerPass) -> bool {
        if self.is_kept_from(conn, &record.code) {
            record.is_member(pass.peer)
        } else {
            // The record may be old: the relay may have died before the last ones were on disk.
            pass.is_named || record.has_named(pass.peer)
        }
    }

    pub(super) fn caller(&self, conn: ConnId) -> Caller {
        self.connections.get(&conn).map(|connection| connection.caller).unwrap_or_default()
    }

    /// Whether a waiting connection may found its game anew: its peer was a member, and the code is not kept from it.
    pub(super) fn may_found_anew(&self, conn: ConnId, code: &GameCode) -> bool {
        let phase = self.connections.get(&conn).map(|connection| connection.phase);
        matches!(phase, Some(Phase::Returning(..))) && !self.is_kept_from(conn, code)
    }
}
