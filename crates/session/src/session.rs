//! The session itself: what it is made of, and the game's API.

mod arbiter;
mod associations;
mod balance;
mod control;
mod divergence;
mod ending;
mod events;
mod focus;
mod host;
mod inputs;
mod objects;
mod orders;
mod ownership;
mod reach;
mod route;
mod rpc;
mod send;
mod steps;
mod succession;
mod timers;
mod transmit;
mod typed;
mod view;

use std::collections::VecDeque;

use samovar_link::{Link, LinkEvent, LinkStats};
use samovar_objects::{Focus, Objects, Schemas};
use samovar_roster::{RelayKey, Role, Roster, Suspension, View};
use samovar_wire::control::{Hello, Standing, Vote};
use samovar_wire::view::SeatRecord;
use samovar_wire::{
    CloseCode, Duration, Entropy, Mode, ObjectId, PeerId, Receipt, SeatId, SortedMap, SortedSet, Stamp, Term,
    Ticket, Time, Warrant,
};

use crate::Kept;
use crate::clock::SessionClock;
pub use arbiter::{OwnershipPolicy, OwnershipRequest};
use associations::Associations;
pub use events::{Cause, Departure, EndReason, Event, MemberInfo, Migration, Target, Transmit};
pub use inputs::SubmitError;
pub use orders::{Delivery, Lockstep, Orders};
pub use ownership::{Outcome, WISHES_MAX, WishError};
pub use rpc::{
    CALLS_MAX, CALLS_PER_PEER_MAX, Call, CallError, CallId, CallKey, CallOutcome, IncomingCall, Procedure,
    Reply, ReplyError,
};
pub use send::SendError;

/// How long a game makes no step until its host hands over, unless the game says otherwise (DESIGN §5.12).
const STEPS_WITHIN: Duration = Duration::from_millis(2_000);

/// Events that may wait for the game; the oldest are dropped beyond it. A game that polls loses none.
const EVENTS_MAX: usize = 4_096;

/// How long a seat waits for its member unless the game says otherwise (DESIGN §4 "Seats").
const GRACE: Duration = Duration::from_millis(10 * 60 * 1_000);

/// Peers that are remembered as not to be linked again.
const CLOSED_MAX: usize = 128;

/// What a peer brings into a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Who this peer is, by the relay's word.
    pub me: PeerId,
    /// The relay's key, which verifies warrants.
    pub key: RelayKey,
    /// The highest warrant known. When it names this peer the session is founded, otherwise joined.
    pub warrant: Warrant,
    /// Agreed: hash of the game's name, version and parameters. Peers that differ refuse each other.
    pub params: u64,
    /// The member's name; valid, see [`samovar_wire::name::is_valid`].
    pub name: String,
    /// The application's own bits, shown to every member.
    pub attributes: u32,
    /// Takes a seat back.
    pub ticket: Option<Ticket>,
    /// For a founder: members at most.
    pub capacity: u8,
    /// Seed of the tickets that this peer gives out as host; secret.
    pub entropy: [u8; 32],
    /// Agreed: what the game's objects are made of. Its hash belongs into `params`.
    pub schemas: Schemas,
    /// Agreed: how the session is kept alive. They belong into `params`.
    pub rules: Rules,
}

