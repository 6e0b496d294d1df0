//! How a connection becomes a peer: it founds a game, joins one, or comes back.

use std::cmp::Reverse;

use samovar_wire::relay::{Enter, Entered, FromRelay, Purpose, Refusal};
use samovar_wire::{GameCode, PROTOCOL_VERSION, PeerId, PeerPass, SessionId, Term, Time, Warrant};

use super::connection::Phase;
use super::game::{Game, draw_id};
use super::strangers::Place;
use super::timers::Timer;
use super::{Barred, CloseReason, ConnId, Directory, HostChange, Note, Output, Request, TermRecord};
use crate::limits::{HOST_GRACE, REJOIN_WAIT, RETURNS_PER_GAME_MAX};

/// Letters of a random code: no vowels, so that it spells no word, and none that looks like another letter or digit.
const CODE_LETTERS: &[u8] = b"BCDFGHJKMNPRSTWXZ";
/// The number of letters of a random code. Six letters give 24 million codes, for 10,000 games.
const CODE_LENGTH: u32 = 6;
/// The number of games whose places are looked at for a newcomer who takes any game.
const CANDIDATES_MAX: usize = 16;

/// The game that a newcomer wants to be in.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) code: &'a GameCode,
    pub(super) params: u64,
    /// The member that the newcomer was before.
    pub(super) former: Option<PeerId>,
}

/// A game to be founded.
struct Founding {
    /// `None` for a random code.
    code: Option<GameCode>,
    params: u64,
    /// The bars of the session that had the code before.
    barred: Barred,
}

/// The values that a returning peer shows.
struct Return {
    code: GameCode,
    params: u64,
    pass: PeerPass,
    warrant: Warrant,
}

impl Directory {
    pub(super) fn enter(
        &mut self,
        now: Time,
        conn: ConnId,
        enter: Enter,
        is_genuine: bool,
    ) -> Result<(), Refusal> {
        if enter.version != PROTOCOL_VERSION {
            return Err(Refusal::Version(PROTOCOL_VERSION));
        }
        let params = enter.params;
        if matches!(enter.purpose, Purpose::Resume(..)) && !is_genuine {
            return Err(Refusal::BadPass);
        }
        let has_pass = self.check_entry(now, conn, &enter.purpose, is_genuine)?;
        match enter.purpose {
            Purpose::Create(code) => {
                self.create(now, conn, Founding { code, params, barred: Barred::default() })
            }
            Purpose::Join(code) => self.join(now, conn, Wish { code: &code, params, former: None }).map(drop),
            Purpose::Rejoin(code, pass) => {
                self.rejoin(now, conn, code, (Some(pass).filter(|_| is_genuine && has_pass), params))
            }
            Purpose::Match => self.find(now, conn, params),
            Purpose::Resume(code, pass, warrant) => {
                self.resume(now, conn, Return { code, params, pass, warrant })
            }
        }
    }

    fn create(&mut self, now: Time, conn: ConnId, founding: Founding) -> Result<(), Refusal> {
        let Founding { code, params, barred } = founding;
        if self.is_draining() {
            return Err(Refusal::Draining);
        }
        if self.games.len() >= self.quota.games {
            return Err(Refusal::Busy);
        }
        let code = match code {
            Some(code) if self.codes.contains_key(&code) => return Err(Refusal::CodeTaken),
            Some(code) if self.is_kept_from(conn, &code) => return Err(Refusal::Reserved),
            Some(code) => code,
            None => self.draw_code(),
        };
        let session = self.draw_session();
        let caller = self.caller(conn);
        let host = draw_id(&mut self.entropy, caller);
        let host = PeerId(host.0.max(1));
        let (term, serial) = (Term::FIRST, self.next_serial);
        let (begun, members, former) = ((term, host), vec![host], Vec::new());
        let vouched = self.vouched(conn).map(|vouched| (host, vouched)).into_iter().collect();
        self.list(TermRecord {
            session,
            code,
            params,
            term,
            host,
            begun,
            members,
            former,
            barred,
            vouched,
            serial,
        });
        self.become_entrant(now, conn, session, host);
        self.spend_token(session, host);
        Ok(())
    }

