//! The word of the game's own server about peers, and the tokens by which it is given (PROTOCOL §5.8).
//!
//! A directory that is *gated* lets in only peers that the driver has an clearance for, and peers that it knows by their
//! passes: members of that game, now or before, and the bearer of a token that no host has named yet.

use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::relay::{Enter, FromRelay, Purpose, Refusal, TokenFault};
use samovar_wire::{Duration, GameCode, PROTOCOL_VERSION, PeerId, PeerPass, SessionId, Time, Vouched};

use super::connection::Phase;
use super::{CloseReason, ConnId, Directory};
use crate::limits::{ENTER_WITHIN, TOKENS_MAX};

/// The name of a token: a digest of what its issuer has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub [u8; 16]);

/// The word of the game's own server about the peer of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clearance {
    /// The one game that the peer may enter; `None` for any.
    pub game: Option<GameCode>,
    /// The peer's name and role.
    pub vouched: Vouched,
    /// The token that said so, and how long it counts yet. It makes one member.
    pub token: Option<(TokenId, Duration)>,
}

/// The intent of a peer, for the game's own server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The act.
    pub act: Intent,
    /// The word about the peer that is known already, if it comes back.
    pub known: Option<Vouched>,
}

/// The intent of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It founds a game.
    Creates,
    /// It joins a game as a newcomer.
    Joins,
    /// It joins any public game, or founds one.
    Matches,
    /// It comes back to a game as a new peer: its pass proves that it was a member.
    Rejoins,
    /// It goes on as the same peer.
    Resumes,
}

/// The tokens that were shown, until they end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tokens {
    used: BTreeMap<TokenId, Use>,
    by_end: BTreeSet<(Time, TokenId)>,
    /// The token of each peer that one has let in.
    of_peer: BTreeMap<(SessionId, PeerId), TokenId>,
}

/// The effect of a token so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Use {
    /// The connection that showed it last.
    conn: ConnId,
    /// The peer that it has let in.
    peer: Option<(SessionId, PeerId)>,
    /// Whether it has made a member: a host has named the peer, or barred it, or the peer founded a game.
    is_spent: bool,
}

impl Directory {
    /// Sets whether only peers may enter for which the driver has an clearance, and peers that the relay knows, from now
    /// on. Peers that have entered already stay. The relay's own peers need none.
    pub const fn set_gated(&mut self, is_gated: bool) {
        self.is_gated = is_gated;
    }

    /// The intent of a peer that sends this message. A driver that asks the game's own server calls this before, so
    /// that it asks nothing in vain. The connection then has more time to enter. `is_genuine` says whether the relay has
    /// signed what the message shows.
    ///
    /// # Errors
    /// The peer would be refused whatever that server says.
    pub fn preview(
        &mut self,
        now: Time,
        conn: ConnId,
        enter: &Enter,
        is_genuine: bool,
    ) -> Result<Preview, Refusal> {
        if enter.version != PROTOCOL_VERSION {
            return Err(Refusal::Version(PROTOCOL_VERSION));
        }
        let plain = |act| Ok(Preview { act, known: None });
        let preview = match &enter.purpose {
            Purpose::Create(Some(code)) if self.codes.contains_key(code) => Err(Refusal::CodeTaken),
            Purpose::Create(_) if self.is_draining() => Err(Refusal::Draining),
            Purpose::Create(_) => plain(Intent::Creates),
            Purpose::Match => plain(Intent::Matches),
            Purpose::Resume(..) => plain(Intent::Resumes),
            Purpose::Join(code) => self.may_join(conn, code).and_then(|()| plain(Intent::Joins)),
            Purpose::Rejoin(code, pass) if is_genuine && self.knows_member(code, pass) => {
                self.admits(conn, pass.session, Some(pass.peer))?;
                Ok(Preview { act: Intent::Rejoins, known: self.known(pass.session, pass.peer) })
            }
            Purpose::Rejoin(code, _) if self.codes.contains_key(code) => {
                self.may_join(conn, code).and_then(|()| plain(Intent::Joins))
            }
            Purpose::Rejoin(..) => plain(Intent::Creates),
        };
        if preview.is_ok() && self.connections.get(&conn).is_some_and(|known| known.phase == Phase::New) {
            self.timers.set(super::timers::Timer::Connection(conn), now + ENTER_WITHIN);
        }
        preview
    }

    fn may_join(&self, conn: ConnId, code: &GameCode) -> Result<(), Refusal> {
        let session = *self.codes.get(code).ok_or(Refusal::UnknownGame)?;
        self.admits(conn, session, None)
    }

