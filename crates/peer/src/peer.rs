//! The peer itself: what a driver calls, and what it is asked to do.

mod carried;
mod farewell;
mod ferry;
mod rejoin;
mod relay;
mod route;
mod signals;

use std::collections::VecDeque;

use samovar_directory::{Client, Fault, SocketId};
use samovar_session::{Event, Kept, Rules, Schemas, Session};
use samovar_wire::control::{Presence, Standing};
use samovar_wire::relay::{Purpose, Refusal};
use samovar_wire::{
    Duration, Entropy, GameCode, Mode, PeerId, PeerPass, SortedMap, Term, Ticket, Time, Warrant,
};

use crate::path::{AttemptEnd, Path, PathState};
use carried::Carried;
use ferry::Ferry;
use rejoin::Seat;

/// Paths that may be held at a time: every member and a few that are about to be.
const PATHS_MAX: usize = 48;
/// Transmits, requests and events that may wait for the driver, which drains them after every call.
const QUEUE_MAX: usize = 4_096;
/// How long a host that leaves waits for its successor.
const HANDS_OVER_WITHIN: Duration = Duration::from_millis(500);

/// Which paths a peer may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathPolicy {
    /// Relayed at once, direct when it can be; relayed over data channels in between.
    #[default]
    Auto,
    /// Direct only: nothing is forwarded by the relay.
    Direct,
    /// Relayed only, over data channels or the WebSocket.
    Relayed,
    /// Client-server: direct with the host and its backups only, which carry what other members say to each other; relayed
    /// where that does not reach. A host with this makes it the way of all members that have [`PathPolicy::Auto`].
    ByHost,
}

/// What a peer wants and who it is.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Seed of all secrets that this peer draws; from the system's randomness.
    pub entropy: [u8; 32],
    /// To create a game or to join one.
    pub purpose: Purpose,
    /// Takes a seat back.
    pub ticket: Option<Ticket>,
    /// What the session begins with, should this peer found it: what it kept of the former one.
    pub kept: Option<Kept>,
    /// The member's name; one that may not travel ([`samovar_wire::name::is_valid`]) counts as none. Drivers make what was typed fit.
    pub name: String,
    /// The application's own bits, shown to every member.
    pub attributes: u32,
    /// Agreed: hash of the game's name, version and parameters.
    pub params: u64,
    /// Agreed: what the game's objects are made of. Its hash belongs into `params`.
    pub schemas: Schemas,
    /// Which paths to use.
    pub paths: PathPolicy,
    /// For a founder: members at most.
    pub capacity: u8,
    /// Agreed: how the session is kept alive. They belong into `params`, but for [`Rules::by_host`].
    pub rules: Rules,
}

/// Bytes for the driver to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// One binary message on a WebSocket to the relay.
    Relay {
        /// Which socket.
        socket: SocketId,
        /// The message.
        bytes: Vec<u8>,
    },
    /// On a data channel of a connection.
    Direct {
        /// The other end: the receiver, or the relay by [`PeerId::RELAY`].
        peer: PeerId,
        /// Which connection.
        attempt: u32,
        /// Which channel.
        mode: Mode,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// A buffer of the driver that bytes wait in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// A WebSocket to the relay.
    Relay(SocketId),
    /// Both channels of a connection.
    Direct(ConnectionKey),
}

/// Names one attempt at a connection with a peer, or with the relay by [`PeerId::RELAY`]: how a driver keeps its connections apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionKey {
    /// The other end.
    pub peer: PeerId,
    /// Grows with each new attempt, so that events of a replaced one are recognised.
    pub attempt: u32,
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Open a WebSocket to the relay beside those that there are; answer with `handle_relay_opened` or
    /// `handle_relay_closed`. There are two of them for a moment when the network changes.
    OpenRelay(SocketId),
    /// Close it; what still comes from it is not to be handed over.
    CloseRelay(SocketId),
    /// Create a connection with both channels and an offer; answer with `handle_local_description`.
    Offer {
        /// To whom; to the relay by [`PeerId::RELAY`].
        peer: PeerId,
        /// The connection's name from now on.
        attempt: u32,
    },
    /// Create a connection with both channels from an offer; answer with `handle_local_description`.
    Answer {
        /// From whom.
        peer: PeerId,
        /// The connection's name from now on.
        attempt: u32,
        /// The offer; untrusted.
        offer: String,
    },
    /// Complete the connection that made the offer.
    Accept {
        /// From whom.
        peer: PeerId,
        /// The connection.
        attempt: u32,
        /// The answer; untrusted.
        answer: String,
    },
    /// Close a connection; its events are ignored from now on.
    CloseDirect {
        /// With whom.
        peer: PeerId,
        /// The connection.
        attempt: u32,
    },
}

