//! Lockstep: all members step the same game with the same inputs, frame by frame.
//!
//! After the sequencer of docs/sources.md, "Pacman": no member takes step n + 1 before all inputs of step n are
//! known. Each player gives its inputs to the host, which makes *frames* of them, one per tick: a frame names the
//! input of each player that all members step with. **All apply what the host decides**, the host included. A slow or
//! lost player delays a frame by at most [`LockstepConfig::patience`]. Then its input counts as unchanged, for all
//! alike, and it delays no frame until its inputs are in time again.
//!
//! Responsible for: choosing the frame of an input (`pace`), deciding frames (`hosting`), resending losses, letting a
//! new host continue from the survivors' frames, loading a state at members that join, were away or diverged, and
//! finding the first frame and field in which states differ. It refuses to predict: a game that wants to draw ahead
//! of the frames does so itself.
//!
//! Invariants: two members with frame n and the same digest up to it have the same frames up to n; a member takes
//! frames only from a host that has checked this, so no two members under one host apply different inputs for a
//! frame. A host decides nothing before it has the frames of the members that it hears ([`COLLECTS_FOR`] at most). A
//! member undoes frames that its new host never heard of by loading a state.
//!
//! ```text
//!   player                          host                             member
//!   input for n + delay   ─────►  has everyone's n, or
//!   (all that is not acked)       has waited long enough:
//!                                 frame n = what changes in it ─────► steps n, checksum
//!                         ◄─────  (all that is not acked)      ◄───── acked: n, chain of checksums
//! ```
//!
//! Driving: hand in all arrivals, carry out requests in their order, read events, send packets; repeat at
//! [`Lockstep::poll_timeout`].
//!
//! ```
//! use samovar_order::lockstep::{Lockstep, LockstepConfig, LockstepView, Player, Request};
//! use samovar_wire::{PeerId, SeatId, Term, Time};
//!
//! let me = PeerId(1);
//! let mut lockstep = Lockstep::found(me, LockstepConfig::new(1));
//! let mut state = 0_u64; // the game
//!
//! let mut now = Time::ZERO;
//! let ann = Player { peer: me, seat: SeatId(1), plays: true };
//! lockstep.handle_view(now, LockstepView { term: Term::FIRST, host: me, members: &[ann] });
//! lockstep.set_input(&[3])?;
//! for _ in 0..10 {
//!     now = lockstep.poll_timeout().expect("a host has something to do each tick");
//!     lockstep.handle_timeout(now);
//!     while let Some(request) = lockstep.poll_request() {
//!         match request {
//!             Request::Step(frame) => {
//!                 state += frame.inputs.values().map(|input| u64::from(input[0])).sum::<u64>();
//!                 lockstep.stepped(frame.number, state);
//!             }
//!             Request::Load { state: bytes, .. } => state = bytes.iter().map(|&byte| u64::from(byte)).sum(),
//!             Request::Save => lockstep.answer_state(now, &state.to_le_bytes()).expect("it is small"),
//!             Request::Fields { frame } => lockstep.answer_fields(now, frame, Vec::new()),
//!         }
//!     }
//!     while let Some(_bytes) = lockstep.poll_transmit() {} // to the other members
//! }
//! assert!(state > 20, "{state}");
//! # Ok::<(), samovar_order::lockstep::WrongSize>(())
//! ```

mod ahead;
mod checks;
mod compare;
mod config;
mod copies;
mod decide;
mod follow;
mod hosting;
mod log;
mod pace;
mod say;

use std::collections::VecDeque;

use samovar_wire::lockstep::{Change, LockstepMessage};
use samovar_wire::{Duration, Lane, PeerId, SeatId, SortedMap, Term, Time};

pub use config::{
    Event, Frame, LockstepConfig, LockstepView, Player, Request, StateError, Stats, Transmit, WrongSize,
};
pub use log::Players;
pub use samovar_wire::lockstep::FieldHash;

use ahead::Ahead;
use checks::Checks;
use hosting::Hosting;
use log::Log;
use pace::Pace;

pub use hosting::COLLECTS_FOR;

/// The most events that are kept for a game that ignores them.
const EVENTS_MAX: usize = 256;
/// How often a member that hears no frames of its host tells the host again which frames it has.
const TOLD_AGAIN: Duration = Duration::from_millis(500);

