//! The messages of members to each other and to the relay, and the departure of members.

use samovar_wire::relay::{FromRelay, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Duration, PeerId, SessionId, Time};

use super::claims::Claim;
use super::connection::Phase;
use super::timers::Timer;
use super::{Class, ConnId, Directory, Output, RelayOffer, Request};
use crate::limits::{AWAY_WAIT, CODE_KEPT_FOR, DORMANT_FOR, RETURNS_WITHIN};

impl Directory {
    pub(super) fn on_member(
        &mut self,
        now: Time,
        (session, peer): (SessionId, PeerId),
        conn: ConnId,
        message: ToRelay,
    ) {
        match message {
            ToRelay::Claim(term, candidate) => {
                self.on_claim(now, session, Claim { peer, term, candidate });
            }
            ToRelay::Doubt => self.on_doubt(now, session, peer),
            ToRelay::Alive(nonce) => self.on_alive(now, session, peer, nonce),
            ToRelay::Signal(to, signal) => {
                if !self.connections.get_mut(&conn).is_some_and(|connection| connection.takes_signal(now)) {
                    self.refuse(now, conn, Refusal::Misbehaved);
                } else if to == PeerId::RELAY {
                    self.on_signal_to_relay(conn, signal);
                } else if let Some(target) = self.route(conn, to) {
                    let class = self.class_of(conn);
                    self.send_as(class, target, &FromRelay::Signal(peer, signal));
                }
            }
            ToRelay::Listing(listing) => {
                self.note_reign(now, session, peer);
                if let Some(game) = self.games.get_mut(&session)
                    && game.host() == Some(peer)
                {
                    game.listing = Some(listing);
                }
            }
            ToRelay::Members(members, joining) => {
                self.on_members(now, session, peer, (members, joining.into()));
            }
            ToRelay::Bar(barred) => self.on_bar(now, session, peer, barred),
            ToRelay::Leave | ToRelay::Away | ToRelay::Enter(_) | ToRelay::Token(_) => {
                self.refuse(now, conn, Refusal::Misbehaved)
            }
        }
    }

    /// Takes a list of members, if it comes from the host. The list may turn the waiting claims into a majority.
    fn on_members(
        &mut self,
        now: Time,
        session: SessionId,
        peer: PeerId,
        (members, joining): (Vec<PeerId>, usize),
    ) {
        self.note_reign(now, session, peer);
        if let Some(game) = self.games.get_mut(&session)
            && game.host() == Some(peer)
        {
            let newly: Vec<_> =
                members.iter().copied().filter(|member| !game.named.contains(member)).collect();
            let are_others = game.name(members.clone(), joining);
            self.send_passes(session, &newly);
            members.iter().for_each(|member| self.spend_token(session, *member));
            self.retire_passes(now, session);
            if are_others {
                // No message waits for this write. If it is lost, the members come back by their passes.
                self.keep_record(session);
            }
            self.tell_barred(session, &members);
            self.watch_members(now, session);
            self.consider_claims(now, session);
            // A named peer is no stranger any more, so another stranger may get its place.
            self.let_awaiting_in(now, session);
        }
    }

    /// Sends passes to peers that a host has named just now.
    fn send_passes(&mut self, session: SessionId, newly: &[PeerId]) {
        let Some(game) = self.games.get(&session) else { return };
        let here = newly.iter().filter(|peer| game.named.contains(peer));
        let here: Vec<_> = here.filter_map(|peer| Some((*peer, *game.members.get(peer)?))).collect();
        for (peer, conn) in here {
            let pass = self.signatory.pass(session, peer, true);
            self.send(conn, &FromRelay::Pass(pass));
        }
    }

    /// Starts the timer of a game without a connected member, and stops it when there is one again. When the timer
    /// ends, the game is abandoned. The timer runs for as long as a code is kept, and for a shorter time if all members
    /// have said that they go.
    pub(super) fn watch_members(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.is_manned() {
            game.is_abandoned = false;
            self.timers.stop(Timer::Abandoned(session));
        } else if !game.is_abandoned {
            let within = match (game.is_vacated(), game.is_only_away()) {
                (false, _) => CODE_KEPT_FOR,
                (true, true) => AWAY_WAIT,
                (true, false) => Duration::ZERO,
            };
            self.timers.start(Timer::Abandoned(session), now + within);
            self.timers.hasten(Timer::Abandoned(session), now + within);
        }
    }

    pub(super) fn on_abandoned(&mut self, now: Time, session: SessionId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        game.is_abandoned = true;
        // A former member goes first: it has kept seats and scores, and other newcomers have not.
        self.begin_anew(session);
        self.consider_claims(now, session);
    }

    fn on_signal_to_relay(&mut self, conn: ConnId, signal: Signal) {
        if let (true, Signal::Offer(attempt, description)) = (self.is_reachable, signal) {
            self.offers.push_back(RelayOffer { conn, attempt, description });
        }
    }