/// How a session is kept alive; the same for all its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Whether a lost host is succeeded. If not, its loss ends the session for everybody, with that reason.
    pub migrates: bool,
    /// How many members keep what the host accepted, besides the host: 1 or 2.
    pub backups: u8,
    /// Whether this peer, when it hosts, wants members to have direct paths with host and backups only, which carry what others
    /// say to each other (PROTOCOL §2.6): client-server. Of no effect but on paths, and not agreed beforehand: the view tells.
    pub by_host: bool,
    /// Whether each side of a partition goes on by itself, until they meet again and one is kept: for games where
    /// play counts for more than its outcome, as in a duel. Whoever hears neither the relay nor a majority goes on when it has
    /// missed its host for three seconds; what it did alone is told by [`Event::Diverged`] when the other side is kept, and its
    /// ticket takes its seat back. Otherwise, and unless set, the side without the relay and without a majority waits.
    pub forks: bool,
    /// How long the seat of a member that is lost waits for it, with score and objects; 10 minutes unless set. More keeps
    /// a place for who comes back late, until a newcomer needs it and no seat has waited longer; less gives its objects up sooner.
    pub grace: Duration,
    /// Within what time a game makes its next step ([`Session::stepped`]); 2 seconds unless set. A host whose game makes none
    /// for so long hands over, if another can host; whose game makes none for three quarters of it hosts only when nobody
    /// else can.
    /// More lets all wait longer for a host that stands still, less takes one that is merely slow for one. `None`: nobody
    /// is judged by that.
    pub steps_within: Option<Duration>,
    /// Which orders messages may have, besides those of their lanes.
    pub orders: Orders,
}

impl Default for Rules {
    /// A host is succeeded, has one backup, paths are between all members, a partition has one side that goes on, seats wait for 10 minutes, and
    /// a game makes a step within 2 seconds.
    fn default() -> Self {
        Self {
            migrates: true,
            backups: 1,
            by_host: false,
            forks: false,
            grace: GRACE,
            steps_within: Some(STEPS_WITHIN),
            orders: Orders::default(),
        }
    }
}

fn objects_of(config: &SessionConfig, roster: &Roster) -> Objects {
    Objects::new(config.me, roster.host(), roster.term(), config.schemas.clone())
}

/// How far this peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It waits for the host to admit it.
    Joining,
    /// It is a member.
    Member,
    /// It is out.
    Over,
}

/// The link to one peer, and what is known of that peer besides.
#[derive(Debug)]
struct Peering {
    link: Link,
    /// The peer is in the view; only then it takes part.
    admitted: bool,
    opened: Time,
    /// The relay says that the peer's connection closed, since when.
    hint: Option<Time>,
    /// From when on its silence says something: until then it was heard through a relay that this peer has lost.
    judged_from: Time,
    /// The member that carries what the two say to each other, and since when it is that one, or none.
    carrier: (Option<PeerId>, Time),
    /// When it was heard last behind an unusual silence.
    resumed: Time,
    /// The peer said that it leaves.
    left: bool,
    /// The peer asked for admission on this link.
    greeted: bool,
    /// A ticket is on its way by this link, or was.
    welcomed: bool,
    next_update: Time,
    /// How long that waits for the game's next frame.
    patience: Duration,
    /// What this peer said up to then had reached it before this link.
    before: Time,
    /// All that this peer has to tell it now is in the link, or waits for room there.
    is_told: bool,
    /// The link has nothing to send for now; `None` when something has happened since that was found out.
    idle: Option<Idle>,
    /// The peer speaks under this host, under whom this peer does not live, or not yet; and up to when what this peer
    /// said had reached it before.
    ahead: Option<(Vote, Time)>,
    /// What it said under it.
    held: VecDeque<LinkEvent>,
}

/// For how long there is nothing to send to a peer unless something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Idle {
    /// Until something wants to be sent.
    until: Time,
    /// Until it may be sent, or time has to pass for the link.
    due: Time,
}

