//! The relay's logic: the games, their connections, and the host of each term.
//!
//! The directory is the witness of PROTOCOL §5.5: it gives each term of a session to one host, by compare-and-swap,
//! and has the term on disk before any peer hears of it. It knows nothing of a game's content. Peers have no
//! accounts: a pass with the relay's signature proves which peer a connection belongs to.
//!
//! ```text
//!              Create, Resume            persisted                 last connection closed
//!   (no game) ---------------> listing ------------> live ----------------------------------> dormant --> forgotten
//!                                 ^                                                              |     a day
//!                                 +----------------------- Resume -------------------------------+
//! ```
//!
//! Invariants: a code names at most one session; a warrant that left the directory is on disk; no output for a
//! connection follows its [`Output::Close`].

mod archive;
mod bars;
mod claims;
mod connection;
mod drain;
mod entry;
mod game;
mod games;
mod incoming;
mod members;
mod note;
mod operator;
mod reserve;
mod strangers;
mod succession;
mod timers;
mod vouching;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use samovar_roster::RelayKey;
use samovar_roster::authority::Signatory;
use samovar_wire::limits::DESCRIPTION_MAX;
use samovar_wire::relay::{FromRelay, Listing, Refusal, RelayFrame, Signal, ToRelay};
use samovar_wire::{Entropy, GameCode, PeerId, SessionId, Term, Time, Vouched};

use crate::limits::{CODE_RESERVED_FOR, CONNECTIONS_MAX, DORMANT_FOR, ENTER_WITHIN, PULSE_EVERY, Quota};
use archive::Archive;
pub use bars::Barred;
use connection::{Caller, Connection, Phase};
use game::Game;
use games::Games;
pub use incoming::Incoming;
use incoming::Read;
use note::Loss;
pub use note::{HostChange, Note};
pub use operator::{GameReport, MemberReport, OperatorError};
pub use strangers::Origin;
use timers::{Timer, Timers};
use vouching::Tokens;
pub use vouching::{Clearance, Intent, Preview, TokenId};

/// One WebSocket at the relay. The driver numbers them and never uses a number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// The configuration of a directory.
#[derive(Clone)]
pub struct DirectoryConfig {
    /// The secret half of the relay's ed25519 key. Passes and warrants outlive the process that signed them, so the key
    /// must be the same after a restart.
    pub secret: [u8; 32],
    /// Seeds the random ids, codes and nonces. It must come from the system's randomness.
    pub entropy: [u8; 32],
}

impl core::fmt::Debug for DirectoryConfig {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("DirectoryConfig(secret)")
    }
}

/// A session's record on disk: its highest term, and its members. A later record of a session replaces the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TermRecord {
    /// The session.
    pub session: SessionId,
    /// The code that the session is, or was, listed under.
    pub code: GameCode,
    /// Hash of the agreed parameters.
    pub params: u64,
    /// The highest term given to any peer.
    pub term: Term,
    /// The host of that term.
    pub host: PeerId,
    /// The highest term that is known to have begun, and its host. It equals the highest term, unless the highest
    /// term is in reserve.
    pub begun: (Term, PeerId),
    /// The members that a host named last, at most 32; the founder if no host has named any.
    pub members: Vec<PeerId>,
    /// Members that a host named earlier and not last; the last 32 at most.
    pub former: Vec<PeerId>,
    /// The peers and addresses that its hosts have barred.
    pub barred: Barred,
    /// The words of the game's own server about members, present and former.
    pub vouched: Vec<(PeerId, Vouched)>,
    /// Grows with each listed game: of two records with the same code, the higher serial belongs to the later game.
    pub serial: u64,
}

impl TermRecord {
    /// Whether a peer is or was a member: a host has named it, or it hosts.
    pub(crate) fn has_named(&self, peer: PeerId) -> bool {
        self.is_member(peer) || self.former.contains(&peer)
    }

    /// Whether a host named a peer last, or the peer hosts.
    pub fn is_member(&self, peer: PeerId) -> bool {
        self.members.contains(&peer) || [self.host, self.begun.1].contains(&peer)
    }

