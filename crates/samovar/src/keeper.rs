//! Runs a game on a peer: turns the peer's events into calls of the game, and does what every game needs. It keeps
//! the host's state, carries out each ask once, and remembers the data that take the seat back.

mod hosting;
mod remembering;

use std::collections::VecDeque;

use samovar_peer::{Peer, PeerEvent};
use samovar_session::objects::Schemas;
use samovar_session::{Departure, EndReason, Event, Session};
use samovar_wire::relay::Refusal;
use samovar_wire::{CloseCode, Duration, ObjectId, PeerId, SeatId, Time};

use crate::dynamic::Context;
use crate::entry;
use crate::game::Game;
use crate::hosted::{self, Hosted};
use crate::inner::Inner;
use crate::member::{Change, Member};
use crate::memory::Memory;
use crate::room::Room;
use crate::secret::Secret;
use crate::status::Status;
use crate::waiting::{Own, Waiting};

/// For how long a player who comes back waits for the objects that it had.
const OBJECTS_WITHIN: Duration = Duration::from_millis(500);
/// For how long a program that takes any game waits for its host.
const ADMITTED_WITHIN: Duration = Duration::from_millis(5_000);
/// The time between two updates of the memory.
const REMEMBERS_EVERY: Duration = Duration::from_millis(2_000);
/// The most messages that wait for the game to begin. Beyond this the oldest are dropped.
const UNREAD_MAX: usize = 1_024;

/// Tells the program how the connection stands.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) type OnStatus = Box<dyn FnMut(&Status) + Send>;
/// Tells the program how the connection stands.
#[cfg(target_arch = "wasm32")]
pub(crate) type OnStatus = Box<dyn FnMut(&Status)>;

/// Makes the game, in the room that it plays in.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) type Begin<G> = Box<dyn FnMut(&mut Room<'_, G>) -> G + Send>;
/// Makes the game, in the room that it plays in.
#[cfg(target_arch = "wasm32")]
pub(crate) type Begin<G> = Box<dyn FnMut(&mut Room<'_, G>) -> G>;

/// The parts of a program that outlive a run.
pub(crate) struct Parts<G: Game> {
    pub(crate) memory: Memory,
    pub(crate) on_status: OnStatus,
    pub(crate) begin: Begin<G>,
    /// Whether the program's own loop plays the frames: see [`Keeper::with`].
    pub(crate) has_loop: bool,
}

/// A message that waits until the game has begun.
struct Unread<M> {
    from: PeerId,
    /// The time of a message in the order of time that came too late for its place.
    late: Option<Time>,
    message: M,
}

/// How a peer's run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The peer left.
    Left,
    /// The relay did not let the peer in.
    Refused(Refusal),
    /// The game's own server did not let this program in, for this reason.
    NotAllowed(String),
    /// The session ended.
    Session(EndReason),
    /// The host did not answer, and this program takes any game.
    NotAdmitted,
    /// The relay or the configuration is at fault.
    Failed(String),
    /// The relay was never reached, and another attempt would end alike.
    Unreachable(String),
}

/// The program, as far as its keeper knows it.
pub(crate) struct Identity {
    pub(crate) name: String,
    /// A random number.
    pub(crate) seed: u64,
    /// The secret of a private game.
    pub(crate) secret: Option<Secret>,
    /// Whether it takes any game, and leaves one whose host does not answer.
    pub(crate) seeks: bool,
    /// Whether the player may take the seat back after leaving.
    pub(crate) comes_back: bool,
    /// The schemas of its objects.
    pub(crate) schemas: Schemas,
    /// The data that a dynamic game needs in each run.
    pub(crate) context: Option<Context>,
}

/// One peer's run of a game.
pub(crate) struct Keeper<G: Game> {
    game: Option<G>,
    inner: Inner<G>,
    code: String,
    secret: Option<Secret>,
    seeks: bool,
    comes_back: bool,
    /// When the relay let this program in.
    entered: Option<Time>,
    /// The object that holds the state, and its revision, when the entry in the relay's list was last made.
    listed: Option<(ObjectId, u64)>,
    memory: Memory,
    /// Whether the memory changed since it was last taken.
    is_new: bool,
    /// Since when this program is a member.
    joined: Option<Time>,
    hosts_since: Option<Time>,
    asks: VecDeque<(SeatId, u64, Vec<u8>)>,
    unread: VecDeque<Unread<G::Message>>,
    waiting: Waiting,
    remembered: Time,
    /// Whether the relay has let this program in.
    was_in: bool,
    end: Option<End>,
    /// The words of the game's own server about the refusal that follows.
    told: String,
    has_left: bool,
    on_status: OnStatus,
    begin: Begin<G>,
    has_loop: bool,
}

