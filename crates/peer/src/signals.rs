//! Connections: when to try, which end offers, and the result.

use samovar_directory::description::{is_bounded, with_fewer_candidates};
use samovar_session::Session;
use samovar_wire::relay::Signal;
use samovar_wire::{Mode, PeerId, Time};

use crate::config::PathPolicy;
use crate::driver::{ConnectionKey, PeerEvent, Request};
use crate::path::{AttemptEnd, Closed, Path, PathState};
use crate::peer::Peer;
use crate::routes::EarlyOffer;

impl Peer {
    /// Takes an offer or answer of this peer that the driver has made, complete with candidates.
    pub fn handle_local_description(&mut self, now: Time, peer: PeerId, attempt: u32, description: String) {
        let description = with_fewer_candidates(description);
        let signal = match self.routes.path_mut(peer).and_then(|path| path.on_described(now, attempt)) {
            Some(None) => Signal::Offer(attempt, description),
            Some(Some(theirs)) => Signal::Answer(theirs, description),
            None => return,
        };
        let is_member = self.session.as_ref().is_some_and(|session| session.view().has(peer));
        self.relay.client.signal(now, peer, signal, is_member);
        self.drive(now);
    }

    /// Handles the driver's report that both channels of a connection are open.
    pub fn handle_direct_opened(&mut self, now: Time, peer: PeerId, attempt: u32) {
        let is_opened = match peer {
            PeerId::RELAY => self.routes.relay_path.on_opened(now, attempt),
            _ => self.routes.paths.get_mut(&peer).is_some_and(|path| path.on_opened(now, attempt)),
        };
        self.routes.touch();
        if is_opened {
            self.out.tell(PeerEvent::AttemptEnded(ConnectionKey { peer, attempt }, AttemptEnd::Opened));
        }
        self.drive(now);
    }

    /// Handles the driver's report that a connection is closed or has failed, at any stage.
    pub fn handle_direct_closed(&mut self, now: Time, peer: PeerId, attempt: u32) {
        self.routes.touch();
        if let Some(closed) = self.routes.path_mut(peer).and_then(|path| path.on_closed(now, attempt)) {
            self.tell_end(peer, closed);
            if let Some(session) = self.session.as_mut().filter(|_| closed.was_last) {
                // The other end's page may have been closed, which closes its connections. So the session takes this
                // as a hint that the peer is gone.
                session.path(now, peer).handle_closed();
            }
        }
        self.drive(now);
    }

    /// Handles bytes that came on a channel of a connection.
    #[expect(clippy::too_many_arguments, reason = "plain values, as the driver has them at hand")]
    pub fn handle_direct_packet(&mut self, now: Time, peer: PeerId, attempt: u32, mode: Mode, bytes: &[u8]) {
        if peer == PeerId::RELAY {
            self.routes.touch();
            self.on_relay_path_packet(now, attempt, mode, bytes);
        } else if let Some(path) = self.routes.paths.get_mut(&peer) {
            let (was_steady, heard) = (path.is_steady(now), path.on_heard(now, attempt));
            if !was_steady {
                self.routes.touch();
            }
            if let Some(replaced) = heard {
                replaced.into_iter().for_each(|closed| self.give_up(peer, closed));
                self.on_received(now, peer, (mode, bytes), false);
            }
        }
        self.drive(now);
    }

    /// Handles a change of the machine's network: it has other addresses, or was offline. The peer opens every
    /// connection again at once; connections that still carry packets go on meanwhile. Machines report a change
    /// several times, so a further report within half a second waits until the end of that time. The report then
    /// counts only if the relay has not let the peer in again.
    pub fn handle_network_changed(&mut self, now: Time) {
        if !self.moves.counts(now) {
            return;
        }
        self.routes.touch();
        self.relay.client.reconnect(now);
        self.replace_attempts(|path| path.renew(now));
        self.drive(now);
    }

    /// Replaces the attempts under way: `replace` may end a path's attempt, and makes the path offer again.
    pub(crate) fn replace_attempts(&mut self, replace: impl Fn(&mut PathState) -> Option<Closed>) {
        let replaced: Vec<_> =
            self.routes.paths.iter_mut().filter_map(|(&peer, path)| Some((peer, replace(path)?))).collect();
        replaced.into_iter().for_each(|(peer, closed)| self.give_up(peer, closed));
    }

    pub(crate) fn on_signal(&mut self, now: Time, from: PeerId, signal: Signal) {
        let (Signal::Offer(_, text) | Signal::Answer(_, text)) = &signal;
        if self.is_over() || !is_bounded(text) {
            return;
        }
        match signal {
            Signal::Offer(theirs, offer) => self.on_offer(now, from, theirs, offer),
            Signal::Answer(attempt, answer) => {
                if self.routes.path_mut(from).is_some_and(|path| path.takes_answer(attempt)) {
                    self.out.ask(Request::Accept { peer: from, attempt, answer });
                }
            }
        }
    }