    /// Whether a peer other than the founder was ever a member, or could know of a later term.
    pub(crate) fn was_joined(&self) -> bool {
        self.term != Term::FIRST
            || !self.former.is_empty()
            || self.members.iter().any(|peer| *peer != self.host)
    }
}

/// A request to the driver, which must fulfil requests in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Write this record to disk, then call [`Directory::handle_persisted`]. If the record has a new term, no peer
    /// hears of that term before this call. A driver that cannot write must stop, because a relay that forgets terms
    /// must not be a witness.
    Persist(TermRecord),
    /// Remove the session's record. Needs no answer.
    Forget(SessionId),
}

/// An instruction to the driver about a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send one binary WebSocket message.
    Send {
        /// The receiver.
        conn: ConnId,
        /// The message.
        bytes: Vec<u8>,
        /// The kind of the sender.
        class: Class,
    },
    /// Close the connection after the messages sent before. No further output for it follows.
    Close {
        /// The connection.
        conn: ConnId,
        /// The reason.
        reason: CloseReason,
    },
    /// No action: an event for the driver's logs.
    Note(Note),
}

/// The sender of a message. It decides how the relay treats the message while the receiver is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The relay itself: the message goes ahead of all others.
    Control,
    /// A member.
    Member,
    /// A peer that no host has named, on this connection; or the relay itself, when it reports an act of that peer.
    /// The message goes last and may be dropped, so that strangers cannot slow a member down.
    Stranger(ConnId),
}

/// The reason why the relay closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The relay refused the peer, and has sent it the refusal.
    Refused(Refusal),
    /// The peer did not send its `Enter` in time.
    Silent,
    /// The same peer came back on a newer connection.
    Replaced,
    /// No host has named its peer for long, and a newcomer takes its place.
    GaveWay,
    /// The peer sent LEAVE or AWAY.
    Left,
}

/// A member's offer of data channels to the relay itself (PROTOCOL §5.7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelayOffer {
    /// The member's connection.
    pub conn: ConnId,
    /// The number that the answer repeats.
    pub attempt: u32,
    /// The session description; untrusted.
    pub description: String,
}

/// A game's entry in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameInfo {
    /// The code to join by.
    pub code: GameCode,
    /// The host's own description.
    pub listing: Listing,
    /// The hash of the agreed parameters: it identifies the game program.
    pub params: u64,
    /// The host's connection, if it has one.
    pub host: Option<ConnId>,
}

/// A peer that is connected to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The peer.
    pub peer: PeerId,
    /// Its connection.
    pub conn: ConnId,
    /// Whether it is no member of the session, as far as the relay knows.
    pub is_stranger: bool,
}

/// The state machine; see the picture in the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Directory {
    signatory: Signatory,
    entropy: Entropy,
    connections: BTreeMap<ConnId, Connection>,
    games: Games,
    /// Codes of games and, for a while, of dormant sessions.
    codes: BTreeMap<GameCode, SessionId>,
    archive: Archive,
    /// Dormant sessions whose members have all said LEAVE or AWAY.
    vacated: BTreeSet<SessionId>,
    /// Connections that wait for a dormant session, or for a place in a live game.
    awaiting: BTreeMap<SessionId, BTreeSet<ConnId>>,
    timers: Timers,
    next_serial: u64,
    quota: Quota,
    own_code: Option<GameCode>,
    /// Whether peers need a voucher.
    is_gated: bool,
    tokens: Tokens,
    /// Whether the driver answers offers of data channels.
    is_reachable: bool,
    /// Whether the driver reports when a probe has left.
    reports_probes: bool,
    offers: VecDeque<RelayOffer>,
    /// When the relay stops; `None` if it is not about to stop.
    closes_at: Option<Time>,
    outputs: VecDeque<Output>,
    requests: VecDeque<Request>,
}

impl Directory {
    /// A directory without games.
    #[must_use]
    pub fn new(config: &DirectoryConfig) -> Self {
        Self {
            signatory: Signatory::new(&config.secret),
            entropy: Entropy::new(config.entropy),
            connections: BTreeMap::new(),
            games: Games::default(),
            codes: BTreeMap::new(),
            archive: Archive::default(),
            vacated: BTreeSet::new(),
            awaiting: BTreeMap::new(),
            timers: Timers::default(),
            next_serial: 1,
            quota: Quota::default(),
            own_code: None,
            is_gated: false,
            tokens: Tokens::default(),
            is_reachable: false,
            reports_probes: false,
            offers: VecDeque::new(),
            closes_at: None,
            outputs: VecDeque::new(),
            requests: VecDeque::new(),
        }
    }