/// One peer's session.
#[derive(Debug)]
pub struct Session {
    config: SessionConfig,
    phase: Phase,
    roster: Roster,
    objects: Objects,
    view: View,
    /// The revision of the session object that `view` was read from.
    view_revision: Option<(Stamp, u64)>,
    clock: SessionClock,
    /// What the session begins with, if it is this peer that begins it.
    kept: Option<Kept>,
    /// The session time at which the session object was last sampled by its host, as this peer read it.
    heard: Time,
    /// When the game changed something last.
    wrote: Time,
    /// Boxed, since they are looked up all the time and large.
    links: SortedMap<PeerId, Box<Peering>>,
    associations: Associations,
    /// The members that the game knows of.
    members: SortedMap<PeerId, MemberInfo>,
    /// Seats of the view before, with somebody or without, to tell who comes back from who is new.
    seats: Vec<SeatId>,
    backup: Option<PeerId>,
    /// Where the search for a backup goes on.
    last_backup: Option<SeatId>,
    /// Peers that were members, or broke the rules: not linked again, and told why when they speak.
    closed: Vec<(PeerId, CloseCode)>,
    /// Up to when what this peer said had reached peers that are linked no longer.
    parted: SortedMap<PeerId, Time>,
    /// When a stranger was last told that it is no member.
    last_rebuff: Time,
    entropy: Entropy,
    ticket: Option<Ticket>,
    /// The term in which this peer asked for a ticket last.
    asked: Option<Term>,
    events: VecDeque<Event>,
    claim: Option<(Term, PeerId)>,
    /// The relay shall ask the host whether it lives.
    doubt: bool,
    /// When the host was last heard before this peer doubted it.
    doubted: Time,
    /// When the host that this peer asks for admission is taken for gone.
    abandoned_at: Time,
    /// Newcomers whose admission waits for the view to settle.
    knocks: VecDeque<(PeerId, Hello)>,
    /// The seat that this host gave to whoever showed its ticket, until that one hosts.
    aside: Option<SeatId>,
    /// Tickets that a backup has to know of before they are given away.
    tickets: Vec<(PeerId, Ticket)>,
    /// Members that said that they leave: they will never vote again.
    leavers: SortedSet<PeerId>,
    /// When this peer published a view last, and which.
    published: Time,
    published_number: u64,
    /// Whom this host told first that it wants it for its successor, and what says that it knows.
    appointment: Option<(PeerId, Receipt)>,
    /// Session time from which on others may have gone on without this peer: it lost its host, or lives under one that was
    /// voted for.
    split_at: Option<Time>,
    /// The latest objects that ended or changed owners, and when, in session time.
    fates: Vec<(Time, ObjectId)>,
    /// This peer's own objects of which somebody lacked something when it was parted from, and when.
    lacked: Vec<(Time, ObjectId)>,
    /// What the host of which term was told of this peer's fitness.
    told_standing: Option<(Term, Standing)>,
    /// When time last passed here.
    last_now: Time,
    /// Packets that close links whose state is gone.
    farewells: Vec<(PeerId, Vec<u8>)>,
    migration: Option<Migration>,
    /// When everybody's life was looked at last; `None` to do so at once.
    watched: Option<Time>,
    no_watch_before: Time,
    /// This peer was away, and takes nobody's silence for a sign before that.
    judges_from: Time,
    update_interval: Duration,
    /// Until then this new host tells of its objects more often.
    hurries_until: Time,
    /// See [`Session::stirs`].
    stirs: u64,
    /// Who was served last by [`Session::poll_transmit`].
    serving: Option<PeerId>,
    /// Messages of the game that came before this peer was a member.
    early: VecDeque<Event>,
    wishes: ownership::Wishes,
    arbiter: arbiter::Arbiter,
    balance: balance::Balance,
    calls: rpc::Calls,
    inputs: inputs::Inputs,
    focus: Option<Focus>,
    /// What the others were told of it.
    told_focus: Option<Focus>,
    focus_untold: SortedSet<PeerId>,
    reach: reach::Reach,
    steps: steps::Steps,
    orders: orders::Machines,
    scratch: Vec<u8>,
}

impl Session {
    /// Founds the session that the warrant names this peer host of, or joins it otherwise.
    ///
    /// `None` when the warrant is not the relay's.
    #[must_use]
    pub fn new(now: Time, config: SessionConfig) -> Option<Self> {
        Self::with_kept(now, config, None)
    }

