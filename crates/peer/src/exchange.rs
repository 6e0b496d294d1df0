//! The exchange between the relay's client and the session: entry, warrants, claims, hints, the listing.

use samovar_directory::{ClientEvent, ClientRequest, SocketId};
use samovar_session::{Role, Rules, Session, SessionConfig, Suspension};
use samovar_wire::carried::Leg;
use samovar_wire::relay::{Entered, Refusal};
use samovar_wire::{Mode, PeerId, Time};

use crate::config::PathPolicy;
use crate::driver::{PeerEvent, Request, Transmit};
use crate::path::{AttemptEnd, PathState};
use crate::peer::Peer;

impl Peer {
    /// Handles the driver's report that it has opened a WebSocket.
    pub fn handle_relay_opened(&mut self, now: Time, socket: SocketId) {
        self.routes.touch();
        self.relay.client.handle_opened(now, socket);
        self.drive(now);
    }

    /// Handles the driver's report that a WebSocket closed, or could not be opened.
    pub fn handle_relay_closed(&mut self, now: Time, socket: SocketId) {
        self.routes.touch();
        self.relay.client.handle_closed(now, socket);
        self.drive(now);
    }

    /// Handles a binary message that came on a WebSocket.
    pub fn handle_relay_message(&mut self, now: Time, socket: SocketId, bytes: &[u8]) {
        self.relay.client.handle_message(now, socket, bytes);
        self.drive(now);
    }

    pub(crate) fn drain_client(&mut self, now: Time) {
        while let Some(event) = self.relay.client.poll_event() {
            self.on_client_event(now, event);
        }
        if self.relay.takes_settlement() {
            self.routes.touch();
        }
        while let Some(request) = self.relay.client.poll_request() {
            self.out.ask(match request {
                ClientRequest::Open(socket) => Request::OpenRelay(socket),
                ClientRequest::Close(socket) => Request::CloseRelay(socket),
            });
        }
        while let Some((socket, bytes)) = self.relay.client.poll_transmit() {
            self.out.send(Transmit::Relay { socket, bytes });
        }
    }

    fn on_client_event(&mut self, now: Time, event: ClientEvent) {
        self.routes.touch();
        match event {
            ClientEvent::Entered(entered) => self.on_entered(now, entered),
            ClientEvent::Refused(refusal) => self.on_refused(now, refusal),
            ClientEvent::CodeTaken => self.on_code_taken(now),
            ClientEvent::Failed(fault) => {
                self.out.tell(PeerEvent::Failed(fault));
                self.leaving.set_over(self.session.is_none());
            }
            ClientEvent::Moved => self.on_moved(now),
            ClientEvent::Lost => self.on_lost(now),
            ClientEvent::Restored => self.on_restored(now),
            ClientEvent::Forwarded { from, mode, payload } => {
                self.on_relayed(now, from, (mode, &payload), true)
            }
            ClientEvent::Signal(from, signal) => self.on_signal(now, from, signal),
            ClientEvent::Issued(warrant) => {
                if let Some(session) = &mut self.session {
                    session.witness(now).handle_warrant(&warrant);
                }
            }
            ClientEvent::Successor(warrant) => {
                if let Some(session) = &mut self.session {
                    session.witness(now).handle_successor(warrant);
                }
            }
            ClientEvent::Reachable => self.routes.relay_path.on_reachable(now),
            ClientEvent::Draining(within) => self.on_draining(now, within),
            ClientEvent::Denied(term, denial) => {
                if let Some(session) = &mut self.session {
                    session.witness(now).handle_denial(term, denial);
                }
            }
            ClientEvent::Vouched(voucher) => {
                if let Some(session) = &mut self.session {
                    session.witness(now).handle_voucher(voucher);
                }
            }
            ClientEvent::Told(text) => self.out.tell(PeerEvent::Told(text)),
            ClientEvent::PutOut(peer) => {
                if let Some(session) = &mut self.session {
                    session.put_out(now, peer);
                }
            }
            ClientEvent::Gone(peer) => {
                if let Some(session) = &mut self.session {
                    session.witness(now).handle_gone(peer);
                }
            }
            _ => {}
        }
    }

    fn on_refused(&mut self, now: Time, refusal: Refusal) {
        // A newcomer has not been admitted by a host yet, so it needs the relay.
        let is_newcomer = self.session.as_ref().is_some_and(|session| !session.is_member());
        // A relay that does not know this peer's pass has lost the session and is no witness of it any more. It takes
        // the members back as new peers, which found the session anew.
        if let (Refusal::BadPass, Some(session)) = (refusal, &mut self.session) {
            session.witness(now).handle_lost();
        }
        let is_out = matches!(refusal, Refusal::Barred | Refusal::Banned | Refusal::Ended);
        if let (true, Some(session)) = (is_out, &mut self.session) {
            session.witness(now).handle_barred();
        }
        self.out.tell(PeerEvent::Refused(refusal));
        self.leaving.set_over(self.session.is_none() || is_newcomer && refusal != Refusal::BadPass);
    }

