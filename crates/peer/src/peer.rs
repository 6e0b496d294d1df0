//! The peer itself: what a driver calls.

use samovar_session::Session;
use samovar_wire::control::{Presence, Standing};
use samovar_wire::{Entropy, GameCode, PeerId, PeerPass, Time};

use crate::config::{PathPolicy, PeerConfig};
use crate::driver::{PeerEvent, Request, Traffic, Transmit};
use crate::leaving::Leaving;
use crate::moves::Moves;
use crate::outbox::Outbox;
use crate::path::{AttemptEnd, Path, PathState};
use crate::relay::Relay;
use crate::rest::Rest;
use crate::routes::Routes;
use crate::seat::Seat;

/// A running peer.
#[derive(Debug)]
pub struct Peer {
    pub(crate) config: PeerConfig,
    pub(crate) entropy: Entropy,
    pub(crate) session: Option<Session>,
    pub(crate) relay: Relay,
    pub(crate) routes: Routes,
    pub(crate) seat: Seat,
    pub(crate) leaving: Leaving,
    pub(crate) moves: Moves,
    pub(crate) rest: Rest,
    /// When it was driven last.
    driven: Time,
    pub(crate) out: Outbox,
    pub(crate) traffic: Traffic,
    pub(crate) is_visible: bool,
}

impl Peer {
    /// A peer that begins by asking for its relay.
    #[must_use]
    pub fn new(now: Time, mut config: PeerConfig) -> Self {
        if !samovar_wire::name::is_valid(&config.name) {
            config.name.clear();
        }
        let mut entropy = Entropy::new(config.entropy);
        let mut peer = Self {
            relay: Relay::new(now, config.client_config(&mut entropy)),
            seat: Seat::new(config.ticket),
            config,
            entropy,
            session: None,
            routes: Routes::new(now),
            leaving: Leaving::new(),
            moves: Moves::new(),
            rest: Rest::default(),
            driven: now,
            out: Outbox::default(),
            traffic: Traffic::default(),
            is_visible: true,
        };
        peer.drive(now);
        peer
    }

    /// The session, from the relay's word on.
    #[must_use]
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The session, for the game to change what it owns.
    pub const fn session_mut(&mut self) -> Option<&mut Session> {
        self.rest.end();
        self.session.as_mut()
    }

    /// What shows to the relay that this peer was a member, for [`Purpose::Rejoin`](crate::Purpose::Rejoin); from the relay's word on.
    #[must_use]
    pub fn pass(&self) -> Option<PeerPass> {
        self.relay.client.pass()
    }

    /// The game's code, from the relay's word on.
    #[must_use]
    pub const fn code(&self) -> Option<&GameCode> {
        self.relay.code.as_ref()
    }

    /// Whether the relay is connected and knows this peer.
    #[must_use]
    pub fn is_relay_connected(&self) -> bool {
        self.relay.client.is_entered()
    }

    /// Whether people can see what this peer shows: a page that is hidden runs slowly. It is a worse host then, and
    /// hands over, now or later, as soon as a member is there that is seen.
    pub fn set_visible(&mut self, now: Time, is_visible: bool) {
        self.routes.touch();
        self.is_visible = is_visible;
        self.drive(now);
    }