    /// Takes the word of the game's own server for a connection that has not entered yet. A later one replaces it.
    pub fn handle_vouched(&mut self, conn: ConnId, clearance: Clearance) {
        if let Some(connection) = self.connections.get_mut(&conn).filter(|known| known.phase == Phase::New) {
            connection.clearance = Some(clearance);
        }
    }

    /// Notes the fault of the token of a connection that has not entered yet.
    pub fn handle_fault(&mut self, conn: ConnId, fault: TokenFault) {
        if let Some(connection) = self.connections.get_mut(&conn).filter(|known| known.phase == Phase::New) {
            connection.fault = Some(fault);
        }
    }

    /// Refuses a connection that has not entered yet, with words for the player, if there are any.
    pub fn handle_not_vouched(&mut self, now: Time, conn: ConnId, refusal: Refusal, told: Option<String>) {
        if self.connections.get(&conn).is_some_and(|known| known.phase == Phase::New) {
            if let Some(told) = told {
                self.send(conn, &FromRelay::Told(told));
            }
            self.refuse(now, conn, refusal);
        }
    }

    /// Checks that a connection may enter as it wants to. If it may, what is known about its peer is in its state from
    /// now on, and its token is in use. Returns whether the pass that it shows counts.
    ///
    /// # Errors
    /// It has no clearance, or one for another game; or its token has made a member.
    pub(super) fn check_entry(
        &mut self,
        now: Time,
        conn: ConnId,
        purpose: &Purpose,
        is_genuine: bool,
    ) -> Result<bool, Refusal> {
        let is_own = self.caller(conn).is_own;
        let (code, known) = match purpose {
            Purpose::Resume(_, pass, _) => {
                let place = (pass.session, pass.peer);
                self.admits(conn, pass.session, Some(pass.peer))?;
                let is_known = self.has_named(place) || self.is_let_in(place);
                if self.is_gated && !is_own && !is_known {
                    // The relay's old signatures could bring back any game under any code.
                    return Err(Refusal::BadPass);
                }
                self.set_known(conn, place);
                return Ok(true);
            }
            Purpose::Create(code) => (code.as_ref(), None),
            Purpose::Join(code) => (Some(code), None),
            Purpose::Rejoin(code, pass) => {
                (Some(code), Some(pass).filter(|pass| is_genuine && self.knows_member(code, pass)))
            }
            Purpose::Match => (None, None),
        };
        if let Some(pass) = known {
            self.set_known(conn, (pass.session, pass.peer));
            return Ok(true);
        }
        let Some(connection) = self.connections.get_mut(&conn) else { return Ok(true) };
        match &connection.clearance {
            Some(clearance) if clearance.game.is_some() && clearance.game.as_ref() != code => {
                Err(Refusal::Token(TokenFault::OtherGame))
            }
            // A pass that is void does not stand in the way of a token.
            Some(clearance) => {
                let token = clearance.token;
                token.map_or(Ok(()), |token| self.use_token(now, conn, token)).map(|()| token.is_none())
            }
            None if !self.is_gated => Ok(true),
            None if is_own => {
                connection.clearance = Some(Clearance::default());
                Ok(true)
            }
            None => Err(Refusal::Token(connection.fault.unwrap_or(TokenFault::Missing))),
        }
    }

    /// Whether a token has let a peer of a live game in that no host has named yet.
    fn is_let_in(&self, place: (SessionId, PeerId)) -> bool {
        let known = self.tokens.of_peer.get(&place).and_then(|token| self.tokens.used.get(token));
        known.is_some_and(|known| !known.is_spent) && self.games.contains_key(&place.0)
    }

    /// Whether a pass is that of a member of the game of this code, now or before.
    fn knows_member(&self, code: &GameCode, pass: &PeerPass) -> bool {
        let holder = self.codes.get(code).copied();
        let has_code = match self.games.get(&pass.session) {
            Some(game) => game.code == *code,
            None => self.archive.get(pass.session).is_some_and(|record| record.code == *code),
        };
        has_code
            && holder.is_none_or(|holder| holder == pass.session)
            && self.has_named((pass.session, pass.peer))
    }

    /// The known word about a peer that was let in before.
    fn known(&self, session: SessionId, peer: PeerId) -> Option<Vouched> {
        match self.games.get(&session) {
            Some(game) => game.vouched.get(&peer).cloned(),
            None => {
                let record = self.archive.get(session)?;
                record.vouched.iter().find(|(known, _)| *known == peer).map(|(_, vouched)| vouched.clone())
            }
        }
    }

