//! The maze: four teapots in a grid of corridors, two sides, capture the other side's sugar bowl.
//!
//! The game follows docs/sources.md, "Pacman". R1 and R2 live in the red half, B1 and B2 in the blue one. A teapot
//! that takes the other side's bowl from its stand and brings it to its own stand wins the round. A teapot on foreign
//! ground that a defender touches is sent home, and the bowl that it carried is back on its stand. Steam drifts
//! through the corridors and blocks them. The first side with three rounds wins the match, and the next match begins.
//!
//! This module computes a step: a function of the state and of the inputs of one frame, in whole numbers. So all
//! peers that step the same frames have the same state on every machine. It knows neither time nor a network;
//! [`game`] plays it over a session.
//!
//! Invariants: every mover is on an open tile or between two of them. Steam and teapots are never on one tile. A bowl
//! is on its stand or with one teapot of the other side. A score grows by one, at the end of a round.
//!
//! ```
//! use samovar_duel::maze::{Hand, Maze, Role, Side, Way};
//! use samovar_wire::SeatId;
//!
//! let mut maze = Maze::new(7);
//! let hand = Hand::default().with(Way::Right);
//! for _ in 0..600 {
//!     maze.step(&[(SeatId(1), hand)]);
//! }
//! assert_eq!(maze.role_of(SeatId(1)), Some(Role::R1));
//! let elsewhere = Maze::load(&maze.save())?;
//! assert_eq!(elsewhere.checksum(), maze.checksum());
//! # Ok::<(), samovar_duel::codec::DecodeError>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `way` | places, directions, the input of a frame |
//! | `plan` | the walls of a round |
//! | `mover` | movement from tile to tile |
//! | `seats` | which player has which teapot |
//! | `robot` | the behaviour of a teapot without a player |
//! | `bout` | rounds, matches, a step |
//! | `save` | the state as bytes, its fields and its checksum |
//! | [`game`] | playing it over a session's lockstep |

mod bout;
pub mod game;
mod mover;
mod plan;
mod robot;
mod save;
mod seats;
mod way;

use samovar_wire::SeatId;

use self::robot::Errand;
use self::seats::Seats;
use crate::rng::Rng;

pub use self::bout::{MazeEvent, ROUNDS, Stage, WINS};
pub use self::mover::Mover;
pub use self::plan::Plan;
pub use self::robot::Autopilot;
pub use self::way::{BORDER, HEIGHT, Hand, Place, TILE, WIDTH, Way};

/// Frames a second that the rules are made for.
pub const RATE: u16 = 30;

/// Number of puffs of steam.
pub const PUFFS: usize = 3;

samovar_wire::counted! {
    /// One of the two sides.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Side {
        /// The half with low columns.
        Red,
        /// The half with high columns.
        Blue,
    }
}

impl Side {
    /// Both sides.
    pub const BOTH: [Self; Self::COUNT] = Self::ALL;

    /// The other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Red => Self::Blue,
            Self::Blue => Self::Red,
        }
    }

    /// The name for people and scripts: `red` or `blue`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Blue => "blue",
        }
    }

    /// The side whose ground this place is on; `None` in the column between the halves.
    #[must_use]
    pub fn of(place: Place) -> Option<Self> {
        match place.x.cmp(&BORDER) {
            std::cmp::Ordering::Less => Some(Self::Red),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Self::Blue),
        }
    }
}

samovar_wire::counted! {
    /// One of the four teapots.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Role {
        /// The first of the red side.
        R1,
        /// The second of the red side.
        R2,
        /// The first of the blue side.
        B1,
        /// The second of the blue side.
        B2,
    }
}

impl Role {
    /// The side that this teapot is on.
    #[must_use]
    pub const fn side(self) -> Side {
        match self {
            Self::R1 | Self::R2 => Side::Red,
            Self::B1 | Self::B2 => Side::Blue,
        }
    }

    /// The name for people and scripts: `R1` and so on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::R1 => "R1",
            Self::R2 => "R2",
            Self::B1 => "B1",
            Self::B2 => "B2",
        }
    }
}

