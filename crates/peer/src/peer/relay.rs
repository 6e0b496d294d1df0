//! Between the relay's client and the session: entry, warrants, claims, hints, the listing.

use samovar_directory::{ClientConfig, ClientEvent, ClientRequest, SocketId};
use samovar_session::{Rules, Session, SessionConfig};
use samovar_wire::carried::Leg;
use samovar_wire::relay::{Entered, Listing, Refusal};
use samovar_wire::view::SPECTATOR;
use samovar_wire::{Entropy, Mode, PROTOCOL_VERSION, PeerId, Time};

use crate::path::{AttemptEnd, Path, PathState};

use super::carried::Carried;
use super::{PathPolicy, Peer, PeerConfig, PeerEvent, Request, Transmit};

pub(super) fn client_config(config: &PeerConfig, entropy: &mut Entropy) -> ClientConfig {
    ClientConfig {
        version: PROTOCOL_VERSION,
        params: config.params,
        purpose: config.purpose.clone(),
        entropy: entropy.bytes(),
    }
}

impl Peer {
    /// A WebSocket is open.
    pub fn handle_relay_opened(&mut self, now: Time, socket: SocketId) {
        self.tended = None;
        self.client.handle_opened(now, socket);
        self.drive(now);
    }

    /// A WebSocket is closed, or could not be opened.
    pub fn handle_relay_closed(&mut self, now: Time, socket: SocketId) {
        self.tended = None;
        self.client.handle_closed(now, socket);
        self.drive(now);
    }

    /// A binary message came on a WebSocket.
    pub fn handle_relay_message(&mut self, now: Time, socket: SocketId, bytes: &[u8]) {
        self.client.handle_message(now, socket, bytes);
        self.drive(now);
    }

    pub(super) fn drain_client(&mut self, now: Time) {
        while let Some(event) = self.client.poll_event() {
            self.on_client_event(now, event);
        }
        let is_settled = self.client.is_settled();
        if core::mem::replace(&mut self.was_settled, is_settled) != is_settled {
            self.tended = None;
        }
        while let Some(request) = self.client.poll_request() {
            self.requests.push_back(match request {
                ClientRequest::Open(socket) => Request::OpenRelay(socket),
                ClientRequest::Close(socket) => Request::CloseRelay(socket),
            });
        }
        while let Some((socket, bytes)) = self.client.poll_transmit() {
            self.transmits.push_back(Transmit::Relay { socket, bytes });
        }
    }