    /// Takes over the records that an earlier process left on disk. To be called once, before anything else. The
    /// relay keeps the codes of these sessions reserved for a while.
    pub fn restore(&mut self, now: Time, records: impl IntoIterator<Item = TermRecord>) {
        for record in records {
            self.next_serial = self.next_serial.max(record.serial.saturating_add(1));
            // The code of a game that the operator has ended leads nowhere for a day.
            let time = if record.barred.is_ended { DORMANT_FOR } else { CODE_RESERVED_FOR };
            self.reserve_code(now, &record, time);
            self.archive(now, record, time);
        }
    }

    /// Sets the quota from now on. Peers that have entered already stay.
    pub fn set_quota(&mut self, quota: Quota) {
        self.quota = quota.bounded();
    }

    /// Sets whether the driver has a WebRTC endpoint. If it has, every peer that enters from now on hears of it by
    /// [`FromRelay::Reachable`], and the driver gets offers by [`Directory::poll_offer`].
    pub const fn set_reachable(&mut self, is_reachable: bool) {
        self.is_reachable = is_reachable;
    }

    /// Sets whether the driver reports by [`Directory::handle_probe_sent`] when a probe has left. If it does not, the
    /// time of a probe begins at once.
    pub const fn set_reports_probes(&mut self, reports_probes: bool) {
        self.reports_probes = reports_probes;
    }

    /// Takes the driver's answer to an offer.
    pub fn handle_answer(&mut self, conn: ConnId, attempt: u32, description: String) {
        if self.peer_of(conn).is_some() && description.len() <= DESCRIPTION_MAX {
            self.send(conn, &FromRelay::Signal(PeerId::RELAY, Signal::Answer(attempt, description)));
        }
    }

    /// The driver accepted a connection from this origin. A game takes few strangers of one origin; connections
    /// without an origin have no such limit.
    pub fn handle_opened(&mut self, now: Time, conn: ConnId, origin: Option<Origin>) {
        self.on_opened(now, conn, Caller { origin, is_own: false });
    }

    /// Like [`Directory::handle_opened`], for a connection of the relay's own. No host can bar it, and it may use the
    /// relay's own code.
    pub fn handle_opened_own(&mut self, now: Time, conn: ConnId) {
        self.on_opened(now, conn, Caller { origin: None, is_own: true });
    }

    fn on_opened(&mut self, now: Time, conn: ConnId, caller: Caller) {
        if self.connections.is_empty() {
            self.timers.set(Timer::Pulse, now + PULSE_EVERY);
        }
        let busy = self.connections.len() >= CONNECTIONS_MAX;
        self.connections.insert(conn, Connection::new(caller));
        if busy {
            self.refuse(now, conn, Refusal::Busy);
        } else {
            self.timers.set(Timer::Connection(conn), now + ENTER_WITHIN);
        }
    }

    /// A connection closed, or was found dead. Has no effect after [`Output::Close`].
    pub fn handle_closed(&mut self, now: Time, conn: ConnId) {
        self.detach(now, conn);
    }

    /// Handles a whole WebSocket message; the driver hands over a text message as empty bytes. A driver may pass on
    /// forwarded packets itself, by [`Directory::route`], which saves a copy.
    pub fn handle_message(&mut self, now: Time, conn: ConnId, bytes: &[u8]) {
        self.handle_incoming(now, conn, Incoming::read(&self.key(), bytes));
    }