    /// As [`Session::new`]; should this peer found the session, or begin it anew because nobody is left, it goes on from
    /// what was kept.
    #[must_use]
    pub fn with_kept(now: Time, config: SessionConfig, kept: Option<Kept>) -> Option<Self> {
        let roster = Roster::new(config.me, config.key, config.warrant)?
            .with_migration(config.rules.migrates)
            .with_forks(config.rules.forks);
        let mut session = Self::blank(now, config, roster, kept);
        if session.roster.is_host() {
            session.found(now);
        } else {
            session.ask_to_join(now);
        }
        Some(session)
    }

    /// Before anything has been said or heard.
    fn blank(now: Time, config: SessionConfig, roster: Roster, kept: Option<Kept>) -> Self {
        Self {
            phase: Phase::Joining,
            objects: objects_of(&config, &roster),
            view: View::founding(config.capacity),
            view_revision: None,
            kept,
            clock: SessionClock::unknown(now),
            heard: Time::ZERO,
            wrote: Time::ZERO,
            links: SortedMap::new(),
            associations: Associations::new(),
            members: SortedMap::new(),
            seats: Vec::new(),
            backup: None,
            last_backup: None,
            closed: Vec::new(),
            parted: SortedMap::new(),
            last_rebuff: Time::ZERO,
            entropy: Entropy::new(config.entropy),
            ticket: None,
            asked: None,
            events: VecDeque::new(),
            claim: None,
            doubt: false,
            doubted: now,
            abandoned_at: Time::FAR,
            knocks: VecDeque::new(),
            aside: None,
            tickets: Vec::new(),
            leavers: SortedSet::new(),
            published: now,
            published_number: 0,
            appointment: None,
            split_at: None,
            fates: Vec::new(),
            lacked: Vec::new(),
            told_standing: None,
            last_now: now,
            farewells: Vec::new(),
            migration: None,
            watched: None,
            no_watch_before: now,
            judges_from: now,
            update_interval: transmit::UPDATE_INTERVAL,
            hurries_until: now,
            stirs: 0,
            serving: None,
            early: VecDeque::new(),
            wishes: ownership::Wishes::default(),
            arbiter: arbiter::Arbiter::default(),
            balance: balance::Balance::default(),
            calls: rpc::Calls::default(),
            inputs: inputs::Inputs::default(),
            focus: None,
            told_focus: None,
            focus_untold: SortedSet::new(),
            reach: reach::Reach::default(),
            steps: steps::Steps::default(),
            orders: orders::Machines::new(&config, roster.is_host()),
            scratch: Vec::new(),
            roster,
            config,
        }
    }

    /// This peer.
    #[must_use]
    pub const fn me(&self) -> PeerId {
        self.config.me
    }

    /// The host of the present term.
    #[must_use]
    pub const fn host(&self) -> PeerId {
        self.roster.host()
    }

