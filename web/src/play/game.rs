//! The duel or the maze, behind functions that are the same for both.

use samovar::raw::Raw;
use samovar_duel::course::Stakes;
use samovar_duel::game::{Duel, DuelConfig};
use samovar_duel::maze::game::MazeGame;
use samovar_duel::maze::{Hand, Maze};
use samovar_duel::scores::Scoreboard;
use samovar_duel::status::Played;
use samovar_duel::teapot::Controls;
use samovar_peer_web::entropy;
use samovar_session::{Event, Rules, Session};
use samovar_wire::Time;

use super::{News, Wish};
use crate::params::{Mode, Survival};

/// The values that all members of a session of this game share. How it survives counts if this player founds it.
pub(super) fn agreed(wish: &Wish) -> Raw {
    let (params, schemas, rules) = wish.mode.agreed();
    let Survival { ends_with_host, is_strict } = wish.survival;
    Raw::new(params, schemas, Rules { migrates: !ends_with_host, forks: !is_strict, ..rules })
}

/// The game that is played.
pub enum Game {
    /// The duel.
    Duel(Box<Duel>),
    /// The maze.
    Maze(Box<MazeGame>),
}

impl Game {
    /// The game that a player wants. `is_resuming` says whether the player had a seat before, and `kept` is the state of
    /// the match then. Both, like the wish, have an effect only if this player founds the session or comes back.
    pub(super) fn new(wish: &Wish, is_resuming: bool, kept: Option<&[u8]>) -> Self {
        let seed = seed();
        let (robots, stakes) = (wish.robots, wish.stakes);
        match wish.mode {
            Mode::Duel => {
                let duel = Duel::new(DuelConfig { seed, robots, is_resuming, stakes });
                let scores = kept.and_then(|kept| Scoreboard::from_bytes(kept).ok());
                Self::Duel(Box::new(match scores.filter(|scores| *scores != Scoreboard::default()) {
                    Some(scores) => duel.with_scoreboard(scores),
                    None => duel,
                }))
            }
            // A match of the maze has no time limit, unless the address sets one.
            Mode::Maze => {
                let is_usual = stakes.seconds == Stakes::default().seconds;
                let limit = if is_usual { 0 } else { stakes.seconds };
                let maze = kept.and_then(|kept| Maze::load(kept).ok());
                Self::Maze(Box::new(MazeGame::with_maze(
                    maze.unwrap_or_else(|| Maze::new(seed).with_limit(limit)),
                )))
            }
        }
    }

    /// Steps the game to the present.
    pub(super) fn step(&mut self, now: Time, session: &mut Session, controls: Controls) {
        match self {
            Self::Duel(duel) => duel.step(now, session, controls),
            Self::Maze(maze) => maze.step(now, session, Hand::of(controls)),
        }
    }

    /// Handles an event of the session.
    pub(super) fn on_event(&mut self, now: Time, session: &Session, event: &Event) {
        match self {
            Self::Duel(duel) => duel.on_event(now, session, event),
            Self::Maze(maze) => maze.on_event(event),
        }
    }

    /// The next piece of news.
    pub(super) fn poll_news(&mut self) -> Option<News> {
        match self {
            Self::Duel(duel) => duel.poll_event().map(News::Duel),
            Self::Maze(maze) => maze.poll_event().map(News::Maze),
        }
    }

    /// The state of the match, for a session that is founded anew; empty until that state is known.
    pub(super) fn kept(&self) -> Vec<u8> {
        match self {
            Self::Duel(duel) => duel.scoreboard().to_bytes(),
            Self::Maze(maze) if maze.checksums().next().is_none() => Vec::new(),
            Self::Maze(maze) => maze.maze().save(),
        }
    }

    /// Describes the game for a status.
    pub(super) fn played(&self) -> Played<'_> {
        match self {
            Self::Duel(duel) => Played::Duel(duel),
            Self::Maze(maze) => Played::Maze(maze),
        }
    }
}

/// A seed for the game's random numbers.
fn seed() -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = entropy();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