/// What went over all paths since the start: packets and bulk chunks, without the relay's control messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets sent; one that went two ways counts twice.
    pub packets_out: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerEvent {
    /// The relay knows this peer; the host will admit it, or this peer is the host.
    Entered(GameCode),
    /// The relay does not let this peer in; final if [`Peer::is_over`] says so. A session may go on by direct paths.
    Refused(Refusal),
    /// The relay breaks the protocol; final as a refusal is.
    Failed(Fault),
    /// The relay cannot be reached; it is tried again and again.
    RelayLost,
    /// The relay is back, or is reached by another network than before.
    RelayRestored,
    /// The relay stops within this time. Direct paths are tried at once, a host hands over when its successor has more of
    /// them, and what still needs the relay by then ends.
    RelayDraining(Duration),
    /// The path to a peer changed.
    PathChanged(PeerId, Path),
    /// An attempt at a connection, with a peer or with the relay by [`PeerId::RELAY`], has ended: every [`Request::Offer`]
    /// and [`Request::Answer`] is followed by one of these.
    AttemptEnded(ConnectionKey, AttemptEnd),
    /// The session ended with [`EndReason::Removed`](samovar_session::EndReason::Removed), and this peer takes its seat back as
    /// another one, by its ticket: the game begins anew with the next session's [`Event::Joined`], as after a reload.
    Rejoining {
        /// Objects changed here while the others went on, and count no more.
        has_diverged: bool,
    },
    /// From the session.
    Session(Event),
}