    /// Lets a newcomer into the fullest public game with these parameters that has a place. If there is none, the
    /// newcomer founds one.
    fn find(&mut self, now: Time, conn: ConnId, params: u64) -> Result<(), Refusal> {
        let candidate = |(session, game): (&SessionId, &Game)| {
            let listing = game.shown_listing().filter(|listing| listing.public && listing.open)?;
            let players = usize::from(listing.players);
            // A host could list any number, so only connected peers count.
            let rank = (Reverse(players.min(game.members.len())), game.serial);
            (players < usize::from(listing.capacity)).then_some((rank, *session))
        };
        let of_program = self.games.iter().filter(|(_, game)| game.params == params);
        let mut candidates: Vec<_> = of_program.filter_map(candidate).collect();
        if candidates.len() > CANDIDATES_MAX {
            candidates.select_nth_unstable(CANDIDATES_MAX);
            candidates.truncate(CANDIDATES_MAX);
        }
        candidates.sort_unstable();
        let found = candidates.into_iter().find(|(_, session)| self.has_seat_for(now, conn, *session));
        match found.and_then(|(_, session)| Some(self.games.get(&session)?.code.clone())) {
            Some(code) => self.join(now, conn, Wish { code: &code, params, former: None }).map(drop),
            None => self.create(now, conn, Founding { code: None, params, barred: Barred::default() }),
        }
    }

    /// A former member comes back as a new peer. If its game lives, it joins the game. If all members have said LEAVE
    /// or AWAY, it founds the game anew. If others may play on over direct paths, it waits for them.
    fn rejoin(
        &mut self,
        now: Time,
        conn: ConnId,
        code: GameCode,
        (pass, params): (Option<PeerPass>, u64),
    ) -> Result<(), Refusal> {
        let Some(&session) = self.codes.get(&code) else {
            return self.create(now, conn, Founding { code: Some(code), params, barred: Barred::default() });
        };
        let pass = pass.filter(|pass| pass.session == session && !self.was_kicked(pass));
        self.admits(conn, session, pass.as_ref().map(|pass| pass.peer))?;
        let former = pass.and_then(|pass| self.former(session, &pass));
        if self.join(now, conn, Wish { code: &code, params, former })? {
            self.begin_anew(session);
        } else if let Some(former) = former {
            let same = Phase::Returning(session, former);
            let is_same = |other: &ConnId| {
                *other != conn && self.connections.get(other).is_some_and(|other| other.phase == same)
            };
            if let Some(older) = self.awaiting.get(&session).and_then(|all| all.iter().copied().find(is_same))
            {
                self.close(now, older, CloseReason::Replaced);
            }
            self.timers.stop(Timer::Connection(conn));
            if self.vacated.contains(&session) && !self.is_kept_from(conn, &code) {
                self.found_anew(now, session);
            } else {
                self.timers.hasten(Timer::Reservation(session), now + REJOIN_WAIT);
            }
        }
        Ok(())
    }

    /// The peer of this pass, if a host of this session has named that peer.
    fn former(&self, session: SessionId, pass: &PeerPass) -> Option<PeerId> {
        let is_named = match self.games.get(&session) {
            Some(game) => game.has_named(pass.peer),
            None => self.archive.get(session).is_some_and(|record| record.has_named(pass.peer)),
        };
        is_named.then_some(pass.peer)
    }

    /// Gives the next term of a game without members to a newcomer that was a member before. It begins the session
    /// anew.
    pub(super) fn begin_anew(&mut self, session: SessionId) {
        if let Some(peer) = self.games.get(&session).and_then(Game::refounder) {
            self.grant(session, peer, HostChange::HandedOver);
        }
    }