    /// Like [`Directory::handle_message`], for a message that was read before.
    pub fn handle_incoming(&mut self, now: Time, conn: ConnId, incoming: Incoming<'_>) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        let (message, is_genuine) = match incoming.0 {
            Read::Forward(peer, bytes) => return self.forward(now, conn, peer, bytes),
            Read::Control(message, is_genuine) if connection.takes_control(now) => (message, is_genuine),
            Read::Control(..) | Read::Garbage => return self.refuse(now, conn, Refusal::Misbehaved),
        };
        match (connection.phase, message) {
            // Only a driver that asks for tokens reads them.
            (Phase::New, ToRelay::Token(_)) => {}
            (Phase::New, ToRelay::Enter(enter)) => {
                self.timers.stop(Timer::Connection(conn));
                if let Err(refusal) = self.enter(now, conn, enter, is_genuine) {
                    self.refuse(now, conn, refusal);
                }
            }
            (phase, message @ (ToRelay::Leave | ToRelay::Away)) => {
                self.note_departure(phase, message == ToRelay::Away);
                self.close(now, conn, CloseReason::Left);
            }
            (Phase::Entered(session, peer), message) => {
                self.on_member(now, (session, peer), conn, message);
            }
            _ => self.refuse(now, conn, Refusal::Misbehaved),
        }
    }

    /// The driver has written the record with this term to disk.
    pub fn handle_persisted(&mut self, now: Time, session: SessionId, term: Term) {
        let Some(game) = self.games.get_mut(&session) else { return };
        let Some(pending) = game.pending.take_if(|pending| pending.term == term) else { return };
        let warrant = self.signatory.warrant(session, term, pending.host);
        match pending.in_reserve_of {
            None => self.announce(now, session, warrant),
            Some((begun, host)) => {
                game.warrant.get_or_insert_with(|| self.signatory.warrant(session, begun, host));
                self.hold_in_reserve(now, session, warrant);
            }
        }
        self.admit_entrants(now, session);
    }

    /// Handles all timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(timer) = self.timers.pop(now) {
            match timer {
                Timer::Connection(conn) => self.on_connection_timeout(now, conn),
                Timer::Probe(session) => self.on_probe_timeout(now, session),
                Timer::Grace(session) => self.on_grace_timeout(now, session),
                Timer::Abandoned(session) => self.on_abandoned(now, session),
                Timer::Reservation(session) => self.found_anew(now, session),
                Timer::Dormant(session) => self.forget(session),
                Timer::Pulse => self.pulse(now),
            }
        }
    }

    /// The next output.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The next request to the driver.
    pub fn poll_request(&mut self) -> Option<Request> {
        self.requests.pop_front()
    }

    /// The next offer of data channels; the driver answers it with [`Directory::handle_answer`], or not at all. The
    /// limit on members' signals bounds the number of offers.
    pub fn poll_offer(&mut self) -> Option<RelayOffer> {
        self.offers.pop_front()
    }

    /// When to call [`Directory::handle_timeout`]. Any other call may change this, so the driver polls it last.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    /// The public games, by code. A game is listed from its host's first listing until its last connection closes,
    /// except while its host answers nothing.
    pub fn games(&self) -> impl Iterator<Item = GameInfo> + '_ {
        self.codes.iter().filter_map(|(code, session)| {
            let game = self.games.get(session)?;
            let listing = game.shown_listing().filter(|listing| listing.public)?.clone();
            Some(GameInfo { code: code.clone(), listing, params: game.params, host: game.host_conn() })
        })
    }

    /// The key that verifies the relay's signatures.
    #[must_use]
    pub fn key(&self) -> RelayKey {
        self.signatory.key()
    }

    /// The connection of a member of `conn`'s game; `None` if there is no such member.
    #[must_use]
    pub fn route(&self, conn: ConnId, to: PeerId) -> Option<ConnId> {
        let Phase::Entered(session, _) = self.connections.get(&conn)?.phase else { return None };
        self.games.get(&session)?.members.get(&to).copied()
    }

    /// The peer of a connection; `None` before it has entered.
    #[must_use]
    pub fn peer_of(&self, conn: ConnId) -> Option<PeerId> {
        match self.connections.get(&conn)?.phase {
            Phase::Entered(_, peer) => Some(peer),
            _ => None,
        }
    }

    /// The peers that are connected to a session, by peer; none if the session is not live.
    pub fn connected(&self, session: SessionId) -> impl Iterator<Item = Connected> + Clone + '_ {
        self.games.get(&session).into_iter().flat_map(|game| {
            let connected = |(&peer, &conn)| Connected { peer, conn, is_stranger: !game.counts(peer) };
            game.members.iter().map(connected)
        })
    }

    /// Sets whether the driver keeps a copy of [`Directory::connected`]. If it does, it calls
    /// [`Directory::poll_changed`] after every other call until that returns `None`.
    pub const fn set_reports_changes(&mut self, reports_changes: bool) {
        self.games.set_marks(reports_changes);
    }

    /// A session whose [`Directory::connected`] may be another than when the driver last asked for it.
    pub fn poll_changed(&mut self) -> Option<SessionId> {
        self.games.take_changed()
    }

    /// Counts for the log, and for tests of the bounds.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            connections: self.connections.len(),
            games: self.games.len(),
            members: self.games.values().map(|game| game.members.len()).sum(),
            dormant: self.archive.len(),
            codes: self.codes.len(),
            awaiting: self.awaiting.values().map(BTreeSet::len).sum(),
            timers: self.timers.len(),
        }
    }

    fn on_connection_timeout(&mut self, now: Time, conn: ConnId) {
        match self.connections.get(&conn).map(|connection| connection.phase) {
            Some(Phase::Awaiting(session) | Phase::Resuming(session, _)) => {
                let is_live = self.games.contains_key(&session);
                let refusal = if is_live { Refusal::Busy } else { Refusal::UnknownGame };
                self.refuse(now, conn, refusal);
            }
            Some(_) => self.close(now, conn, CloseReason::Silent),
            None => {}
        }
    }

    fn pulse(&mut self, now: Time) {
        let bytes = RelayFrame::control(&FromRelay::Pulse);
        let greeted = self.connections.iter().filter(|(_, connection)| connection.phase != Phase::New);
        let class = Class::Control;
        self.outputs.extend(greeted.map(|(&conn, _)| Output::Send { conn, bytes: bytes.clone(), class }));
        // Each pulse measures the hosts' answers again. Their first answers came while all peers entered and sent
        // much, and do not show how long answers take later.
        let hosts = |(&session, game): (&SessionId, &Game)| {
            Some((session, game.host().filter(|_| game.host_conn().is_some())?))
        };
        for (session, host) in self.games.iter().filter_map(hosts).collect::<Vec<_>>() {
            self.time_trip(now, session, host);
            self.games.get_mut(&session).into_iter().for_each(Game::note_asked);
            self.watch_members(now, session);
        }
        if !self.connections.is_empty() {
            self.timers.set(Timer::Pulse, now + PULSE_EVERY);
        }
    }

    fn note_host_change(&mut self, now: Time, session: SessionId, loss: Loss) {
        let is_missed =
            !matches!(loss.cause, HostChange::HandedOver | HostChange::PutOut | HostChange::Shown);
        let recovery = loss.since.filter(|_| is_missed).map(|since| now.since(since));
        self.outputs.push_back(Output::Note(Note::HostChanged { session, cause: loss.cause, recovery }));
    }

    fn send(&mut self, conn: ConnId, message: &FromRelay) {
        self.send_as(Class::Control, conn, message);
    }

    fn send_as(&mut self, class: Class, conn: ConnId, message: &FromRelay) {
        self.outputs.push_back(Output::Send { conn, bytes: RelayFrame::control(message), class });
    }

    fn refuse(&mut self, now: Time, conn: ConnId, refusal: Refusal) {
        self.send(conn, &FromRelay::Refused(refusal));
        self.close(now, conn, CloseReason::Refused(refusal));
    }

    fn close(&mut self, now: Time, conn: ConnId, reason: CloseReason) {
        self.outputs.push_back(Output::Close { conn, reason });
        self.detach(now, conn);
    }
}

/// Counts of what a directory holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Open connections.
    pub connections: usize,
    /// Games with at least one connection.
    pub games: usize,
    /// Connections of members, and of peers that become members when their host admits them.
    pub members: usize,
    /// Sessions without a connection whose terms are remembered.
    pub dormant: usize,
    /// Codes that are taken.
    pub codes: usize,
    /// Connections that wait for a game, or for a place in one.
    pub awaiting: usize,
    /// Timers.
    pub timers: usize,
}