/// A running peer.
#[derive(Debug)]
pub struct Peer {
    config: PeerConfig,
    entropy: Entropy,
    client: Client,
    session: Option<Session>,
    seat: Seat,
    code: Option<GameCode>,
    paths: SortedMap<PeerId, PathState>,
    ferry: Ferry,
    carried: Carried,
    shown_paths: SortedMap<PeerId, Path>,
    last_attempt: u32,
    shown_warrant: Option<Warrant>,
    /// The term and the number of the view that the relay was told of.
    shown_view: Option<(Term, u64)>,
    /// To whom there shall be paths, and the session's [`Session::stirs`] when that was found out.
    wanted: Vec<PeerId>,
    wanted_since: Option<u64>,
    is_visible: bool,
    traffic: Traffic,
    /// Whether the relay's client was settled when that was looked at last.
    was_settled: bool,
    /// What waits for the relay's WebSocket, in bytes.
    relay_backlog: u64,
    transmits: VecDeque<Transmit>,
    requests: VecDeque<Request>,
    events: VecDeque<PeerEvent>,
    over: bool,
    /// It may come back as another peer.
    is_away: bool,
    /// When the network changed last, as the driver says.
    moved: Option<Time>,
    /// When that is looked at again, since the network has changed once more.
    moves_at: Time,
    /// When a host that is to leave does so although nobody has succeeded it.
    leaves_at: Time,
    /// When a host whose relay is about to stop looks whether another is linked better.
    yields_at: Time,
    /// When it was driven last and had nothing to send; `None` when something has happened since.
    settled: Option<Time>,
    /// What [`Peer::poll_timeout`] says while nothing has happened since.
    due: Option<Time>,
    /// The session's [`Session::stirs`] when the relay's client was told of it last.
    told_client: Option<u64>,
    /// The session's [`Session::stirs`] when paths were tended, and until when there is nothing to tend unless something
    /// happens to a path; `None` when something has. Most packets change nothing about the ways that they go.
    tended: Option<(Option<u64>, Time)>,
    /// The packet that is being given its ways.
    packet: Vec<u8>,
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
            client: Client::new(now, relay::client_config(&config, &mut entropy)),
            seat: Seat::new(config.ticket),
            config,
            entropy,
            session: None,
            code: None,
            paths: SortedMap::new(),
            ferry: Ferry::new(now),
            carried: Carried::default(),
            shown_paths: SortedMap::new(),
            last_attempt: 0,
            shown_warrant: None,
            shown_view: None,
            wanted: Vec::new(),
            wanted_since: None,
            is_visible: true,
            traffic: Traffic::default(),
            was_settled: false,
            relay_backlog: 0,
            transmits: VecDeque::new(),
            requests: VecDeque::new(),
            events: VecDeque::new(),
            over: false,
            is_away: false,
            moved: None,
            moves_at: Time::FAR,
            leaves_at: Time::FAR,
            yields_at: Time::FAR,
            settled: None,
            due: None,
            told_client: None,
            tended: None,
            packet: Vec::new(),
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
        self.settled = None;
        self.session.as_mut()
    }

    /// What shows to the relay that this peer was a member, for [`Purpose::Rejoin`]; from the relay's word on.
    #[must_use]
    pub fn pass(&self) -> Option<PeerPass> {
        self.client.pass()
    }

    /// The game's code, from the relay's word on.
    #[must_use]
    pub const fn code(&self) -> Option<&GameCode> {
        self.code.as_ref()
    }

    /// Whether the relay is connected and knows this peer.
    #[must_use]
    pub fn is_relay_connected(&self) -> bool {
        self.client.is_entered()
    }

    /// Whether people can see what this peer shows: a page that is hidden runs slowly. It is a worse host then, and
    /// hands over, now or later, as soon as a member is there that is seen.
    pub fn set_visible(&mut self, now: Time, is_visible: bool) {
        self.tended = None;
        self.is_visible = is_visible;
        self.drive(now);
    }

    /// Whether the peer is over: it left, was refused, or its session ended and there is no ticket to come back by.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// How packets reach a peer now.
    #[must_use]
    pub fn path(&self, now: Time, peer: PeerId) -> Path {
        match self.own_path(now, peer) {
            Path::Direct => Path::Direct,
            _ if self.carried.carrier(peer).is_some() => Path::ByHost,
            other => other,
        }
    }

    /// The same without members that carry.
    fn own_path(&self, now: Time, peer: PeerId) -> Path {
        let is_direct = self.paths.get(&peer).is_some_and(|path| path.is_up(now));
        match (is_direct, self.may_relay()) {
            (true, _) => Path::Direct,
            (false, true) if self.ferry.path.is_up(now) => Path::RelayedUdp,
            (false, true) => Path::Relayed,
            (false, false) => Path::None,
        }
    }

    /// What went over all paths since the start.
    #[must_use]
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn count_in(&mut self, bytes: &[u8]) {
        self.traffic.packets_in += 1;
        self.traffic.bytes_in += bytes.len() as u64;
    }

    fn count_out(&mut self, bytes: &[u8]) {
        self.traffic.packets_out += 1;
        self.traffic.bytes_out += bytes.len() as u64;
    }

    /// Lets time pass. What has arrived is handed over before.
    pub fn handle_timeout(&mut self, now: Time) {
        self.client.handle_timeout(now);
        if let Some(session) = &mut self.session {
            session.handle_timeout(now);
        }
        let is_succeeded = self.session.as_ref().is_none_or(Session::is_succeeded);
        if self.leaves_at != Time::FAR && (is_succeeded || self.leaves_at <= now) {
            self.leave_at_once(now);
        }
        self.yield_to_better_linked(now);
        if self.moves_at <= now {
            self.moves_at = Time::FAR;
            // Otherwise the socket has come back by the network that there is, and the same change was said twice.
            if !self.client.is_settled() {
                self.handle_network_changed(now);
            }
        }
        if !self.over {
            self.tend_seat(now);
        }
        self.expire_paths(now);
        self.drive(now);
    }

    /// When [`Peer::handle_timeout`] has something to do by itself; ask it last.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.settled.is_some() { self.due } else { self.next_timeout() }
    }

    fn next_timeout(&self) -> Option<Time> {
        let session = self.session.as_ref().and_then(Session::poll_timeout);
        let paths = self.tended.map_or_else(|| self.paths_due(), |(_, due)| due);
        [
            session,
            self.client.poll_timeout(),
            Some(paths.min(self.leaves_at).min(self.yields_at).min(self.moves_at).min(self.seat_due())),
            Some(self.carried.due()),
        ]
        .into_iter()
        .flatten()
        .min()
        .filter(|&time| time != Time::FAR)
    }

    /// When something of a path is due by itself.
    fn paths_due(&self) -> Time {
        let offers = self.offers_now();
        let complains = self.may_relay().then(|| self.ferry.path.was_up());
        let path = |(&peer, path): (&PeerId, &PathState)| {
            path.timeout(offers.then(|| self.is_offerer(peer)).flatten(), complains)
        };
        let paths = self.paths.iter().map(path).min().unwrap_or(Time::FAR);
        paths.min(self.ferry.timeout(self.offers_to_relay()))
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        // Most turns of a driver bring nothing to send, and to find that out once is enough.
        if self.transmits.is_empty() && self.settled != Some(now) {
            self.drive(now);
        }
        self.transmits.pop_front()
    }

    /// The next thing that the driver must do.
    pub fn poll_request(&mut self) -> Option<Request> {
        self.requests.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<PeerEvent> {
        self.events.pop_front()
    }

    /// Leaves the game for good. A host hands over first, and stays until its successor has taken what goes with the host, half a
    /// second at most: until [`Peer::is_over`] it is to be driven on, and its game to be played.
    pub fn leave(&mut self, now: Time) {
        if self.session.as_mut().is_some_and(|session| session.hand_over(now)) {
            self.leaves_at = self.leaves_at.min(now + HANDS_OVER_WITHIN);
            self.drive(now);
        } else {
            self.leave_at_once(now);
        }
    }

    /// Leaves when there is no time to hand over, as when a page is closed; what is to be sent and done for that waits in
    /// the queues.
    pub fn leave_at_once(&mut self, now: Time) {
        self.leaves_at = Time::FAR;
        if let Some(session) = &mut self.session {
            if self.is_away {
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
        self.is_away = true;
        self.leave_at_once(now);
    }

    /// Ends everything that is still open.
    fn close(&mut self, now: Time) {
        if core::mem::replace(&mut self.over, true) {
            return;
        }
        self.route_session(now);
        if self.is_away {
            self.client.go_away(now);
        } else {
            self.client.leave(now);
        }
        // What the session said last goes out before the connections it goes over are closed.
        for (peer, mut path) in core::mem::take(&mut self.paths) {
            path.end(AttemptEnd::Gone).for_each(|closed| self.give_up(peer, closed));
        }
        self.end_ferry(AttemptEnd::Gone);
        self.drive(now);
    }

    fn push_event(&mut self, event: PeerEvent) {
        if self.events.len() < QUEUE_MAX {
            self.events.push_back(event);
        }
    }

    /// Carries values between the relay's client, the session and the paths until nothing is left to carry.
    fn drive(&mut self, now: Time) {
        self.drain_client(now);
        self.drain_session(now);
        if self.over {
            self.tended = None;
        } else {
            self.tend(now);
        }
        self.route_session(now);
        self.drain_client(now);
        self.settled = self.transmits.is_empty().then_some(now);
        if self.settled.is_some() {
            self.due = self.next_timeout();
        }
    }

    /// Sees to the paths, unless nothing can have become of them since that was done.
    fn tend(&mut self, now: Time) {
        let stirs = self.session.as_ref().map(Session::stirs);
        let rests = self.tended.is_some_and(|(since, due)| since == stirs && due > now);
        // Where assertions are checked, it is tried all the same.
        if rests && !cfg!(debug_assertions) {
            return;
        }
        let waiting = |peer: &Self| (peer.transmits.len(), peer.requests.len(), peer.events.len());
        let before = waiting(self);
        self.tend_ferry(now);
        self.tend_paths(now);
        self.tell_standing(now);
        self.note_losses(now);
        debug_assert!(!rests || before == waiting(self), "there was nothing to tend");
        // Who has just complained of a path has no more to say of it, and still asks the relay for an echo when it is in doubt.
        let doubted = self.paths.values().map(|path| path.doubted_at(true)).filter(|&at| at > now).min();
        if !rests {
            self.tended = Some((stirs, self.paths_due().min(doubted.unwrap_or(Time::FAR))));
        }
    }

    fn tell_standing(&mut self, now: Time) {
        let direct = self.shown_paths.values().filter(|&&path| path == Path::Direct).count();
        let presence = if self.is_visible { Presence::Visible } else { Presence::Hidden };
        let standing = Standing { presence, reach: direct.min(31) as u8 };
        if let Some(session) = self.session.as_mut().filter(|session| session.is_member()) {
            session.set_standing(now, standing);
        }
    }

    fn may_relay(&self) -> bool {
        self.config.paths != PathPolicy::Direct && self.client.is_entered()
    }
}