    /// Lets the first former member that waits for a session found its game anew. The other waiting connections join
    /// it. Without a former member the game does not come back.
    pub(super) fn found_anew(&mut self, now: Time, session: SessionId) {
        let waiting = self.awaiting.remove(&session).unwrap_or_default();
        let record = self.archive.get(session);
        let barred = record.map(|record| record.barred.founded_anew()).unwrap_or_default();
        let record = record.map(|record| (record.code.clone(), record.params));
        self.free_code(session);
        let may_found =
            |conn: &&ConnId| record.as_ref().is_some_and(|(code, _)| self.may_found_anew(**conn, code));
        let founder = waiting.iter().find(may_found).copied();
        for conn in founder.into_iter().chain(waiting.iter().copied().filter(|conn| Some(*conn) != founder)) {
            self.timers.stop(Timer::Connection(conn));
            let phase = self.connections.get(&conn).map(|connection| connection.phase);
            let entered = match &record {
                // The peer waited for the former session, and has no id in the new one.
                _ if matches!(phase, Some(Phase::Resuming(..))) => Err(Refusal::UnknownGame),
                // The founder creates the game, unless another game has taken the code by now.
                Some((code, params)) if Some(conn) == founder && !self.codes.contains_key(code) => {
                    let (code, barred) = (Some(code.clone()), barred.clone());
                    self.create(now, conn, Founding { code, params: *params, barred })
                }
                Some((code, params)) => {
                    self.join(now, conn, Wish { code, params: *params, former: None }).map(drop)
                }
                None => Err(Refusal::UnknownGame),
            };
            if let Err(refusal) = entered {
                self.refuse(now, conn, refusal);
            }
        }
    }

    /// Lets a newcomer into a live game, or makes it wait for a game or for a place. Returns whether it has entered.
    pub(super) fn join(&mut self, now: Time, conn: ConnId, wish: Wish<'_>) -> Result<bool, Refusal> {
        let Wish { code, params, former } = wish;
        let session = *self.codes.get(code).ok_or(Refusal::UnknownGame)?;
        self.admits(conn, session, former)?;
        let waiting = former.map_or(Phase::Awaiting(session), |former| Phase::Returning(session, former));
        let Some(game) = self.games.get(&session) else {
            let record = self.archive.get(session).ok_or(Refusal::UnknownGame)?;
            if record.params != params {
                return Err(Refusal::Parameters);
            }
            return self.wait(now, conn, session, waiting).map(|()| false);
        };
        if game.params != params {
            return Err(Refusal::Parameters);
        }
        if former.is_none() && game.listing.as_ref().is_some_and(|listing| !listing.open) {
            return Err(Refusal::Closed);
        }
        match former {
            Some(_) if self.is_overfull(session) => return Err(Refusal::Busy),
            Some(_) => {}
            None => match self.make_place(now, conn, session, None) {
                Place::Free => {}
                Place::Later => return self.wait(now, conn, session, waiting).map(|()| false),
                Place::Full => return Err(Refusal::Busy),
            },
        }
        let caller = self.caller(conn);
        let Some(game) = self.games.get_mut(&session) else { return Err(Refusal::UnknownGame) };
        let peer = game.draw_peer(&mut self.entropy, caller);
        self.become_entrant(now, conn, session, peer);
        if let Some(former) = former
            && let Some(game) = self.games.get_mut(&session)
            && let Some(older) = game.note_returned(peer, former)
        {
            self.close(now, older, CloseReason::Replaced);
        }
        Ok(true)
    }

    /// Whether a live game has no place even for returning members.
    fn is_overfull(&self, session: SessionId) -> bool {
        let places = self.quota.connections_per_game + RETURNS_PER_GAME_MAX;
        self.games.get(&session).is_some_and(|game| game.connections() >= places)
    }

    fn resume(&mut self, now: Time, conn: ConnId, back: Return) -> Result<(), Refusal> {
        let Return { code, params, pass, warrant } = back;
        let (session, peer) = (pass.session, pass.peer);
        self.admits(conn, session, Some(peer))?;
        if let Some(game) = self.games.get(&session) {
            if game.code != code {
                return Err(Refusal::BadPass);
            }
            if game.params != params {
                return Err(Refusal::Parameters);
            }
            self.remember_named(session, &pass);
            let Some(game) = self.games.get(&session) else { return Err(Refusal::UnknownGame) };
            if game.is_expected(peer) {
                if !game.has(peer) && self.is_overfull(session) {
                    return Err(Refusal::Busy);
                }
            } else {
                match self.make_place(now, conn, session, Some(peer)) {
                    Place::Free => {}
                    Place::Later => return self.wait(now, conn, session, Phase::Resuming(session, peer)),
                    Place::Full => return Err(Refusal::Busy),
                }
            }
            self.learn(now, session, &warrant);
        } else if self.archive.get(session).is_some_and(|record| !self.may_relist(conn, record, &pass)) {
            // This peer may not list the game again, for example because no host has named it. It waits for a member,
            // like a newcomer.
            self.recall(session, &code, params)?;
            return self.wait(now, conn, session, Phase::Resuming(session, peer));
        } else {
            if self.is_kept_from(conn, &code) && self.codes.get(&code) != Some(&session) {
                return Err(Refusal::Reserved);
            }
            self.relist(now, code, params, &warrant)?;
            self.remember_named(session, &pass);
        }
        self.become_entrant(now, conn, session, peer);
        self.await_host(now, session);
        Ok(())
    }

