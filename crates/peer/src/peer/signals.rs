//! Connections: when to try, who offers, what came of it.

use samovar_wire::relay::Signal;
use samovar_wire::{Duration, Mode, PeerId, Time};

use super::{ConnectionKey, PATHS_MAX, PathPolicy, Peer, PeerEvent, Request};
use crate::path::{AttemptEnd, Closed, Path, PathState, Patience};

/// A change of network counts once in so long.
const MOVES_LAST: Duration = Duration::from_millis(500);

impl Peer {
    /// An offer or answer of ours is ready, complete with candidates.
    pub fn handle_local_description(&mut self, now: Time, peer: PeerId, attempt: u32, description: String) {
        let signal = match self.path_mut(peer).and_then(|path| path.on_described(now, attempt)) {
            Some(None) => Signal::Offer(attempt, description),
            Some(Some(theirs)) => Signal::Answer(theirs, description),
            None => return,
        };
        self.client.signal(now, peer, signal);
        self.drive(now);
    }

    /// Both channels of a connection are open.
    pub fn handle_direct_opened(&mut self, now: Time, peer: PeerId, attempt: u32) {
        let is_opened = match peer {
            PeerId::RELAY => self.ferry.on_opened(now, attempt),
            _ => self.paths.get_mut(&peer).is_some_and(|path| path.on_opened(now, attempt)),
        };
        self.tended = None;
        if is_opened {
            self.push_event(PeerEvent::AttemptEnded(ConnectionKey { peer, attempt }, AttemptEnd::Opened));
        }
        self.drive(now);
    }

    /// A connection is closed or has failed, at any stage.
    pub fn handle_direct_closed(&mut self, now: Time, peer: PeerId, attempt: u32) {
        self.tended = None;
        if let Some(closed) = self.path_mut(peer).and_then(|path| path.on_closed(now, attempt)) {
            self.tell_end(peer, closed);
            if let Some(session) = self.session.as_mut().filter(|_| closed.was_last) {
                // Whoever closes a page closes its connections.
                session.handle_hint(now, peer);
            }
        }
        self.drive(now);
    }

    /// Something came on a channel of a connection.
    #[expect(clippy::too_many_arguments, reason = "plain values, as the driver has them at hand")]
    pub fn handle_direct_packet(&mut self, now: Time, peer: PeerId, attempt: u32, mode: Mode, bytes: &[u8]) {
        if peer == PeerId::RELAY {
            self.tended = None;
            self.on_ferry_packet(now, attempt, mode, bytes);
        } else if let Some(path) = self.paths.get_mut(&peer) {
            if !path.is_steady(now) {
                self.tended = None;
            }
            if let Some(replaced) = path.on_heard(now, attempt) {
                replaced.into_iter().for_each(|closed| self.give_up(peer, closed));
                self.on_received(now, peer, (mode, bytes), false);
            }
        }
        self.drive(now);
    }

    /// The machine has another network: its addresses changed, or it was offline. Everything that was opened on the
    /// former one is opened again at once, what still carries meanwhile beside it. Once every half a second, since machines
    /// say it several times; again at the end of that if it was said once more, and the relay has not let the peer in since.
    pub fn handle_network_changed(&mut self, now: Time) {
        let rests_until = self.moved.map_or(now, |last| last + MOVES_LAST);
        if rests_until > now {
            self.moves_at = rests_until;
            return;
        }
        (self.moved, self.moves_at) = (Some(now), Time::FAR);
        self.tended = None;
        self.client.reconnect(now);
        self.replace_attempts(|path| path.renew(now));
        self.drive(now);
    }

    /// Attempts under way give place to others.
    pub(super) fn replace_attempts(&mut self, replace: impl Fn(&mut PathState) -> Option<Closed>) {
        let replaced: Vec<_> =
            self.paths.iter_mut().filter_map(|(&peer, path)| Some((peer, replace(path)?))).collect();
        replaced.into_iter().for_each(|(peer, closed)| self.give_up(peer, closed));
    }

    pub(super) fn on_signal(&mut self, now: Time, from: PeerId, signal: Signal) {
        if self.over {
            return;
        }
        match signal {
            Signal::Offer(theirs, offer) => self.on_offer(now, from, theirs, offer),
            Signal::Answer(attempt, answer) => {
                if self.path_mut(from).is_some_and(|path| path.takes_answer(attempt)) {
                    self.requests.push_back(Request::Accept { peer: from, attempt, answer });
                }
            }
        }
    }

    fn on_offer(&mut self, now: Time, from: PeerId, theirs: u32, offer: String) {
        let Some(me) = self.me() else { return };
        let is_full = !self.paths.contains_key(&from) && self.paths.len() >= PATHS_MAX;
        // The relay never offers.
        if self.config.paths == PathPolicy::Relayed
            || from == PeerId::RELAY
            || is_full
            || !self.wants_direct(from)
        {
            return;
        }
        let path = self.paths.entry(from).or_insert_with(|| PathState::new(now, Patience::PAIR));
        // Offers can cross; that of the lower id stands.
        if !path.accepts_offer(now, me < from) {
            return;
        }
        let superseded = path.supersede();
        self.last_attempt += 1;
        let attempt = self.last_attempt;
        path.on_opening(now, attempt, Some(theirs));
        superseded.into_iter().for_each(|closed| self.give_up(from, closed));
        self.requests.push_back(Request::Answer { peer: from, attempt, offer });
    }

