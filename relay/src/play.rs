//! The game of a native member: the duel or the maze, each played by a program.

use samovar_duel::game::{Duel, DuelConfig};
use samovar_duel::maze::game::MazeGame;
use samovar_duel::maze::{Autopilot, Maze};
use samovar_duel::mode::Mode;
use samovar_duel::robot::Robot;
use samovar_duel::scores::Scoreboard;
use samovar_duel::status::Played;
use samovar_session::{Event, Session};
use samovar_wire::Time;

/// A game, and the program that plays in it.
pub(crate) enum Play {
    Duel(Box<Duel>, Robot),
    Maze(Box<MazeGame>, Autopilot),
}

impl Play {
    /// The game of a member that joins. `kept` is the state of a game that it may found anew, as [`Play::kept`] gave it.
    pub(crate) fn new(mode: Mode, config: DuelConfig, kept: Option<&[u8]>) -> Self {
        let seed = config.seed;
        match mode {
            Mode::Duel => {
                let scores = kept.and_then(|kept| Scoreboard::from_bytes(kept).ok());
                let duel = Duel::new(config);
                let duel = match scores {
                    Some(scores) => duel.with_scoreboard(scores),
                    None => duel,
                };
                Self::Duel(Box::new(duel), Robot::new(seed))
            }
            Mode::Maze => {
                let maze = kept.and_then(|kept| Maze::load(kept).ok());
                let maze = maze.unwrap_or_else(|| Maze::new(seed));
                Self::Maze(Box::new(MazeGame::with_maze(maze)), Autopilot::new(seed))
            }
        }
    }

    pub(crate) fn on_event(&mut self, now: Time, session: &Session, event: &Event) {
        match self {
            Self::Duel(duel, _) => duel.on_event(now, session, event),
            Self::Maze(maze, _) => maze.on_event(event),
        }
    }

    /// Lets the program play a frame.
    pub(crate) fn step(&mut self, now: Time, session: &mut Session) {
        match self {
            Self::Duel(duel, mind) => {
                let controls = duel.steer(now, session, mind);
                duel.step(now, session, controls);
                while duel.poll_event().is_some() {}
            }
            Self::Maze(maze, autopilot) => {
                session.stepped(now);
                let hand = maze.steer(session, autopilot);
                maze.step(now, session, hand);
                while maze.poll_event().is_some() {}
            }
        }
    }

    /// The state with which the game is founded anew.
    pub(crate) fn kept(&self) -> Vec<u8> {
        match self {
            Self::Duel(duel, _) => duel.scoreboard().to_bytes(),
            Self::Maze(maze, _) => maze.maze().save(),
        }
    }

    pub(crate) fn played(&self) -> Played<'_> {
        match self {
            Self::Duel(duel, _) => Played::Duel(duel),
            Self::Maze(maze, _) => Played::Maze(maze),
        }
    }
}
