//! The maze played over a session's lockstep: one [`MazeGame`] per peer, beside its [`Session`].
//!
//! The game gives this player's input to each frame and steps when the session asks for it. It also answers
//! lockstep's other requests: the state for a joining member, and the fields of a state that differed. It does no
//! I/O: its driver calls [`MazeGame::step`] at any rate and whenever a packet has arrived, [`MazeGame::on_event`] for
//! every event of the session, and [`MazeGame::poll_event`] for sounds and the feed.
//!
//! The game owns no replicated object: all peers compute the same state from the same frames. So a change of host
//! only makes frames pause for a moment.

use std::collections::VecDeque;

use samovar_session::lockstep::{self, LockstepConfig, Request};
use samovar_session::{Departure, Event, Lockstep, Orders, Rules, Schemas, Session};
use samovar_wire::{Duration, Time, digest};

use super::{Autopilot, Hand, Maze, MazeEvent, RATE, Role};
use crate::game::is_spectator;
use crate::player::PlayerName;

/// The version of the rules. Peers of different versions refuse each other.
const RULES_VERSION: u16 = 3;

/// Number of past states that are kept: lockstep asks for the fields of one of the last 255.
const KEPT: usize = 256;

/// The most events that may wait; beyond this the oldest are dropped.
const EVENTS_MAX: usize = 64;

/// News for the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MazeNews {
    /// An event of the maze.
    Maze(MazeEvent),
    /// A member came, or came back.
    PlayerCame {
        /// The member's name.
        name: PlayerName,
        /// Whether the member has been here before.
        is_back: bool,
    },
    /// A member went.
    PlayerWent {
        /// The member's name.
        name: PlayerName,
        /// The way in which the member left.
        departure: Departure,
    },
    /// This peer's state differed from the host's; at the host, a member's state differed. The member loads the
    /// host's state.
    Desync {
        /// The first frame after which the states differ.
        frame: u64,
        /// The first field that differs, if it is known.
        field: Option<String>,
    },
}

/// The rules of a maze's session: lockstep at [`RATE`] frames a second. Unless the founder chooses
/// otherwise, each side of a partition plays on without a majority.
#[must_use]
pub fn rules() -> Rules {
    let lockstep = LockstepConfig::new(1).with_tick(tick());
    let orders = Orders { lockstep: Some(lockstep), ..Orders::default() };
    Rules { orders, forks: true, ..Rules::default() }
}

/// The schemas of the game's objects. The game has none.
#[must_use]
pub fn schemas() -> Schemas {
    Schemas::new()
}