    /// Whether this peer is the one that offers: the lower id; and to whom it wants nothing but a direct path. `None` when
    /// there is no link to the other, or others carry what it says.
    pub(super) fn is_offerer(&self, peer: PeerId) -> Option<bool> {
        let session = self.session.as_ref().filter(|session| session.is_linked(peer))?;
        if !self.wants_direct(peer) {
            return None;
        }
        Some(self.config.paths == PathPolicy::Direct || session.me() < peer)
    }

    /// Whether offers to members can be made at all now. When the network changed they wait until it is clear which socket
    /// carries them.
    pub(super) fn offers_now(&self) -> bool {
        !self.over && self.config.paths != PathPolicy::Relayed && self.client.is_settled()
    }

    /// The relay will be gone soon: whoever is reached through it alone is offered a direct path now, not when the pause
    /// after the last failure is over.
    pub(super) fn hurry(&mut self, now: Time) {
        self.paths.values_mut().for_each(|path| path.hurry(now));
    }

    /// Has the driver close a connection, and tells the game if an attempt ended so.
    pub(super) fn give_up(&mut self, peer: PeerId, closed: Closed) {
        self.requests.push_back(Request::CloseDirect { peer, attempt: closed.attempt });
        self.tell_end(peer, closed);
    }

    fn tell_end(&mut self, peer: PeerId, closed: Closed) {
        if let Some(end) = closed.end {
            let key = ConnectionKey { peer, attempt: closed.attempt };
            self.push_event(PeerEvent::AttemptEnded(key, end));
        }
    }

    /// Gives up what has been silent, or on its way, for too long.
    pub(super) fn expire_paths(&mut self, now: Time) {
        let mut expired = Vec::new();
        let may_offer = self.offers_now();
        for (&peer, path) in &mut self.paths {
            expired.extend(core::iter::from_fn(|| path.expire(now, may_offer)).map(|closed| (peer, closed)));
        }
        let ferry = core::iter::from_fn(|| self.ferry.path.expire(now, true));
        expired.extend(ferry.map(|closed| (PeerId::RELAY, closed)));
        for (peer, closed) in expired {
            self.tended = None;
            self.give_up(peer, closed);
            if let Some(session) = self.session.as_mut().filter(|_| closed.was_last) {
                session.handle_hint(now, peer);
            }
        }
    }

    /// Keeps one path per member, makes offers, and tells the game what changed.
    pub(super) fn tend_paths(&mut self, now: Time) {
        let may_differ = self.want_paths(now);
        // A path to a stranger is an offer that we answered: it may be about to be admitted, so it may stay while
        // its connection does. A former member's goes.
        if self.paths.len() > self.wanted.len() {
            let leftover = |peer: &PeerId, path: &PathState| {
                !self.wanted.contains(peer) && (self.shown_paths.contains_key(peer) || path.is_idle())
            };
            let gone: Vec<_> =
                self.paths.iter().filter(|(peer, path)| leftover(peer, path)).map(|(&p, _)| p).collect();
            for peer in gone {
                if let Some(mut path) = self.paths.remove(&peer) {
                    path.end(AttemptEnd::Gone).for_each(|closed| self.give_up(peer, closed));
                }
            }
        }
        if may_differ {
            self.shown_paths.retain(|peer, _| self.wanted.contains(peer));
        }
        self.make_offers(now);
        self.note_carriers(now);
        self.complain(now);
        self.show_paths(now);
    }

    /// Finds out to whom there shall be paths: to the members, and to the host who is asked for admission.
    /// Whether it may be others than before.
    fn want_paths(&mut self, now: Time) -> bool {
        let Some(session) = &self.session else { return false };
        if self.wanted_since.replace(session.stirs()) == Some(session.stirs()) {
            return false;
        }
        let (me, host, view) = (session.me(), session.host(), session.view());
        let host = (!session.is_member() && !view.has(host)).then_some(host);
        let members = view.members().map(|m| m.peer).filter(|&peer| peer != me);
        self.wanted.clear();
        self.wanted.extend(members.chain(host));
        for &peer in &self.wanted {
            if self.paths.len() < PATHS_MAX {
                self.paths.entry(peer).or_insert_with(|| PathState::new(now, Patience::PAIR));
            }
        }
        true
    }

    fn make_offers(&mut self, now: Time) {
        if !self.offers_now() {
            return;
        }
        let is_due = |peer: &PeerId, path: &PathState| {
            // Nobody offers sooner than the lower id, and to find out who that is takes longer.
            path.wants_offer(now, true)
                && self.is_offerer(*peer).is_some_and(|is_lower| path.wants_offer(now, is_lower))
        };
        let due = self.paths.iter().filter(|(peer, path)| is_due(peer, path));
        for peer in due.map(|(&peer, _)| peer).collect::<Vec<_>>() {
            self.last_attempt += 1;
            let attempt = self.last_attempt;
            if let Some(path) = self.paths.get_mut(&peer) {
                path.on_opening(now, attempt, None);
                self.requests.push_back(Request::Offer { peer, attempt });
            }
        }
    }

    /// Tells the session and the game which paths changed.
    fn show_paths(&mut self, now: Time) {
        for at in 0..self.wanted.len() {
            let peer = self.wanted[at];
            let path = self.path(now, peer);
            if self.shown_paths.insert(peer, path) == Some(path) {
                continue;
            }
            if let Some(session) = &mut self.session {
                session.handle_path_changed(now, peer);
            }
            if path != Path::None {
                self.push_event(PeerEvent::PathChanged(peer, path));
            }
        }
    }
}