/// One teapot of the maze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    mover: Mover,
    /// Frames for which the teapot still waits at its start, after it was sent home.
    out: u8,
    errand: Errand,
    captures: u8,
    catches: u8,
}

impl Runner {
    /// The teapot's place and direction.
    #[must_use]
    pub const fn mover(&self) -> &Mover {
        &self.mover
    }

    /// Whether the teapot was sent home and waits there.
    #[must_use]
    pub const fn is_out(&self) -> bool {
        self.out > 0
    }

    /// A player's points for captures and catches: five for a bowl, one for a catch.
    #[must_use]
    pub const fn points(&self) -> u16 {
        self.captures as u16 * 5 + self.catches as u16
    }

    /// The number of bowls that the teapot has brought home in this match.
    #[must_use]
    pub const fn captures(&self) -> u8 {
        self.captures
    }

    /// The number of teapots that this one has sent home in this match.
    #[must_use]
    pub const fn catches(&self) -> u8 {
        self.catches
    }
}

/// The state of the game after a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maze {
    steps: u64,
    rng: Rng,
    plan: Plan,
    stage: Stage,
    /// Remaining frames of the stage.
    left: u16,
    /// The round of the match, from 1.
    round: u8,
    /// Seconds after which a match is over, however many rounds were won; 0 for no limit.
    limit: u16,
    /// The number of steps before this match began.
    begun: u64,
    wins: [u8; Side::COUNT],
    runners: [Runner; Role::COUNT],
    /// For each side, the carrier of that side's bowl.
    carriers: [Option<Role>; Side::COUNT],
    steam: [Mover; PUFFS],
    seats: Seats,
}

impl Maze {
    /// The first round of a match that is about to begin, with a robot in each teapot.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let plan = Plan::new(rng.next_u64());
        let runners = Role::ALL.map(|role| bout::runner_at_start(&plan, role));
        let steam = bout::steam(&mut rng);
        Self {
            steps: 0,
            rng,
            plan,
            stage: Stage::Ready,
            left: Stage::Ready.lasts(),
            round: 1,
            limit: 0,
            begun: 0,
            wins: [0; 2],
            runners,
            carriers: [None; 2],
            steam,
            seats: Seats::default(),
        }
    }

    /// The same maze, but each match is over after this many seconds; an hour at most, 0 for no limit.
    #[must_use]
    pub fn with_limit(mut self, seconds: u16) -> Self {
        self.limit = seconds.min(bout::LIMIT_MAX);
        self
    }

    /// The number of steps since the first state.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The walls of this round.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The present stage, and the most frames that it can still last.
    #[must_use]
    pub const fn stage(&self) -> (Stage, u16) {
        (self.stage, self.left)
    }

    /// The round of the match, from 1.
    #[must_use]
    pub const fn round(&self) -> u8 {
        self.round
    }

    /// Rounds that this side has won in this match.
    #[must_use]
    pub const fn wins(&self, side: Side) -> u8 {
        self.wins[side.index()]
    }

    /// The teapot in this role.
    #[must_use]
    pub const fn teapot(&self, role: Role) -> &Runner {
        &self.runners[role.index()]
    }

    /// The carrier of this side's bowl; `None` while the bowl is on its stand.
    #[must_use]
    pub const fn carrier(&self, side: Side) -> Option<Role> {
        self.carriers[side.index()]
    }

    /// Whether this teapot carries the other side's bowl.
    #[must_use]
    pub fn carries(&self, role: Role) -> bool {
        self.carrier(role.side().other()) == Some(role)
    }

    /// The puffs of steam.
    #[must_use]
    pub const fn steam(&self) -> &[Mover; PUFFS] {
        &self.steam
    }

    /// The seat that has this teapot; `None` for a robot's.
    #[must_use]
    pub fn seat_of(&self, role: Role) -> Option<SeatId> {
        self.seats.of(role)
    }

    /// The teapot of a member; `None` for one that only watches.
    #[must_use]
    pub fn role_of(&self, seat: SeatId) -> Option<Role> {
        self.seats.role_of(seat)
    }
}
