//! The peer itself: the calls that a driver makes.

use samovar_session::Session;
use samovar_wire::control::{Presence, Standing};
use samovar_wire::{Entropy, GameCode, PeerId, PeerPass, Time};

use crate::config::PeerConfig;
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
    /// When the peer was last driven.
    driven: Time,
    pub(crate) out: Outbox,
    pub(crate) traffic: Traffic,
    pub(crate) is_visible: bool,
}

impl Peer {
    /// Starts a peer. It first asks its driver for a WebSocket to the relay.
    #[must_use]
    pub fn new(now: Time, mut config: PeerConfig) -> Self {
        if !samovar_wire::name::is_valid(&config.name) {
            config.name.clear();
        }
        let mut entropy = Entropy::new(config.entropy);
        let mut peer = Self {
            relay: Relay::new(now, config.client_config(&mut entropy), config.public),
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

    /// The session; `None` until the relay lets this peer in.
    #[must_use]
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The session, so that the game can change its objects; `None` until the relay lets this peer in.
    pub const fn session_mut(&mut self) -> Option<&mut Session> {
        self.rest.end();
        self.session.as_mut()
    }

    /// The proof for the relay that this peer was a member, for [`Purpose::Rejoin`](crate::Purpose::Rejoin); `None`
    /// until the relay lets this peer in.
    #[must_use]
    pub fn pass(&self) -> Option<PeerPass> {
        self.relay.client.pass()
    }

    /// The game's code; `None` until the relay lets this peer in.
    #[must_use]
    pub const fn code(&self) -> Option<&GameCode> {
        self.relay.code.as_ref()
    }

    /// Whether the relay is connected and knows this peer.
    #[must_use]
    pub fn is_relay_connected(&self) -> bool {
        self.relay.client.is_entered()
    }

    /// Sets what the relay's list says of the game while this peer hosts: a title, and whether newcomers are admitted.
    /// At first the title is empty and the game is open. An invalid title ([`samovar_wire::name::is_valid`]) counts as
    /// none.
    pub fn set_listing(&mut self, now: Time, title: &str, open: bool) {
        let title = if samovar_wire::name::is_valid(title) { title } else { "" };
        if self.relay.set_about(title, open) {
            self.drive(now);
        }
    }

    /// Sets whether people can see this peer's page. A hidden page runs slowly and makes a worse host, so it hands over
    /// as soon as there is a visible member.
    pub fn set_visible(&mut self, now: Time, is_visible: bool) {
        self.routes.touch();
        self.is_visible = is_visible;
        self.drive(now);
    }

    /// Whether the peer is over: it left, was refused, or its session ended and it has no ticket to come back by.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.leaving.is_over()
    }

    /// The path that packets take to a peer now.
    #[must_use]
    pub fn path(&self, now: Time, peer: PeerId) -> Path {
        match self.own_path(now, peer) {
            Path::Direct => Path::Direct,
            _ if self.routes.carried.carrier(peer).is_some() => Path::ByHost,
            other => other,
        }
    }

    /// The path that packets to a peer take without carriers.
    pub(crate) fn own_path(&self, now: Time, peer: PeerId) -> Path {
        self.routes.own_path(now, peer, self.may_relay())
    }

    /// The traffic over all paths since the start.
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

    /// Runs the timers that are due. Call this after all bytes that arrived are handed over.
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
        // If the client is settled, its socket already uses the present network. The report that came too soon was
        // then about the same change.
        if self.moves.take_due(now) && !self.relay.client.is_settled() {
            self.handle_network_changed(now);
        }
        if !self.is_over() {
            self.tend_seat(now);
        }
        self.expire_paths(now);
        self.drive(now);
    }

    /// When [`Peer::handle_timeout`] is next due. Call this after all other calls.
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

    /// When the next timer of a path is due.
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

    /// The next event. A driver calls this until there is none: see [`Session::poll_event`].
    pub fn poll_event(&mut self) -> Option<PeerEvent> {
        self.out.poll_event().or_else(|| {
            self.take_events(self.driven);
            self.out.poll_event()
        })
    }

    /// Leaves the game for good. A host hands over first and stays until its successor has taken over the host's state,
    /// 1.5 s at most. Drive the peer and play its game until [`Peer::is_over`].
    pub fn leave(&mut self, now: Time) {
        if self.session.as_mut().is_some_and(|session| session.hand_over(now)) {
            self.leaving.hand_over(now);
            self.drive(now);
        } else {
            self.leave_at_once(now);
        }
    }

    /// Leaves without handing over, as when a page is closed. The queues then hold the last bytes and requests.
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

    /// Like [`Peer::leave_at_once`], for a peer that may come back as a new peer: a page that is unloaded may load
    /// again.
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
        // The session's last packets go out before their connections are closed.
        self.end_paths();
        self.end_relay_path(AttemptEnd::Gone);
        self.drive(now);
    }

    /// Carries values between the relay's client, the session and the paths until none is left.
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

    /// Tends the paths if something may have changed since the last time.
    fn tend(&mut self, now: Time) {
        let stirs = self.session.as_ref().map(Session::stirs);
        let rests = self.routes.are_tended(now, stirs);
        // Builds with debug assertions tend the paths anyway, and check that there was nothing to do.
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
            // A complaint has just gone out for each path in doubt, so the next one is not due soon. But when another
            // path comes into doubt, this peer asks the relay for an echo.
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
        self.config.paths.has_relay() && self.relay.client.is_entered()
    }
}