    /// Notes at a connection what is known about its peer, which comes back. The word of the game's own server in answer to
    /// the relay's question counts before that.
    fn set_known(&mut self, conn: ConnId, (session, peer): (SessionId, PeerId)) {
        let known = self.known(session, peer);
        let is_gated = self.is_gated;
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        let answered = connection.clearance.take().map(|clearance| clearance.vouched);
        if known.is_none() && answered.is_none() && !is_gated {
            return;
        }
        let (known, answered) = (known.unwrap_or_default(), answered.unwrap_or_default());
        let vouched =
            Vouched { name: answered.name.or(known.name), watches: answered.watches.or(known.watches) };
        connection.clearance = Some(Clearance { vouched, ..Clearance::default() });
    }

    /// The word about the peer of a connection.
    pub(super) fn vouched(&self, conn: ConnId) -> Option<Vouched> {
        Some(self.connections.get(&conn)?.clearance.as_ref()?.vouched.clone())
    }

    /// Puts a connection's token in use. A peer that it has let in and that no host has named gives way: its answer may
    /// have been lost.
    fn use_token(
        &mut self,
        now: Time,
        conn: ConnId,
        (token, left): (TokenId, Duration),
    ) -> Result<(), Refusal> {
        self.tokens.forget_ended(now);
        match self.tokens.used.get(&token).copied() {
            Some(before) if before.is_spent => return Err(Refusal::Token(TokenFault::Used)),
            Some(before) => {
                let mut others = BTreeSet::from([before.conn]);
                if let Some((session, peer)) = before.peer {
                    // Its pass counts for nothing any more.
                    self.tokens.of_peer.remove(&(session, peer));
                    let game = self.games.get(&session);
                    others.extend(game.and_then(|game| game.connection_of(peer)));
                }
                others.remove(&conn);
                others.retain(|other| self.shows(*other, token));
                for other in others {
                    self.close(now, other, CloseReason::Replaced);
                }
            }
            None if self.tokens.used.len() >= TOKENS_MAX => return Err(Refusal::Busy),
            None => drop(self.tokens.by_end.insert((now + left, token))),
        }
        self.tokens.used.insert(token, Use { conn, peer: None, is_spent: false });
        Ok(())
    }

    /// Whether a connection is there, by this token or by the pass of its peer.
    fn shows(&self, conn: ConnId, token: TokenId) -> bool {
        let Some(connection) = self.connections.get(&conn) else { return false };
        let shown = connection.clearance.as_ref().and_then(|clearance| clearance.token);
        shown.is_none_or(|(shown, _)| shown == token)
    }

    /// Notes that a connection's token lets this peer in.
    pub(super) fn place_token(&mut self, conn: ConnId, session: SessionId, peer: PeerId) {
        let token = self.connections.get(&conn).and_then(|known| known.clearance.as_ref()?.token);
        if let Some((token, _)) = token
            && let Some(known) = self.tokens.used.get_mut(&token).filter(|known| known.conn == conn)
        {
            known.peer = Some((session, peer));
            self.tokens.of_peer.insert((session, peer), token);
        }
    }

    /// Notes that a peer is a member, or was barred: its token has done its work.
    pub(super) fn spend_token(&mut self, session: SessionId, peer: PeerId) {
        let token = self.tokens.of_peer.get(&(session, peer));
        if let Some(known) = token.and_then(|token| self.tokens.used.get_mut(token)) {
            known.is_spent = true;
        }
    }

    /// Frees the token of a connection that goes before its peer has entered.
    pub(super) fn release_token(&mut self, conn: ConnId, token: TokenId) {
        if self.tokens.used.get(&token).is_some_and(|known| known.conn == conn && known.peer.is_none()) {
            self.tokens.used.remove(&token);
        }
    }

    /// At a gated relay a pass brings one member back: when a host names a peer that came back by the pass of another, that
    /// pass is void, and whoever still uses it goes.
    pub(super) fn retire_passes(&mut self, now: Time, session: SessionId) {
        if !self.is_gated {
            return;
        }
        let Some(game) = self.games.get_mut(&session) else { return };
        for conn in game.retire_returned() {
            self.close(now, conn, CloseReason::Replaced);
        }
    }

    /// Whether a host has named a peer, now or before.
    fn has_named(&self, (session, peer): (SessionId, PeerId)) -> bool {
        match self.games.get(&session) {
            Some(game) => game.has_named(peer),
            None => self.archive.get(session).is_some_and(|record| record.has_named(peer)),
        }
    }
}

impl Tokens {
    fn forget_ended(&mut self, now: Time) {
        while let Some(&(ends, token)) = self.by_end.first().filter(|(ends, _)| *ends <= now) {
            self.by_end.remove(&(ends, token));
            if let Some(place) = self.used.remove(&token).and_then(|known| known.peer) {
                self.of_peer.remove(&place);
            }
        }
    }
}
