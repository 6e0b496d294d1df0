//! Direct connections: when to try, who offers, what came of it.

use samovar_session::Session;
use samovar_wire::relay::Signal;
use samovar_wire::{Mode, PeerId, Time};

use super::{PATHS_MAX, PathPolicy, Peer, PeerEvent, Request};
use crate::path::{Path, PathState};

impl Peer {
    /// An offer or answer of ours is ready, complete with candidates.
    pub fn handle_local_description(&mut self, now: Time, peer: PeerId, attempt: u32, description: String) {
        let Some(path) = self.paths.get(&peer) else { return };
        let signal = match path.opening(attempt) {
            Some(true) => Signal::Offer(attempt, description),
            Some(false) => Signal::Answer(path.remote_attempt, description),
            None => return,
        };
        self.client.signal(now, peer, signal);
        self.drive(now);
    }

    /// Both channels of a connection are open.
    pub fn handle_direct_opened(&mut self, now: Time, peer: PeerId, attempt: u32) {
        if let Some(path) = self.paths.get_mut(&peer) {
            path.on_opened(now, attempt);
        }
        self.drive(now);
    }

    /// A connection is closed or has failed, at any stage.
    pub fn handle_direct_closed(&mut self, now: Time, peer: PeerId, attempt: u32) {
        if self.paths.get_mut(&peer).is_some_and(|path| path.on_closed(now, attempt))
            && let Some(session) = &mut self.session
        {
            session.handle_path_changed(now, peer);
            // Whoever closes a page closes its connections.
            session.handle_hint(now, peer);
        }
        self.drive(now);
    }

    /// Something came on a channel of a connection.
    #[expect(clippy::too_many_arguments, reason = "plain values, as the driver has them at hand")]
    pub fn handle_direct_packet(&mut self, now: Time, peer: PeerId, attempt: u32, mode: Mode, bytes: &[u8]) {
        let Some(path) = self.paths.get_mut(&peer).filter(|path| path.attempt() == Some(attempt)) else {
            return;
        };
        let proven = path.on_heard(now, attempt);
        self.count_in(bytes);
        if let Some(session) = &mut self.session {
            if proven {
                session.handle_path_changed(now, peer);
            }
            session.handle_packet(now, peer, mode, bytes);
        }
        self.drive(now);
    }

    pub(super) fn on_signal(&mut self, now: Time, from: PeerId, signal: Signal) {
        if self.over || self.config.paths == PathPolicy::Relayed {
            return;
        }
        let Some(me) = self.session.as_ref().map(Session::me) else { return };
        match signal {
            Signal::Offer(remote_attempt, offer) => {
                if !self.paths.contains_key(&from) && self.paths.len() >= PATHS_MAX {
                    return;
                }
                let path = self.paths.entry(from).or_insert_with(|| PathState::new(now));
                // Offers can cross; that of the lower id stands.
                if !path.accepts_offer(now, me < from) {
                    return;
                }
                if let Some(attempt) = path.attempt() {
                    self.requests.push_back(Request::CloseDirect { peer: from, attempt });
                }
                self.last_attempt += 1;
                let attempt = self.last_attempt;
                path.on_opening(attempt, false);
                path.remote_attempt = remote_attempt;
                self.requests.push_back(Request::Answer { peer: from, attempt, offer });
            }
            Signal::Answer(attempt, answer) => {
                if self.paths.get(&from).is_some_and(|path| path.is_offering(attempt)) {
                    self.requests.push_back(Request::Accept { peer: from, attempt, answer });
                }
            }
        }
    }

    /// Whether this peer is the one that offers: the lower id; and to whom it wants nothing but a direct path.
    pub(super) fn offers_to(&self, peer: PeerId) -> bool {
        self.config.paths == PathPolicy::Direct || self.session.as_ref().is_some_and(|s| s.me() < peer)
    }

    /// Whether offers can be made at all now.
    pub(super) fn offers_now(&self) -> bool {
        !self.over && self.config.paths != PathPolicy::Relayed && self.client.is_entered()
    }

    /// The relay will be gone soon: whoever is reached through it alone is offered a direct path now, not when the pause
    /// after the last failure is over.
    pub(super) fn hurry(&mut self, now: Time) {
        self.paths.values_mut().for_each(|path| path.hurry(now));
    }

    /// Keeps one path per member, makes offers, and tells the game what changed.
    pub(super) fn tend_paths(&mut self, now: Time) {
        let Some(session) = &self.session else { return };
        let me = session.me();
        let mut wanted: Vec<_> =
            session.view().members().map(|m| m.peer).filter(|&peer| peer != me).collect();
        if !session.is_member() {
            wanted.push(session.host());
        }
        for &peer in &wanted {
            if self.paths.len() < PATHS_MAX {
                self.paths.entry(peer).or_insert_with(|| PathState::new(now));
            }
        }
        // A path to a stranger is an offer that we answered: it may be about to be admitted, so it may stay while
        // its connection does. A former member's goes.
        let leftover = |peer: &PeerId, path: &PathState| {
            !wanted.contains(peer) && (self.shown_paths.contains_key(peer) || path.attempt().is_none())
        };
        let gone: Vec<_> =
            self.paths.iter().filter(|(peer, path)| leftover(peer, path)).map(|(&p, _)| p).collect();
        for peer in gone {
            if let Some(attempt) = self.paths.remove(&peer).and_then(|path| path.attempt()) {
                self.requests.push_back(Request::CloseDirect { peer, attempt });
            }
        }
        self.make_offers(now);
        self.show_paths(now, &wanted);
    }

    fn make_offers(&mut self, now: Time) {
        if !self.offers_now() {
            return;
        }
        let due = self.paths.iter().filter(|(peer, path)| path.wants_offer(now) && self.offers_to(**peer));
        for peer in due.map(|(&peer, _)| peer).collect::<Vec<_>>() {
            self.last_attempt += 1;
            let attempt = self.last_attempt;
            if let Some(path) = self.paths.get_mut(&peer) {
                path.on_opening(attempt, true);
                self.requests.push_back(Request::Offer { peer, attempt });
            }
        }
    }

    fn show_paths(&mut self, now: Time, wanted: &[PeerId]) {
        self.shown_paths.retain(|peer, _| wanted.contains(peer));
        for &peer in wanted {
            let path = self.path(now, peer);
            if self.shown_paths.insert(peer, path) != Some(path) && path != Path::None {
                self.push_event(PeerEvent::PathChanged(peer, path));
            }
        }
    }
}