    fn on_offer(&mut self, now: Time, from: PeerId, theirs: u32, offer: String) {
        let Some(me) = self.me() else { return };
        // The relay never offers.
        if !self.config.paths.has_direct() || from == PeerId::RELAY || !self.wants_direct(from) {
            return;
        }
        // A host answers some strangers before it has named them, because a stranger may have no other path on which to
        // ask for admission.
        let hosts = self.session.as_ref().is_some_and(Session::is_host);
        let may = self.routes.paths.contains_key(&from) || hosts && self.routes.lets_in(now, from);
        if !may {
            return self.routes.keep_early(EarlyOffer { at: now, from, theirs, offer });
        }
        let Some(path) = self.routes.paths.get_mut(&from) else { return };
        // Offers can cross; the offer of the peer with the lower id stands.
        if !path.accepts_offer(now, me < from) {
            return;
        }
        let superseded = path.supersede();
        let attempt = self.routes.open(now, from, Some(theirs));
        superseded.into_iter().for_each(|closed| self.give_up(from, closed));
        self.out.ask(Request::Answer { peer: from, attempt, offer });
    }

    /// Whether this peer offers first to another: it has the lower id, or allows direct paths only. `None` if there is
    /// no link to the other peer, or no direct path to it is wanted.
    pub(crate) fn is_offerer(&self, peer: PeerId) -> Option<bool> {
        let session = self.session.as_ref().filter(|session| session.link(peer).is_some())?;
        if !self.wants_direct(peer) {
            return None;
        }
        Some(self.config.paths == PathPolicy::Direct || session.me() < peer)
    }

    /// Whether this peer can make offers to members at all now. After a change of network offers wait until it is clear
    /// which socket carries them.
    pub(crate) fn offers_now(&self) -> bool {
        !self.is_over() && self.config.paths.has_direct() && self.relay.client.is_settled()
    }

    /// Ends the pauses after failed attempts, because the relay stops soon: peers that only the relay reaches get an
    /// offer now.
    pub(crate) fn hurry(&mut self, now: Time) {
        self.routes.paths.values_mut().for_each(|path| path.hurry(now));
    }

    /// Asks the driver to close a connection, and tells the game if that ends an attempt.
    pub(crate) fn give_up(&mut self, peer: PeerId, closed: Closed) {
        self.out.ask(Request::CloseDirect { peer, attempt: closed.attempt });
        self.tell_end(peer, closed);
    }

    fn tell_end(&mut self, peer: PeerId, closed: Closed) {
        if let Some(end) = closed.end {
            let key = ConnectionKey { peer, attempt: closed.attempt };
            self.out.tell(PeerEvent::AttemptEnded(key, end));
        }
    }

    /// Gives up connections and attempts whose time is over.
    pub(crate) fn expire_paths(&mut self, now: Time) {
        let may_offer = self.offers_now();
        for (peer, closed) in self.routes.expire(now, may_offer) {
            self.routes.touch();
            self.give_up(peer, closed);
            if let Some(session) = self.session.as_mut().filter(|_| closed.was_last) {
                session.path(now, peer).handle_closed();
            }
        }
    }

    /// Ends the paths to all members.
    pub(crate) fn end_paths(&mut self) {
        for (peer, closed) in self.routes.end_all() {
            self.give_up(peer, closed);
        }
    }

    /// Keeps one path per member, makes offers, and tells the game of changes.
    pub(crate) fn tend_paths(&mut self, now: Time) {
        let may_differ = self.session.as_ref().is_some_and(|session| self.routes.want(now, session));
        for (peer, closed) in self.routes.end_unwanted() {
            self.give_up(peer, closed);
        }
        if may_differ {
            self.routes.hide_unwanted();
            while let Some(EarlyOffer { from, theirs, offer, .. }) = self.routes.take_early(now) {
                self.on_offer(now, from, theirs, offer);
            }
        }
        self.make_offers(now);
        self.note_carriers(now);
        self.complain(now);
        self.show_paths(now);
    }

    fn make_offers(&mut self, now: Time) {
        if !self.offers_now() {
            return;
        }
        let is_due = |peer: &PeerId, path: &PathState| {
            // The first check is cheap: it assumes that this peer has the lower id, since the peer with the lower id
            // offers no later than the other.
            path.wants_offer(now, true)
                && self.is_offerer(*peer).is_some_and(|is_lower| path.wants_offer(now, is_lower))
        };
        let due = self.routes.paths.iter().filter(|(peer, path)| is_due(peer, path));
        for peer in due.map(|(&peer, _)| peer).collect::<Vec<_>>() {
            let attempt = self.routes.open(now, peer, None);
            self.out.ask(Request::Offer { peer, attempt });
        }
    }

    /// Tells the session and the game of changed paths.
    fn show_paths(&mut self, now: Time) {
        for at in 0..self.routes.wanted().len() {
            let peer = self.routes.wanted()[at];
            let path = self.path(now, peer);
            if !self.routes.show(peer, path) {
                continue;
            }
            if let Some(session) = &mut self.session {
                session.path(now, peer).handle_changed();
            }
            if path != Path::None {
                self.out.tell(PeerEvent::PathChanged(peer, path));
            }
        }
    }
}