/// The agreed parameters of a maze's session: different from those of a duel.
#[must_use]
pub fn params() -> u64 {
    let tick = tick().as_micros().to_le_bytes();
    let [a, b, c, d, e, f, g, h, ..] =
        digest(&[b"maze", &RULES_VERSION.to_le_bytes(), &tick, &schemas().hash().to_le_bytes()]);
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// How long a frame lasts.
#[must_use]
pub fn tick() -> Duration {
    Duration::from_micros(1_000_000 / u64::from(RATE))
}

/// One peer's part in the maze.
#[derive(Debug)]
pub struct MazeGame {
    /// The state after `frame`.
    maze: Maze,
    /// The state before `frame`.
    before: Maze,
    frame: u64,
    stepped: Time,
    /// The newest states, each with its frame and its checksum.
    past: VecDeque<(u64, u64, Vec<u8>)>,
    /// Whether this peer has made a step as a member. The feed tells only of members that join after that.
    is_seated: bool,
    input_delay: u64,
    desyncs: u64,
    news: VecDeque<MazeNews>,
    /// The teapot that this player would rather play.
    wish: Option<Role>,
}

impl MazeGame {
    /// A game that has not begun. The seed has an effect only if this peer founds the session.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_maze(Maze::new(seed))
    }

    /// A game that begins in this state, for the peer that founds the session.
    #[must_use]
    pub fn with_maze(maze: Maze) -> Self {
        Self {
            before: maze.clone(),
            maze,
            frame: 0,
            stepped: Time::ZERO,
            past: VecDeque::new(),
            is_seated: false,
            input_delay: 0,
            desyncs: 0,
            news: VecDeque::new(),
            wish: None,
        }
    }

    /// Gives this player's input to lockstep and steps all frames that have arrived. Does nothing while this peer is
    /// no member.
    pub fn step(&mut self, now: Time, session: &mut Session, hand: Hand) {
        if !session.is_member() {
            return;
        }
        self.is_seated = true;
        let Some(mut lockstep) = session.lockstep(now) else { return };
        let hand = self.wish.map_or(hand, |role| hand.wishing(role));
        let is_taken = lockstep.set_input(&[hand.byte()]);
        debug_assert!(is_taken.is_ok(), "the rules say one byte");
        while let Some(request) = lockstep.poll_request() {
            self.carry_out(now, &mut lockstep, request);
        }
        while let Some(event) = lockstep.poll_event() {
            match event {
                // No member knows the state of the game, so it begins anew from this peer's state.
                lockstep::Event::NoState => lockstep.begin_anew(),
                lockstep::Event::Desync { frame, field, .. } => {
                    self.desyncs += 1;
                    self.tell(MazeNews::Desync { frame, field });
                }
                _ => {}
            }
        }
        self.input_delay = lockstep.input_delay();
        if self.wish.is_some() && self.wish == self.role(session) {
            self.wish = None;
        }
    }

    /// The input that a program chooses in this player's place. Pass it to [`MazeGame::step`].
    pub fn steer(&self, session: &Session, autopilot: &mut Autopilot) -> Hand {
        self.role(session).map_or(Hand::default(), |role| autopilot.drive(&self.maze, role))
    }

    /// Wishes to play this teapot: this player gets it as soon as a robot has it, and neither it nor the player's own
    /// teapot carries a bowl. Another wish replaces this one.
    pub const fn wish_for(&mut self, role: Role) {
        self.wish = Some(role);
    }

    /// Whether this player has to wait for this teapot: another player drives it, or a bowl is on it or on the player's own
    /// teapot.
    #[must_use]
    pub fn waits_for(&self, session: &Session, role: Role) -> bool {
        let own = self.role(session);
        let is_laden = [Some(role), own].into_iter().flatten().any(|role| self.maze.carries(role));
        own != Some(role) && (self.maze.seat_of(role).is_some() || is_laden)
    }

    fn carry_out(&mut self, now: Time, lockstep: &mut Lockstep<'_>, request: Request) {
        match request {
            Request::Step(frame) => {
                let hand = |input: &[u8]| Hand::from_byte(input.first().copied().unwrap_or(0));
                let inputs: Vec<_> = frame.inputs.iter().map(|(&seat, input)| (seat, hand(input))).collect();
                self.before.clone_from(&self.maze);
                let events = self.maze.step(&inputs);
                self.stepped = now;
                lockstep.stepped(frame.number, self.keep(frame.number));
                events.into_iter().for_each(|event| self.tell(MazeNews::Maze(event)));
            }
            Request::Load { frame, state, .. } => {
                // Unreadable bytes change nothing. This peer's state then differs from the host's, so lockstep makes
                // it load the host's state again.
                if let Ok(maze) = Maze::load(&state) {
                    (self.before, self.maze) = (maze.clone(), maze);
                    self.past.clear();
                    self.keep(frame);
                }
            }
            Request::Save => {
                let answer = lockstep.answer_state(&self.maze.save());
                debug_assert!(answer.is_ok(), "a state is small, and every frame is stepped at once");
            }
            Request::Fields { frame } => {
                let past = self.past.iter().find(|(past, ..)| *past == frame);
                let maze = past.and_then(|(.., bytes)| Maze::load(bytes).ok());
                lockstep.answer_fields(frame, maze.map(|maze| maze.fields()).unwrap_or_default());
            }
        }
    }

    /// Keeps the state after a frame and returns its checksum.
    fn keep(&mut self, frame: u64) -> u64 {
        self.frame = frame;
        let (bytes, checksum) = (self.maze.save(), self.maze.checksum());
        if self.past.len() == KEPT {
            self.past.pop_front();
        }
        self.past.push_back((frame, checksum, bytes));
        checksum
    }

    /// Handles an event of the session. Pass every event, before the next step.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::MemberJoined { member, .. } | Event::MemberLeft { member, .. }
                if is_spectator(member.attributes) => {}
            Event::MemberJoined { member, resumed } if self.is_seated => {
                let name = PlayerName::new(&member.name);
                self.tell(MazeNews::PlayerCame { name, is_back: *resumed });
            }
            Event::MemberLeft { departure: Departure::Replaced, .. } => {}
            Event::MemberLeft { member, departure } => {
                let name = PlayerName::new(&member.name);
                self.tell(MazeNews::PlayerWent { name, departure: *departure });
            }
            _ => {}
        }
    }

    fn tell(&mut self, news: MazeNews) {
        if self.news.len() == EVENTS_MAX {
            self.news.pop_front();
        }
        self.news.push_back(news);
    }

    /// The next piece of news.
    pub fn poll_event(&mut self) -> Option<MazeNews> {
        self.news.pop_front()
    }

    /// The state after [`MazeGame::frame`].
    #[must_use]
    pub const fn maze(&self) -> &Maze {
        &self.maze
    }

    /// The states to draw between: the state one frame before [`MazeGame::maze`], and how far `now` is from that
    /// state to the present one, from 0 to 1.
    #[must_use]
    pub fn between(&self, now: Time) -> (&Maze, f32) {
        let share = now.since(self.stepped).as_micros() as f32 / tick().as_micros() as f32;
        (&self.before, share.min(1.0))
    }

    /// The newest frame that was stepped.
    #[must_use]
    pub const fn frame(&self) -> u64 {
        self.frame
    }

    /// The checksums of the newest states, each with its frame, oldest first; at most 256.
    pub fn checksums(&self) -> impl Iterator<Item = (u64, u64)> {
        self.past.iter().map(|&(frame, checksum, _)| (frame, checksum))
    }

    /// The delay of this player's inputs, in frames.
    #[must_use]
    pub const fn input_delay(&self) -> u64 {
        self.input_delay
    }

    /// How often this peer was told that two states differed.
    #[must_use]
    pub const fn desyncs(&self) -> u64 {
        self.desyncs
    }

    /// The teapot of this peer's player; `None` for a spectator.
    #[must_use]
    pub fn role(&self, session: &Session) -> Option<Role> {
        self.maze.role_of(session.seat()?)
    }

    /// The name of the member that has a teapot, `None` for a robot.
    #[must_use]
    pub fn name_of(&self, session: &Session, role: Role) -> Option<PlayerName> {
        let seat = self.maze.seat_of(role)?;
        let record = session.view().members().find(|member| member.record.seat == seat)?;
        Some(PlayerName::new(&record.record.name))
    }
}