impl<G: Game> Keeper<G> {
    pub(crate) fn new(identity: Identity, parts: Parts<G>) -> Self {
        let Identity { name, seed, secret, seeks, comes_back, schemas, context } = identity;
        let Parts { memory, on_status, begin, has_loop } = parts;
        let hosted = if G::IS_RAW { Hosted::default() } else { memory.hosted() };
        let mut inner = Inner::new(name, seed, schemas, hosted);
        inner.is_back = memory.ticket.is_some();
        if let Some(world) = context.as_ref().and_then(|context| G::foreign_world(context, seed)) {
            inner.stepper.step_instead(world);
        }
        inner.context = context;
        inner.written = memory.own();
        inner.kept = memory.raw().filter(|_| G::IS_RAW);
        Self {
            game: None,
            inner,
            code: String::new(),
            secret,
            seeks,
            comes_back,
            entered: None,
            listed: None,
            memory,
            is_new: false,
            joined: None,
            hosts_since: None,
            asks: VecDeque::new(),
            unread: VecDeque::new(),
            waiting: Waiting::default(),
            remembered: Time::ZERO,
            was_in: false,
            end: None,
            told: String::new(),
            has_left: false,
            on_status,
            begin,
            has_loop,
        }
    }

    /// The parts that outlive this run.
    pub(crate) fn into_parts(self) -> Parts<G> {
        let Self { memory, on_status, begin, has_loop, .. } = self;
        Parts { memory, on_status, begin, has_loop }
    }

    /// The game's code without a secret, once the relay has told it.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Whether the program's own loop plays the frames.
    #[cfg(target_arch = "wasm32")]
    pub(crate) const fn has_loop(&self) -> bool {
        self.has_loop
    }