    fn on_client_event(&mut self, now: Time, event: ClientEvent) {
        self.tended = None;
        match event {
            ClientEvent::Entered(entered) => self.on_entered(now, entered),
            ClientEvent::Refused(refusal) => self.on_refused(refusal),
            ClientEvent::Failed(fault) => {
                self.push_event(PeerEvent::Failed(fault));
                self.over = self.session.is_none();
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
                    session.handle_warrant(now, &warrant);
                }
            }
            ClientEvent::Successor(warrant) => {
                if let Some(session) = &mut self.session {
                    session.handle_successor(now, warrant);
                }
            }
            ClientEvent::Reachable => self.on_reachable(now),
            ClientEvent::Draining(within) => self.on_draining(now, within),
            ClientEvent::Denied(term, denial) => {
                if let Some(session) = &mut self.session {
                    session.handle_denial(now, term, denial);
                }
            }
            ClientEvent::Gone(peer) => {
                if let Some(session) = &mut self.session {
                    session.handle_gone(now, peer);
                }
            }
            _ => {}
        }
    }

    fn on_refused(&mut self, refusal: Refusal) {
        // A relay that knows nothing of its former life is no witness of this session any more. It takes the members back as
        // others, who found the session anew.
        if let (Refusal::BadPass, Some(session)) = (refusal, &mut self.session) {
            session.lose_witness();
        }
        self.push_event(PeerEvent::Refused(refusal));
        self.over = self.session.is_none();
    }

    /// The relay has this peer by another socket, and never was without it.
    fn on_moved(&mut self, now: Time) {
        self.relay_backlog = 0;
        self.end_ferry(AttemptEnd::Gone);
        // An offer may have gone out on the former socket, which may have been dead.
        let offer_again = |path: &mut PathState| path.offer_again(now);
        self.replace_attempts(offer_again);
        self.push_event(PeerEvent::RelayRestored);
    }

    fn on_lost(&mut self, now: Time) {
        self.relay_backlog = 0;
        if let Some(session) = &mut self.session {
            let relayed = |path: &Path| matches!(path, Path::Relayed | Path::RelayedUdp);
            for (&peer, _) in self.shown_paths.iter().filter(|(_, path)| relayed(path)) {
                session.excuse(now, peer);
            }
            session.set_relay(now, false);
        }
        self.end_ferry(AttemptEnd::Gone);
        self.push_event(PeerEvent::RelayLost);
    }

    fn on_restored(&mut self, now: Time) {
        self.relay_backlog = 0;
        if let Some(session) = &mut self.session {
            session.set_relay(now, true);
        }
        // What waited for an answer waits in vain.
        self.replace_attempts(|path| path.offer_again(now));
        self.push_event(PeerEvent::RelayRestored);
    }

    fn on_entered(&mut self, now: Time, entered: Entered) {
        let Some(key) = self.client.key() else { return };
        let rules = self.config.rules;
        let config = SessionConfig {
            schemas: self.config.schemas.clone(),
            me: entered.pass.peer,
            key,
            warrant: entered.warrant,
            params: self.config.params,
            name: self.config.name.clone(),
            attributes: self.config.attributes,
            ticket: self.config.ticket,
            capacity: self.config.capacity,
            entropy: self.entropy.bytes(),
            rules: Rules { by_host: rules.by_host || self.config.paths == PathPolicy::ByHost, ..rules },
        };
        self.session = Session::with_kept(now, config, self.config.kept.clone());
        self.carried = Carried::default();
        (self.wanted_since, self.told_client, self.tended) = (None, None, None);
        self.code = Some(entered.code.clone());
        self.push_event(PeerEvent::Entered(entered.code));
    }

    /// Something came over the relay, by its WebSocket or its data channels.
    pub(super) fn on_relayed(
        &mut self,
        now: Time,
        from: PeerId,
        (mode, payload): (Mode, &[u8]),
        by_socket: bool,
    ) {
        if self.config.paths != PathPolicy::Direct {
            self.on_received(now, from, (mode, payload), by_socket);
        }
    }

    /// Something came of a member, whichever way.
    pub(super) fn on_received(
        &mut self,
        now: Time,
        from: PeerId,
        (mode, payload): (Mode, &[u8]),
        by_socket: bool,
    ) {
        if let Some(path) = self.paths.get_mut(&from) {
            if payload.is_empty() {
                self.tended = None;
                path.on_complaint(now, by_socket);
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

    pub(super) fn drain_session(&mut self, now: Time) {
        let Some(session) = &mut self.session else { return };
        // A doubt takes back what was claimed before it.
        if session.poll_doubt() {
            self.client.doubt(now);
        }
        if let Some((term, candidate)) = session.poll_claim() {
            // The session claims again while it misses the host.
            self.client.claim(now, term, candidate);
        }
        let stirs = Some(session.stirs());
        if core::mem::replace(&mut self.told_client, stirs) != stirs {
            self.tell_client(now);
        }
        let mut ended = false;
        while let Some(event) = self.session.as_mut().and_then(Session::poll_event) {
            ended |= self.note_session_event(now, &event);
            self.push_event(PeerEvent::Session(event));
        }
        if ended {
            self.close(now);
        }
    }

    /// Tells the relay by what warrant this peer lives, and a host who is there.
    fn tell_client(&mut self, now: Time) {
        let Some(session) = &self.session else { return };
        if self.shown_warrant.as_ref() != Some(session.warrant()) {
            let warrant = *session.warrant();
            self.shown_warrant = Some(warrant);
            self.client.set_warrant(now, warrant);
        }
        let view = (session.term(), session.view().number());
        if session.is_host() && self.shown_view.replace(view) != Some(view) {
            let view = session.view();
            let spectators = view.members().filter(|m| m.record.attributes & SPECTATOR != 0).count();
            let players = (view.members().count() - spectators).min(255) as u8;
            let capacity = view.capacity().saturating_sub(spectators.min(255) as u8);
            let host_name = session.seat_of(session.me()).map(|seat| seat.name.clone()).unwrap_or_default();
            self.client.set_listing(now, Listing { players, capacity, open: true, host_name });
            let line = view.succession(session.me());
            self.client.set_members(now, core::iter::once(session.me()).chain(line));
        }
    }
}