    /// Counts a peer as a member that proves by its pass that a host has named it, if the relay's disk is too old to
    /// know that.
    fn remember_named(&mut self, session: SessionId, pass: &PeerPass) {
        let game = self.games.get_mut(&session).filter(|_| pass.is_named);
        if game.is_some_and(|game| game.remember_named(pass.peer)) {
            self.keep_record(session);
        }
    }

    /// Takes a warrant that a member of a live game shows. It may be newer than the relay's present one, because it
    /// was in reserve or the relay lost its disk.
    fn learn(&mut self, now: Time, session: SessionId, warrant: &Warrant) {
        let Some(game) = self.games.get_mut(&session) else { return };
        let is_new = game.warrant.is_some_and(|known| warrant.term > known.term);
        if game.note_begun_of_pending(warrant) {
            self.keep_record(session);
        }
        let Some(game) = self.games.get(&session) else { return };
        if game.reserve.is_some_and(|reserve| reserve.term == warrant.term) {
            self.begin_reserve(now, session);
        } else if game.highest().is_some_and(|highest| warrant.term > highest) {
            self.persist(session, warrant.term, warrant.host, HostChange::Shown);
        } else if is_new {
            // This warrant was in reserve, and the relay put another one in reserve after it.
            self.note_begun(session, *warrant);
        }
    }

    /// Lists a game without connections at this relay, under its highest known term.
    fn relist(&mut self, now: Time, code: GameCode, params: u64, warrant: &Warrant) -> Result<(), Refusal> {
        let session = warrant.session;
        let known = self.recall(session, &code, params)?;
        let shown = (warrant.term, warrant.host);
        let vouched = known.map(|known| known.vouched.clone()).unwrap_or_default();
        let lists = known.map(|known| (known.members.clone(), known.former.clone(), known.barred.clone()));
        let (mut members, former, barred) = lists.unwrap_or_default();
        let ((term, host), begun) = match known.filter(|known| known.term > shown.0) {
            Some(known) => ((known.term, known.host), known.begun.max(shown)),
            None => (shown, shown),
        };
        // Without a list of members, for example after the relay lost its disk, only the host is known.
        if members.is_empty() {
            members.push(begun.1);
        }
        if self.games.len() >= self.quota.games {
            return Err(Refusal::Busy);
        }
        self.archive.remove(session);
        self.timers.stop(Timer::Dormant(session));
        self.timers.stop(Timer::Reservation(session));
        self.vacated.remove(&session);
        let serial = self.next_serial;
        self.list(TermRecord {
            session,
            code,
            params,
            term,
            host,
            begun,
            members,
            former,
            barred,
            vouched,
            serial,
        });
        if let Some(game) = self.games.get_mut(&session) {
            (game.relisted, game.awaits_host) = (Some(now), true);
        }
        self.timers.set(Timer::Grace(session), now + HOST_GRACE);
        self.let_awaiting_in(now, session);
        Ok(())
    }

    fn list(&mut self, record: TermRecord) {
        self.next_serial = self.next_serial.saturating_add(1);
        self.codes.insert(record.code.clone(), record.session);
        let is_own_code = self.own_code.as_ref() == Some(&record.code);
        let mut game = Game::new(&record);
        game.is_own_code = is_own_code;
        self.games.insert(record.session, game);
        self.requests.push_back(Request::Persist(record));
    }