    /// Handles the events that have arrived.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn take_events(&mut self, now: Time, peer: &mut Peer) {
        while let Some(event) = peer.poll_event() {
            self.on_event(now, peer, event);
        }
    }

    /// Whether the relay has let this program in.
    #[cfg(target_arch = "wasm32")]
    pub(crate) const fn was_let_in(&self) -> bool {
        self.was_in
    }

    /// How the run ended; `None` while it goes on.
    pub(crate) fn end(&self, peer: &Peer) -> Option<End> {
        let is_final = peer.is_over() || matches!(self.end, Some(End::Unreachable(_) | End::NotAdmitted));
        // If the player has left, no other reason counts, whatever happened before or while leaving. A peer that is
        // over for another reason has an event that says why, which the game may not have read yet.
        let end = if self.has_left { Some(End::Left) } else { self.end.clone() };
        end.filter(|_| is_final)
    }

    fn tell(&mut self, status: &Status) {
        (self.on_status)(status);
    }

    /// Handles that the relay could not be opened. A final error ends the run, unless the relay was reached before:
    /// then the program tries again.
    pub(crate) fn on_unreachable(&mut self, why: String, is_final: bool) {
        if is_final && !self.was_in {
            self.end = Some(End::Unreachable(why));
        } else {
            self.tell(&Status::Unreachable(why));
        }
    }

    pub(crate) fn on_event(&mut self, now: Time, peer: &mut Peer, event: PeerEvent) {
        match event {
            PeerEvent::Entered(code) => {
                code.as_str().clone_into(&mut self.code);
                self.inner.invitation = match &self.secret {
                    Some(secret) => format!("{code}.{secret}"),
                    None => code.as_str().to_owned(),
                };
                self.was_in = true;
                self.entered.get_or_insert(now);
                self.tell(&Status::Entered(self.inner.invitation.clone()));
            }
            // A refusal ends the run only if the peer is over, because the game of a member goes on without the relay.
            PeerEvent::Told(why) => self.told = why,
            PeerEvent::Refused(Refusal::NotAllowed) if peer.is_over() => {
                self.end = Some(End::NotAllowed(core::mem::take(&mut self.told)));
            }
            // These end the session, too, which says less about the reason.
            PeerEvent::Refused(refusal @ (Refusal::Banned | Refusal::Ended)) => {
                self.end = Some(End::Refused(refusal));
            }
            PeerEvent::Refused(refusal) if peer.is_over() => self.end = Some(End::Refused(refusal)),
            PeerEvent::Refused(refusal) => {
                let code = self.code.clone();
                self.tell(&Status::Refused(entry::of_refusal(refusal, code)));
            }
            PeerEvent::Failed(fault) if peer.is_over() => self.end = Some(End::Failed(format!("{fault:?}"))),
            PeerEvent::NoSession(error) => self.end = Some(End::Failed(error.to_string())),
            // Before the relay has let this program in, another status tells why the relay cannot be reached.
            PeerEvent::RelayLost if self.was_in => self.tell(&Status::RelayLost),
            PeerEvent::RelayRestored => self.tell(&Status::RelayBack),
            PeerEvent::RelayDraining(within) => {
                self.tell(&Status::RelayStops(within.as_micros() as f64 / 1e6));
            }
            PeerEvent::Rejoining { has_diverged } => {
                self.end = None;
                self.begin_anew();
                self.tell(&Status::Away { has_diverged });
            }
            PeerEvent::Session(event) => {
                let is_ticket = matches!(event, Event::Ticket(_));
                if let Some(session) = peer.session_mut() {
                    self.on_session_event(now, session, event);
                }
                if is_ticket {
                    self.remember(now, peer);
                }
            }
            _ => {}
        }
    }

    /// Resets the game, because this program becomes a member again and its game begins anew.
    pub(crate) fn begin_anew(&mut self) {
        self.keep_raw();
        (self.game, self.joined, self.hosts_since, self.inner.is_back) = (None, None, None, true);
        self.waiting = Waiting::default();
        self.inner.own = Own::default();
        self.asks.clear();
        self.unread.clear();
        self.inner.to_self.clear();
    }

    pub(crate) fn on_session_event(&mut self, now: Time, session: &mut Session, event: Event) {
        if G::IS_RAW {
            return self.on_raw_event(now, session, &event);
        }
        self.waiting.note(session, &event);
        match event {
            Event::Joined => {
                self.joined = Some(now);
                self.inner.forget_objects();
                if session.host() != session.me() {
                    // The known state belongs to another session. The state of this session comes with the objects.
                    self.inner.hosted = Hosted::default();
                }
                let host = Member::of_peer(session, session.host()).name;
                self.tell(&Status::Joined(host));
            }
            Event::Ticket(ticket) => self.note_ticket(ticket),
            Event::MemberJoined { member, resumed } => {
                let change = if resumed { Change::CameBack } else { Change::Came };
                let member = Member::of_seat(session, member.seat);
                self.tell_change(now, session, &member, change);
            }
            Event::MemberLeft { member, departure } => {
                let change = match departure {
                    Departure::Left => Change::Left,
                    Departure::PutOut => Change::PutOut,
                    // A newer program sits on the seat: the player came back.
                    Departure::Replaced => return,
                    Departure::Gone => Change::Away,
                };
                let gone =
                    Member { is_here: false, name: member.name, ..Member::of_seat(session, member.seat) };
                self.tell_change(now, session, &gone, change);
            }
            Event::HostChanged(migration) => {
                let host = Member::of_peer(session, migration.to);
                if migration.from != migration.to {
                    self.tell(&Status::HostIs(host.name.clone()));
                    self.tell_change(now, session, &host, Change::Hosts);
                }
            }
            Event::Message { from, bytes, .. } => self.note_message(now, session, (from, None), &bytes),
            Event::Late { from, time, bytes } => {
                self.note_message(now, session, (from, Some(time)), &bytes);
            }
            Event::Input { seat, number, bytes } => {
                self.asks.push_back((seat, number, bytes));
                self.decide(now, session);
            }
            Event::Ended(reason) => self.note_ended(reason),
            _ => {}
        }
    }

    /// Notes that the session ended, unless the relay has said why.
    fn note_ended(&mut self, reason: EndReason) {
        if !matches!(self.end, Some(End::Refused(Refusal::Banned | Refusal::Ended))) {
            self.end = Some(End::Session(reason));
        }
    }

    /// Tells a raw game of an event. The game begins as soon as this program is a member.
    fn on_raw_event(&mut self, now: Time, session: &mut Session, event: &Event) {
        match event {
            Event::Joined => {
                self.joined = Some(now);
                self.game = Some((self.begin)(&mut Room { now, session, inner: &mut self.inner }));
                self.tell(&Status::Joined(Member::of_peer(session, session.host()).name));
            }
            Event::Ticket(ticket) => self.note_ticket(*ticket),
            Event::HostChanged(migration) if migration.from != migration.to => {
                self.tell(&Status::HostIs(Member::of_peer(session, migration.to).name));
            }
            Event::Ended(reason) => self.note_ended(*reason),
            _ => {}
        }
        self.play(now, session, |game, room| game.event(room, event));
    }

    /// Keeps a message until the game hears it; `late` is the time of one that came too late for its place.
    fn note_message(
        &mut self,
        now: Time,
        session: &mut Session,
        (from, late): (PeerId, Option<Time>),
        bytes: &[u8],
    ) {
        if let Some(message) = G::message_from(bytes) {
            if self.unread.len() == UNREAD_MAX {
                self.unread.pop_front();
            }
            self.unread.push_back(Unread { from, late, message });
            self.hear(now, session);
        }
    }

    fn tell_change(&mut self, now: Time, session: &mut Session, member: &Member, change: Change) {
        self.play(now, session, |game, room| game.member(room, member, change));
    }

    /// Calls the game, if it has begun.
    fn play<R>(
        &mut self,
        now: Time,
        session: &mut Session,
        call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R,
    ) -> Option<R> {
        // The game is taken out, because the call borrows it and the room at the same time.
        let mut game = self.game.take()?;
        let result = call(&mut game, &mut Room { now, session, inner: &mut self.inner });
        self.game = Some(game);
        Some(result)
    }

    /// Runs a frame of the peer. It is also a frame of the game, unless the program's own loop plays the game's
    /// frames.
    pub(crate) fn frame(&mut self, now: Time, peer: &mut Peer) {
        let is_late = self.entered.is_some_and(|entered| entered + ADMITTED_WITHIN <= now);
        if self.seeks && is_late && self.joined.is_none() && self.end.is_none() {
            self.end = Some(End::NotAdmitted);
        }
        if !self.has_loop {
            self.with(now, peer, play_frame);
        } else if let Some(session) = peer.session_mut().filter(|session| session.is_member()) {
            // Once the game has begun, only the frames of the loop advance its time.
            match self.game {
                _ if G::IS_RAW => {}
                Some(_) => self.inner.look_at_state(session),
                None => self.inner.look(session, now),
            }
            self.duties(now, session);
            self.hear(now, session);
            self.tend(now, peer);
        }
    }

    /// Plays a frame of the game by `call`; `None` unless this program is a member and its game has begun.
    pub(crate) fn with<R>(
        &mut self,
        now: Time,
        peer: &mut Peer,
        call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R,
    ) -> Option<R> {
        let session = peer.session_mut().filter(|session| session.is_member())?;
        let result = self.frame_of(now, session, call);
        self.tend(now, peer);
        result
    }

    /// Calls the game between two frames: its time stands still, and it hears no messages.
    pub(crate) fn between<R>(
        &mut self,
        now: Time,
        peer: &mut Peer,
        call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R,
    ) -> Option<R> {
        let session = peer.session_mut().filter(|session| session.is_member())?;
        let result = self.play(now, session, call);
        self.tend(now, peer);
        result
    }

    /// Leaves if the game wants to, tells the relay what its list shall say, and remembers the seat now and then.
    fn tend(&mut self, now: Time, peer: &mut Peer) {
        let listing = match G::IS_DYNAMIC {
            true => self.inner.listing.take(),
            false if G::IS_RAW || self.listed == self.inner.held_by() => None,
            false => {
                self.listed = self.inner.held_by();
                Some(G::listing(&self.inner.hosted.value))
            }
        };
        if let Some(listing) = listing {
            peer.set_listing(now, &listing.fit_title(), listing.is_open);
        }
        if core::mem::replace(&mut self.inner.leaves, false) && !self.has_left {
            self.has_left = true;
            self.forget_seat();
            peer.leave(now);
        }
        if !G::IS_RAW {
            self.inner.meter.look_at_routes(now, peer);
        }
        // The first memory that can found the game anew is taken at once: the program may end at any time.
        let is_whole = self.memory.pass.is_some() && self.memory.kept.is_some();
        if !is_whole || self.remembered + REMEMBERS_EVERY <= now {
            self.remembered = now;
            self.remember(now, peer);
        }
    }

    /// Plays a frame of a member's game by `call`.
    pub(crate) fn frame_of<R>(
        &mut self,
        now: Time,
        session: &mut Session,
        call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R,
    ) -> Option<R> {
        session.stepped(now);
        self.inner.look(session, now);
        self.duties(now, session);
        self.hear(now, session);
        let result = self.play(now, session, call);
        self.hear(now, session);
        result
    }

    /// Does a host's duties without a frame of the game.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn rest(&mut self, now: Time, session: &mut Session) {
        self.inner.look(session, now);
        self.duties(now, session);
    }

    fn duties(&mut self, now: Time, session: &mut Session) {
        if G::IS_RAW {
            return;
        }
        self.inner.stepper.turn(now, session);
        self.host(now, session);
        self.waiting.tend(now, session, &mut self.inner.own);
        self.begin(now, session);
    }

    /// Begins the game. A player who comes back first gets its objects.
    fn begin(&mut self, now: Time, session: &mut Session) {
        let (None, Some(joined)) = (&self.game, self.joined) else { return };
        let has_objects = || {
            let own = |id: ObjectId| session.object(id).is_some_and(|object| object.owner() == session.me());
            session.objects().any(|object| {
                own(object.id()) && object.traits().kind != hosted::KIND && object.id() != ObjectId::SESSION
            })
        };
        // The state that the host keeps is not known before the objects arrive, either.
        let has_state = || self.inner.holder(session).is_some();
        let waits = (self.inner.is_back && !has_objects()) || !has_state() || !self.inner.stepper.is_known();
        if waits && now < joined + OBJECTS_WITHIN {
            return;
        }
        self.game = Some((self.begin)(&mut Room { now, session, inner: &mut self.inner }));
    }

    /// Gives the game its messages.
    fn hear(&mut self, now: Time, session: &mut Session) {
        if self.game.is_none() || G::IS_RAW {
            return;
        }
        while let Some(Unread { from, late, message }) = self.unread.pop_front() {
            let from = Member::of_peer(session, from);
            self.play(now, session, |game, room| match late {
                None => game.message(room, &from, message),
                Some(time) => game.late(room, &from, message, time.as_micros() as f64 / 1e6),
            });
        }
        // If the game tells itself more meanwhile, those messages wait for the next call.
        for _ in 0..self.inner.to_self.len() {
            let Some(message) = self.inner.to_self.pop_front() else { return };
            let from = Member::of_peer(session, session.me());
            self.play(now, session, |game, room| game.message(room, &from, message));
        }
    }
}

#[cfg(any(test, feature = "sim"))]
impl<G: Game> Keeper<G> {
    pub(crate) const fn has_joined(&self) -> bool {
        self.joined.is_some()
    }

    pub(crate) const fn game(&self) -> Option<&G> {
        self.game.as_ref()
    }

    pub(crate) fn look_at_state(&mut self, session: &Session) {
        self.inner.look_at_state(session);
    }

    pub(crate) const fn inner(&self) -> &Inner<G> {
        &self.inner
    }

    pub(crate) const fn state(&self) -> &G::State {
        &self.inner.hosted.value
    }

    pub(crate) fn written_state(&self) -> samovar_session::objects::State {
        self.inner.hosted.write()
    }
}

/// Plays a frame by the game's own [`Game::frame`].
pub(crate) fn play_frame<G: Game>(game: &mut G, room: &mut Room<'_, G>) {
    let time = room.time();
    game.frame(room, time);
}

/// Whether a new run may bring this program back after the session ended for this reason.
pub(crate) const fn may_come_back(reason: EndReason) -> bool {
    matches!(reason, EndReason::Removed | EndReason::Refused(CloseCode::NotAMember))
}