    /// Handles that another session has the game's code, so that the relay is no witness of this one any more. With a
    /// host the session goes on over direct paths. Without one this peer takes a seat in the other session.
    fn on_code_taken(&mut self, now: Time) {
        if let Some(session) = &mut self.session
            && session.role(now) == Role::Suspended(Suspension::HostLost)
        {
            session.witness(now).handle_lost();
        }
    }

    /// Handles that the relay now reaches this peer by another socket, without a gap.
    fn on_moved(&mut self, now: Time) {
        self.relay.backlog = 0;
        self.end_relay_path(AttemptEnd::Gone);
        // An offer may have gone out on the previous socket, which may have been dead. So each unanswered offer is
        // made again.
        let offer_again = |path: &mut PathState| path.offer_again(now);
        self.replace_attempts(offer_again);
        self.out.tell(PeerEvent::RelayRestored);
    }

    fn on_lost(&mut self, now: Time) {
        self.relay.backlog = 0;
        if let Some(session) = &mut self.session {
            let mut witness = session.witness(now);
            for (peer, _) in self.routes.shown().filter(|(_, path)| path.is_relayed()) {
                witness.excuse(peer);
            }
            witness.set_reached(false);
        }
        self.end_relay_path(AttemptEnd::Gone);
        self.out.tell(PeerEvent::RelayLost);
    }

    fn on_restored(&mut self, now: Time) {
        self.relay.backlog = 0;
        if let Some(session) = &mut self.session {
            session.witness(now).set_reached(true);
        }
        // An offer from before the loss gets no answer, so it is made again.
        self.replace_attempts(|path| path.offer_again(now));
        self.out.tell(PeerEvent::RelayRestored);
    }

    fn on_entered(&mut self, now: Time, entered: Entered) {
        let Some(key) = self.relay.client.key() else { return };
        let rules = self.config.rules;
        let config = SessionConfig {
            schemas: self.config.schemas.clone(),
            me: entered.pass.peer,
            voucher: entered.voucher,
            key,
            warrant: entered.warrant,
            params: self.config.params,
            name: self.config.name.clone(),
            attributes: self.config.attributes,
            tickets: self.seat.tickets(),
            capacity: self.config.capacity,
            entropy: self.entropy.bytes(),
            rules: Rules { by_host: rules.by_host || self.config.paths == PathPolicy::ByHost, ..rules },
        };
        match Session::with_kept(now, config, self.config.kept.clone()) {
            Ok(session) => self.session = Some(session),
            Err(error) => {
                self.session = None;
                self.out.tell(PeerEvent::NoSession(error));
                return self.leaving.set_over(true);
            }
        }
        self.routes.begin_session();
        self.relay.begin_session();
        self.relay.code = Some(entered.code.clone());
        self.out.tell(PeerEvent::Entered(entered.code));
    }

    /// Handles a packet over the relay, by its WebSocket or its data channels.
    pub(crate) fn on_relayed(
        &mut self,
        now: Time,
        from: PeerId,
        (mode, payload): (Mode, &[u8]),
        by_socket: bool,
    ) {
        if self.config.paths.has_relay() {
            self.on_received(now, from, (mode, payload), by_socket);
        }
    }

    /// Handles a packet of a member, over any path.
    pub(crate) fn on_received(
        &mut self,
        now: Time,
        from: PeerId,
        (mode, payload): (Mode, &[u8]),
        by_socket: bool,
    ) {
        if let Some(path) = self.routes.paths.get_mut(&from) {
            if payload.is_empty() {
                path.on_complaint(now, by_socket);
                self.routes.touch();
            } else {
                path.on_present(now);
            }
        }
        if payload.is_empty() {
            return;
        }
        self.count_in(payload);
        if let Some(leg) = Leg::of(payload) {
            self.on_carried(now, from, leg, (mode, payload));
        } else if let Some(session) = &mut self.session {
            session.handle_packet(now, from, mode, payload);
        }
    }

    pub(crate) fn drain_session(&mut self, now: Time) {
        let Some(session) = &mut self.session else { return };
        let mut witness = session.witness(now);
        // A doubt takes back an earlier claim, so it goes out before a new claim.
        if witness.poll_doubt() {
            self.relay.client.doubt(now);
        }
        if let Some((term, candidate)) = witness.poll_claim() {
            // The session repeats its claim while it misses the host.
            self.relay.client.claim(now, term, candidate);
        }
        while let Some(peer) = witness.poll_bar() {
            self.relay.client.bar(now, peer);
        }
        self.relay.tell(now, session);
        self.take_events(now);
    }

    /// Moves the session's events to the driver's queue, as far as there is room.
    pub(crate) fn take_events(&mut self, now: Time) {
        let mut ended = false;
        while self.out.has_room_for_event()
            && let Some(event) = self.session.as_mut().and_then(Session::poll_event)
        {
            ended |= self.note_session_event(now, &event);
            self.out.tell(PeerEvent::Session(event));
        }
        if ended {
            self.close(now);
        }
    }
}