    /// Forwards a packet. One for a peer that is gone is dropped, like any packet that comes too late.
    pub(super) fn forward(&mut self, now: Time, conn: ConnId, to: PeerId, bytes: &[u8]) {
        let Some(from) = self.peer_of(conn) else { return self.refuse(now, conn, Refusal::Misbehaved) };
        if let Some(target) = self.route(conn, to) {
            let mut bytes = bytes.to_vec();
            RelayFrame::readdress(&mut bytes, from);
            self.outputs.push_back(Output::Send { conn: target, bytes, class: self.class_of(conn) });
        }
    }

    /// Sends a message to all peers of a game.
    pub(super) fn broadcast(&mut self, session: SessionId, message: &FromRelay) {
        self.broadcast_as(Class::Control, session, message);
    }

    fn broadcast_as(&mut self, class: Class, session: SessionId, message: &FromRelay) {
        let Some(game) = self.games.get(&session) else { return };
        let bytes = RelayFrame::control(message);
        let all = game.members.values();
        self.outputs.extend(all.map(|&conn| Output::Send { conn, bytes: bytes.clone(), class }));
    }

    /// Removes a connection from its game or queue.
    pub(super) fn detach(&mut self, now: Time, conn: ConnId) {
        let Some(connection) = self.connections.remove(&conn) else { return };
        if let Some((token, _)) = connection.clearance.as_ref().and_then(|clearance| clearance.token) {
            self.release_token(conn, token);
        }
        self.timers.stop(Timer::Connection(conn));
        if self.connections.is_empty() {
            self.timers.stop(Timer::Pulse);
        }
        match connection.phase {
            Phase::New => {}
            Phase::Awaiting(session) | Phase::Returning(session, _) | Phase::Resuming(session, _) => {
                self.stop_waiting(session, conn);
            }
            Phase::Entrant(session, peer) | Phase::Entered(session, peer) => {
                self.detach_peer(now, session, peer, conn);
                self.unlist_empty(now, session);
                self.let_awaiting_in(now, session);
            }
        }
    }

    /// Notes that a member has announced its departure, and whether it may come back as a new peer.
    pub(super) fn note_departure(&mut self, phase: Phase, is_away: bool) {
        if let Phase::Entrant(session, peer) | Phase::Entered(session, peer) = phase
            && let Some(game) = self.games.get_mut(&session)
        {
            game.note_departure(peer, is_away);
        }
    }

    fn detach_peer(&mut self, now: Time, session: SessionId, peer: PeerId, conn: ConnId) {
        let Some(game) = self.games.get_mut(&session) else { return };
        if game.entrants.get(&peer) == Some(&conn) {
            game.entrants.remove(&peer);
        }
        if game.members.get(&peer) == Some(&conn) {
            if game.host() == Some(peer) {
                game.note_missed(now);
                // The host is gone and cannot answer its probe.
                game.claims.probe = None;
                self.timers.stop(Timer::Probe(session));
            }
            // Strangers that come and go must not fill the members' queues.
            let class = if game.counts(peer) { Class::Control } else { Class::Stranger(conn) };
            game.members.remove(&peer);
            game.claims.remove(now, peer);
            self.watch_members(now, session);
            self.broadcast_as(class, session, &FromRelay::Gone(peer));
            self.consider_claims(now, session);
            self.begin_anew(session);
        }
    }

    /// Ends a game without connections. If some member has not said that it goes, members may play on over direct
    /// paths, so the code is kept for them. If all have said so and one of them may come back, the code is kept for a
    /// shorter time.
    fn unlist_empty(&mut self, now: Time, session: SessionId) {
        if self.games.get(&session).is_none_or(|game| !game.is_empty()) {
            return;
        }
        let Some(game) = self.games.remove(&session) else { return };
        self.codes.remove(&game.code);
        self.timers.stop(Timer::Probe(session));
        self.timers.stop(Timer::Grace(session));
        self.timers.stop(Timer::Abandoned(session));
        if let Some(record) = game.record(session) {
            if record.barred.is_ended {
                // Its members may still play over direct paths, and must not bring it back.
                self.reserve_code(now, &record, DORMANT_FOR);
                return self.archive(now, record, DORMANT_FOR);
            }
            let is_back = game.relisted.is_some_and(|since| now < since + CODE_KEPT_FOR);
            let is_vacated = !is_back && game.is_vacated();
            if is_vacated && !game.is_only_away() && !record.was_joined() {
                return self.requests.push_back(Request::Forget(session));
            }
            if !is_vacated {
                self.reserve_code(now, &record, CODE_KEPT_FOR);
            } else if game.is_only_away() {
                self.reserve_code(now, &record, RETURNS_WITHIN);
                self.vacated.insert(session);
            }
            self.archive(now, record, CODE_KEPT_FOR);
        }
    }
}