/// Events for the game that it has not polled yet.
#[derive(Clone, Debug, Default)]
struct Events(VecDeque<Event>);

impl Events {
    fn push(&mut self, event: Event) {
        if self.0.len() == EVENTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(event);
    }
}

/// This peer's role besides stepping, with the state that the role needs.
#[derive(Clone, Debug)]
enum Role {
    /// The host, which decides frames.
    Host(Hosting),
    /// Another member. It gives its inputs, next at `tick_at`. Until the host answers with frames, the member tells
    /// it again at `told_at` which frames it has.
    Member { tick_at: Time, told_at: Time },
}

/// Lockstep at one member.
#[derive(Clone, Debug)]
pub struct Lockstep {
    me: PeerId,
    config: LockstepConfig,
    term: Term,
    host: PeerId,
    members: SortedMap<PeerId, Player>,
    role: Role,
    /// Whether the game has a state from which the log continues.
    has_state: bool,
    log: Log,
    /// The last frame that the game was given, and the players after it.
    given: u64,
    given_players: Players,
    checks: Checks,
    /// Frames after a gap.
    ahead: Ahead,
    pace: Pace,
    input: Vec<u8>,
    /// At a member: the frame whose fields the game was asked for.
    compared: Option<u64>,
    /// Whether a host without a state asked this peer for one.
    is_wanted: bool,
    requests: Vec<Request>,
    events: Events,
    out: Vec<Transmit>,
    stats: Stats,
}

impl Lockstep {
    /// Lockstep of a founder, whose game is in the initial state.
    #[must_use]
    pub fn found(me: PeerId, config: LockstepConfig) -> Self {
        Self { has_state: true, ..Self::join(me, config) }
    }

    /// Lockstep of a peer that joins: its game is told to load a state before it steps.
    #[must_use]
    pub fn join(me: PeerId, config: LockstepConfig) -> Self {
        Self {
            me,
            term: Term(0),
            host: me,
            members: SortedMap::new(),
            role: Role::Member { tick_at: Time::FAR, told_at: Time::FAR },
            has_state: false,
            log: Log::new(config.input_size()),
            given: 0,
            given_players: Players::new(),
            checks: Checks::default(),
            ahead: Ahead::default(),
            pace: Pace::new(),
            input: vec![0; config.input_size()],
            compared: None,
            is_wanted: false,
            requests: Vec::new(),
            events: Events::default(),
            out: Vec::new(),
            stats: Stats::default(),
            config,
        }
    }

    /// Sets the player's input from now on, for each frame until the next call.
    ///
    /// # Errors
    /// [`WrongSize`] when it has another size than the game has agreed on.
    pub fn set_input(&mut self, input: &[u8]) -> Result<(), WrongSize> {
        if input.len() != self.config.input_size() {
            return Err(WrongSize);
        }
        self.input.copy_from_slice(input);
        Ok(())
    }

    /// Takes a view with other members, another host or another term. A view of an earlier term is ignored.
    pub fn handle_view(&mut self, now: Time, view: LockstepView<'_>) {
        if view.term < self.term {
            return;
        }
        self.members.clear();
        view.members.iter().take(usize::from(u8::MAX)).for_each(|&player| {
            self.members.insert(player.peer, player);
        });
        self.out.retain(|transmit| self.members.contains_key(&transmit.to));
        if view.term > self.term || view.host != self.host {
            self.term = view.term;
            self.host = view.host;
            self.begin_term(now);
        } else if let Role::Host(hosting) = &mut self.role {
            hosting.set_members(self.me, &self.members);
        }
        self.act(now);
    }

    fn begin_term(&mut self, now: Time) {
        // Messages of the former term have no receiver any more. Requests for a state lapse, too: the new host asks
        // if it needs one.
        self.out.clear();
        self.requests.retain(|request| matches!(request, Request::Load { .. }));
        self.compared = None;
        self.is_wanted = false;
        self.ahead.clear();
        self.pace.begin_anew(self.log.last());
        if self.host == self.me {
            let mut hosting = Hosting::new(now);
            hosting.set_members(self.me, &self.members);
            hosting.await_members();
            self.role = Role::Host(hosting);
        } else {
            self.role = Role::Member { tick_at: now, told_at: now };
            self.say_told(now);
        }
    }