    /// Makes a connection the connection of this peer: at once, or when the game's first warrant is on disk.
    pub(super) fn become_entrant(&mut self, now: Time, conn: ConnId, session: SessionId, peer: PeerId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        game.remember(peer);
        let known = self.connections.get(&conn);
        let caller = known.map(|connection| connection.caller);
        game.note_caller(peer, caller.unwrap_or_default());
        game.note_vouched(peer, known.and_then(|known| Some(known.clearance.as_ref()?.vouched.clone())));
        let older = game.members.get(&peer).or_else(|| game.entrants.get(&peer)).copied();
        let warrant = game.warrant;
        game.entrants.insert(peer, conn);
        let since = older.and_then(|older| self.connections.get(&older)).map_or(now, |older| older.entered);
        self.connections.get_mut(&conn).into_iter().for_each(|connection| connection.entered = since);
        self.set_phase(conn, Phase::Entrant(session, peer));
        self.place_token(conn, session, peer);
        if warrant.is_some() {
            self.admit(now, session, peer);
        }
        if let Some(older) = older {
            // The older connection has lost its place already, so no member hears that the peer is gone.
            self.close(now, older, CloseReason::Replaced);
        }
    }

    pub(super) fn admit_entrants(&mut self, now: Time, session: SessionId) {
        let entrants = self.games.get(&session).map(|game| game.entrants.keys().copied().collect::<Vec<_>>());
        for peer in entrants.unwrap_or_default() {
            self.admit(now, session, peer);
        }
        self.await_host(now, session);
        self.begin_anew(session);
    }

    fn admit(&mut self, now: Time, session: SessionId, peer: PeerId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        let (Some(conn), Some(warrant)) = (game.entrants.remove(&peer), game.warrant) else { return };
        game.members.insert(peer, conn);
        self.watch_members(now, session);
        let Some(game) = self.games.get_mut(&session) else { return };
        if peer == warrant.host {
            // A probe on the host's older connection is void. Waiting claims cause another probe.
            game.claims.probe = None;
            if game.claims.waiting(now).next().is_none() {
                game.loss.since = None;
            }
        }
        let (code, is_named) = (game.code.clone(), game.has_named(peer));
        let voucher =
            self.vouched(conn).map(|vouched| Box::new(self.signatory.voucher(session, peer, vouched)));
        let entered = Entered {
            code,
            voucher,
            pass: self.signatory.pass(session, peer, is_named),
            key: self.signatory.key().to_bytes(),
            warrant,
            session,
        };
        self.set_phase(conn, Phase::Entered(session, peer));
        self.send(conn, &FromRelay::Entered(entered));
        if let Some(game) = self.games.get(&session).filter(|game| game.host_conn().is_none()) {
            let reserve = game.reserve.filter(|_| game.counts(peer));
            let enters = game.entrants.contains_key(&warrant.host);
            if !enters {
                self.send(conn, &FromRelay::Gone(warrant.host));
            }
            if let Some(reserve) = reserve {
                self.send(conn, &FromRelay::Successor(reserve));
            }
        }
        if self.is_reachable {
            self.send(conn, &FromRelay::Reachable);
        }
        self.tell_draining(now, conn);
        self.time_trip(now, session, peer);
        self.outputs.push_back(Output::Note(Note::Entered { conn, session, peer }));
    }

    fn draw_code(&mut self) -> GameCode {
        loop {
            let mut number = self.entropy.number();
            let mut text = String::new();
            for _ in 0..CODE_LENGTH {
                let (rest, letter) = (number / CODE_LETTERS.len() as u64, number % CODE_LETTERS.len() as u64);
                text.push(char::from(CODE_LETTERS[letter as usize]));
                number = rest;
            }
            let code = GameCode::parse(&text).expect("six letters are a code");
            if !self.codes.contains_key(&code) && self.own_code.as_ref() != Some(&code) {
                return code;
            }
        }
    }

    fn draw_session(&mut self) -> SessionId {
        loop {
            let session = SessionId(self.entropy.number());
            if session.0 != 0 && !self.games.contains_key(&session) && self.archive.get(session).is_none() {
                return session;
            }
        }
    }

    pub(super) fn set_phase(&mut self, conn: ConnId, phase: Phase) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.phase = phase;
        }
    }
}