    /// The present term.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.roster.term()
    }

    /// The highest warrant known; the relay asks for it when this peer comes back.
    #[must_use]
    pub const fn warrant(&self) -> &Warrant {
        self.roster.warrant()
    }

    /// How the session is kept alive, as its members agreed.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.config.rules
    }

    /// Whether this peer hosts, and may act as the host now; see [`Session::suspension`].
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.roster.acts_as_host() && self.phase == Phase::Member
    }

    /// Why nobody decides here now, if so: nobody is admitted, granted anything, or told that its input is accepted.
    #[must_use]
    pub fn suspension(&self, now: Time) -> Option<Suspension> {
        self.roster.suspension(now).filter(|_| self.phase == Phase::Member)
    }

    /// Whether this peer is a member.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.phase == Phase::Member
    }

    /// The agreed member list.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// This peer's seat; `None` before admission.
    #[must_use]
    pub fn seat(&self) -> Option<SeatId> {
        self.seat_of(self.me()).map(|record| record.seat)
    }

    /// What takes this peer's seat back, once; `None` until [`Event::Ticket`].
    #[must_use]
    pub const fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    /// The seats and the session time, to be kept in case all members go at once: the newest, or those at the session's end.
    /// `None` before this peer is a member.
    #[must_use]
    pub fn kept(&self, now: Time) -> Option<Kept> {
        (self.phase != Phase::Joining && self.view.members().next().is_some())
            .then(|| Kept { view: self.view.clone(), time: self.session_time(now) })
    }

    /// The seat of a member.
    #[must_use]
    pub fn seat_of(&self, peer: PeerId) -> Option<&SeatRecord> {
        self.view.member(peer).map(|m| m.record)
    }

    /// This peer's role.
    #[must_use]
    pub fn role(&self, now: Time) -> Role {
        self.roster.role(now, &self.view, self.is_backed_up())
    }

    fn is_backed_up(&self) -> bool {
        let backups = self.view.backups();
        !backups.is_empty()
            && backups.iter().all(|&backup| self.holds_view(backup))
            && self.are_inputs_backed_up()
    }

    /// Whether a member is known to have the session object as it is now.
    fn holds_view(&self, peer: PeerId) -> bool {
        peer == self.config.me
            || self.links.get(&peer).is_some_and(|peering| {
                let deliveries = peering.link.deliveries();
                self.objects.is_synced(peer, ObjectId::SESSION, &|receipt| deliveries.cover(receipt))
            })
    }

    /// Session time: the host's clock, the same at every member but for the error of its estimate; at a member it never goes backwards.
    /// Before this peer is one it says nothing.
    #[must_use]
    pub fn session_time(&self, now: Time) -> Time {
        self.clock.time(now)
    }

    /// The round trip to a peer as its path takes it, without what either end was busy with: the shortest of the last 16,
    /// which are eight seconds.
    #[must_use]
    pub fn round_trip(&self, peer: PeerId) -> Option<Duration> {
        self.link_stats(peer)?.least_round_trip
    }

    /// How long nothing was heard of a peer; `None` when there is no link to it.
    #[must_use]
    pub fn silence(&self, now: Time, peer: PeerId) -> Option<Duration> {
        Some(self.links.get(&peer)?.link.silence(now))
    }

    /// Whether there is a link to a peer.
    #[must_use]
    pub fn is_linked(&self, peer: PeerId) -> bool {
        self.links.contains_key(&peer)
    }

    /// What the link to a peer measures; `None` when there is no link to it.
    #[must_use]
    pub fn link_stats(&self, peer: PeerId) -> Option<LinkStats> {
        Some(self.links.get(&peer)?.link.stats())
    }

    /// How suspicious the silence of a peer is; see [`samovar_link::Link::suspicion`].
    #[must_use]
    pub fn suspicion(&self, now: Time, peer: PeerId) -> Option<f64> {
        Some(self.links.get(&peer)?.link.suspicion(now))
    }

    /// The next event. What a host's game is asked to do comes behind all else that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front().or_else(|| self.poll_input())
    }

    /// The term that this peer claims, and for whom; the driver takes it to the relay.
    pub fn poll_claim(&mut self) -> Option<(Term, PeerId)> {
        self.claim.take()
    }

    /// Whether the relay should ask the host whether it lives, once for each silence: it is silent for longer than usual, or
    /// heard again after it was missed. The driver takes it to the relay, before a claim.
    pub fn poll_doubt(&mut self) -> bool {
        core::mem::take(&mut self.doubt)
    }

    fn push_event(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Bytes for this peer came on `mode` of the path to `from`.
    pub fn handle_packet(&mut self, now: Time, from: PeerId, mode: Mode, bytes: &[u8]) {
        self.note_time(now);
        // What a host says that this peer voted against shall not be acknowledged (PROTOCOL §4.10).
        if self.phase != Phase::Over && from != self.config.me && self.roster.listens_to(from) {
            self.route(now, from, mode, bytes);
        }
    }
}
