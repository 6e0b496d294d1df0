//! The relay's operator, who sees and orders: the games with their members, a member put out, a game ended.

use core::fmt;

use samovar_wire::relay::{FromRelay, Listing, Refusal};
use samovar_wire::{Duration, GameCode, PeerId, SessionId, Term, Time};

use super::connection::Phase;
use super::{ConnId, Directory, HostChange};

/// A game with at least one connection, as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameReport {
    /// The code to join by.
    pub code: GameCode,
    /// The session.
    pub session: SessionId,
    /// The hash of the agreed parameters: it identifies the game program.
    pub params: u64,
    /// The highest term that is known to have begun; `None` until the first is on disk.
    pub term: Option<Term>,
    /// The host of that term.
    pub host: Option<PeerId>,
    /// The host's description of the game; `None` before the first.
    pub listing: Option<Listing>,
    /// The connected peers, by their ids.
    pub members: Vec<MemberReport>,
}

/// A connected peer of a game, as the operator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberReport {
    /// The peer.
    pub peer: PeerId,
    /// Its connection.
    pub conn: ConnId,
    /// Whether a host has named it as a member, or it hosts.
    pub is_named: bool,
    /// How long it has been in the game without a gap.
    pub entered: Duration,
}

/// The reason why an order of the operator cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorError {
    /// No game with a connection has this code.
    NoSuchGame,
    /// The game has no such member.
    NoSuchMember,
    /// The member, or the game, is the relay's own.
    Own,
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchGame => "no game has this code",
            Self::NoSuchMember => "the game has no such member",
            Self::Own => "it is the relay's own, which stays",
        })
    }
}

impl core::error::Error for OperatorError {}

impl Directory {
    /// The games with at least one connection, by code.
    pub fn reports(&self, now: Time) -> impl Iterator<Item = GameReport> + '_ {
        self.codes.keys().filter_map(move |code| self.report(now, code))
    }

    /// A game with at least one connection.
    #[must_use]
    pub fn report(&self, now: Time, code: &GameCode) -> Option<GameReport> {
        let session = *self.codes.get(code)?;
        let game = self.games.get(&session)?;
        let entered = |conn: &ConnId| {
            self.connections.get(conn).map_or(Duration::ZERO, |known| now.since(known.entered))
        };
        let report = |(&peer, conn): (&PeerId, &ConnId)| MemberReport {
            peer,
            conn: *conn,
            is_named: game.host() == Some(peer) || game.named.contains(&peer),
            entered: entered(conn),
        };
        Some(GameReport {
            code: code.clone(),
            session,
            params: game.params,
            term: game.warrant.map(|warrant| warrant.term),
            host: game.host(),
            listing: game.listing.clone(),
            members: game.members.iter().map(report).collect(),
        })
    }

    /// The operator puts a member out of its game. Its connection is closed and its pass is void; it may come back as a
    /// newcomer. The host is told, and puts it out of the session, too. If the member hosts, the relay first gives the
    /// next term to the first connected member in the order of succession.
    ///
    /// # Errors
    /// There is no such member, or it is the relay's own.
    pub fn put_out(&mut self, now: Time, code: &GameCode, peer: PeerId) -> Result<(), OperatorError> {
        let session = *self.codes.get(code).ok_or(OperatorError::NoSuchGame)?;
        let game = self.games.get_mut(&session).ok_or(OperatorError::NoSuchGame)?;
        if !game.has(peer) && !game.has_named(peer) {
            return Err(OperatorError::NoSuchMember);
        }
        if game.is_own(peer) {
            return Err(OperatorError::Own);
        }
        self.expel(now, session, peer, Refusal::Barred);
        Ok(())
    }

    /// Puts a peer out of a game, and tells its connection this reason.
    fn expel(&mut self, now: Time, session: SessionId, peer: PeerId, refusal: Refusal) {
        let Some(game) = self.games.get_mut(&session) else { return };
        // A term for the peer may be on its way to disk; a higher one replaces it.
        let is_next = game.pending.is_some_and(|pending| pending.host == peer);
        let was_host = game.host() == Some(peer);
        let barred = game.bar_from(peer, None);
        if refusal == Refusal::Barred {
            game.note_kicked(peer);
        }
        let host = game.host().filter(|_| !was_host);
        let next = host.filter(|host| game.is_eligible(*host)).or_else(|| game.next_in_line());
        if let Some(host) = game.host_conn().filter(|_| !was_host) {
            self.send(host, &FromRelay::PutOut(peer));
        }
        if let Some(next) = next.filter(|_| was_host || is_next) {
            self.grant(session, next, HostChange::PutOut);
        }
        self.spend_token(session, peer);
        self.carry_out_bar(now, session, barred, refusal);
    }

    /// The operator ends a game: all its peers are refused, and the code leads nowhere for a day.
    ///
    /// # Errors
    /// No game with a connection has this code, or it is the relay's own table.
    pub fn end_game(&mut self, now: Time, code: &GameCode) -> Result<(), OperatorError> {
        let session = *self.codes.get(code).ok_or(OperatorError::NoSuchGame)?;
        let game = self.games.get_mut(&session).ok_or(OperatorError::NoSuchGame)?;
        if game.is_own_code {
            return Err(OperatorError::Own);
        }
        game.barred.is_ended = true;
        let here: Vec<_> = game.members.values().chain(game.entrants.values()).copied().collect();
        self.keep_record(session);
        for conn in self.awaiting.remove(&session).unwrap_or_default().into_iter().chain(here) {
            self.refuse(now, conn, Refusal::Ended);
        }
        Ok(())
    }

    /// The operator lets a connection's opener in no more, wherever it is: the peer is put out of its game, and its
    /// connection is closed.
    pub fn ban(&mut self, now: Time, conn: ConnId) {
        let Some(connection) = self.connections.get(&conn).filter(|known| !known.caller.is_own) else {
            return;
        };
        match connection.phase {
            Phase::Entrant(session, peer) | Phase::Entered(session, peer) => {
                self.expel(now, session, peer, Refusal::Banned);
            }
            _ => self.refuse(now, conn, Refusal::Banned),
        }
    }
}