    /// Whether the peer is over: it left, was refused, or its session ended and there is no ticket to come back by.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.leaving.is_over()
    }

    /// How packets reach a peer now.
    #[must_use]
    pub fn path(&self, now: Time, peer: PeerId) -> Path {
        match self.own_path(now, peer) {
            Path::Direct => Path::Direct,
            _ if self.routes.carried.carrier(peer).is_some() => Path::ByHost,
            other => other,
        }
    }

    /// The same without members that carry.
    pub(crate) fn own_path(&self, now: Time, peer: PeerId) -> Path {
        self.routes.own_path(now, peer, self.may_relay())
    }

    /// What went over all paths since the start.
    #[must_use]
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }

    pub(crate) fn count_in(&mut self, bytes: &[u8]) {
        self.traffic.packets_in += 1;
        self.traffic.bytes_in += bytes.len() as u64;
    }

    pub(crate) fn count_out(&mut self, bytes: &[u8]) {
        self.traffic.packets_out += 1;
        self.traffic.bytes_out += bytes.len() as u64;
    }

    /// Lets time pass. What has arrived is handed over before.
    pub fn handle_timeout(&mut self, now: Time) {
        self.relay.client.handle_timeout(now);
        if let Some(session) = &mut self.session {
            session.handle_timeout(now);
        }
        let is_succeeded = self.session.as_ref().is_none_or(Session::is_succeeded);
        if self.leaving.is_due(now, is_succeeded) {
            self.leave_at_once(now);
        }
        self.yield_to_better_linked(now);
        // When it is settled, the socket has come back by the network that there is, and the same change was said twice.
        if self.moves.take_due(now) && !self.relay.client.is_settled() {
            self.handle_network_changed(now);
        }
        if !self.is_over() {
            self.tend_seat(now);
        }
        self.expire_paths(now);
        self.drive(now);
    }

    /// When [`Peer::handle_timeout`] has something to do by itself; ask it last.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.rest.due().unwrap_or_else(|| self.next_timeout())
    }

    fn next_timeout(&self) -> Option<Time> {
        let session = self.session.as_ref().and_then(Session::poll_timeout);
        let paths = self.routes.tended_until().unwrap_or_else(|| self.paths_due());
        let seat = if self.is_over() { Time::FAR } else { self.seat.due() };
        [
            session,
            self.relay.client.poll_timeout(),
            Some(paths.min(self.leaving.due()).min(self.moves.due()).min(seat)),
            Some(self.routes.carried.due()),
        ]
        .into_iter()
        .flatten()
        .min()
        .filter(|&time| time != Time::FAR)
    }

    /// When something of a path is due by itself.
    fn paths_due(&self) -> Time {
        let offers = self.offers_now();
        let complains = self.may_relay().then(|| self.routes.relay_path.path.was_up());
        let path = |(&peer, path): (&PeerId, &PathState)| {
            path.timeout(offers.then(|| self.is_offerer(peer)).flatten(), complains)
        };
        let paths = self.routes.paths.iter().map(path).min().unwrap_or(Time::FAR);
        paths.min(self.routes.relay_path.timeout(self.offers_to_relay()))
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if self.out.is_sent() && !self.rest.began_at(now) {
            self.drive(now);
        }
        self.out.poll_transmit()
    }

    /// The next thing that the driver must do.
    pub fn poll_request(&mut self) -> Option<Request> {
        self.out.poll_request()
    }

    /// The next event. A driver asks until there is none: see [`Session::poll_event`].
    pub fn poll_event(&mut self) -> Option<PeerEvent> {
        self.out.poll_event().or_else(|| {
            self.take_events(self.driven);
            self.out.poll_event()
        })
    }

    /// Leaves the game for good. A host hands over first, and stays until its successor has taken what goes with the host, half a
    /// second at most: until [`Peer::is_over`] it is to be driven on, and its game to be played.
    pub fn leave(&mut self, now: Time) {
        if self.session.as_mut().is_some_and(|session| session.hand_over(now)) {
            self.leaving.hand_over(now);
            self.drive(now);
        } else {
            self.leave_at_once(now);
        }
    }

    /// Leaves when there is no time to hand over, as when a page is closed; what is to be sent and done for that waits in
    /// the queues.
    pub fn leave_at_once(&mut self, now: Time) {
        self.leaving.leave();
        if let Some(session) = &mut self.session {
            if self.leaving.is_away() {
                session.go_away();
            } else {
                session.leave();
            }
        }
        self.drive(now);
        self.close(now);
    }

    /// As [`Peer::leave_at_once`], of somebody who may come back as another peer: a page is unloaded, perhaps to be loaded again.
    pub fn go_away(&mut self, now: Time) {
        self.leaving.go_away();
        self.leave_at_once(now);
    }

    /// Ends everything that is still open.
    pub(crate) fn close(&mut self, now: Time) {
        if !self.leaving.end() {
            return;
        }
        self.route_session(now);
        if self.leaving.is_away() {
            self.relay.client.go_away(now);
        } else {
            self.relay.client.leave(now);
        }
        // What the session said last goes out before the connections it goes over are closed.
        self.end_paths();
        self.end_relay_path(AttemptEnd::Gone);
        self.drive(now);
    }

    /// Carries values between the relay's client, the session and the paths until nothing is left to carry.
    pub(crate) fn drive(&mut self, now: Time) {
        self.driven = now;
        self.drain_client(now);
        self.drain_session(now);
        if self.is_over() {
            self.routes.touch();
        } else {
            self.tend(now);
        }
        self.route_session(now);
        self.drain_client(now);
        if self.out.is_sent() {
            self.rest.begin(now, self.next_timeout());
        } else {
            self.rest.end();
        }
    }

    /// Sees to the paths, unless nothing can have become of them since that was done.
    fn tend(&mut self, now: Time) {
        let stirs = self.session.as_ref().map(Session::stirs);
        let rests = self.routes.are_tended(now, stirs);
        // Where assertions are checked, it is tried all the same.
        if rests && !cfg!(debug_assertions) {
            return;
        }
        let before = self.out.waiting();
        self.tend_relay_path(now);
        self.tend_paths(now);
        self.tell_standing(now);
        self.note_losses(now);
        debug_assert!(!rests || before == self.out.waiting(), "there was nothing to tend");
        if !rests {
            // Who has just complained of a path has no more to say of it, and still asks the relay for an echo when it is in
            // doubt.
            let due = self.paths_due().min(self.routes.doubted_at(now));
            self.routes.set_tended(stirs, due);
        }
    }

    fn tell_standing(&mut self, now: Time) {
        let direct = self.routes.shown().filter(|&(_, path)| path == Path::Direct).count();
        let presence = if self.is_visible { Presence::Visible } else { Presence::Hidden };
        let standing = Standing { presence, reach: direct.min(31) as u8 };
        if let Some(session) = self.session.as_mut().filter(|session| session.is_member()) {
            session.set_standing(now, standing);
        }
    }

    pub(crate) fn may_relay(&self) -> bool {
        self.config.paths != PathPolicy::Direct && self.relay.client.is_entered()
    }
}