    /// Begins with the game's initial state. A host calls this in answer to [`Event::NoState`]. Ignored except at a
    /// host without a state.
    pub fn begin_anew(&mut self, now: Time) {
        if self.is_host() && !self.has_state {
            self.has_state = true;
            self.act(now);
        }
    }

    /// Notes that the link to a member began anew: packets in flight on it may be lost.
    pub fn handle_linked(&mut self, now: Time, peer: PeerId) {
        match &mut self.role {
            Role::Host(hosting) => hosting.begin_anew(peer),
            Role::Member { .. } if peer == self.host => self.say_told(now),
            Role::Member { .. } => (),
        }
        self.act(now);
    }

    /// Notes that a member is missed: no frame waits for it until it is heard again.
    pub fn handle_missed(&mut self, now: Time, peer: PeerId) {
        if let Role::Host(hosting) = &mut self.role {
            hosting.give_up(peer);
        }
        self.act(now);
    }

    /// Sets whether packets to a member are sometimes lost, so that each new frame goes in more packets. It is `true`
    /// unless set.
    pub fn set_lossy(&mut self, peer: PeerId, is_lossy: bool) {
        match &mut self.role {
            Role::Host(hosting) => {
                if let Some(follower) = hosting.followers.get_mut(&peer) {
                    follower.copies.set_lossy(is_lossy);
                }
            }
            Role::Member { .. } if peer == self.host => self.pace.copies.set_lossy(is_lossy),
            Role::Member { .. } => (),
        }
    }

    /// Does everything that is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.act(now);
    }

    /// Does everything that is due.
    fn act(&mut self, now: Time) {
        match &self.role {
            Role::Host(_) => self.host_acts(now),
            Role::Member { .. } => self.member_acts(now),
        }
    }

    /// When to call [`Lockstep::handle_timeout`] at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let at = match &self.role {
            Role::Host(hosting) => hosting.timeout(&self.config, self.log.last()),
            Role::Member { tick_at, .. } => *tick_at,
        };
        (at < Time::FAR).then_some(at)
    }

    /// The game's next task. Requests are carried out in the order in which they come, each before the next is asked
    /// for; [`Request::Step`] is answered by [`Lockstep::stepped`].
    pub fn poll_request(&mut self) -> Option<Request> {
        if !self.requests.is_empty() {
            return Some(self.requests.remove(0));
        }
        if !self.has_state || self.given > self.checks.last() {
            return None;
        }
        let changes = self.log.changes(self.given + 1)?.to_vec();
        let is_applied = log::apply(&changes, &mut self.given_players, self.config.input_size());
        debug_assert!(is_applied, "the log takes only what can follow");
        self.given += 1;
        let seats = |wanted: Change| {
            changes.iter().filter(move |change| change.change == wanted).map(|change| change.seat).collect()
        };
        let (joined, left): (Vec<SeatId>, Vec<SeatId>) = (seats(Change::Joins), seats(Change::Leaves));
        Some(Request::Step(Frame { number: self.given, inputs: self.given_players.clone(), joined, left }))
    }

    /// Notes that the game has stepped a frame. `checksum` is that of its state now. Ignored unless the frame is the
    /// last one asked for.
    pub fn stepped(&mut self, frame: u64, checksum: u64) {
        if frame == self.given && frame == self.checks.last() + 1 {
            self.checks.push(checksum);
        }
    }

    /// The next event, which a game may ignore: the last 256 are kept.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.0.pop_front()
    }

    /// The next bytes for another member.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        (!self.out.is_empty()).then(|| self.out.remove(0))
    }

    /// Sends a message reliably.
    fn say(&mut self, to: PeerId, lane: Lane, message: &LockstepMessage) {
        let mut bytes = Vec::new();
        message.encode(&mut samovar_wire::Writer::new(&mut bytes));
        self.out.push(Transmit { to, lane, bytes });
    }

    /// Whether this peer decides frames.
    #[must_use]
    pub const fn is_host(&self) -> bool {
        matches!(self.role, Role::Host(_))
    }

    /// The last frame that is known here.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.log.last()
    }

    /// How many frames after the last known one this player's input counts. A host's own input counts for the next
    /// frame.
    #[must_use]
    pub fn input_delay(&self) -> u64 {
        if self.is_host() { 1 } else { self.pace.delay(self.log.last()) }
    }

    /// Counters since the beginning.
    #[must_use]
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
